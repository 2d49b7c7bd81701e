"""More rows as in isa_rows: the steps of a division, cube maps, sums of products, stochastic rounding."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from tests.emulator.isa_oracle import (
    FORMATS,
    Oracle,
    add,
    decode,
    encode,
    fma,
    mul,
    rounded,
    rounded_or_special,
    two_to,
)
from tests.emulator.isa_rows import Row, halves, logarithm, power_of_two, row
from tests.emulator.isa_rows_rare import FORMATS as EIGHT_BIT
from tests.emulator.isa_rows_rare import nearest, positive_codes

# Numerators and denominators farther apart than this are scaled; a division's result below is zero.
FAR = {"f32": 96, "f64": 768}
TINY = {"f32": 23, "f64": 53}
FACTOR = {"f32": 64, "f64": 128}
UNDERFLOW = {"f32": -150, "f64": -1075}


def exponent_field(value: float, kind: str) -> int:
    mantissa, bits, _ = FORMATS[kind]
    return encode(value, kind) >> mantissa & (1 << bits) - 1


def is_denormal(exact: Fraction, kind: str) -> bool:
    """Whether the number, rounded to the format, is neither zero nor normal."""
    bits = FORMATS[kind][1]
    smallest = two_to(2 - (1 << (bits - 1)))
    return 0 < abs(Fraction(rounded(exact, kind))) < smallest


def times_power(value: float, power: int, kind: str) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    return rounded(Fraction(value) * two_to(power), kind)


def division_scale(kind: str) -> Callable[[float, float, float], tuple[float, bool]]:
    """v_div_scale of (operand to scale, denominator, numerator): scaled operand, and whether v_div_fmas undoes it."""
    up = FACTOR[kind]

    def of(x: float, denominator: float, numerator: float) -> tuple[float, bool]:
        if denominator == 0 or numerator == 0:
            return math.nan, False
        distance = exponent_field(numerator, kind) - exponent_field(denominator, kind)
        if distance >= FAR[kind]:
            return (times_power(x, up, kind) if x == denominator else x), True
        if math.isfinite(denominator) and is_denormal(Fraction(denominator), kind):
            return times_power(x, up, kind), False
        tiny_reciprocal = math.isfinite(denominator) and is_denormal(1 / Fraction(denominator), kind)
        both = math.isfinite(denominator) and math.isfinite(numerator)
        tiny_quotient = both and is_denormal(Fraction(numerator) / Fraction(denominator), kind)
        if tiny_reciprocal and tiny_quotient:
            # The denominator goes down, so that its reciprocal is normal; the numerator stays.
            return (times_power(x, -up, kind) if x == denominator else x), True
        if tiny_reciprocal:
            return times_power(x, -up, kind), False
        if tiny_quotient:
            return (times_power(x, up, kind) if x == numerator else x), True
        if exponent_field(numerator, kind) <= TINY[kind]:
            return times_power(x, up, kind), False
        return x, False

    return of


def division_sum(kind: str) -> Callable[[float, float, float, int], float]:
    """v_div_fmas: a * b + c rounded once, with the factor of v_div_scale taken back where VCC is set."""
    bias = (1 << (FORMATS[kind][1] - 1)) - 1

    def of(a: float, b: float, c: float, vcc: int) -> float:
        if not vcc or not all(math.isfinite(v) for v in (a, b, c)):
            return fma(a, b, c, kind)
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            return fma(a, b, c, kind)
        power = FACTOR[kind] if exponent_field(c, kind) > bias else -FACTOR[kind]
        return rounded(exact * two_to(power), kind, exact < 0)

    return of


def division_end(kind: str) -> Callable[[float, float, float], float]:
    """v_div_fixup of (quotient, denominator, numerator): special cases and the sign."""

    def of(quotient: float, denominator: float, numerator: float) -> float:
        if math.isnan(numerator) or math.isnan(denominator):
            return math.nan
        sign = math.copysign(1, numerator) * math.copysign(1, denominator)
        if denominator == numerator == 0 or (math.isinf(denominator) and math.isinf(numerator)):
            return math.nan
        if denominator == 0 or math.isinf(numerator):
            return math.copysign(math.inf, sign)
        if math.isinf(denominator) or numerator == 0:
            return math.copysign(0.0, sign)
        if kind in UNDERFLOW:
            if exponent_field(numerator, kind) - exponent_field(denominator, kind) < UNDERFLOW[kind]:
                return math.copysign(0.0, sign)
            if math.isnan(quotient):  # the steps before overflowed
                return math.copysign(math.inf, sign)
        return math.nan if math.isnan(quotient) else math.copysign(quotient, sign)

    return of


@functools.cache
def two_over_pi(bits: int) -> int:
    """floor(2 / pi * 2^bits), with pi by Machin's formula in whole numbers."""
    guard = 64
    one = 1 << (bits + guard)

    def inverse_tangent(x: int) -> int:
        total, power, n, sign = 0, one // x, 1, 1
        while power:
            total += sign * (power // n)
            power //= x * x
            n, sign = n + 2, -sign
        return total

    pi = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return ((2 * one << bits) // pi) & ((1 << bits) - 1)


def part_of_two_over_pi(value: float, segment: int) -> float:
    """v_trig_preop: 53 bits of 2 / pi beginning where an argument of this exponent needs them."""
    exponent = exponent_field(value, "f64")
    shift = (segment & 31) * 53 + max(0, exponent - 1077)
    digits = two_over_pi(1201)
    chunk = (digits >> 1148 - shift if shift <= 1148 else digits << shift - 1148) & ((1 << 53) - 1)
    if chunk == 0:
        return 0.0
    return rounded(Fraction(chunk) * Fraction(2) ** (-53 - shift + (128 if exponent >= 1968 else 0)), "f64")


def cube(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Face, s, t and twice the major axis; z outranks y outranks x."""
    if abs(z) >= abs(x) and abs(z) >= abs(y):
        return (5.0 if z < 0 else 4.0), (-x if z < 0 else x), -y, mul(2.0, z, "f32")
    if abs(y) >= abs(x):
        return (3.0 if y < 0 else 2.0), x, (-z if y < 0 else z), mul(2.0, y, "f32")
    return (1.0 if x < 0 else 0.0), (z if x < 0 else -z), -y, mul(2.0, x, "f32")


def products_of_halves(a: int, b: int, c: float) -> float:
    """The low halves' product is added first, then the high ones', each sum rounded once; denormal singles are zero."""
    (a0, a1), (b0, b1) = halves(a, "f16"), halves(b, "f16")
    return normal(fma(float(a1), float(b1), fma(float(a0), float(b0), normal(c), "f32"), "f32"))


def normal(single: float) -> float:
    return math.copysign(0.0, single) if abs(single) < 2.0**-126 else single


def stochastic(name: str, position: int) -> Callable[[float, int, int], int]:
    """v_cvt_sr_*: noise as wide as the mantissa bits that are dropped is added before they are cut off."""
    mantissa, bias = EIGHT_BIT[name]
    dropped = 23 - mantissa
    codes = positive_codes(mantissa, bias)

    def of(value: float, noise: int, old: int) -> int:
        bits, byte = encode(value, "f32"), 0x80
        if bits >> 23 & 0xFF != 0xFF:
            moved = (bits & 0x7FFFFFFF) + (noise >> 32 - dropped) >> dropped << dropped
            if moved >> 23 != 0xFF:
                size = Fraction(decode(moved, "f32"))
                best = nearest(codes, size)
                beyond = codes[-1][0] + (codes[-1][0] - codes[-2][0]) / 2
                byte = 0x80 if size >= beyond else best[1] | (0x80 if bits >> 31 and best[1] else 0)
        return old & ~(0xFF << 8 * position) | byte << 8 * position

    return of


def on_half(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: rounded_or_special(function(value), "f16")


def all_helper_rows() -> list[Row]:
    """Every row of this file."""
    return [*division(), *others(), *only_gfx90a()]


def only_gfx90a() -> Iterator[Row]:
    """Multiply-adds that round twice, which gfx942 has no longer."""

    def twice(a: float, b: float, c: float) -> float:
        return add(mul(a, b, "f32"), c, "f32")

    def legacy(a: float, b: float, c: float) -> float:
        return add(0.0 if 0 in (a, b) else mul(a, b, "f32"), c, "f32")

    def of(text: str, ins: str, oracle: Oracle, accumulates: bool = False) -> Row:
        return row(text, "f32", ins, oracle, accumulates=accumulates, target="gfx90a")

    pi = decode(0x40490FDB, "f32")
    yield of("v_mac_f32_e32 {d}, {a}, {b}", "f32 f32 f32", twice, accumulates=True)
    yield of("v_mad_f32 {d}, {a}, {b}, {c}", "f32 f32 f32", twice)
    yield of("v_mad_legacy_f32 {d}, {a}, {b}, {c}", "f32 f32 f32", legacy)
    yield of("v_madmk_f32 {d}, {a}, 0x40490fdb, {b}", "f32 f32", lambda a, b: twice(a, pi, b))
    yield of("v_madak_f32 {d}, {a}, {b}, 0x40490fdb", "f32 f32", lambda a, b: twice(a, b, pi))


def division() -> Iterator[Row]:
    """The steps between which compilers put Newton's iterations."""
    for kind in ("f32", "f64"):
        three = f"{kind} {kind} {kind}"
        scale = division_scale(kind)
        # The first operand of a real division is the denominator or the numerator.
        for operands, of in (("{a}, {a}, {b}", lambda a, b, f=scale: f(a, a, b)),
                             ("{b}, {a}, {b}", lambda a, b, f=scale: f(b, a, b))):  # fmt: skip
            yield row(f"v_div_scale_{kind} {{d}}, {{o}}, {operands}", kind, f"{kind} {kind}", of)
        yield row(f"v_div_fixup_{kind} {{d}}, {{a}}, {{b}}, {{c}}", kind, three, division_end(kind))
        line = f"v_div_fmas_{kind} {{d}}, {{a}}, {{b}}, {{c}}"
        yield row(line, kind, three + " mask", division_sum(kind))
    for name in ("v_div_fixup_f16", "v_div_fixup_legacy_f16"):
        yield row(f"{name} {{d}}, {{a}}, {{b}}, {{c}}", "f16", "f16 f16 f16", division_end("f16"))
    yield row("v_trig_preop_f64 {d}, {a}, {b}", "f64", "f64 u32", part_of_two_over_pi)


def others() -> Iterator[Row]:
    """Cube maps, sums of products, stochastic rounding, transcendental functions of halves."""
    for place, name in enumerate(("id", "sc", "tc", "ma")):
        line = f"v_cube{name}_f32 {{d}}, {{a}}, {{b}}, {{c}}"
        yield row(line, "f32", "f32 f32 f32", lambda a, b, c, n=place: cube(a, b, c)[n])
    yield row("v_dot2_f32_f16 {d}, {a}, {b}, {c}", "f32", "pair pair f32", products_of_halves)
    line = "v_dot2c_f32_f16_e32 {d}, {a}, {b}"
    yield row(line, "f32", "pair pair f32", products_of_halves, accumulates=True)
    for name in EIGHT_BIT:
        for position, sel in enumerate(("", " op_sel:[0,0,1,0]", " op_sel:[0,0,0,1]", " op_sel:[0,0,1,1]")):
            line = f"v_cvt_sr_{name}_f32 {{d}}, {{a}}, {{b}}{sel}"
            yield row(line, "u32", "f32 u32 u32", stochastic(name, position), accumulates=True)
    yield row("v_exp_f16_e32 {d}, {a}", "f16", "f16", on_half(power_of_two), 1)
    yield row("v_log_f16_e32 {d}, {a}", "f16", "f16", on_half(logarithm), 1)
    yield row("v_exp_legacy_f32_e32 {d}, {a}", "f32", "f32", power_of_two, 1)
    yield row("v_log_legacy_f32_e32 {d}, {a}", "f32", "f32", logarithm, 1)
