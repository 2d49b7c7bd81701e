"""Divergent branches: lanes of a wave take different ways, and the wave goes all of them with part of its lanes.

Takes a kernel's executed instructions with their active lanes, gives a finding per line of a branch or loop
behind which many lanes idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.formulas.base import Finding, Formula, Need, Objective, Work
from hipscope.formulas.executed import is_valu

LANES = "active lanes per VALU instruction"


class BranchDivergence(Formula):
    """Loops of different length per lane, conditions that depend on the data or on the lane's number."""

    name: ClassVar[str] = "branchDivergence"
    title: ClassVar[str] = "Divergent branches"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(LANES, "up"),)
    remedy: ClassVar[tuple[str, ...]] = (
        "deal the work so that neighbouring lanes take the same way: sort or bin the elements by what they need",
        "where a condition depends on the lane's number, let it depend on the wave's (`threadIdx.x / warpSize`)",
        "compute both sides and select, where they are short and have no side effects",
    )
    needs: ClassVar[tuple[Need, ...]] = (
        Need(("instructions",), "a finding per line"),
        Need(
            ("counters",),
            "a finding per kernel",
            ("SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU"),
            ("gfx90a", "gfx942", "gfx950"),
        ),
    )
    keeps: ClassVar[frozenset[Work]] = frozenset({"bytes"})
    guidance: ClassVar[tuple[str, ...]] = (
        "In this attempt make neighbouring lanes take the same way: choose which element a lane works on accordingly.",
        "In this attempt replace short branches by selects, and take what both sides share out of them.",
        "In this attempt let a lane that is done fetch its next element, so that the loop runs with full waves.",
    )

    def detect(self, profile: Profile, kernel: Kernel) -> list[Finding]:  # noqa: ARG002
        """One finding per line, worst first."""
        return []

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Mean active lanes of the vector instructions."""
        valu = [i for i in kernel.instructions if is_valu(i)]
        hits = sum(i.hits for i in valu)
        if hits and not kernel.sampled:
            return {LANES: sum(i.lanes for i in valu) / hits}
        threads, active = (kernel.counters.get(n) for n in ("SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU"))
        return {LANES: threads / active} if threads is not None and active else {}
