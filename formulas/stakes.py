"""How much of a kernel's time is at stake in some of its instructions.

Takes a kernel and cycles, gives shares of its time, 0..1. Two views limit each other: the waits that waves spend, and
how long a shared unit is busy. The smaller one counts, because neither alone can be saved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hipscope.analysis.profile import Device, Kernel, StallReason
from hipscope.analysis.stalls import StallTable, stall_table, total_cycles
from hipscope.formulas.thresholds import THRESHOLDS


def wait_share(kernel: Kernel, blamed: StallTable, reasons: Collection[StallReason] | None = None) -> float:
    """The blamed waits (of the given reasons, or all) as a part of the kernel's cycles.

    Who waits at a barrier waits for what the other waves do meanwhile, so those cycles count in proportion for
    everything else: the share is one of the cycles outside barriers.
    """
    outside = total_cycles(kernel) - stall_table(kernel).get(StallReason.BARRIER, 0.0)
    if outside <= 0:
        return 0.0
    cycles = sum(c for reason, c in blamed.items() if reasons is None or reason in reasons)
    return min(1.0, cycles / outside)


def unit_share(kernel: Kernel, device: Device, busy_cycles: float) -> float | None:
    """Cycles that a unit of every CU was busy, as a part of the kernel's time; None without times.

    `busy_cycles` is the sum over the profiled launches and over all CUs; the work is taken as spread evenly.
    """
    time_ns = sum(d.time_ns for d in kernel.dispatches if d.profiled)
    if time_ns <= 0 or not device.compute_units:
        return None
    available = time_ns * 1e-3 * device.clock_mhz * device.compute_units
    return busy_cycles / available


def beyond_bandwidth(kernel: Kernel, device: Device, needed_bytes: float) -> float | None:
    """The part of the kernel's time that remains when its data move at the bandwidth that the device can reach.

    No change of the access pattern can save more. None without times.
    """
    time_ns = sum(d.time_ns for d in kernel.dispatches if d.profiled)
    if time_ns <= 0 or not device.hbm_bytes_per_s:
        return None
    reachable = THRESHOLDS["memoryAccess.reachable_bandwidth"] * device.hbm_bytes_per_s
    return max(0.0, 1.0 - needed_bytes / reachable / (time_ns * 1e-9))


def smaller(first: float, second: float | None) -> float:
    """The smaller of a share and another that may be unknown, kept within 0..1."""
    return max(0.0, min(1.0, first if second is None else min(first, second)))


def add_stalls(tables: Collection[StallTable]) -> Mapping[StallReason, float]:
    """The sum of stall tables."""
    total: dict[StallReason, float] = {}
    for table in tables:
        for reason, cycles in table.items():
            total[reason] = total.get(reason, 0.0) + cycles
    return total
