"""Several verified edits of a file, each made on the text that the one before it left, as one.

Takes the results of the rounds and the texts before and after all of them, gives one OptimizeResult. Each round was
held against the one before, so of all that is said to be equal only the weakest verdict holds. Most rounds are of one
kernel; the times of the result are that kernel's, `kernels` has those of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.optimize.result import KernelGain, OptimizeResult
from hipscope.formulas.optimize.verified_edit import diff_of, edit_of, shown_name


def joined(
    project: Project,
    rounds: Sequence[OptimizeResult],
    last: OptimizeResult | None,
    before: Mapping[Path, bytes],
    after: Mapping[Path, bytes],
) -> OptimizeResult:
    """All verified `rounds` as one; `before` and `after` them the files that they edit. `last` found nothing more."""
    first = rounds[0]
    if len(rounds) == 1 or first.edit is None:
        return first
    own = [r for r in rounds if r.kernel == first.kernel]
    changes = [(file, text, after[file]) for file, text in before.items()]
    everything = (*rounds, last) if last is not None else rounds
    return first.model_copy(
        update={
            "message": " Then: ".join(r.message for r in rounds),
            "diff": "".join(diff_of(shown_name(f, project.root), *pair) for f, *pair in changes),
            "speedup": math.prod(r.speedup or 1.0 for r in own),
            "after": own[-1].after,
            "measured": None,
            "verdict": _weakest([r.verdict for r in rounds if r.verdict is not None]),
            "notes": _notes(rounds),
            "trades": tuple(trade for r in rounds for trade in r.trades),
            "attempts": tuple(attempt for r in everything for attempt in r.attempts),
            "edit": edit_of(changes),
            "kernels": _gains(rounds),
            "gpu_speedup": math.prod(r.gpu_speedup or 1.0 for r in rounds),
            "program_speedup": _of_program(rounds),
        }
    )


def _of_program(rounds: Sequence[OptimizeResult]) -> float | None:
    known = [r.program_speedup for r in rounds if r.program_speedup is not None]
    return math.prod(known) if len(known) == len(rounds) else None


def _notes(rounds: Sequence[OptimizeResult]) -> tuple[str, ...]:
    """What a reader should know: of one edit with which one it is, in their order; of all of them once."""
    common = set(rounds[0].notes).intersection(*(r.notes for r in rounds))
    found: dict[str, None] = {}
    for number, one in enumerate(rounds, 1):
        where = f"edit {number} of {len(rounds)}" + (f" (`{base_name(one.kernel)}`)" if one.kernel else "")
        found |= dict.fromkeys(note if note in common else f"{where}: {note}" for note in one.notes)
    return tuple(found)


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
