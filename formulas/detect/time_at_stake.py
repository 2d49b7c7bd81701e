"""How much of a kernel's time is at stake in some of its instructions.

Takes a kernel and cycles, gives shares of its time, 0..1. Two views limit each other: the waits that waves spend, and
how long a shared unit is busy. The smaller one counts, because neither alone can be saved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from hipscope.analysis.metrics.roofline import FLOP_COUNTERS, bound_fraction, roofline
from hipscope.analysis.metrics.stalls import StallTable, blamed_stalls, stall_table, total_cycles
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile, StallReason
from hipscope.formulas.base import Work
from hipscope.formulas.tables import THRESHOLDS

# Without them a capture does not show whether a kernel is bound by latency (analysis/metrics/roofline.py).
LATENCY_COUNTERS = (*FLOP_COUNTERS, "TCC_EA0_RDREQ_sum", "TCC_EA0_WRREQ_sum")


def wait_share(kernel: Kernel, blamed: StallTable, reasons: Collection[StallReason] | None = None) -> float:
    """The blamed waits (of the given reasons, or all) as a part of the kernel's cycles.

    Who waits at a barrier waits for what the other waves do meanwhile, so those cycles count in proportion for
    everything else: the share is one of the cycles outside barriers.
    """
    outside = total_cycles(kernel) - stall_table(kernel).get(StallReason.BARRIER, 0.0)
    if outside <= 0:
        return 0.0
    chosen = set(StallReason) - {StallReason.BARRIER} if reasons is None else reasons
    cycles = sum(c for reason, c in blamed.items() if reason in chosen)
    return min(1.0, cycles / outside)


def cost_share(
    kernel: Kernel,
    instructions: Collection[Instruction],
    part: Callable[[Instruction], float] = lambda _: 1.0,
) -> float:
    """What these instructions cost, as a part of the cycles outside barriers: issuing them and all waits for them but
    those at barriers.

    `part` says which part of an instruction's cost counts, 0..1.
    """
    outside = total_cycles(kernel) - stall_table(kernel).get(StallReason.BARRIER, 0.0)
    if outside <= 0:
        return 0.0
    blamed = blamed_stalls(kernel)

    def cost(instruction: Instruction) -> float:
        waits = blamed[instruction.index]
        waited = sum(waits.values()) - waits.get(StallReason.BARRIER, 0.0)
        return instruction.latency - instruction.stall + waited

    return min(1.0, sum(part(i) * cost(i) for i in instructions) / outside)


def long_enough(kernel: Kernel) -> bool:
    """The kernel's launches take longer than launching does, so that what it executes matters."""
    profiled = [d.time_ns for d in kernel.dispatches if d.profiled]
    return bool(profiled) and sum(profiled) / len(profiled) >= THRESHOLDS["any.launch_ns"]


def counted_waits(kernel: Kernel) -> float | None:
    """The part of the waves' time that they wait, from counters; None when it was not counted."""
    waited, resident = (kernel.counters.get(name) for name in ("SQ_WAIT_ANY", "SQ_WAVE_CYCLES"))
    return min(1.0, waited / resident) if waited is not None and resident else None


def latency_bound(profile: Profile, kernel: Kernel) -> bool | None:
    """No unit of the device is busy for most of the time; None when that is not known."""
    roof = roofline(kernel, profile.device, profile.provenance)
    if kernel.bound_by is not None:
        return roof.bound == "latency"
    if roof.memory_fraction is None or roof.flops_fraction is None:
        return None
    return max(roof.memory_fraction, roof.flops_fraction) < bound_fraction()


def beyond_traffic(profile: Profile, kernel: Kernel) -> float | None:
    """The part of the kernel's time that would remain if its traffic moved as fast as it can; None when not known."""
    moved = roofline(kernel, profile.device, profile.provenance).memory_bytes
    return None if moved is None else beyond_bandwidth(kernel, profile.device, moved)


def estimated_speedup(
    profile: Profile, kernel: Kernel, share: float, keeps: Collection[Work]
) -> float | None:
    """About how many times as fast the kernel can become; None when nothing bounds it.

    Whatever is at stake is gone: 1 / (1 - share), an estimate, because the share is one: waves that wait less also
    hide each other's waits better, so a rewrite can bring somewhat more; never more than `speedup_limit`.
    """
    limit = speedup_limit(profile, kernel, keeps)
    times = min(1 / (1 - share) if share < 1 else math.inf, limit)
    return None if math.isinf(times) else times


def speedup_limit(profile: Profile, kernel: Kernel, keeps: Collection[Work]) -> float:
    """How many times as fast the kernel can become at most; infinite when nothing is known to bound it.

    No launch takes less than an empty one, and none is faster than the device's peaks allow for the work that stays:
    peak over achieved rate (roofline). A rate above the HBM peak says that a cache served it, and bounds nothing.
    """
    bounds = [math.inf]
    profiled = [d.time_ns for d in kernel.dispatches if d.profiled and d.time_ns > 0]
    if profiled:
        bounds.append(max(1.0, sum(profiled) / len(profiled) / THRESHOLDS["any.launch_floor_ns"]))
    roof = roofline(kernel, profile.device, profile.provenance)
    for work, fraction in (("bytes", roof.memory_fraction), ("flops", roof.flops_fraction)):
        if work in keeps and fraction and fraction <= 1:
            bounds.append(1 / fraction)
    return min(bounds)


def usual_speedup(times: float, limit: float) -> tuple[float, float]:
    """Where half of the edits end whose finding promises a kernel `times` as fast; no more than the `limit`."""
    least, most = THRESHOLDS["any.gain_least"], THRESHOLDS["any.gain_most"]
    return times**least, max(times, min(times**most, limit))


def unit_share(kernel: Kernel, device: Device, busy_cycles: float) -> float | None:
    """Cycles that a unit of every CU was busy, as a part of the kernel's time; None without times.

    `busy_cycles` is the sum over the profiled launches and over all CUs; the work is taken as spread evenly.
    """
    time_ns = sum(d.time_ns for d in kernel.dispatches if d.profiled)
    if time_ns <= 0 or not device.compute_units or not device.clock_mhz:
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
