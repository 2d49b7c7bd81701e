"""More rows as in isa_rows: instructions that compilers emit seldom, and the 8-bit float conversions."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from tests.emulator.isa_oracle import add, encode, fma, mul, rounded_or_special, two_to
from tests.emulator.isa_rows import (
    Row,
    byte_distance,
    bytes_of,
    clamp,
    dot,
    halves,
    maximum,
    minimum,
    packed,
    row,
)

M16, M32 = 0xFFFF, 0xFFFFFFFF


def _masked_distance(a: int, b: int) -> int:
    """Bytes whose reference `b` is zero do not count."""
    return sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True) if y)


def _quad(distance: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    def of(a: int, b: int, c: int) -> int:
        parts = ((distance(a >> 8 * n & M32, b) + (c >> 16 * n)) & M16 for n in range(4))
        return sum(p << 16 * n for n, p in enumerate(parts))

    return of


def _normalised(value: float, signed: bool) -> int:
    if math.isnan(value):
        return 0
    low = -1.0 if signed else 0.0
    return round(Fraction(min(max(value, low), 1.0)) * (32767 if signed else 65535)) & M16


def _lerp(a: int, b: int, c: int) -> int:
    parts = ((x + y + (z & 1)) >> 1 for x, y, z in zip(bytes_of(a), bytes_of(b), bytes_of(c), strict=True))
    return sum(p << 8 * n for n, p in enumerate(parts))


def _byte(value: float) -> int:
    if math.isnan(value):
        return 0
    return 0 if value <= 0 else 255 if value >= 255 else round(Fraction(value))


@functools.cache
def eight_bit(byte: int, mantissa: int, bias: int) -> float:
    """gfx942's 8-bit floats: 0x80 is the only NaN; no infinity, no negative zero."""
    if byte == 0x80:
        return math.nan
    exponent, fraction = byte >> mantissa & (1 << (7 - mantissa)) - 1, byte & (1 << mantissa) - 1
    size = Fraction(fraction, 1 << mantissa) * two_to(1 - bias)
    if exponent:
        size = (1 + Fraction(fraction, 1 << mantissa)) * two_to(exponent - bias)
    return float(-size if byte & 0x80 else size)


@functools.cache
def positive_codes(mantissa: int, bias: int) -> list[tuple[Fraction, int]]:
    """Value and code of every number that is not negative, in order."""
    return sorted((abs(Fraction(eight_bit(c, mantissa, bias))), c) for c in range(128))


def nearest(codes: list[tuple[Fraction, int]], exact: Fraction) -> tuple[Fraction, int]:
    """Of two that are equally near, the even code."""
    place = bisect.bisect(codes, exact, key=lambda v: v[0])
    return min(codes[max(place - 1, 0) : place + 1], key=lambda v: (abs(v[0] - exact), v[1] & 1))


def to_eight_bit(value: float, mantissa: int, bias: int) -> int:
    """Nearest even; what does not fit is NaN."""
    if not math.isfinite(value):
        return 0x80
    codes = positive_codes(mantissa, bias)
    largest, below = codes[-1][0], codes[-2][0]
    exact = abs(Fraction(value))
    if exact >= largest + (largest - below) / 2:  # a tie, too: the largest code is odd
        return 0x80
    best = nearest(codes, exact)
    return best[1] | (0x80 if value < 0 and best[1] else 0)


FORMATS = {"fp8": (3, 8), "bf8": (2, 16)}


def _half_turns(function: Callable[[float], float]) -> Callable[[float], float]:
    def of(value: float) -> float:
        if not math.isfinite(value):
            return math.nan
        return rounded_or_special(function(float(Fraction(value) % 1) * 2 * math.pi), "f16")

    return of


def sixteen_bit() -> Iterator[Row]:
    """16-bit integers and halves."""
    signed: dict[str, Callable[[int, int], int]] = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b}
    for name, function in signed.items():
        line = f"v_{name}_i16 {{d}}, {{a}}, {{b}}"
        yield row(line, "i16", "i16 i16", function)
        yield row(line + " clamp", "i16", "i16 i16", lambda a, b, f=function: clamp(f(a, b), -32768, 32767))
        line = f"v_{name}_u16_e64 {{d}}, {{a}}, {{b}} clamp"
        yield row(line, "u16", "u16 u16", lambda a, b, f=function: clamp(f(a, b), 0, M16))
        for kind, low, high in (("i16", -32768, 32767), ("u16", 0, M16)):
            line = f"v_pk_{name}_{kind} {{d}}, {{a}}, {{b}}"
            yield row(line, "u32", "u32 u32", packed(kind, function))
            limited = packed(kind, lambda a, b, f=function, lo=low, hi=high: clamp(f(a, b), lo, hi))
            yield row(line + " clamp", "u32", "u32 u32", limited)
    yield row("v_subrev_u16_e64 {d}, {a}, {b} clamp", "u16", "u16 u16", lambda a, b: max(b - a, 0))
    whole: dict[str, Callable[[int, int], int]] = {**signed, "subrev": lambda a, b: b - a}
    for name, function in whole.items():
        line = f"v_{name}_u16_sdwa {{d}}, {{a}}, {{b}} clamp dst_sel:WORD_1 dst_unused:UNUSED_PAD"
        limited = lambda a, b, f=function: clamp(f(a & 0xFF, b >> 16), 0, M16) << 16  # noqa: E731
        yield row(f"{line} src0_sel:BYTE_0 src1_sel:WORD_1", "u32", "u32 u32", limited)
        line = f"v_{name}_u32_sdwa {{d}}, {{a}}, {{b}} clamp dst_sel:DWORD dst_unused:UNUSED_PAD"
        limited = lambda a, b, f=function: clamp(f(a, b >> 24), 0, M32)  # noqa: E731
        yield row(f"{line} src0_sel:DWORD src1_sel:BYTE_3", "u32", "u32 u32", limited)
    line = "v_sub_i32 {d}, {a}, {b} clamp"
    yield row(line, "i32", "i32 i32", lambda a, b: clamp(a - b, -(2**31), 2**31 - 1))
    yield row("v_subrev_u32_e64 {d}, {a}, {b} clamp", "u32", "u32 u32", lambda a, b: max(b - a, 0))
    for kind in ("i16", "u16"):
        three = f"{kind} {kind} {kind}"
        yield row(f"v_max3_{kind} {{d}}, {{a}}, {{b}}, {{c}}", kind, three, max)
        yield row(f"v_min3_{kind} {{d}}, {{a}}, {{b}}, {{c}}", kind, three, min)
    yield row(
        "v_max3_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", lambda a, b, c: maximum(maximum(a, b), c)
    )
    yield row(
        "v_min3_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", lambda a, b, c: minimum(minimum(a, b), c)
    )
    for name in ("v_mad_i16", "v_mad_legacy_i16"):
        yield row(f"{name} {{d}}, {{a}}, {{b}}, {{c}}", "i16", "i16 i16 i16", lambda a, b, c: a * b + c)
    yield row("v_mad_i32_i16 {d}, {a}, {b}, {c}", "i32", "i16 i16 i32", lambda a, b, c: a * b + c)
    yield row("v_mad_u32_u16 {d}, {a}, {b}, {c}", "u32", "u16 u16 u32", lambda a, b, c: a * b + c)
    yield row("v_mad_u32_u24 {d}, {a}, {b}, {c} clamp", "u32", "u32 u32 u32", _mad24_clamped)
    yield row("v_pk_ashrrev_i16 {d}, {a}, {b}", "u32", "u32 u32", packed("i16", lambda n, a: a >> (n & 15)))
    yield row("v_pk_min_i16 {d}, {a}, {b}", "u32", "u32 u32", packed("i16", min))
    yield row(
        "v_pk_mad_i16 {d}, {a}, {b}, {c}", "u32", "u32 u32 u32", packed("i16", lambda a, b, c: a * b + c)
    )
    yield row("v_sin_f16_e32 {d}, {a}", "f16", "f16", _half_turns(math.sin), 2)
    yield row("v_cos_f16_e32 {d}, {a}", "f16", "f16", _half_turns(math.cos), 2)


def _mad24_clamped(a: int, b: int, c: int) -> int:
    return min((a & 0xFFFFFF) * (b & 0xFFFFFF) + c, M32)


def sums() -> Iterator[Row]:
    """Distances of bytes, dot products, averages."""
    yield row(
        "v_msad_u8 {d}, {a}, {b}, {c}", "u32", "u32 u32 u32", lambda a, b, c: _masked_distance(a, b) + c
    )
    yield row("v_qsad_pk_u16_u8 {d}, {a}, {b}, {c}", "u64", "u64 u32 u64", _quad(byte_distance))
    yield row("v_mqsad_pk_u16_u8 {d}, {a}, {b}, {c}", "u64", "u64 u32 u64", _quad(_masked_distance))
    yield row(
        "v_sad_u16 {d}, {a}, {b}, {c}",
        "u32",
        "u32 u32 u32",
        lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c,
    )
    yield row("v_lerp_u8 {d}, {a}, {b}, {c}", "u32", "u32 u32 u32", _lerp)
    for name, width, is_signed in (
        ("i32_i16", 16, True),
        ("u32_u16", 16, False),
        ("i32_i8", 8, True),
        ("u32_u8", 8, False),
        ("i32_i4", 4, True),
        ("u32_u4", 4, False),
    ):
        kind, exact = ("i32" if is_signed else "u32"), dot(width, is_signed)
        line = f"v_dot{32 // width}_{name} {{d}}, {{a}}, {{b}}, {{c}}"
        low, high = (-(2**31), 2**31 - 1) if is_signed else (0, M32)
        yield row(line, kind, f"u32 u32 {kind}", exact)
        yield row(
            line + " clamp",
            kind,
            f"u32 u32 {kind}",
            lambda a, b, c, f=exact, lo=low, hi=high: clamp(f(a, b, c), lo, hi),
        )
        if is_signed:
            short = f"v_dot{32 // width}c_{name} {{d}}, {{a}}, {{b}}"
            yield row(short, kind, f"u32 u32 {kind}", exact, accumulates=True)
    yield row(
        "v_sat_pk_u8_i16_e32 {d}, {a}",
        "u32",
        "u32",
        lambda a: sum(clamp(int(h), 0, 255) << 8 * n for n, h in enumerate(halves(a, "i16"))),
    )


def conversions() -> Iterator[Row]:
    """To normalised integers, bytes and 8-bit floats, and back."""
    for letter, is_signed in (("i", True), ("u", False)):
        for kind in ("f32", "f16"):
            yield row(
                f"v_cvt_pknorm_{letter}16_{kind} {{d}}, {{a}}, {{b}}",
                "u32",
                f"{kind} {kind}",
                lambda a, b, s=is_signed: _normalised(a, s) | _normalised(b, s) << 16,
            )
        line = f"v_cvt_norm_{letter}16_f16_e32 {{d}}, {{a}}"
        yield row(line, "u16", "f16", lambda a, s=is_signed: _normalised(a, s))
    yield row("v_cvt_off_f32_i4_e32 {d}, {a}", "f32", "u32", lambda a: ((a & 15 ^ 8) - 8) / 16)
    yield row(
        "v_cvt_pk_u8_f32 {d}, {a}, {b}, {c}",
        "u32",
        "f32 u32 u32",
        lambda a, n, c: c & ~(255 << 8 * (n & 3)) | _byte(a) << 8 * (n & 3),
    )
    yield row(
        "v_cvt_pkaccum_u8_f32 {d}, {a}, {b}",
        "u32",
        "f32 u32 u32",
        lambda a, n, d: d & ~(255 << 8 * (n & 3)) | _byte(a) << 8 * (n & 3),
        accumulates=True,
    )

    def fnuz(mantissa: int, bias: int) -> tuple[Callable[[int], float], Callable[[float], int]]:
        return lambda byte: eight_bit(byte, mantissa, bias), lambda value: to_eight_bit(value, mantissa, bias)

    yield from eight_bit_rows({name: fnuz(*numbers) for name, numbers in FORMATS.items()})


def eight_bit_rows(
    formats: Mapping[str, tuple[Callable[[int], float], Callable[[float], int]]], target: str = "gfx942"
) -> Iterator[Row]:
    """Conversions of 8-bit floats: of each format, what a byte means and which byte a number becomes."""
    for name, (wide, narrow) in formats.items():
        yield row(
            f"v_cvt_f32_{name}_e32 {{d}}, {{a}}", "f32", "u32", lambda a, w=wide: w(a & 255), target=target
        )
        yield row(
            f"v_cvt_pk_f32_{name}_e32 {{d}}, {{a}}",
            "pf32",
            "u32",
            lambda a, w=wide: encode(w(a & 255), "f32") | encode(w(a >> 8 & 255), "f32") << 32,
            target=target,
        )
        yield row(
            f"v_cvt_pk_{name}_f32 {{d}}, {{a}}, {{b}}",
            "u32",
            "f32 f32 u32",
            lambda a, b, d, n=narrow: d & 0xFFFF0000 | n(a) | n(b) << 8,
            accumulates=True,
            target=target,
        )
        yield row(
            f"v_cvt_pk_{name}_f32 {{d}}, {{a}}, {{b}} op_sel:[0,0,1]",
            "u32",
            "f32 f32 u32",
            lambda a, b, d, n=narrow: d & 0xFFFF | (n(a) | n(b) << 8) << 16,
            accumulates=True,
            target=target,
        )


def multiply_adds() -> Iterator[Row]:
    """Old multiply-adds round twice; mixed ones take halves and singles."""

    def twice(a: float, b: float, c: float) -> float:
        return add(mul(a, b, "f16"), c, "f16")

    yield row("v_mac_f16_e32 {d}, {a}, {b}", "f16", "f16 f16 f16", twice, accumulates=True)
    for name in ("v_mad_legacy_f16", "v_mad_f16"):
        yield row(f"{name} {{d}}, {{a}}, {{b}}, {{c}}", "f16", "f16 f16 f16", twice)
    yield row("v_madmk_f16 {d}, {a}, 0x4248, {b}", "f16", "f16 f16", lambda a, b: twice(a, 3.140625, b))
    yield row("v_madak_f16 {d}, {a}, {b}, 0x4248", "f16", "f16 f16", lambda a, b: twice(a, b, 3.140625))
    yield row(
        "v_fma_legacy_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", lambda a, b, c: fma(a, b, c, "f16")
    )
    yield row(
        "v_fma_mixlo_f16 {d}, {a}, {b}, {c}",
        "f16",
        "f32 f32 f32",
        lambda a, b, c: rounded_or_special(fma(a, b, c, "f32"), "f16"),
    )
    yield row(
        "v_pk_fmac_f16 {d}, {a}, {b}",
        "pf16",
        "pair pair pair",
        packed("f16", lambda a, b, d: fma(a, b, d, "f16")),
        accumulates=True,
    )
    yield row(
        "v_pk_mov_b32 {d}, {a}, {b} op_sel:[1,0]",
        "u64",
        "u64 u64",
        lambda a, b: a >> 32 | (b & M32) << 32,
    )


def comparisons() -> Iterator[Row]:
    """The comparisons that are always false or true."""
    for kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
        for name, want in (("f", False), ("t", True)):
            line = f"v_cmp_{name}_{kind}_e64 {{o}}, {{a}}, {{b}}"
            yield row(line, None, f"{kind} {kind}", lambda a, b, w=want: w)


def all_rare_rows() -> list[Row]:
    """Every row of this file."""
    return [*sixteen_bit(), *sums(), *conversions(), *multiply_adds(), *comparisons()]
