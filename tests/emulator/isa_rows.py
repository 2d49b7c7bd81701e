"""The vector instructions' meaning, once more and independently, on Python numbers: one row per instruction.

A row is assembly text with places for operands, the destination's type, the sources' types and the function.
`{d}` destination, `{a} {b} {c}` sources, `{m}` lane mask source, `{o}` lane mask result.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from tests.emulator.isa_oracle import (
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

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class Row:
    """One instruction: `out` None means that the result is a lane mask."""

    text: str
    out: str | None
    ins: tuple[str, ...]
    oracle: Oracle
    ulps: int = 0
    accumulates: bool = False
    target: str = "gfx942"


def row(
    text: str,
    out: str | None,
    ins: str,
    oracle: Oracle,
    ulps: int = 0,
    accumulates: bool = False,
    target: str = "gfx942",
) -> Row:
    return Row(text, out, tuple(ins.split()), oracle, ulps, accumulates, target)


def minimum(a: float, b: float) -> float:
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    return min(a, b, key=lambda v: (v, math.copysign(1, v)))


def maximum(a: float, b: float) -> float:
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    return max(a, b, key=lambda v: (v, math.copysign(1, v)))


def median(a: float, b: float, c: float) -> float:
    if any(math.isnan(v) for v in (a, b, c)):
        return minimum(minimum(a, b), c)
    return sorted((a, b, c), key=lambda v: (v, math.copysign(1, v)))[1]


def saturated(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    return low if value <= low else high if value >= high else math.trunc(value)


def whole(value: float, how: Callable[[float], int]) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    return math.copysign(float(how(value)), value)


def nearest_even(value: float) -> int:
    return round(Fraction(value))


def fraction(value: float, kind: str) -> float:
    if not math.isfinite(value):
        return math.nan
    below_one = {"f32": 1 - 2.0**-24, "f64": 1 - 2.0**-53, "f16": 1 - 2.0**-11}[kind]
    exact = Fraction(value) - math.floor(Fraction(value))
    return min(rounded(exact, kind), below_one)


def reciprocal(value: float, kind: str) -> float:
    if math.isnan(value):
        return math.nan
    if value == 0:
        return math.copysign(math.inf, value)
    return math.copysign(0.0, value) if math.isinf(value) else rounded(1 / Fraction(value), kind)


def square_root(value: float, kind: str) -> float:
    if value == 0 or value == math.inf:
        return value
    if math.isnan(value) or value < 0:
        return math.nan
    scale = 2 ** (2 * 1200)
    return rounded(Fraction(math.isqrt((Fraction(value) * scale).__floor__()), 2**1200), kind)


def inverse_root(value: float, kind: str) -> float:
    root = square_root(value, "f64")
    if math.isnan(root):
        return math.nan
    return reciprocal(root, "f64") if kind == "f64" else rounded_or_special(reciprocal(root, "f64"), kind)


def power_of_two(value: float) -> float:
    if math.isnan(value):
        return value
    if value > 200:
        return math.inf
    return 0.0 if value < -200 else rounded(Fraction(2.0**value), "f32")


def logarithm(value: float) -> float:
    if math.isnan(value) or value < 0:
        return math.nan
    if value == 0:
        return -math.inf
    return value if math.isinf(value) else rounded_or_special(math.log2(value), "f32")


def turns(function: Callable[[float], float]) -> Callable[[float], float]:
    def of(value: float) -> float:
        if not math.isfinite(value):
            return math.nan
        # Quarter turns are taken off exactly: pi in floating point would leave 1e-16 where the result is 0.
        quarters = round(Fraction(value) * 4)
        angle = float(Fraction(value) - Fraction(quarters, 4)) * 2 * math.pi
        sine, cosine = math.sin(angle), math.cos(angle)
        around = [sine, cosine, -sine, -cosine]
        result = around[(quarters + (function is math.cos)) % 4]
        return rounded_or_special(result + 0.0, "f32")

    return of


def scaled(value: float, exponent: int, kind: str) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    return rounded(Fraction(value) * two_to(max(min(exponent, 3000), -3000)), kind)


def split(value: float) -> tuple[float, int]:
    return math.frexp(value) if math.isfinite(value) else (value, 0)


def class_bit(value: float, bits: int, kind: str) -> int:
    mantissa = {"f32": 23, "f64": 52, "f16": 10}[kind]
    if math.isnan(value):
        return 1 if bits >> (mantissa - 1) & 1 else 0
    negative = math.copysign(1, value) < 0
    if math.isinf(value):
        return 2 if negative else 9
    if value == 0:
        return 5 if negative else 6
    normal = abs(value) >= {"f32": 2.0**-126, "f64": 2.0**-1022, "f16": 2.0**-14}[kind]
    return (3 if negative else 8) if normal else (4 if negative else 7)


def of_class(kind: str) -> Oracle:
    return lambda bits, mask: bool(mask >> class_bit(float(decode(bits, kind)), bits, kind) & 1)


def sign24(a: int) -> int:
    a &= 0xFFFFFF
    return a - 0x1000000 if a & 0x800000 else a


def field(a: int, offset: int, width: int) -> int:
    return a >> (offset & 31) & ((1 << (width & 31)) - 1)


def signed_field(a: int, offset: int, width: int) -> int:
    """What lies above bit 31 is the sign."""
    n = width & 31
    part = field(a - (a >> 31 << 32), offset, n)
    return part - (1 << n) if n and part >> (n - 1) else part


def permuted(a: int, b: int, select: int) -> int:
    data = (a << 32 | b).to_bytes(8, "little")
    out = bytearray()
    for s in select.to_bytes(4, "little"):
        if s >= 13:
            out.append(0xFF)
        elif s == 12:
            out.append(0)
        elif s >= 8:
            out.append(0xFF if data[2 * (s - 8) + 1] & 0x80 else 0)
        else:
            out.append(data[s])
    return int.from_bytes(out, "little")


def bytes_of(a: int) -> bytes:
    return a.to_bytes(4, "little")


def byte_distance(a: int, b: int) -> int:
    return sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True))


def leading(a: int, width: int = 32) -> int:
    return -1 if a == 0 else width - a.bit_length()


def trailing(a: int) -> int:
    return -1 if a == 0 else (a & -a).bit_length() - 1


def halves(a: int, kind: str) -> tuple[float | int, float | int]:
    return decode(a, kind), decode(a >> 16, kind)


def packed(kind: str, function: Callable[..., float | int]) -> Oracle:
    def both(*operands: int) -> int:
        lo = function(*(halves(o, kind)[0] for o in operands))
        hi = function(*(halves(o, kind)[1] for o in operands))
        return encode(lo, kind) | encode(hi, kind) << 16

    return both


def packed_singles(function: Callable[..., float]) -> Oracle:
    def both(*operands: int) -> int:
        lo = function(*(decode(o, "f32") for o in operands))
        hi = function(*(decode(o >> 32, "f32") for o in operands))
        return encode(lo, "f32") | encode(hi, "f32") << 32

    return both


def dot(width: int, is_signed: bool) -> Callable[[int, int, int], int]:
    def of(a: int, b: int, c: int) -> int:
        total = c
        for n in range(32 // width):
            x, y = (v >> (n * width) & ((1 << width) - 1) for v in (a, b))
            if is_signed:
                x, y = (v - (1 << width) if v >> (width - 1) else v for v in (x, y))
            total += x * y
        return total

    return of


def toward_zero_half(value: float) -> int:
    if not math.isfinite(value):
        return encode(value, "f16")
    nearest = rounded(Fraction(value), "f16", math.copysign(1, value) < 0)
    bits = encode(nearest, "f16")
    return bits - 1 if abs(nearest) > abs(value) else bits


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def floats() -> Iterator[Row]:
    """f32, f64 and f16 arithmetic."""
    yield row("v_add_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", lambda a, b: add(a, b, "f32"))
    yield row("v_sub_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", lambda a, b: add(a, -b, "f32"))
    yield row("v_subrev_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", lambda a, b: add(b, -a, "f32"))
    yield row("v_mul_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", lambda a, b: mul(a, b, "f32"))
    yield row("v_mul_f32_e64 {d}, -{a}, |{b}|", "f32", "f32 f32", lambda a, b: mul(-a, abs(b), "f32"))
    yield row(
        "v_add_f32_e64 {d}, -|{a}|, {b} clamp", "f32", "f32 f32", lambda a, b: unit(add(-abs(a), b, "f32"))
    )
    yield row(
        "v_mul_f32_e32 {d}, 0x3f8ccccd, {a}", "f32", "f32", lambda a: mul(1.10000002384185791015625, a, "f32")
    )
    yield row("v_mul_f32_e32 {d}, 0.5, {a}", "f32", "f32", lambda a: mul(0.5, a, "f32"))
    yield row(
        "v_mul_f32_e32 {d}, 0.15915494, {a}",
        "f32",
        "f32",
        lambda a: mul(0.15915493667125701904296875, a, "f32"),
    )
    yield row("v_add_f32_e32 {d}, -4.0, {a}", "f32", "f32", lambda a: add(-4.0, a, "f32"))
    yield row(
        "v_mul_legacy_f32_e64 {d}, {a}, {b}",
        "f32",
        "f32 f32",
        lambda a, b: 0.0 if 0 in (a, b) else mul(a, b, "f32"),
    )
    yield row("v_min_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", minimum)
    yield row("v_max_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", maximum)
    yield row(
        "v_min3_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", lambda a, b, c: minimum(minimum(a, b), c)
    )
    yield row(
        "v_max3_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", lambda a, b, c: maximum(maximum(a, b), c)
    )
    yield row("v_med3_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", median)
    yield row("v_fma_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", lambda a, b, c: fma(a, b, c, "f32"))
    yield row(
        "v_fma_f32 {d}, -{a}, {b}, |{c}|", "f32", "f32 f32 f32", lambda a, b, c: fma(-a, b, abs(c), "f32")
    )
    yield row(
        "v_fmac_f32_e32 {d}, {a}, {b}",
        "f32",
        "f32 f32 f32",
        lambda a, b, d: fma(a, b, d, "f32"),
        accumulates=True,
    )
    yield row(
        "v_fmac_f32_e64 {d}, -{a}, {b}",
        "f32",
        "f32 f32 f32",
        lambda a, b, d: fma(-a, b, d, "f32"),
        accumulates=True,
    )
    yield row(
        "v_fmamk_f32 {d}, {a}, 0x40490fdb, {b}",
        "f32",
        "f32 f32",
        lambda a, b: fma(a, decode(0x40490FDB, "f32"), b, "f32"),
    )
    yield row(
        "v_fmaak_f32 {d}, {a}, {b}, 0x40490fdb",
        "f32",
        "f32 f32",
        lambda a, b: fma(a, b, decode(0x40490FDB, "f32"), "f32"),
    )
    yield row("v_ldexp_f32 {d}, {a}, {b}", "f32", "f32 i32", lambda a, n: scaled(a, n, "f32"))
    yield row("v_rcp_f32_e32 {d}, {a}", "f32", "f32", lambda a: reciprocal(a, "f32"), 1)
    yield row("v_rcp_iflag_f32_e32 {d}, {a}", "f32", "f32", lambda a: reciprocal(a, "f32"), 1)
    yield row("v_sqrt_f32_e32 {d}, {a}", "f32", "f32", lambda a: square_root(a, "f32"), 1)
    yield row("v_rsq_f32_e32 {d}, {a}", "f32", "f32", lambda a: inverse_root(a, "f32"), 1)
    yield row("v_exp_f32_e32 {d}, {a}", "f32", "f32", power_of_two, 1)
    yield row("v_log_f32_e32 {d}, {a}", "f32", "f32", logarithm, 1)
    yield row("v_sin_f32_e32 {d}, {a}", "f32", "f32", turns(math.sin), 2)
    yield row("v_cos_f32_e32 {d}, {a}", "f32", "f32", turns(math.cos), 2)

    yield row("v_add_f64 {d}, {a}, {b}", "f64", "f64 f64", lambda a, b: add(a, b, "f64"))
    yield row("v_add_f64 {d}, -{a}, |{b}|", "f64", "f64 f64", lambda a, b: add(-a, abs(b), "f64"))
    yield row(
        "v_add_f64 {d}, {a}, 0.15915494309189532", "f64", "f64", lambda a: add(a, 0.15915494309189532, "f64")
    )
    yield row("v_mul_f64 {d}, {a}, {b}", "f64", "f64 f64", lambda a, b: mul(a, b, "f64"))
    yield row("v_mul_f64 {d}, {a}, 0.5", "f64", "f64", lambda a: mul(a, 0.5, "f64"))
    yield row("v_fma_f64 {d}, {a}, {b}, {c}", "f64", "f64 f64 f64", lambda a, b, c: fma(a, b, c, "f64"))
    yield row(
        "v_fmac_f64_e32 {d}, {a}, {b}",
        "f64",
        "f64 f64 f64",
        lambda a, b, d: fma(a, b, d, "f64"),
        accumulates=True,
    )
    yield row("v_min_f64 {d}, {a}, {b}", "f64", "f64 f64", minimum)
    yield row("v_max_f64 {d}, {a}, {b}", "f64", "f64 f64", maximum)
    yield row("v_ldexp_f64 {d}, {a}, {b}", "f64", "f64 i32", lambda a, n: scaled(a, n, "f64"))
    yield row("v_rcp_f64_e32 {d}, {a}", "f64", "f64", lambda a: reciprocal(a, "f64"), 1)
    yield row("v_sqrt_f64_e32 {d}, {a}", "f64", "f64", lambda a: square_root(a, "f64"), 1)
    yield row("v_rsq_f64_e32 {d}, {a}", "f64", "f64", lambda a: inverse_root(a, "f64"), 2)

    for kind in ("f32", "f64", "f16"):
        for name, how in (
            ("floor", math.floor),
            ("ceil", math.ceil),
            ("trunc", math.trunc),
            ("rndne", nearest_even),
        ):
            yield row(f"v_{name}_{kind}_e32 {{d}}, {{a}}", kind, kind, lambda a, how=how: whole(a, how))
        yield row(f"v_fract_{kind}_e32 {{d}}, {{a}}", kind, kind, lambda a, kind=kind: fraction(a, kind))
        yield row(f"v_frexp_mant_{kind}_e32 {{d}}, {{a}}", kind, kind, lambda a: split(a)[0])
        out = "i16" if kind == "f16" else "i32"
        yield row(f"v_frexp_exp_{out}_{kind}_e32 {{d}}, {{a}}", out, kind, lambda a: split(a)[1])
        unsigned = "u" + kind[1:]
        yield row(f"v_cmp_class_{kind}_e64 {{o}}, {{a}}, {{b}}", None, f"{unsigned} u32", of_class(kind))
        compare = {
            "lt": operator.lt,
            "eq": operator.eq,
            "le": operator.le,
            "gt": operator.gt,
            "ge": operator.ge,
            "lg": lambda a, b: a < b or a > b,
            "neq": operator.ne,
            "nlt": lambda a, b: not a < b,
            "nle": lambda a, b: not a <= b,
            "ngt": lambda a, b: not a > b,
            "nge": lambda a, b: not a >= b,
            "nlg": lambda a, b: not (a < b or a > b),
            "o": lambda a, b: a == a and b == b,
            "u": lambda a, b: a != a or b != b,
            "f": lambda a, b: False,
            "tru": lambda a, b: True,
        }
        for name, function in compare.items():
            yield row(f"v_cmp_{name}_{kind}_e32 vcc, {{a}}, {{b}}", None, f"{kind} {kind}", function)
            yield row(
                f"v_cmp_{name}_{kind}_e64 {{o}}, {{a}}, -{{b}}",
                None,
                f"{kind} {kind}",
                lambda a, b, f=function: f(a, -b),
            )

    yield row("v_add_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", lambda a, b: add(a, b, "f16"))
    yield row("v_sub_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", lambda a, b: add(a, -b, "f16"))
    yield row("v_subrev_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", lambda a, b: add(b, -a, "f16"))
    yield row("v_mul_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", lambda a, b: mul(a, b, "f16"))
    yield row("v_mul_f16_e64 {d}, -{a}, |{b}|", "f16", "f16 f16", lambda a, b: mul(-a, abs(b), "f16"))
    yield row("v_mul_f16_e32 {d}, 2.0, {a}", "f16", "f16", lambda a: mul(2.0, a, "f16"))
    yield row("v_min_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", minimum)
    yield row("v_max_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", maximum)
    yield row("v_fma_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", lambda a, b, c: fma(a, b, c, "f16"))
    yield row("v_med3_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", median)
    yield row("v_ldexp_f16_e32 {d}, {a}, {b}", "f16", "f16 i16", lambda a, n: scaled(a, n, "f16"))
    yield row("v_rcp_f16_e32 {d}, {a}", "f16", "f16", lambda a: reciprocal(a, "f16"), 1)
    yield row("v_sqrt_f16_e32 {d}, {a}", "f16", "f16", lambda a: square_root(a, "f16"), 1)
    yield row("v_rsq_f16_e32 {d}, {a}", "f16", "f16", lambda a: inverse_root(a, "f16"), 1)
    yield row(
        "v_pack_b32_f16 {d}, {a}, {b}",
        "pf16",
        "f16 f16",
        lambda a, b: encode(a, "f16") | encode(b, "f16") << 16,
    )

    yield row("v_pk_add_f16 {d}, {a}, {b}", "pf16", "pair pair", packed("f16", lambda a, b: add(a, b, "f16")))
    yield row("v_pk_mul_f16 {d}, {a}, {b}", "pf16", "pair pair", packed("f16", lambda a, b: mul(a, b, "f16")))
    yield row(
        "v_pk_fma_f16 {d}, {a}, {b}, {c}",
        "pf16",
        "pair pair pair",
        packed("f16", lambda a, b, c: fma(a, b, c, "f16")),
    )
    yield row("v_pk_min_f16 {d}, {a}, {b}", "pf16", "pair pair", packed("f16", minimum))
    yield row("v_pk_max_f16 {d}, {a}, {b}", "pf16", "pair pair", packed("f16", maximum))
    yield row(
        "v_pk_add_f16 {d}, {a}, {b} op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1]",
        "pf16",
        "pair pair",
        lambda a, b: (
            encode(add(-halves(a, "f16")[1], halves(b, "f16")[0], "f16"), "f16")
            | encode(add(halves(a, "f16")[0], -halves(b, "f16")[1], "f16"), "f16") << 16
        ),
    )
    yield row("v_pk_add_f32 {d}, {a}, {b}", "pf32", "u64 u64", packed_singles(lambda a, b: add(a, b, "f32")))
    yield row("v_pk_mul_f32 {d}, {a}, {b}", "pf32", "u64 u64", packed_singles(lambda a, b: mul(a, b, "f32")))
    yield row(
        "v_pk_fma_f32 {d}, {a}, {b}, {c}",
        "pf32",
        "u64 u64 u64",
        packed_singles(lambda a, b, c: fma(a, b, c, "f32")),
    )
    yield row(
        "v_pk_mul_f32 {d}, {a}, {b} op_sel:[1,0] op_sel_hi:[0,0] neg_lo:[0,1]",
        "pf32",
        "u64 u64",
        lambda a, b: (
            encode(mul(decode(a >> 32, "f32"), -decode(b, "f32"), "f32"), "f32")
            | encode(mul(decode(a, "f32"), decode(b, "f32"), "f32"), "f32") << 32
        ),
    )
    yield row(
        "v_fma_mix_f32 {d}, {a}, -{b}, |{c}| op_sel:[1,0,0] op_sel_hi:[1,0,0]",
        "f32",
        "pair f32 f32",
        lambda a, b, c: fma(halves(a, "f16")[1], -b, abs(c), "f32"),
    )
    yield row(
        "v_cvt_pkrtz_f16_f32 {d}, {a}, {b}",
        "pf16",
        "f32 f32",
        lambda a, b: toward_zero_half(a) | toward_zero_half(b) << 16,
    )


def unit(value: float) -> float:
    return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)


def conversions() -> Iterator[Row]:
    """Between number formats."""
    for kind, low, high in (("i32", -(2**31), 2**31 - 1), ("u32", 0, 2**32 - 1)):
        yield row(f"v_cvt_f32_{kind}_e32 {{d}}, {{a}}", "f32", kind, lambda a: rounded(Fraction(a), "f32"))
        yield row(f"v_cvt_f64_{kind}_e32 {{d}}, {{a}}", "f64", kind, lambda a: float(a))
        for source in ("f32", "f64"):
            yield row(
                f"v_cvt_{kind}_{source}_e32 {{d}}, {{a}}",
                kind,
                source,
                lambda a, low=low, high=high: saturated(a, low, high),
            )
    for kind, low, high in (("i16", -(2**15), 2**15 - 1), ("u16", 0, 2**16 - 1)):
        yield row(f"v_cvt_f16_{kind}_e32 {{d}}, {{a}}", "f16", kind, lambda a: rounded(Fraction(a), "f16"))
        yield row(
            f"v_cvt_{kind}_f16_e32 {{d}}, {{a}}",
            kind,
            "f16",
            lambda a, low=low, high=high: saturated(a, low, high),
        )
    yield row("v_cvt_f64_f32_e32 {d}, {a}", "f64", "f32", lambda a: a)
    yield row("v_cvt_f32_f64_e32 {d}, {a}", "f32", "f64", lambda a: rounded_or_special(a, "f32"))
    yield row("v_cvt_f32_f16_e32 {d}, {a}", "f32", "f16", lambda a: a)
    yield row("v_cvt_f16_f32_e32 {d}, {a}", "f16", "f32", lambda a: rounded_or_special(a, "f16"))
    yield row(
        "v_cvt_rpi_i32_f32_e32 {d}, {a}",
        "i32",
        "f32",
        lambda a: saturated(whole(add(a, 0.5, "f32"), math.floor), -(2**31), 2**31 - 1),
    )
    yield row(
        "v_cvt_flr_i32_f32_e32 {d}, {a}",
        "i32",
        "f32",
        lambda a: saturated(whole(a, math.floor), -(2**31), 2**31 - 1),
    )
    for n in range(4):
        yield row(
            f"v_cvt_f32_ubyte{n}_e32 {{d}}, {{a}}", "f32", "u32", lambda a, n=n: float(a >> 8 * n & 255)
        )
    yield row(
        "v_cvt_pk_u16_u32 {d}, {a}, {b}", "u32", "u32 u32", lambda a, b: min(a, 0xFFFF) | min(b, 0xFFFF) << 16
    )
    yield row(
        "v_cvt_pk_i16_i32 {d}, {a}, {b}",
        "u32",
        "i32 i32",
        lambda a, b: clamp(a, -32768, 32767) & 0xFFFF | (clamp(b, -32768, 32767) & 0xFFFF) << 16,
    )


def integers() -> Iterator[Row]:
    """Integer arithmetic, logic and moves."""
    two: dict[str, Callable[[int, int], int]] = {
        "v_add_u32_e32": lambda a, b: a + b,
        "v_sub_u32_e32": lambda a, b: a - b,
        "v_subrev_u32_e32": lambda a, b: b - a,
        "v_and_b32_e32": lambda a, b: a & b,
        "v_or_b32_e32": lambda a, b: a | b,
        "v_xor_b32_e32": lambda a, b: a ^ b,
        "v_xnor_b32_e32": lambda a, b: ~(a ^ b),
        "v_lshlrev_b32_e32": lambda n, a: a << (n & 31),
        "v_lshrrev_b32_e32": lambda n, a: a >> (n & 31),
        "v_min_u32_e32": min,
        "v_max_u32_e32": max,
        "v_mul_lo_u32": lambda a, b: a * b,
        "v_mul_hi_u32": lambda a, b: a * b >> 32,
        "v_mul_u32_u24_e32": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
        "v_mul_i32_i24_e32": lambda a, b: sign24(a) * sign24(b),
        "v_mul_hi_u32_u24_e32": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32,
        "v_mul_hi_i32_i24_e32": lambda a, b: sign24(a) * sign24(b) >> 32,
        "v_bfm_b32": lambda a, b: ((1 << (a & 31)) - 1) << (b & 31),
        "v_bcnt_u32_b32": lambda a, b: a.bit_count() + b,
        "v_add_i32": lambda a, b: a + b,
        "v_sub_i32": lambda a, b: a - b,
    }
    for name, function in two.items():
        yield row(f"{name} {{d}}, {{a}}, {{b}}", "u32", "u32 u32", function)
    yield row("v_add_u32_e64 {d}, {a}, {b} clamp", "u32", "u32 u32", lambda a, b: min(a + b, M32))
    yield row("v_sub_u32_e64 {d}, {a}, {b} clamp", "u32", "u32 u32", lambda a, b: max(a - b, 0))
    yield row(
        "v_add_i32 {d}, {a}, {b} clamp", "i32", "i32 i32", lambda a, b: clamp(a + b, -(2**31), 2**31 - 1)
    )
    yield row("v_min_i32_e32 {d}, {a}, {b}", "i32", "i32 i32", min)
    yield row("v_max_i32_e32 {d}, {a}, {b}", "i32", "i32 i32", max)
    yield row("v_mul_hi_i32 {d}, {a}, {b}", "i32", "i32 i32", lambda a, b: a * b >> 32)
    yield row("v_ashrrev_i32_e32 {d}, {a}, {b}", "i32", "u32 i32", lambda n, a: a >> (n & 31))
    yield row("v_mov_b32_e32 {d}, {a}", "u32", "u32", lambda a: a)
    yield row("v_mov_b32_e32 {d}, 0x12345678", "u32", "", lambda: 0x12345678)
    yield row("v_mov_b32_e32 {d}, -7", "i32", "", lambda: -7)
    yield row("v_mov_b64_e32 {d}, {a}", "u64", "u64", lambda a: a)
    yield row("v_not_b32_e32 {d}, {a}", "u32", "u32", lambda a: ~a)
    yield row("v_bfrev_b32_e32 {d}, {a}", "u32", "u32", lambda a: int(f"{a:032b}"[::-1], 2))
    yield row("v_ffbh_u32_e32 {d}, {a}", "i32", "u32", leading)
    yield row("v_ffbl_b32_e32 {d}, {a}", "i32", "u32", trailing)
    yield row("v_ffbh_i32_e32 {d}, {a}", "i32", "i32", lambda a: leading(a if a >= 0 else ~a))
    yield row("v_lshlrev_b64 {d}, {a}, {b}", "u64", "u32 u64", lambda n, a: a << (n & 63))
    yield row("v_lshrrev_b64 {d}, {a}, {b}", "u64", "u32 u64", lambda n, a: a >> (n & 63))
    yield row("v_ashrrev_i64 {d}, {a}, {b}", "i64", "u32 i64", lambda n, a: a >> (n & 63))
    yield row("v_lshl_add_u64 {d}, {a}, {b}, {c}", "u64", "u64 u32 u64", lambda a, n, c: (a << (n & 7)) + c)
    three: dict[str, Callable[[int, int, int], int]] = {
        "v_add3_u32": lambda a, b, c: a + b + c,
        "v_lshl_add_u32": lambda a, b, c: (a << (b & 31)) + c,
        "v_add_lshl_u32": lambda a, b, c: (a + b & M32) << (c & 31),
        "v_lshl_or_b32": lambda a, b, c: a << (b & 31) | c,
        "v_and_or_b32": lambda a, b, c: a & b | c,
        "v_or3_b32": lambda a, b, c: a | b | c,
        "v_xad_u32": lambda a, b, c: (a ^ b) + c,
        "v_bfe_u32": field,
        "v_bfe_i32": signed_field,
        "v_bfi_b32": lambda m, a, b: m & a | ~m & b,
        "v_alignbit_b32": lambda a, b, n: (a << 32 | b) >> (n & 31),
        "v_alignbyte_b32": lambda a, b, n: (a << 32 | b) >> 8 * (n & 3),
        "v_perm_b32": permuted,
        "v_mad_u32_u24": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
        "v_mad_i32_i24": lambda a, b, c: sign24(a) * sign24(b) + c,
        "v_min3_u32": min,
        "v_max3_u32": max,
        "v_med3_u32": lambda a, b, c: sorted((a, b, c))[1],
        "v_sad_u8": lambda a, b, c: byte_distance(a, b) + c,
        "v_sad_u32": lambda a, b, c: abs(a - b) + c,
        "v_sad_hi_u8": lambda a, b, c: (byte_distance(a, b) << 16) + c,
        "v_dot4_i32_i8": dot(8, True),
        "v_dot4_u32_u8": dot(8, False),
        "v_dot2_i32_i16": dot(16, True),
        "v_dot8_u32_u4": dot(4, False),
    }
    for name, ternary in three.items():
        yield row(f"{name} {{d}}, {{a}}, {{b}}, {{c}}", "u32", "u32 u32 u32", ternary)
    yield row("v_dot4c_i32_i8_e32 {d}, {a}, {b}", "u32", "u32 u32 u32", dot(8, True), accumulates=True)
    yield row("v_min3_i32 {d}, {a}, {b}, {c}", "i32", "i32 i32 i32", min)
    yield row("v_max3_i32 {d}, {a}, {b}, {c}", "i32", "i32 i32 i32", max)
    yield row("v_med3_i32 {d}, {a}, {b}, {c}", "i32", "i32 i32 i32", lambda a, b, c: sorted((a, b, c))[1])
    yield row(
        "v_mad_u64_u32 {d}, {o}, {a}, {b}, {c}",
        "u64",
        "u32 u32 u64",
        lambda a, b, c: (a * b + c, a * b + c > M64),
    )
    yield row(
        "v_mad_i64_i32 {d}, {o}, {a}, {b}, {c}",
        "i64",
        "i32 i32 i64",
        lambda a, b, c: (a * b + c, not -(2**63) <= a * b + c < 2**63),
    )
    yield row("v_add_co_u32_e32 {d}, vcc, {a}, {b}", "u32", "u32 u32", lambda a, b: (a + b, a + b > M32))
    yield row("v_sub_co_u32_e64 {d}, {o}, {a}, {b}", "u32", "u32 u32", lambda a, b: (a - b, a < b))
    yield row("v_subrev_co_u32_e32 {d}, vcc, {a}, {b}", "u32", "u32 u32", lambda a, b: (b - a, b < a))
    yield row(
        "v_addc_co_u32_e32 {d}, vcc, {a}, {b}, vcc",
        "u32",
        "u32 u32 mask",
        lambda a, b, m: (a + b + m, a + b + m > M32),
    )
    yield row(
        "v_addc_co_u32_e64 {d}, {o}, {a}, {b}, {m}",
        "u32",
        "u32 u32 mask",
        lambda a, b, m: (a + b + m, a + b + m > M32),
    )
    yield row(
        "v_subb_co_u32_e64 {d}, {o}, {a}, {b}, {m}",
        "u32",
        "u32 u32 mask",
        lambda a, b, m: (a - b - m, a < b + m),
    )
    yield row(
        "v_subbrev_co_u32_e32 {d}, vcc, {a}, {b}, vcc",
        "u32",
        "u32 u32 mask",
        lambda a, b, m: (b - a - m, b < a + m),
    )
    yield row("v_cndmask_b32_e32 {d}, {a}, {b}, vcc", "u32", "u32 u32 mask", lambda a, b, m: b if m else a)
    yield row("v_cndmask_b32_e64 {d}, {a}, {b}, {m}", "u32", "u32 u32 mask", lambda a, b, m: b if m else a)
    yield row("v_cndmask_b32_e64 {d}, 0, -1, {m}", "i32", "mask", lambda m: -1 if m else 0)
    compare = {
        "lt": operator.lt,
        "eq": operator.eq,
        "le": operator.le,
        "gt": operator.gt,
        "ne": operator.ne,
        "ge": operator.ge,
    }
    for kind in ("i32", "u32", "i64", "u64", "i16", "u16"):
        for name, test in compare.items():
            yield row(f"v_cmp_{name}_{kind}_e32 vcc, {{a}}, {{b}}", None, f"{kind} {kind}", test)
            yield row(f"v_cmp_{name}_{kind}_e64 {{o}}, {{a}}, {{b}}", None, f"{kind} {kind}", test)
    for kind in ("i16", "u16"):
        yield row(f"v_min_{kind}_e32 {{d}}, {{a}}, {{b}}", kind, f"{kind} {kind}", min)
        yield row(f"v_max_{kind}_e32 {{d}}, {{a}}, {{b}}", kind, f"{kind} {kind}", max)
        yield row(
            f"v_med3_{kind} {{d}}, {{a}}, {{b}}, {{c}}",
            kind,
            f"{kind} {kind} {kind}",
            lambda a, b, c: sorted((a, b, c))[1],
        )
    yield row("v_add_u16_e32 {d}, {a}, {b}", "u16", "u16 u16", lambda a, b: a + b)
    yield row("v_add_u16_e32 {d}, 0x1234, {a}", "u16", "u16", lambda a: a + 0x1234)
    yield row("v_sub_u16_e32 {d}, {a}, {b}", "u16", "u16 u16", lambda a, b: a - b)
    yield row("v_subrev_u16_e32 {d}, {a}, {b}", "u16", "u16 u16", lambda a, b: b - a)
    yield row("v_mul_lo_u16_e32 {d}, {a}, {b}", "u16", "u16 u16", lambda a, b: a * b)
    yield row("v_lshlrev_b16_e32 {d}, {a}, {b}", "u16", "u16 u16", lambda n, a: a << (n & 15))
    yield row("v_lshrrev_b16_e32 {d}, {a}, {b}", "u16", "u16 u16", lambda n, a: a >> (n & 15))
    yield row("v_ashrrev_i16_e32 {d}, {a}, {b}", "i16", "u16 i16", lambda n, a: a >> (n & 15))
    yield row("v_mad_legacy_u16 {d}, {a}, {b}, {c}", "u16", "u16 u16 u16", lambda a, b, c: a * b + c)
    yield row("v_mad_u16 {d}, {a}, {b}, {c}", "u16", "u16 u16 u16", lambda a, b, c: a * b + c)
    pairs: dict[str, Callable[[int, int], int]] = {
        "v_pk_add_u16": lambda a, b: a + b,
        "v_pk_sub_i16": lambda a, b: a - b,
        "v_pk_mul_lo_u16": lambda a, b: a * b,
        "v_pk_min_u16": min,
        "v_pk_max_u16": max,
        "v_pk_lshlrev_b16": lambda n, a: a << (n & 15),
        "v_pk_lshrrev_b16": lambda n, a: a >> (n & 15),
    }
    for name, binary in pairs.items():
        yield row(f"{name} {{d}}, {{a}}, {{b}}", "u32", "u32 u32", packed("u16", binary))
    yield row("v_pk_max_i16 {d}, {a}, {b}", "u32", "u32 u32", packed("i16", max))
    yield row(
        "v_pk_mad_u16 {d}, {a}, {b}, {c}", "u32", "u32 u32 u32", packed("u16", lambda a, b, c: a * b + c)
    )


def selections() -> Iterator[Row]:
    """Parts of registers: SDWA and op_sel."""
    yield row(
        "v_add_u32_sdwa {d}, {a}, {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
        "u32",
        "u32 u32",
        lambda a, b: (a >> 8 & 255) + (b >> 16),
    )
    yield row(
        "v_add_u32_sdwa {d}, sext({a}), sext({b}) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:WORD_0",
        "u32",
        "u32 u32",
        lambda a, b: signed_field(a, 24, 8) + signed_field(b, 0, 16),
    )
    yield row(
        "v_or_b32_sdwa {d}, {a}, {b} dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_0",
        "u32",
        "u32 u32",
        lambda a, b: ((a | b & 255) & 0xFFFF) << 16,
    )
    yield row(
        "v_mov_b32_sdwa {d}, {a} dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2",
        "u32",
        "u32 u32",
        lambda a, d: d & ~0xFF00 | (a >> 16 & 255) << 8,
        accumulates=True,
    )
    yield row(
        "v_mov_b32_sdwa {d}, {a} dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:WORD_1",
        "i32",
        "u32",
        lambda a: signed_field(a, 16, 16),
    )
    yield row(
        "v_cvt_f32_f16_sdwa {d}, {a} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
        "f32",
        "pair",
        lambda a: halves(a, "f16")[1],
    )
    yield row(
        "v_cvt_f32_f16_sdwa {d}, -|{a}| dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
        "f32",
        "pair",
        lambda a: -abs(halves(a, "f16")[1]),
    )
    yield row(
        "v_cmp_eq_u16_sdwa {o}, {a}, {b} src0_sel:BYTE_1 src1_sel:BYTE_0",
        None,
        "u32 u32",
        lambda a, b: (a >> 8 & 255) == (b & 255),
    )
    yield row(
        "v_cmp_lt_i16_sdwa vcc, sext({a}), {b} src0_sel:BYTE_1 src1_sel:WORD_1",
        None,
        "u32 u32",
        lambda a, b: signed_field(a, 8, 8) < signed_field(b, 16, 16),
    )
    yield row(
        "v_fma_f16 {d}, {a}, {b}, {c} op_sel:[1,0,0,1]",
        "keep_low",
        "pair f16 f16 u32",
        lambda a, b, c, d: d & 0xFFFF | encode(fma(halves(a, "f16")[1], b, c, "f16"), "f16") << 16,
        accumulates=True,
    )
    yield row(
        "v_mad_u16 {d}, {a}, {b}, {c} op_sel:[0,1,0,0]",
        "u32",
        "u16 u32 u16 u32",
        lambda a, b, c, d: d & 0xFFFF0000 | (a * (b >> 16) + c & 0xFFFF),
        accumulates=True,
    )
    yield row(
        "v_fma_mixhi_f16 {d}, {a}, {b}, {c} op_sel_hi:[0,0,0]",
        "keep_low",
        "f32 f32 f32 u32",
        lambda a, b, c, d: d & 0xFFFF | encode(rounded_or_special(fma(a, b, c, "f32"), "f16"), "f16") << 16,
        accumulates=True,
    )


def all_rows() -> list[Row]:
    return [*floats(), *conversions(), *integers(), *selections()]
