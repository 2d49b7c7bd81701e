"""The numbers that decide what is worth reporting: one table, each with the reason for its value.

Shares of time are judged by `base.MIN_SHARE`; these say when an access pattern counts as bad at all.
"""

from __future__ import annotations

from collections.abc import Mapping

THRESHOLDS: Mapping[str, float] = {
    # LDS cycles over conflict-free LDS cycles. Two-way conflicts of a wave64 hide behind the two passes that 32-bit
    # accesses need anyway (AMD, "LDS bank conflict" in the CK-Tile documentation); 1.5 is half a pass more.
    "bankConflict.degree": 1.5,
    # Cache lines used over needed. Rows that do not start on a line boundary use up to twice the lines that they
    # need, and nothing in the access pattern can be better (128-byte lines, CDNA3 ISA guide).
    "memoryAccess.excess": 2.5,
    # Part of the peak bandwidth that streaming kernels reach: 3.96 of 5.3 TB/s for reads on an MI300X (device table).
    "memoryAccess.reachable_bandwidth": 0.75,
    # Share of an instruction's atomic operations on its busiest cache line. 64 lines used evenly have 1/64 each, and
    # that many lines keep all L2 channels of an XCD busy (16 channels, AMD MI300 ISA and L2 description).
    "atomicContention.same_line": 1 / 16,
    # Waits on atomics below this share of the kernel's cycles are their plain latency, not a queue.
    "atomicContention.wait": 0.05,
}
