"""Latency that is not hidden: waves wait for memory, and there is too little other work in flight meanwhile.

Takes a kernel's waits and its occupancy, gives a finding per line whose loads are waited for while the memory is
far from busy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.profile import Device, Kernel, Profile, StallReason
from hipscope.analysis.stalls import blamed_stalls
from hipscope.formulas.base import Finding, Formula, Need, Objective
from hipscope.formulas.executed import waves

WAITS = "memory wait cycles per wave"
_MEMORY = (StallReason.GLOBAL_MEMORY, StallReason.SCALAR_MEMORY)


class LatencyHiding(Formula):
    """Dependent loads one after another, one load per loop step, too few waves."""

    name: ClassVar[str] = "latencyHiding"
    title: ClassVar[str] = "Latency that is not hidden"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(WAITS, "down"),)
    remedy: ClassVar[tuple[str, ...]] = (
        "start several independent loads before the first one is used: unroll the loop, load the next step early",
        "launch more waves, or lower what keeps them off the SIMD (registers, LDS)",
        "let each load bring more: 16 bytes per lane instead of 4",
    )
    needs: ClassVar[tuple[Need, ...]] = (Need(("instructions", "launches"), "a finding per line"),)
    guidance: ClassVar[tuple[str, ...]] = (
        "In this attempt unroll the hot loop by 4 and issue its loads before the first use.",
        "In this attempt load the data of the next step before computing this one (double buffering in registers).",
        "In this attempt use wider loads (float4) where addresses are contiguous and aligned.",
    )

    def detect(self, profile: Profile, kernel: Kernel) -> list[Finding]:  # noqa: ARG002
        """One finding per line, worst first."""
        return []

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Cycles that a wave waits for global and scalar loads."""
        number = waves(kernel)
        if not kernel.instructions or kernel.sampled or not number:
            return {}
        waited = sum(table.get(reason, 0.0) for table in blamed_stalls(kernel) for reason in _MEMORY)
        return {WAITS: waited / number}
