"""Uncoalesced global memory access: the lanes of a wave touch many cache lines and use little of each.

Takes a kernel's global accesses, gives a finding per source line that moves far more lines than its data fill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hipscope.analysis.metrics.memory_patterns import (
    coalescing,
    ideal_lines_per_access,
    lines_per_access,
    memory_bytes,
    sum_patterns,
)
from hipscope.analysis.metrics.stalls import add_stalls, blamed_stalls
from hipscope.analysis.profile import Device, Instruction, Kernel, MemoryPattern, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.instruction_mix import has_patterns, mnemonic
from hipscope.formulas.detect.loaded_index import has_loaded_index
from hipscope.formulas.detect.sites import Site, costliest_site, finding_at, launch_of, sites
from hipscope.formulas.detect.time_at_stake import (
    beyond_bandwidth,
    counted_waits,
    smaller,
    wait_share,
)
from hipscope.formulas.tables import THRESHOLDS, Worded

_PER_ACCESS = "cache lines per access"
# What an access waits for before it is issued is the accesses in front of it.
_QUEUE = (StallReason.PIPE_BUSY, StallReason.ISSUE_CONTENTION)
_MEMORY_WAITS = (StallReason.GLOBAL_MEMORY, *_QUEUE)
_BOUND_BY_MEMORY = ("hbm", "mall", "vmem")


class MemoryAccess(Worded):
    """Column-wise walks over row-major arrays, arrays of structures, naive transpositions."""

    name: ClassVar[str] = "memoryAccess"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(_PER_ACCESS, "down"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"flops"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line, worst first; one per kernel from counters."""
        if not has_patterns(kernel):
            return _counted(self.name, kernel)
        moved = _moved(kernel)
        if not moved.touched:
            return []
        limit = beyond_bandwidth(kernel, profile.device, _unavoidable_bytes(kernel))
        found = [
            _finding(self.name, kernel, site, moved, limit, texts)
            for site in sites(kernel, wasteful, _excess_lines)
        ]
        return sorted(found, key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Cache lines used per global access, over the whole kernel."""
        patterns = [p for i in kernel.instructions if (p := _global(i)) is not None]
        accesses = sum(p.accesses for p in patterns)
        return {_PER_ACCESS: sum(p.lines_used for p in patterns) / accesses} if accesses else {}


def _global(instruction: Instruction) -> MemoryPattern | None:
    """The pattern of a plain load or store; atomics have a formula of their own."""
    pattern = instruction.memory
    if pattern is None or pattern.space != "global" or pattern.kind == "atomic":
        return None
    return pattern


def wasteful(instruction: Instruction) -> bool:
    """A plain global access that touches far more lines than its data fill."""
    pattern = _global(instruction)
    if pattern is None or not pattern.lines_needed:
        return False
    return pattern.lines_used / pattern.lines_needed >= THRESHOLDS["memoryAccess.excess"]


def _excess_lines(instruction: Instruction) -> float:
    pattern = _global(instruction)
    return 0.0 if pattern is None else pattern.lines_used - pattern.lines_needed


def memory_wait(kernel: Kernel) -> float:
    """The part of the kernel's time that goes into moving lines.

    Stores are not waited for, so their cost shows as queues in front of other accesses, or as a time after the last
    wave has ended: the waits of all global accesses count together. When the model says that a memory unit was busy
    for most of the time, that is the time it takes, whatever the waves did meanwhile.
    """
    blamed = blamed_stalls(kernel)
    tables = [blamed[i.index] for i in kernel.instructions if _global(i) is not None]
    share = wait_share(kernel, add_stalls(tables), _MEMORY_WAITS)
    return max(share, 0.5) if kernel.bound_by in _BOUND_BY_MEMORY else share


@dataclass(frozen=True)
class _Moved:
    """Lines of a kernel's plain global accesses, and the waits that they cause, as parts of its time.

    `touched` counts every line of every access, `fetched` those of loads that the L1 did not have. `wasted` is the part
    of the fetched ones that dense accesses would not need: lines that one access fetches and the next ones find in the
    L1 are no waste, however many each of them touches.
    """

    touched: float
    fetched: float
    wasteful_fetches: float
    wasted: float
    stored: float
    load_waits: float
    store_waits: float
    queue_waits: float


def _moved(kernel: Kernel) -> _Moved:
    accesses = [(i, p) for i in kernel.instructions if (p := _global(i)) is not None]
    loads = [(i, p) for i, p in accesses if p.kind == "load"]
    stores = [(i, p) for i, p in accesses if p.kind == "store"]
    bad = [(i, p) for i, p in loads if wasteful(i)]
    fetches = sum(_fetched(p) for _, p in bad)
    excess = max(0.0, fetches - sum(p.lines_needed for _, p in bad))
    blamed = blamed_stalls(kernel)

    def waits(some: list[tuple[Instruction, MemoryPattern]], reasons: tuple[StallReason, ...]) -> float:
        return wait_share(kernel, add_stalls([blamed[i.index] for i, _ in some]), reasons)

    return _Moved(
        touched=sum(p.lines_used for _, p in accesses),
        fetched=sum(_fetched(p) for _, p in loads),
        wasteful_fetches=fetches,
        wasted=excess,
        stored=sum(p.lines_used for _, p in stores),
        load_waits=waits(loads, (StallReason.GLOBAL_MEMORY,)),
        store_waits=waits(stores, (StallReason.GLOBAL_MEMORY,)),
        queue_waits=waits(accesses, _QUEUE),
    )


def _fetched(pattern: MemoryPattern) -> float:
    """Lines that a load asks the L2 for; where hits are not known, all."""
    return max(0.0, pattern.lines_used - (pattern.l1_hits or 0.0))


def wasteful_loads(kernel: Kernel) -> frozenset[int]:
    """Loads that fetch far more lines than their data fill, and not for the accesses beside them: lines that the next
    loads find in the L1 are used.
    """
    moved = _moved(kernel)
    if moved.wasted < _WASTED * moved.wasteful_fetches:
        return frozenset()
    return frozenset(
        i.index
        for i in kernel.instructions
        if (p := _global(i)) is not None
        and p.kind == "load"
        and p.lines_needed
        and _fetched(p) >= THRESHOLDS["memoryAccess.excess"] * p.lines_needed
    )


_WASTED = 0.5  # of what wasteful loads fetch: below it their neighbours use most of it


def _at_stake(kernel: Kernel, patterns: list[MemoryPattern], moved: _Moved) -> float:
    """The part of the kernel's time that goes into the lines that these wasteful accesses need not move or touch.

    Waits for data shrink with the lines that are fetched, queues with the lines that are touched. Stores are hardly
    waited for: their cost is the queue, and the traffic of a kernel that a memory unit limits.
    """
    touched = sum(p.lines_used - p.lines_needed for p in patterns) / moved.touched
    fetches = sum(_fetched(p) for p in patterns if p.kind == "load")
    own = moved.wasted * fetches / moved.wasteful_fetches if moved.wasteful_fetches else 0.0
    stored = sum(p.lines_used - p.lines_needed for p in patterns if p.kind == "store")
    share = moved.queue_waits * touched
    share += moved.load_waits * own / moved.fetched if moved.fetched else 0.0
    share += moved.store_waits * stored / moved.stored if moved.stored else 0.0
    if kernel.bound_by == "vmem":
        return max(share, 0.5 * touched)
    if kernel.bound_by in _BOUND_BY_MEMORY:
        return max(share, 0.5 * (own + stored) / (moved.fetched + moved.stored))
    return share


def _unavoidable_bytes(kernel: Kernel) -> float:
    """Bytes that must move whatever the pattern: those needed, or fewer when caches already keep some away."""
    patterns = [p for i in kernel.instructions if (p := _global(i)) is not None]
    needed = sum(p.lines_needed * p.line_bytes for p in patterns)
    moved = memory_bytes(kernel)
    return needed if moved is None else min(needed, moved)


def _finding(
    formula: str,
    kernel: Kernel,
    site: Site,
    moved: _Moved,
    limit: float | None,
    texts: SourceTexts,
) -> Finding:
    patterns = [p for i in site.instructions if (p := _global(i)) is not None]
    pattern = sum_patterns(patterns)
    kinds = {p.kind for p in patterns}
    used = lines_per_access(pattern) or 0.0
    needed = ideal_lines_per_access(pattern) or 0.0
    efficiency = coalescing(pattern) or 0.0
    excess = (pattern.lines_used - pattern.lines_needed) / moved.touched
    hits = None if pattern.l1_hits is None or not pattern.lines_used else pattern.l1_hits / pattern.lines_used
    launch = launch_of(kernel, site.file, texts)
    loaded = has_loaded_index(texts, site.file, site.line, site.column)
    manner = "at scattered places" if loaded else "with a stride"
    verb = "reads and writes" if len(kinds) > 1 else "writes" if "store" in kinds else "reads"
    return finding_at(
        formula,
        kernel,
        site,
        share=smaller(_at_stake(kernel, patterns, moved), limit),
        message=(
            f"{verb} global memory {manner}: "
            f"each access of a wave touches {used:.0f} cache lines "
            f"where {needed:.0f} would hold its data"
        ),
        evidence=(
            Evidence(_PER_ACCESS, used, needed, "lines"),
            Evidence("bytes used of the lines touched", 100 * efficiency, 100.0, "%"),
            Evidence("share of the kernel's line traffic that is waste", 100 * excess, 0.0, "%"),
            *(() if hits is None else (Evidence("lines that the L1 already has", 100 * hits, None, "%"),)),
            Evidence("wave time waiting for global memory", 100 * memory_wait(kernel), None, "%"),
        ),
        related=() if launch is None else (launch,),
    )


_WIDEST = 8.0  # lines of the widest dense access: 64 lanes of 16 bytes, 128 bytes per line


def _counted(formula: str, kernel: Kernel) -> list[Finding]:
    """From the requests of the L1 to the L2, at most one per line that a read touches.

    Counters do not show the width of an access, so it is taken as the widest: each report holds at any width.
    """
    requests, reads = (
        kernel.counters.get(n) for n in ("TCP_TCC_READ_REQ_sum", "TA_FLAT_READ_WAVEFRONTS_sum")
    )
    waits = counted_waits(kernel)
    if requests is None or not reads or waits is None:
        return []
    per_access = requests / reads
    if per_access < THRESHOLDS["memoryAccess.excess"] * _WIDEST:
        return []
    return [
        finding_at(
            formula,
            kernel,
            costliest_site(
                kernel, lambda i: mnemonic(i).startswith(("global_load", "flat_load", "buffer_load"))
            ),
            smaller(waits * (1 - _WIDEST / per_access), None),
            "reads global memory at many places at once: each read of a wave asks the L2 for "
            f"{per_access:.0f} cache lines, where a dense one asks for at most {_WIDEST:.0f}",
            (
                Evidence(_PER_ACCESS, per_access, _WIDEST, "lines"),
                Evidence("wave time waiting", 100 * waits, None, "%"),
            ),
        )
    ]
