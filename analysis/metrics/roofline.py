"""Roofline: work per byte, how close a kernel comes to the device's ceilings, and what bounds it.

Takes a kernel with rocprofv3's counters and a device, gives rates over the profiled launches. A counter that was not
recorded makes the numbers that need it None. The formulas are rocprofiler-compute's (roofline_calc.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.counters.formula import Missing, evaluate
from hipscope.analysis.counters.table import metric_table
from hipscope.analysis.metrics.ceilings import Reach, matrix_time_share, nearest, reaches
from hipscope.analysis.metrics.memory_patterns import memory_bytes
from hipscope.analysis.metrics.stalls import blamed_stalls, total_cycles
from hipscope.analysis.profile import Device, Kernel, Provenance, StallReason

Bound = Literal["memory", "vmem", "compute", "issue", "latency", "lds", "atomics", "launch", "unknown"]

# rocprofiler-compute's own rule of thumb: at 60 % of a ceiling a kernel counts as bound by it.
BOUND_FRACTION = 0.6
# Twice what an empty launch takes on an MI300X (1.5 us, the shortest kernels of recorded traces).
SHORT_LAUNCH_NS = 3000.0
_STREAMING = 0.75  # of the peak bandwidth, that streams reach on an MI300X
_VALU_TYPES = ("F16", "F32", "F64")
_MFMA_TYPES = ("F6F4", "F8", "F16", "BF16", "XF32", "F32", "F64")
_MODEL_BOUNDS: Mapping[str, Bound] = {
    "hbm": "memory",
    "mall": "memory",
    "vmem": "vmem",
    "valu": "compute",
    "lds": "lds",
    "atomic": "atomics",
    "latency": "latency",
    "launch": "launch",
}
# While a wave waits for its turn, another one of its SIMD issues: where waves do that most of the time, SIMDs are busy.
_WAITS: tuple[tuple[StallReason, Bound], ...] = (
    (StallReason.ISSUE_CONTENTION, "issue"),
    (StallReason.ATOMIC, "atomics"),
    (StallReason.LDS, "lds"),
)


@dataclass(frozen=True)
class Roofline:
    """Totals over the profiled launches and rates while they ran; None where a counter is missing.

    `flops` counts floating-point operations, `memory_bytes` traffic between L2 and memory, `intensity` is their ratio.
    `flops_fraction` and `memory_fraction` are parts of the device's peak, 0..1 and above 1 only by rounding. The peak
    of a kernel with matrix instructions is that of the matrix units for its types. `ceilings` are all that the counters
    tell of, `nearest` is the closest one's name.
    """

    provenance: Provenance
    time_ns: float
    flops: float | None
    memory_bytes: float | None
    intensity: float | None
    flops_per_s: float | None
    bytes_per_s: float | None
    peak_flops_per_s: float | None
    peak_bytes_per_s: float | None
    ridge: float | None
    flops_fraction: float | None
    memory_fraction: float | None
    bound: Bound
    ceilings: tuple[Reach, ...] = ()
    nearest: str | None = None


def roofline(kernel: Kernel, device: Device, provenance: Provenance) -> Roofline:
    """Place the kernel under the device's roof."""
    time_ns = sum(d.time_ns for d in kernel.dispatches if d.profiled)
    flops = flop_count(kernel.counters)
    moved = traffic_bytes(kernel.counters, device.arch)
    if moved is None:
        moved = memory_bytes(kernel)
    flops_per_s = _rate(flops, time_ns)
    bytes_per_s = _rate(moved, time_ns)
    found = reaches(kernel.counters, moved, time_ns, device)
    peak_flops = _peak_flops(kernel.counters, found, device)
    flops_fraction = flops_per_s / peak_flops if flops_per_s is not None and peak_flops else None
    close = nearest(found)
    memory_fraction = (
        bytes_per_s / device.hbm_bytes_per_s if bytes_per_s is not None and device.hbm_bytes_per_s else None
    )
    return Roofline(
        provenance=provenance,
        time_ns=time_ns,
        flops=flops,
        memory_bytes=moved,
        intensity=flops / moved if flops is not None and moved else None,
        flops_per_s=flops_per_s,
        bytes_per_s=bytes_per_s,
        peak_flops_per_s=peak_flops,
        peak_bytes_per_s=device.hbm_bytes_per_s,
        ridge=peak_flops / device.hbm_bytes_per_s if peak_flops and device.hbm_bytes_per_s else None,
        flops_fraction=flops_fraction,
        memory_fraction=memory_fraction,
        bound=_bound(kernel, flops_fraction, memory_fraction),
        ceilings=found,
        nearest=None if close is None else close.name,
    )


def flop_count(counters: Mapping[str, float]) -> float | None:
    """Floating-point operations: 64 per vector instruction (FMA twice), 512 per MFMA_MOPS; None if not counted."""
    if "SQ_INSTS_VALU_ADD_F32" not in counters:
        return None
    vector = 0.0
    for kind in _VALU_TYPES:
        for operation, weight in (("ADD", 1), ("MUL", 1), ("TRANS", 1), ("FMA", 2)):
            vector += weight * counters.get(f"SQ_INSTS_VALU_{operation}_{kind}", 0.0)
    matrix = sum(counters.get(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}", 0.0) for kind in _MFMA_TYPES)
    return 64 * vector + 512 * matrix


def traffic_bytes(counters: Mapping[str, float], arch: str = "gfx942") -> float | None:
    """Bytes read and written between L2 and the fabric; None if the requests were not counted."""
    table = metric_table(arch)
    if table is not None and "READ_BYTES" in table.names:
        moved = evaluate("READ_BYTES + WRITE_BYTES", counters, table.names)
        if not isinstance(moved, Missing):
            return float(moved)
    read = read_bytes(counters)
    written = written_bytes(counters)
    return None if read is None or written is None else read + written


def read_bytes(counters: Mapping[str, float]) -> float | None:
    """Requests of 128 bytes (TCC_BUBBLE), 32 bytes and, for the rest, 64 bytes."""
    requests = counters.get("TCC_EA0_RDREQ_sum")
    if requests is None:
        return None
    wide = counters.get("TCC_BUBBLE_sum", 0.0)
    narrow = counters.get("TCC_EA0_RDREQ_32B_sum", 0.0)
    return 128 * wide + 32 * narrow + 64 * (requests - wide - narrow)


def written_bytes(counters: Mapping[str, float]) -> float | None:
    """Requests of 64 bytes and, for the rest, 32 bytes."""
    requests = counters.get("TCC_EA0_WRREQ_sum")
    if requests is None:
        return None
    wide = counters.get("TCC_EA0_WRREQ_64B_sum", 0.0)
    return 64 * wide + 32 * (requests - wide)


def _peak_flops(counters: Mapping[str, float], found: tuple[Reach, ...], device: Device) -> float | None:
    """What the kernel's operations could reach: the peak of its matrix types by their parts, else of its vectors."""
    matrix = sum(r.per_s for r in found if r.name.startswith("matrix_") and r.unit == "FLOP/s")
    vector = sum(r.per_s for r in found if r.name.startswith("vector_"))
    if matrix > vector:
        share = matrix_time_share(found, device)
        return (matrix + vector) / share if share else None
    return device.flops_fp64 if _uses_double(counters) else device.flops_fp32


def _uses_double(counters: Mapping[str, float]) -> bool:
    """Most of the vector work is in double precision, so its peak is the one to compare with."""
    work = {
        kind: sum(counters.get(f"SQ_INSTS_VALU_{op}_{kind}", 0.0) for op in ("ADD", "MUL", "FMA", "TRANS"))
        for kind in ("F32", "F64")
    }
    return work["F64"] > work["F32"]


def _rate(amount: float | None, time_ns: float) -> float | None:
    return None if amount is None or time_ns <= 0 else amount / (time_ns * 1e-9)


def _bound(kernel: Kernel, flops_fraction: float | None, memory_fraction: float | None) -> Bound:
    """The ceiling that the kernel is close to; without one, the wait that fills most of its time.

    This is the one place where that is decided: tables, findings and texts all read `Roofline.bound`. The emulator
    knows how busy each of its units was and says itself which one limits, but for how busy SIMDs are with issuing:
    instructions that need no unit for long take turns, too. Whatever it says, a launch that is hardly longer than an
    empty one is bound by launching, and nothing is bound by memory that moves far less than memory can.
    """
    profiled = [d.time_ns for d in kernel.dispatches if d.profiled and d.time_ns > 0]
    if profiled and sum(profiled) / len(profiled) <= SHORT_LAUNCH_NS:
        return "launch"
    if memory_fraction is not None and profiled:  # nothing moves while the launch begins and ends
        mean = sum(profiled) / len(profiled)
        memory_fraction *= mean / (mean - SHORT_LAUNCH_NS / 2)
    modelled = _MODEL_BOUNDS.get(kernel.bound_by or "")
    if modelled == "memory" and memory_fraction is not None and memory_fraction < _STREAMING * BOUND_FRACTION:
        modelled = "latency"
    if modelled is not None:
        return "issue" if modelled == "latency" and _bound_by_waits(kernel) == "issue" else modelled
    if memory_fraction is not None and memory_fraction >= max(BOUND_FRACTION, flops_fraction or 0):
        return "memory"
    if flops_fraction is not None and flops_fraction >= BOUND_FRACTION:
        return "compute"
    known = flops_fraction is not None or memory_fraction is not None
    return _bound_by_waits(kernel) or ("latency" if known else "unknown")


def _bound_by_waits(kernel: Kernel) -> Bound | None:
    """What fills most of the waves' time; None without a trace."""
    total = total_cycles(kernel)
    if not total:
        return None
    causes: dict[StallReason, float] = {}
    for table in blamed_stalls(kernel):
        for reason, cycles in table.items():
            causes[reason] = causes.get(reason, 0.0) + cycles
    for reason, bound in _WAITS:
        if causes.get(reason, 0.0) >= 0.5 * total:
            return bound
    issued = total - sum(causes.values())
    return "compute" if issued >= 0.5 * total else "latency"
