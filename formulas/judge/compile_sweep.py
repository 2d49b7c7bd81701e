"""The static sweep: of several candidates, those that the compiled code shows to be worth a replay.

Takes a bench and candidates, compiles the device code of all of them at the same time within the machine's cores, and
reads what each needs from its code object: nothing is executed. A candidate goes no further when the guard refuses it,
when its machine code is the original's (or another candidate's), or when it falls over an occupancy cliff.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hipscope.analysis.metrics.occupancy import Occupancy, occupancy
from hipscope.analysis.run import Run
from hipscope.analysis.system.cores import usable_cores
from hipscope.analysis.toolchain.code_object import CodeObject, KernelMetadata, machine_code
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.judge import Judgement, admit
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.speed_gate import occupancy_cliff
from hipscope.formulas.propose.candidate import Candidate


@dataclass(frozen=True)
class Admitted:
    """A candidate that may be replayed, with its machine code."""

    candidate: Candidate
    compiled: CodeObject


@dataclass(frozen=True)
class Swept:
    """The candidates worth a replay, and what became of the others."""

    kept: tuple[Admitted, ...]
    dropped: tuple[Judgement, ...]


def sweep(
    bench: Bench,
    candidates: Sequence[Candidate],
    run: Run,
    *,
    known: Sequence[Admitted] = (),
) -> Swept:
    """Compile all candidates and keep those that may go on, in their order.

    What has the machine code of one that is `known` goes no further. Other configurations of the program are left to
    `prove_in_order`, which few candidates reach. Raises Cancelled.
    """
    if not candidates:
        return Swept((), ())
    several = len(candidates) > 1
    run.say(f"compiling {len(candidates)} candidates" if several else "compiling the candidate")
    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        answers = list(pool.map(lambda c: admit(bench, c, run, configurations_too=False), candidates))
    admitted: list[Admitted] = []
    dropped: list[Judgement] = []
    seen = {machine_code(a.compiled.path): f"`{a.candidate.title}`" for a in known}
    seen[machine_code(bench.compiled.path)] = "the original"
    for candidate, answer in zip(candidates, answers, strict=True):
        if isinstance(answer, Judgement):
            dropped.append(answer)
        elif (twin := seen.get(machine_code(answer.path))) is not None:
            reason = f"Not tried: the compiler makes the same machine code of it as of {twin}."
            dropped.append(Judgement(candidate, Outcome.NOT_FASTER, reason))
        elif (cliff := _cliff(bench, answer)) is not None:
            dropped.append(Judgement(candidate, Outcome.OCCUPANCY_CLIFF, cliff))
        else:
            seen[machine_code(answer.path)] = f"`{candidate.title}`"
            admitted.append(Admitted(candidate, answer))
    return Swept(tuple(admitted), tuple(dropped))


def _cliff(bench: Bench, compiled: CodeObject) -> str | None:
    before = occupancy(bench.baseline.kernel, bench.baseline.profile.device)
    launched = (compiled.kernels.get(symbol) for symbol in sorted(bench.facts_by_symbol))
    for needs in filter(None, launched):
        if (cliff := occupancy_cliff(before, _occupancy(bench, needs))) is not None:
            return f"Not tried: an occupancy cliff, {cliff}."
    return None


def _occupancy(bench: Bench, needs: KernelMetadata) -> Occupancy | None:
    """The kernel's occupancy with these resources."""
    kernel = bench.baseline.kernel
    dynamic = max((launch.dynamic_lds for launch in bench.facts.launches), default=0)
    resources = kernel.resources.model_copy(
        update={
            "vgprs": needs.vgprs - needs.agprs if needs.agprs else needs.vgprs,
            "agprs": needs.agprs,
            "sgprs": needs.sgprs,
            "lds_bytes": needs.lds + dynamic,
        }
    )
    return occupancy(kernel.model_copy(update={"resources": resources}), bench.baseline.profile.device)
