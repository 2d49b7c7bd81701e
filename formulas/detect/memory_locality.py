"""Poor locality: the same data come from memory more than once, as caches lose them before they are used again.

Takes a kernel's global loads with their cache hits, gives a finding per line that fetches its lines several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.metrics.memory_patterns import sum_patterns
from hipscope.analysis.profile import Device, Instruction, Kernel, MemoryPattern, Profile
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.memory_access import memory_wait, wasteful
from hipscope.formulas.detect.sites import Site, finding_at, launch_of, sites
from hipscope.formulas.detect.time_at_stake import beyond_bandwidth, long_enough, smaller
from hipscope.formulas.tables import THRESHOLDS, Worded

FETCHED = "bytes from memory per byte loaded"


class MemoryLocality(Worded):
    """Workgroups that share data but run on different XCDs, tiles walked in the wrong order, no reuse in LDS."""

    name: ClassVar[str] = "memoryLocality"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(FETCHED, "down"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"flops"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line, worst first."""
        patterns = [i.memory for i in kernel.instructions if i.memory is not None]
        moved = sum(p.memory_lines or 0.0 for p in patterns if p.space == "global")
        if not moved or not long_enough(kernel):
            return []
        waits = memory_wait(kernel)
        unavoidable = sum(_once(p) * p.line_bytes for p in patterns if p.space == "global")
        limit = beyond_bandwidth(kernel, profile.device, unavoidable)
        found = [
            _finding(self.name, profile.device, kernel, site, waits, moved, limit, texts)
            for site in sites(
                kernel, _comes_again, lambda i: i.memory.memory_lines or 0.0 if i.memory else 0.0
            )
        ]
        return sorted((f for f in found if f is not None), key=lambda f: -f.share)

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


def _once(pattern: MemoryPattern) -> float:
    """Lines that must come or go at least: each different one once; all of them where that is not known."""
    moved = pattern.memory_lines or 0.0
    return moved if pattern.distinct_lines is None else min(moved, pattern.distinct_lines)


def _comes_again(instruction: Instruction) -> bool:
    """A dense load; one that wastes most of each line has a formula of its own."""
    pattern = instruction.memory
    return (
        pattern is not None
        and is_load(pattern)
        and bool(pattern.distinct_lines)
        and not wasteful(instruction)
    )


def _finding(
    formula: str,
    device: Device,
    kernel: Kernel,
    site: Site,
    waits: float,
    moved: float,
    limit: float | None,
    texts: SourceTexts,
) -> Finding | None:
    pattern = sum_patterns([i.memory for i in site.instructions if i.memory is not None])
    fetched, distinct = pattern.memory_lines or 0.0, pattern.distinct_lines or 0.0
    times = fetched / distinct
    if times < THRESHOLDS["memoryLocality.fetches"] or device.xcds is None:
        return None
    # An access waits for what was lost only if at least one of the lines that come again is its own.
    reached = min(1.0, (fetched - distinct) / pattern.accesses) if pattern.accesses else 1.0
    excess = (fetched - distinct) / moved
    launch = launch_of(kernel, site.file, texts)
    # Every XCD has an L2 of its own: up to once per XCD is what sharing between XCDs costs, more is lost within one.
    shared = times <= device.xcds * 1.1
    why = (
        f"workgroups that share it run on different XCDs, each with an L2 of its own ({device.xcds} XCDs)"
        if shared
        else "it leaves the L2 before it is used again"
    )
    asked = pattern.lanes * pattern.bytes_per_lane
    return finding_at(
        formula,
        kernel,
        site,
        smaller(waits * min(excess, reached), limit),
        f"loads the same data from memory {times:.1f} times: {why}",
        (
            Evidence("times that a line comes from memory", times, 1.0, "x"),
            Evidence(
                FETCHED, fetched * pattern.line_bytes / asked, distinct * pattern.line_bytes / asked, ""
            ),
            Evidence("share of the kernel's memory traffic that is repeated", 100 * excess, 0.0, "%"),
            Evidence("wave time waiting for global memory", 100 * waits, None, "%"),
        ),
        () if launch is None else (launch,),
    )
