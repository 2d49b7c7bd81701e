"""How sure a comparison on a GPU is: the change of each kernel with its interval, by pairs of runs made in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hipscope.analysis.runs.paired_runs import RunTimes
from hipscope.formulas.facts.template_instances import launches_of
from hipscope.formulas.judge.paired_timing import LEAST_PAIRS, Timing, ratio_of
from hipscope.server.reports.schema.compare import ComparedKernel, ComparedProgram, MeasuredChange


def measured_in_turn(program: ComparedProgram, pairs: Sequence[tuple[RunTimes, RunTimes]]) -> ComparedProgram:
    """The comparison with changes and their intervals by runs that were made in turn."""
    kernels = program.kernels
    known = [[k.mangled or k.name for k in kernels], [k.renamed or k.mangled or k.name for k in kernels]]
    return replace(program, kernels=tuple(_measured(k, pairs, known) for k in kernels))


def _measured(
    kernel: ComparedKernel, pairs: Sequence[tuple[RunTimes, RunTimes]], known: Sequence[Sequence[str]]
) -> ComparedKernel:
    if kernel.change is None:
        return kernel
    is_head = launches_of({kernel.mangled or kernel.name}, known[0])
    is_base = launches_of({kernel.renamed or kernel.mangled or kernel.name}, known[1])
    timings = []
    for base, head in pairs:
        before = sum(time for name, time in base.items() if is_base(name))
        after = sum(time for name, time in head.items() if is_head(name))
        if before > 0 and after > 0:
            timings += [Timing("before", "warm", before), Timing("after", "warm", after)]
    if len(timings) < 2 * LEAST_PAIRS:
        few = f"only {len(timings) // 2} of {len(pairs)} pairs of runs were timed whole, {LEAST_PAIRS} are needed"
        return replace(kernel, change=None, not_comparable=few)
    ratio = ratio_of(timings)
    found = MeasuredChange(1 / ratio.high - 1, 1 / ratio.low - 1, ratio.pairs)
    return replace(kernel, change=1 / ratio.estimate - 1, measured=found)
