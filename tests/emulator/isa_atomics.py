"""What the atomic instructions do to one memory cell, on Python numbers: new value of (memory, data, compare)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.emulator.isa_oracle import add, decode, encode
from tests.emulator.isa_rows import halves, maximum, minimum

Update = Callable[[int, int, int], int]
"""Bit patterns in and out, as wide as the cell."""


@dataclass(frozen=True)
class Atomic:
    """One operation on `width` bits; `two` takes a second data operand after the first."""

    name: str
    width: int
    update: Update
    two: bool = False
    exact: bool = True  # integers: the order of lanes may still matter, NaN payloads do not


def _signed(a: int, width: int) -> int:
    return a - (1 << width) if a >> (width - 1) else a


def _integers(width: int) -> dict[str, Update]:
    def by_sign(choose: Callable[[int, int], int]) -> Update:
        return lambda m, d, c: choose(_signed(m, width), _signed(d, width)) & ((1 << width) - 1)

    mask = (1 << width) - 1
    return {
        "swap": lambda m, d, c: d,
        "add": lambda m, d, c: m + d & mask,
        "sub": lambda m, d, c: m - d & mask,
        "smin": by_sign(min),
        "smax": by_sign(max),
        "umin": lambda m, d, c: min(m, d),
        "umax": lambda m, d, c: max(m, d),
        "and": lambda m, d, c: m & d,
        "or": lambda m, d, c: m | d,
        "xor": lambda m, d, c: m ^ d,
        "inc": lambda m, d, c: 0 if m >= d else m + 1,
        "dec": lambda m, d, c: d if m == 0 or m > d else m - 1,
    }


def _floats(kind: str, function: Callable[[float, float], float]) -> Update:
    return lambda m, d, c: encode(function(float(decode(m, kind)), float(decode(d, kind))), kind)


def _reverse_subtract(width: int) -> Update:
    return lambda m, d, c: d - m & ((1 << width) - 1)


def _add(kind: str) -> Callable[[float, float], float]:
    return lambda a, b: add(a, b, kind)


def _sum_of_halves(m: int, d: int, c: int) -> int:
    pairs = zip(halves(m, "f16"), halves(d, "f16"), strict=True)
    low, high = (encode(add(a, b, "f16"), "f16") for a, b in pairs)
    return low | high << 16


def _bfloat_sum(m: int, d: int) -> int:
    total = encode(add(float(decode(m << 16, "f32")), float(decode(d << 16, "f32")), "f32"), "f32")
    return total + 0x7FFF + (total >> 16 & 1) >> 16 & 0xFFFF


def _sum_of_bfloats(m: int, d: int, c: int) -> int:
    return _bfloat_sum(m & 0xFFFF, d & 0xFFFF) | _bfloat_sum(m >> 16, d >> 16) << 16


def vector_atomics() -> Iterator[Atomic]:
    """The names that follow `global_atomic_`, `flat_atomic_` and `buffer_atomic_`."""
    for width, suffix in ((32, ""), (64, "_x2")):
        for name, update in _integers(width).items():
            yield Atomic(name + suffix, width, update)
        yield Atomic("cmpswap" + suffix, width, lambda m, d, c: d if m == c else m, two=True)
    yield Atomic("add_f32", 32, _floats("f32", lambda a, b: add(a, b, "f32")), exact=False)
    yield Atomic("add_f64", 64, _floats("f64", lambda a, b: add(a, b, "f64")), exact=False)
    yield Atomic("min_f64", 64, _floats("f64", minimum), exact=False)
    yield Atomic("max_f64", 64, _floats("f64", maximum), exact=False)
    yield Atomic("pk_add_f16", 32, _sum_of_halves, exact=False)
    yield Atomic("pk_add_bf16", 32, _sum_of_bfloats, exact=False)


def scalar_atomics() -> Iterator[Atomic]:
    """The names that follow `s_atomic_` and `s_buffer_atomic_`."""
    return (a for a in vector_atomics() if a.exact)


def lds_atomics() -> Iterator[Atomic]:
    """The DS names without their `_rtn`. Compare-and-swap has the expected value first there."""
    for width in (32, 64):
        integers = _integers(width)
        for name in ("add", "sub", "inc", "dec"):
            yield Atomic(f"ds_{name}_u{width}", width, integers[name])
        yield Atomic(f"ds_rsub_u{width}", width, _reverse_subtract(width))
        for name in ("min", "max"):
            yield Atomic(f"ds_{name}_i{width}", width, integers["s" + name])
            yield Atomic(f"ds_{name}_u{width}", width, integers["u" + name])
            kind = f"f{width}"
            yield Atomic(
                f"ds_{name}_f{width}",
                width,
                _floats(kind, minimum if name == "min" else maximum),
                exact=False,
            )
        for name in ("and", "or", "xor"):
            yield Atomic(f"ds_{name}_b{width}", width, integers[name])
        yield Atomic(f"ds_add_f{width}", width, _floats(kind, _add(kind)), exact=False)
        yield Atomic(f"ds_mskor_b{width}", width, lambda m, d, c: m & ~d | c, two=True)
        yield Atomic(f"ds_cmpst_b{width}", width, lambda m, d, c: c if m == d else m, two=True)
        yield Atomic(f"ds_cmpst_f{width}", width, _float_swap(kind), two=True, exact=False)
        yield Atomic(f"ds_wrxchg_b{width}", width, lambda m, d, c: d)
    yield Atomic("ds_wrap_b32", 32, lambda m, d, c: (m - d if m >= d else m + c) & 0xFFFFFFFF, two=True)
    yield Atomic("ds_pk_add_f16", 32, _sum_of_halves, exact=False)
    yield Atomic("ds_pk_add_bf16", 32, _sum_of_bfloats, exact=False)


def _float_swap(kind: str) -> Update:
    return lambda m, d, c: c if decode(m, kind) == decode(d, kind) else m


def returning(name: str) -> str:
    """ds_add_u32 -> ds_add_rtn_u32."""
    head, _, tail = name.rpartition("_")
    return f"{head}_rtn_{tail}"
