"""Roofline: work per byte, how close a kernel comes to the device's ceilings, and what bounds it.

Takes a kernel with rocprofv3's counters and a device, gives rates over the profiled launches. A counter that was not
recorded makes the numbers that need it None. The formulas are rocprofiler-compute's (roofline_calc.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from hipscope.analysis.classification.classes import Classified, class_table
from hipscope.analysis.counters.formula import Missing, evaluate, names_in
from hipscope.analysis.counters.table import metric_table
from hipscope.analysis.devices import empty_launch_ns
from hipscope.analysis.metrics.ceilings import Reach, matrix_time_share, nearest, reaches
from hipscope.analysis.metrics.memory_patterns import memory_bytes
from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.metrics.stalls import blamed_stalls, total_cycles
from hipscope.analysis.profile import Device, Kernel, Provenance, StallReason

Bound = Literal[
    "memory", "l2", "vmem", "compute", "issue", "latency", "occupancy", "lds", "atomics", "launch", "unknown"
]

_POSSIBLE = 1.5  # of a ceiling, of counters and times that are from different runs
_EMPTY_LAUNCH_NS = 1500.0  # of the emulator's devices
_VALU_TYPES = ("F16", "F32", "F64")
_MOPS = "SQ_INSTS_VALU_MFMA_MOPS_"
_MFMA_TYPES = ("F6F4", "F8", "F16", "BF16", "XF32", "F32", "F64")
FLOP_COUNTERS = (
    *(
        f"SQ_INSTS_VALU_{operation}_{kind}"
        for kind in _VALU_TYPES
        for operation in ("ADD", "MUL", "TRANS", "FMA")
    ),
    *(_MOPS + kind for kind in ("F8", "F16", "BF16", "F32", "F64")),
)
"""What floating-point work is counted by on gfx942 and gfx950; matrix types are not needed where SQ_INSTS_MFMA is 0."""
# Levels and rates of instructions that a class is made of; HBM is compared as `memory`.
_LEVELS = ("l2", "l1", "lds", "issue")
# Resources of which a kernel can give some up.
_SCARCE = ("VGPRs", "LDS", "SGPRs")
# While a wave waits for its turn, another one of its SIMD issues: where waves do that most of the time, SIMDs are busy.
_WAITS = (
    (StallReason.ISSUE_CONTENTION, "waits_issue"),
    (StallReason.ATOMIC, "waits_atomics"),
    (StallReason.LDS, "waits_lds"),
)


@dataclass(frozen=True)
class Roofline:
    """Totals over the profiled launches and rates while they ran; None where a counter is missing.

    `flops` counts floating-point operations, `memory_bytes` traffic between L2 and memory, `intensity` is their ratio.
    `flops_fraction` and `memory_fraction` are parts of the device's peak, 0..1 and above 1 only by rounding. The peak
    of a kernel with matrix instructions is that of the matrix units for its types. `ceilings` are all that the counters
    tell of, `nearest` is the closest one's name. `bound` is the class, `near` are those that it may be within the noise
    of measured inputs, `why` are the numbers that decided with their thresholds.
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
    near: tuple[Bound, ...] = ()
    why: str = ""


def roofline(kernel: Kernel, device: Device, provenance: Provenance) -> Roofline:
    """Place the kernel under the device's roof."""
    time_ns = sum(d.time_ns for d in kernel.dispatches if d.profiled)
    flops = flop_count(kernel.counters, device.arch)
    moved = traffic_bytes(kernel.counters, device.arch)
    if moved is None:
        moved = memory_bytes(kernel)
    flops_per_s = _rate(flops, time_ns)
    found = reaches(kernel.counters, moved, time_ns, device)
    impossible = provenance is Provenance.MEASURED and beyond(found) >= _POSSIBLE
    if impossible:  # what is counted of data is not of these launches
        moved = None
        found = tuple(r for r in found if r.unit != "B/s")
    bytes_per_s = _rate(moved, time_ns)
    peak_flops = _peak_flops(kernel.counters, found, device)
    flops_fraction = flops_per_s / peak_flops if flops_per_s is not None and peak_flops else None
    close = nearest(found)
    memory_fraction = (
        bytes_per_s / device.hbm_bytes_per_s if bytes_per_s is not None and device.hbm_bytes_per_s else None
    )
    decisive = None if impossible else flops_fraction  # alone it says nothing of memory
    known = _classified(kernel, decisive, memory_fraction, found, device, provenance)
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
        bound=cast("Bound", known.name),
        near=cast("tuple[Bound, ...]", known.near),
        why=known.why,
        ceilings=found,
        nearest=None if close is None else close.name,
    )


def beyond(found: Sequence[Reach]) -> float:
    """How many times of what a level of memory can move the counters tell of, at most."""
    return max((r.fraction or 0.0 for r in found if r.unit == "B/s"), default=0.0)


def impossible_bytes(kernels: Iterable[Kernel], device: Device) -> str | None:
    """In words, of which measured kernels the counters tell of more bytes than can move in their time."""
    told: dict[str, float] = {}
    for kernel in kernels:
        time_ns = sum(d.time_ns for d in kernel.dispatches if d.profiled) if kernel.counters else 0.0
        if time_ns > 0:
            moved = traffic_bytes(kernel.counters, device.arch)
            told[kernel.name] = beyond(reaches(kernel.counters, moved, time_ns, device))
    found = [name for name, times in told.items() if times >= _POSSIBLE]
    if not found:
        return None
    more = f" and {len(found) - 1} more kernels" if len(found) > 1 else ""
    most = max(told.values())
    return (
        f"the counters of {found[0]}{more} tell of up to {most:,.1f} times the bytes that the GPU can move in their "
        "time: they are not of these launches, and no bandwidth is shown"
    )


def bound_fraction() -> float:
    """From which part of a ceiling on a kernel counts as bound by it."""
    return class_table().threshold("flops")


def flop_count(counters: Mapping[str, float], arch: str = "gfx942") -> float | None:
    """Floating-point operations: 64 per vector instruction (FMA twice), 512 per MFMA_MOPS.

    None where a counter of a type that the architecture has is missing; those of matrix types count as 0 where no
    matrix instruction was executed.
    """
    vector = [
        (counters.get(f"SQ_INSTS_VALU_{operation}_{kind}"), weight)
        for kind in _VALU_TYPES
        for operation, weight in (("ADD", 1), ("MUL", 1), ("TRANS", 1), ("FMA", 2))
    ]
    matrix = {kind: counters.get(_MOPS + kind) for kind in _MFMA_TYPES}
    needed = (
        ()
        if 0 in (counters.get("SQ_INSTS_MFMA"), counters.get("SQ_INSTS_VALU_MFMA"))
        else _matrix_types(arch)
    )
    if any(count is None for count, _ in vector) or any(matrix[kind] is None for kind in needed):
        return None
    done = 64 * sum(weight * (count or 0.0) for count, weight in vector)
    return done + 512 * sum(count or 0.0 for count in matrix.values())


def _matrix_types(arch: str) -> Sequence[str]:
    """The types of matrix operations that have a counter there; of an unknown GPU, those of gfx942."""
    table = metric_table(arch) or metric_table("gfx942")
    if table is None or "MATRIX_FLOPS" not in table.names:
        return ()
    counted = names_in("MATRIX_FLOPS", table.names)
    return [kind for kind in _MFMA_TYPES if _MOPS + kind in counted]


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


def _classified(
    kernel: Kernel,
    flops_fraction: float | None,
    memory_fraction: float | None,
    found: Sequence[Reach],
    device: Device,
    provenance: Provenance,
) -> Classified:
    """What limits the kernel, by the table of classes.

    This is the one place where that is decided: tables, findings and texts all read `Roofline.bound`. The emulator
    knows how busy each of its units was and says itself which one limits, but for how busy SIMDs are with issuing:
    instructions that need no unit for long take turns, too. Whatever it says, a launch that is hardly longer than an
    empty one is bound by launching, and nothing is bound by memory that moves far less than memory can.
    """
    measures: dict[str, float] = {}
    measured = provenance is Provenance.MEASURED
    empty = empty_launch_ns(device) if measured else _EMPTY_LAUNCH_NS
    profiled = [d.time_ns for d in kernel.dispatches if d.profiled and d.time_ns > 0]
    mean = sum(profiled) / len(profiled) if profiled else None
    if mean is not None and empty is not None:
        measures["launch_ns"] = mean
    if measured:  # the ceiling that is shown: the measured one where there is one
        memory_fraction = next((r.fraction for r in found if r.name == "hbm"), memory_fraction)
    elif memory_fraction is not None and mean is not None and mean > 2 * _EMPTY_LAUNCH_NS:
        memory_fraction *= mean / (mean - _EMPTY_LAUNCH_NS)  # nothing moves while the launch begins and ends
    if memory_fraction is not None:
        measures["memory"] = memory_fraction
    if flops_fraction is not None:
        measures["flops"] = flops_fraction
    measures |= _waits(kernel)
    told = {"pipe": _pipe(found)}
    if measured:
        measures |= {r.name: r.fraction for r in found if r.name in _LEVELS and r.fraction is not None}
        fits = occupancy(kernel, device)
        if fits is not None and fits.limiter in _SCARCE:
            measures["occupancy"] = fits.theoretical / fits.maximum
            told["limiter"] = fits.limiter
    if any(name in measures for name in ("memory", "flops", "issuing")):
        measures["known"] = 1.0
    return class_table().classify("kernel", measures, model=kernel.bound_by, exact=not measured, told=told)


def _waits(kernel: Kernel) -> dict[str, float]:
    """Parts of the waves' time, from a trace or samples; nothing without one."""
    total = total_cycles(kernel)
    if not total:
        return {}
    causes: dict[StallReason, float] = {}
    for table in blamed_stalls(kernel):
        for reason, cycles in table.items():
            causes[reason] = causes.get(reason, 0.0) + cycles
    shares = {name: causes.get(reason, 0.0) / total for reason, name in _WAITS}
    return {**shares, "issuing": (total - sum(causes.values())) / total}


def _pipe(found: Sequence[Reach]) -> str:
    """What the operations are compared with: the type of the matrix or vector operations that are most of them."""
    pipes = [r for r in found if r.name.startswith(("matrix_", "vector_"))]
    most = max(pipes, key=lambda r: r.per_s, default=None)
    if most is None:
        return "vector operations"
    unit, kind = most.name.split("_", 1)
    return f"{unit} operations in {kind.upper()}"
