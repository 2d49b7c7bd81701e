"""Launch shape: too few workgroups for the device, a last round that is nearly empty, waves with idle lanes.

Takes a kernel's launches and the device, gives one finding per kernel at the place of its launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.formulas.base import Finding, Formula, Need, Objective
from hipscope.formulas.executed import workgroups

BUSY = "CUs with a workgroup"


class LaunchConfig(Formula):
    """Grids smaller than the device, workgroups that are no multiple of a wave."""

    name: ClassVar[str] = "launchConfig"
    title: ClassVar[str] = "Launch leaves CUs idle"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(BUSY, "up"),)
    remedy: ClassVar[tuple[str, ...]] = (
        (
            "launch at least as many workgroups as the device has CUs, better several per CU: smaller workgroups, or "
            "less work for each"
        ),
        "make the workgroup a multiple of the wave (64 work-items)",
        "choose the number of workgroups so that the last round is full, or let each loop over the data (grid stride)",
    )
    needs: ClassVar[tuple[Need, ...]] = (Need(("launches",), "a finding per kernel"),)
    guidance: ClassVar[tuple[str, ...]] = (
        "The launch cannot change: in this attempt spread the work of a workgroup so that all of its waves are busy.",
    )

    def detect(self, profile: Profile, kernel: Kernel) -> list[Finding]:  # noqa: ARG002
        """One finding for the kernel, or none."""
        return []

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:
        """The part of the CUs that get a workgroup, in per cent: the mean over the profiled launches by their time."""
        total = busy = 0.0
        for dispatch in kernel.dispatches:
            groups = workgroups(dispatch)
            if dispatch.profiled and groups and dispatch.time_ns > 0:
                total += dispatch.time_ns
                busy += dispatch.time_ns * min(1.0, groups / device.compute_units)
        return {BUSY: 100 * busy / total} if total else {}
