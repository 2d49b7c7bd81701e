"""Poor locality: the same data come from memory more than once, as caches lose them before they are used again.

Takes a kernel's global loads with their cache hits, gives a finding per line that fetches its lines several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.profile import Device, Kernel, MemoryPattern, Profile
from hipscope.formulas.base import Finding, Formula, Need, Objective, Work

FETCHED = "bytes from memory per byte loaded"


class MemoryLocality(Formula):
    """Workgroups that share data but run on different XCDs, tiles walked in the wrong order, no reuse in LDS."""

    name: ClassVar[str] = "memoryLocality"
    title: ClassVar[str] = "Poor cache reuse"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(FETCHED, "down"),)
    remedy: ClassVar[tuple[str, ...]] = (
        "renumber the workgroups so that those that share data run on the same XCD (workgroup b runs on XCD b mod 8)",
        "walk the data in tiles, so that what is loaded is used again while it is in the L2",
        "load what a workgroup needs several times into LDS once",
    )
    needs: ClassVar[tuple[Need, ...]] = (Need(("instructions",), "a finding per line"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"flops"})
    guidance: ClassVar[tuple[str, ...]] = (
        "In this attempt only renumber the workgroups (they go round-robin to 8 XCDs), so that each XCD has a range.",
        "In this attempt change the order in which workgroups walk the data, so that neighbours in time share it.",
        "In this attempt stage what a workgroup loads more than once in LDS.",
    )

    def detect(self, profile: Profile, kernel: Kernel) -> list[Finding]:  # noqa: ARG002
        """One finding per line, worst first."""
        return []

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Bytes that loads brought from behind the L2, per byte that their lanes asked for."""
        loads = [p for i in kernel.instructions if (p := i.memory) is not None and is_load(p)]
        asked = sum(p.lanes * p.bytes_per_lane for p in loads)
        if not asked:
            return {}
        return {FETCHED: sum((p.memory_lines or 0.0) * p.line_bytes for p in loads) / asked}


def is_load(pattern: MemoryPattern) -> bool:
    """A load from global memory of which it is known where its lines came from."""
    return pattern.space == "global" and pattern.kind == "load" and pattern.memory_lines is not None
