"""How well accesses use cache lines, LDS banks and atomics.

Takes memory patterns, gives sums and ratios. A ratio whose denominator is missing or zero is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hipscope.analysis.profile import Kernel, MemoryPattern

_ADDED = (
    "accesses", "lanes", "lines_needed", "lines_used", "lds_cycles", "lds_conflict_cycles", "atomic_conflicts",
)  # fmt: skip
_OPTIONAL = ("l1_hits", "l2_hits", "memory_lines", "distinct_lines")


def coalescing(pattern: MemoryPattern) -> float | None:
    """Cache lines needed per line used, 0..1: 1 when every access is packed densely."""
    if pattern.space != "global" or not pattern.lines_used:
        return None
    return min(1.0, pattern.lines_needed / pattern.lines_used)


def lines_per_access(pattern: MemoryPattern) -> float | None:
    """Cache lines that one wave-wide access touches."""
    if pattern.space != "global" or not pattern.accesses:
        return None
    return pattern.lines_used / pattern.accesses


def ideal_lines_per_access(pattern: MemoryPattern) -> float | None:
    """Cache lines that one wave-wide access would touch if its bytes were packed densely."""
    if pattern.space != "global" or not pattern.accesses:
        return None
    return pattern.lines_needed / pattern.accesses


def conflict_degree(pattern: MemoryPattern) -> float | None:
    """LDS cycles per cycle that the same accesses need without bank conflicts: 1 without conflicts."""
    useful = pattern.lds_cycles - pattern.lds_conflict_cycles
    if pattern.space != "lds" or useful <= 0:
        return None
    return pattern.lds_cycles / useful


def add_patterns(patterns: Iterable[MemoryPattern]) -> tuple[MemoryPattern, ...]:
    """Sums by space, kind and width, in the order in which they first came."""
    groups: dict[tuple[str, str, int], list[MemoryPattern]] = {}
    for pattern in patterns:
        groups.setdefault((pattern.space, pattern.kind, pattern.bytes_per_lane), []).append(pattern)
    return tuple(sum_patterns(group) for group in groups.values())


def sum_patterns(patterns: Sequence[MemoryPattern]) -> MemoryPattern:
    """The sum of patterns of one kind. What one of them does not know is unknown in the sum."""
    if len(patterns) == 1:
        return patterns[0]
    added = {name: sum(getattr(p, name) for p in patterns) for name in _ADDED}
    known = {name: [getattr(p, name) for p in patterns] for name in _OPTIONAL}
    optional = {name: None if None in values else sum(values) for name, values in known.items()}
    shares = [(p.same_address_share, p.lanes) for p in patterns if p.same_address_share is not None]
    weight = sum(lanes for _, lanes in shares)
    share = sum(s * lanes for s, lanes in shares) / weight if weight else None
    kinds: Counter[str] = Counter()
    for pattern in patterns:
        kinds.update(pattern.memory_kinds)
    found = {**added, **optional, "same_address_share": share, "memory_kinds": dict(kinds)}
    return patterns[0].model_copy(update=found)


def memory_bytes(kernel: Kernel) -> float | None:
    """Bytes that came from or went to memory behind the L2, from the access patterns; None when not recorded."""
    lines = [
        p.memory_lines * p.line_bytes
        for i in kernel.instructions
        if (p := i.memory) is not None and p.memory_lines is not None
    ]
    return sum(lines) if lines else None
