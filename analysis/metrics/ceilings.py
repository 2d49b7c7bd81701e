"""How close a kernel comes to each ceiling of its device: levels of memory, units by data type, issued instructions.

Takes counters, the time of the launches that they cover and the device, gives a rate and its ceiling for each. A
measured ceiling is compared with where there is one; what a kernel reached beyond it with the sum of the units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.counters.formula import Missing, evaluate
from hipscope.analysis.counters.table import metric_table
from hipscope.analysis.profile import Device

Unit = Literal["B/s", "FLOP/s", "OP/s", "instructions/s"]

# Bytes of a level by the name of their expression in the tables of counters.
_BYTES = (("l2", "L2_BYTES"), ("l1", "L1_BYTES"), ("lds", "LDS_BYTES"))
_VECTOR = ("F16", "F32", "F64")
# Matrix operations by the counter's suffix: the ceiling of their type, what they count.
_MATRIX: Mapping[str, tuple[str, Unit]] = {
    "F6F4": ("matrix_f6", "FLOP/s"),
    "F8": ("matrix_f8", "FLOP/s"),
    "F16": ("matrix_f16", "FLOP/s"),
    "BF16": ("matrix_bf16", "FLOP/s"),
    "XF32": ("matrix_xf32", "FLOP/s"),
    "F32": ("matrix_f32", "FLOP/s"),
    "F64": ("matrix_f64", "FLOP/s"),
    "I8": ("matrix_i8", "OP/s"),
}
_INSTRUCTIONS = (("issue", "SQ_INSTS"), ("valu", "SQ_INSTS_VALU"))
_PER_MOP = 512  # operations of one count of SQ_INSTS_VALU_MFMA_MOPS
_LANES = 64


@dataclass(frozen=True)
class Reach:
    """A rate beside its ceiling; `ceiling` and `fraction` are None where no ceiling is known.

    `name` is one of `Device.ceilings`, `source` who says the ceiling, `basis` whether it was measured.
    """

    name: str
    unit: Unit
    per_s: float
    ceiling: float | None
    fraction: float | None
    basis: str | None
    source: str | None


def reaches(
    counters: Mapping[str, float], memory_bytes: float | None, time_ns: float, device: Device
) -> tuple[Reach, ...]:
    """Every ceiling of which the counters say how close it is; nothing where no time passed.

    `memory_bytes` is the traffic between L2 and memory. Where it is more than memory can, the Infinity Cache served it.
    """
    if time_ns <= 0:
        return ()
    seconds = time_ns * 1e-9
    found = [] if memory_bytes is None else [_memory(memory_bytes / seconds, device)]
    found += [
        _reach(name, unit, amount / seconds, device) for name, unit, amount in _amounts(counters, device)
    ]
    return tuple(found)


def nearest(found: tuple[Reach, ...]) -> Reach | None:
    """The ceiling that is closest; None when none is known."""
    return max((r for r in found if r.fraction), key=lambda r: r.fraction or 0.0, default=None)


def matrix_time_share(found: tuple[Reach, ...], device: Device) -> float | None:
    """The part of the time that the matrix units need at their peak, all types together; None without matrix work."""
    shares = []
    for reach in found:
        if reach.name.startswith("matrix_") and reach.per_s:
            ceiling = device.ceilings.get(reach.name)
            if ceiling is None:
                return None
            shares.append(reach.per_s / (ceiling.peak_per_s or ceiling.per_s))
    return sum(shares) if shares else None


def _amounts(counters: Mapping[str, float], device: Device) -> Iterator[tuple[str, Unit, float]]:
    table = metric_table(device.arch)
    for level, name in _BYTES if table is not None else ():
        value = evaluate(name, counters, table.names) if table is not None else None
        if value is not None and not isinstance(value, Missing) and value > 0:
            yield level, "B/s", value
    for kind in _VECTOR:
        parts = [
            counters.get(f"SQ_INSTS_VALU_{operation}_{kind}") for operation in ("ADD", "MUL", "TRANS", "FMA")
        ]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts) and (total := sum(known) + known[-1]):
            yield f"vector_{kind.lower()}", "FLOP/s", _LANES * total
    for suffix, (name, unit) in _MATRIX.items():
        if count := counters.get(f"SQ_INSTS_VALU_MFMA_MOPS_{suffix}"):
            yield name, unit, _PER_MOP * count
    for name, counter in _INSTRUCTIONS:
        if count := counters.get(counter):
            yield name, "instructions/s", count


def _memory(per_s: float, device: Device) -> Reach:
    """Traffic behind the L2: that of memory, or of the cache in front of it where it is more than memory can."""
    hbm = device.ceilings.get("hbm")
    most = None if hbm is None else max(hbm.per_s, hbm.peak_per_s or 0.0)
    cached = most is not None and per_s > most and "mall" in device.ceilings
    return _reach("mall" if cached else "hbm", "B/s", per_s, device)


def _reach(name: str, unit: Unit, per_s: float, device: Device) -> Reach:
    ceiling = device.ceilings.get(name)
    if ceiling is None:
        return Reach(name, unit, per_s, None, None, None, None)
    most, basis = ceiling.per_s, ceiling.basis
    source = ceiling.source
    if per_s > most and ceiling.peak_per_s is not None:
        most, basis, source = ceiling.peak_per_s, "computed", "the sum of its units"
    return Reach(name, unit, per_s, most, per_s / most, basis, source)
