"""Loops of one lane, for which all other waves of the workgroup wait at the next barrier.

Takes a kernel's executed instructions, gives the place of the loop and the part of the kernel's time that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipscope.analysis.metrics.stalls import stall_table, total_cycles
from hipscope.analysis.profile import Instruction, Kernel, StallReason
from hipscope.formulas.detect.instruction_mix import mnemonic, waves, workgroups
from hipscope.formulas.detect.sites import Site, sites

_STEPS = 8  # of the lane's loop: fewer are the end of a tree
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
    found = [s for s in sites(kernel, _alone, lambda i: i.latency) if _loops(s)]
    alone = [i for site in found for i in site.instructions]
    cycles = sum(i.latency for i in alone)
    waited = stall_table(kernel).get(StallReason.BARRIER, 0.0)
    others = number / groups - 1
    if not found or waited < _WAITED * cycles * others:
        return None
    share = min(1.0, cycles / groups * number / total)
    worst = max(found, key=lambda s: sum(i.latency for i in s.instructions))
    return LoneWork(worst, frozenset(i.index for i in alone), share, others)


def _alone(instruction: Instruction) -> bool:
    return 0 < instruction.lanes == instruction.hits


def _loops(site: Site) -> bool:
    """Some of a line's instructions run many times for each time that the lane comes there. Scalar ones say nothing:
    branches around the steps of a tree are run by waves with few lanes, too, or with none.
    """
    hits = [i.hits for i in site.instructions if not mnemonic(i).startswith("s_")]
    return bool(hits) and max(hits) >= _STEPS * min(hits)
