"""The numbers that decide what is worth reporting: one table, each with its meaning and where it comes from.

Shares of time are judged by the setting `min_share`; these say when an access pattern counts as bad at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """One row of the table."""

    value: float
    meaning: str
    source: str


_ROWS: Mapping[str, Threshold] = {
    "bankConflict.degree": Threshold(
        1.5,
        "LDS cycles over the cycles that the same accesses need without conflicts",
        "half a pass more than the two that 32-bit accesses of a wave take anyway (CDNA3 ISA, 32 lanes per pass)",
    ),
    "memoryAccess.excess": Threshold(
        2.5,
        "cache lines used over lines needed",
        "rows that do not start on a 128-byte line use up to twice the lines that they need (CDNA3 ISA, L2 line)",
    ),
    "memoryAccess.reachable_bandwidth": Threshold(
        0.75,
        "part of the peak bandwidth that streaming kernels reach",
        "device table: 3.96 of 5.3 TB/s for reads measured on an MI300X",
    ),
    "atomicContention.same_line": Threshold(
        1 / 16,
        "part of an instruction's atomic operations on its busiest cache line",
        "16 L2 channels of an XCD work in parallel (CDNA3 white paper): with fewer lines some are idle",
    ),
    "atomicContention.wait": Threshold(
        0.05,
        "part of the kernel's wave cycles that wait for the atomics",
        "below it their plain latency explains the waits (device table: 382 cycles without contention)",
    ),
    "gate.occupancy_cliff": Threshold(
        0.5,
        "part of the waves per SIMD that a rewrite must leave",
        "ours: with half of the waves gone, the latency that they hid shows up with other inputs or launch shapes",
    ),
}

THRESHOLDS: Mapping[str, float] = {name: row.value for name, row in _ROWS.items()}
