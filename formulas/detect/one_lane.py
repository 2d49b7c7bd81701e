"""Loops of one lane, for which all other waves of the workgroup wait at the next barrier.

Takes a kernel's executed instructions, gives the place of the loop and the part of the kernel's time that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipscope.analysis.metrics.machine_loops import machine_loops
from hipscope.analysis.metrics.stalls import stall_table, total_cycles
from hipscope.analysis.profile import Instruction, Kernel, StallReason
from hipscope.formulas.detect.instruction_mix import mnemonic, waves, workgroups
from hipscope.formulas.detect.sites import Site, sites

_STEPS = 8  # of the lane's loop in each workgroup: fewer are not worth sharing
_WAITED = 0.5  # of what the lane takes: the other waves do that long nothing else than wait for it


@dataclass(frozen=True)
class LoneWork:
    """What one lane does alone: where most of it stands, all its instructions by index, its part of the time that a
    workgroup runs, and how many other waves a workgroup has.
    """

    site: Site
    instructions: frozenset[int]
    share: float
    others: float


def lone_work(kernel: Kernel) -> LoneWork | None:
    """The loops that one lane makes alone, if the other waves wait for it."""
    groups = sum(workgroups(d) for d in kernel.dispatches if d.profiled)
    number, total = waves(kernel), total_cycles(kernel)
    if not groups or not number or not total or number < 2 * groups:
        return None
    inside = _in_own_loops(kernel)

    def alone_in_a_loop(instruction: Instruction) -> bool:
        lonely = 0 < instruction.lanes <= instruction.hits
        return lonely and instruction.index in inside and instruction.hits >= _STEPS * groups

    found = sites(kernel, alone_in_a_loop, lambda i: i.latency)
    alone = [i for site in found for i in site.instructions]
    cycles = sum(i.latency for i in alone)
    waited = stall_table(kernel).get(StallReason.BARRIER, 0.0)
    others = number / groups - 1
    if not found or waited < _WAITED * cycles * others:
        return None
    share = min(1.0, cycles / groups * number / total)
    worst = max(found, key=lambda s: sum(i.latency for i in s.instructions))
    return LoneWork(worst, frozenset(i.index for i in alone), share, others)


def _in_own_loops(kernel: Kernel) -> frozenset[int]:
    """Instructions of loops without a barrier: with one, it is a tree, of which one lane makes the last step."""
    barriers = [i.index for i in kernel.instructions if mnemonic(i) == "s_barrier"]
    return frozenset(
        index
        for first, last in machine_loops(kernel)
        if not any(first <= barrier <= last for barrier in barriers)
        for index in range(first, last + 1)
    )
