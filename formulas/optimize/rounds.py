"""Several verified edits of a file, each made on the text that the one before it left, as one.

Takes the results of the rounds and the texts before and after all of them, gives one OptimizeResult. Each round was
held against the one before, so of all that is said to be equal only the weakest verdict holds. Most rounds are of one
kernel; the times of the result are that kernel's, `kernels` has those of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.optimize.result import KernelGain, OptimizeResult
from hipscope.formulas.optimize.verified_edit import diff_of, edit_between


def joined(
    project: Project, rounds: Sequence[OptimizeResult], last: OptimizeResult | None, texts: Sequence[bytes]
) -> OptimizeResult:
    """All verified `rounds` as one; `texts` are the file before the first and after each. `last` found nothing more."""
    first = rounds[0]
    if len(rounds) == 1 or first.edit is None:
        return first
    own = [r for r in rounds if r.kernel == first.kernel]
    file = Path(first.edit.file)
    root = project.root.resolve()
    name = file.resolve().relative_to(root).as_posix() if file.resolve().is_relative_to(root) else file.name
    everything = (*rounds, last) if last is not None else rounds
    return first.model_copy(
        update={
            "message": " Then: ".join(r.message for r in rounds),
            "diff": diff_of(name, texts[0], texts[-1]),
            "speedup": math.prod(r.speedup or 1.0 for r in own),
            "after": own[-1].after,
            "measured": None,
            "verdict": _weakest([r.verdict for r in rounds if r.verdict is not None]),
            "notes": tuple(dict.fromkeys(note for r in rounds for note in r.notes)),
            "trades": tuple(trade for r in rounds for trade in r.trades),
            "attempts": tuple(attempt for r in everything for attempt in r.attempts),
            "edit": edit_between(file, texts[0], texts[-1]),
            "kernels": _gains(rounds),
            "gpu_speedup": math.prod(r.gpu_speedup or 1.0 for r in rounds),
        }
    )


def _weakest(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The last verdict that is not bit for bit, else the last: one rounded step makes the whole a rounded one."""
    return next((v for v in reversed(verdicts) if not v.bit_exact), verdicts[-1] if verdicts else None)


def _gains(rounds: Sequence[OptimizeResult]) -> tuple[KernelGain, ...]:
    """What all rounds bring to each kernel, in the order in which they came to them."""
    found: dict[str, KernelGain] = {}
    for one in (gain for r in rounds for gain in r.kernels):
        before = found.get(one.kernel)
        found[one.kernel] = (
            one
            if before is None
            else before.model_copy(
                update={"speedup": before.speedup * one.speedup, "rounds": before.rounds + one.rounds}
            )
        )
    return tuple(found.values())
