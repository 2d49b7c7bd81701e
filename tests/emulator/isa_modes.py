"""Floating-point arithmetic under every MODE, once more and independently: bit patterns and fractions, rounded once.

MODE's fields are those of the CDNA 3 manual (chapter 3): rounding and denormals of f32, and of f64 and f16; IEEE;
FP16_OVFL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tests.emulator.isa_oracle import FORMATS, WIDTH, steps_of, two_to

NEAREST, UP, DOWN, TO_ZERO = range(4)


@dataclass(frozen=True)
class Mode:
    """One value of the register."""

    bits: int

    def rounding(self, kind: str) -> int:
        return self.bits >> (0 if kind == "f32" else 2) & 3

    def keeps_operands(self, kind: str) -> bool:
        return bool(self.bits >> (4 if kind == "f32" else 6) & 1)

    def keeps_results(self, kind: str) -> bool:
        return bool(self.bits >> (5 if kind == "f32" else 7) & 1)

    @property
    def ieee(self) -> bool:
        return bool(self.bits >> 9 & 1)

    @property
    def clamps_overflow(self) -> bool:
        return bool(self.bits >> 23 & 1)


def infinity(kind: str) -> int:
    mantissa, exponent_bits, _ = FORMATS[kind]
    return ((1 << exponent_bits) - 1) << mantissa


def sign_of(bits: int, kind: str) -> int:
    return bits & 1 << (WIDTH[kind] - 1)


def size_of(bits: int, kind: str) -> int:
    return bits & (1 << (WIDTH[kind] - 1)) - 1


def is_nan(bits: int, kind: str) -> bool:
    return size_of(bits, kind) > infinity(kind)


def is_infinite(bits: int, kind: str) -> bool:
    return size_of(bits, kind) == infinity(kind)


def is_signalling(bits: int, kind: str) -> bool:
    return is_nan(bits, kind) and not bits >> (FORMATS[kind][0] - 1) & 1


def quiet(bits: int, kind: str) -> int:
    return bits | 1 << (FORMATS[kind][0] - 1)


def default_nan(kind: str) -> int:
    return quiet(infinity(kind), kind)


def negated(bits: int, kind: str) -> int:
    return bits ^ 1 << (WIDTH[kind] - 1)


def flushed(bits: int, kind: str, keep: bool) -> int:
    """Denormals are zero, with their sign, where they are not kept."""
    return sign_of(bits, kind) if not keep and size_of(bits, kind) < 1 << FORMATS[kind][0] else bits


def value(bits: int, kind: str) -> Fraction:
    """Of a finite number."""
    mantissa, exponent_bits, _ = FORMATS[kind]
    bias = (1 << (exponent_bits - 1)) - 1
    size = size_of(bits, kind)
    field, fraction = size >> mantissa, size & (1 << mantissa) - 1
    steps = fraction | (1 << mantissa if field else 0)
    exact = steps * two_to(max(field, 1) - bias - mantissa)
    return -exact if sign_of(bits, kind) else exact


def rounded(exact: Fraction, kind: str, rounding: int, negative_zero: bool = False) -> int:
    """The bit pattern that `exact` rounds to, denormals kept."""
    mantissa, exponent_bits, _ = FORMATS[kind]
    bias = (1 << (exponent_bits - 1)) - 1
    sign = 1 << (WIDTH[kind] - 1) if exact.numerator < 0 or (exact.numerator == 0 and negative_zero) else 0
    if exact.numerator == 0:
        return sign
    whole, rest, parts, exponent = steps_of(exact, kind)
    if rounding == NEAREST:
        whole += 2 * rest > parts or (2 * rest == parts and whole & 1)
    elif rest and rounding == (DOWN if sign else UP):
        whole += 1
    bits = whole + ((exponent + mantissa + bias - 1) << mantissa)
    if bits < infinity(kind):
        return sign | bits
    away = rounding == NEAREST or rounding == (DOWN if sign else UP)
    return sign | (infinity(kind) if away else infinity(kind) - 1)


Operation = Callable[..., int]


def limited(result: int, kind: str, mode: Mode, *operands_finite: bool) -> int:
    """FP16_OVFL: an infinite half becomes the largest one unless an operand was infinite."""
    clamps = kind == "f16" and mode.clamps_overflow and is_infinite(result, kind) and all(operands_finite)
    return result - 1 if clamps else result


def narrowed(exact: Fraction, kind: str, mode: Mode, negative_zero: bool = False) -> int:
    """Rounded once. Whether a single or a double is denormal is decided before its last bits go."""
    if kind != "f16" and exact and not mode.keeps_results(kind):
        lift = two_to(100)
        smallest = 1 << FORMATS[kind][0]
        if size_of(rounded(exact * lift, kind, mode.rounding(kind)), kind) < smallest + (
            100 << FORMATS[kind][0]
        ):
            return 1 << (WIDTH[kind] - 1) if exact < 0 else 0
    return limited(rounded(exact, kind, mode.rounding(kind), negative_zero), kind, mode)


def first_nan(kind: str, *operands: int) -> int | None:
    return next((quiet(x, kind) for x in operands if is_nan(x, kind)), None)


def add(kind: str) -> Operation:
    def of(mode: Mode, a: int, b: int) -> int:
        if (nan := first_nan(kind, a, b)) is not None:
            return nan
        if is_infinite(a, kind) or is_infinite(b, kind):
            if is_infinite(a, kind) and is_infinite(b, kind) and a != b:
                return default_nan(kind)
            return a if is_infinite(a, kind) else b
        exact = value(a, kind) + value(b, kind)
        same = sign_of(a, kind) == sign_of(b, kind)
        negative_zero = bool(sign_of(a, kind)) if same else mode.rounding(kind) == DOWN
        return narrowed(exact, kind, mode, negative_zero)

    return of


def sub(kind: str) -> Operation:
    def of(mode: Mode, a: int, b: int) -> int:
        return add(kind)(mode, a, b if is_nan(b, kind) else negated(b, kind))

    return of


def reversed_sub(kind: str) -> Operation:
    return lambda mode, a, b: sub(kind)(mode, b, a)


def mul(kind: str) -> Operation:
    def of(mode: Mode, a: int, b: int) -> int:
        if (nan := first_nan(kind, a, b)) is not None:
            return nan
        sign = sign_of(a, kind) ^ sign_of(b, kind)
        if is_infinite(a, kind) or is_infinite(b, kind):
            return sign | infinity(kind) if size_of(a, kind) and size_of(b, kind) else default_nan(kind)
        return narrowed(value(a, kind) * value(b, kind), kind, mode, bool(sign))

    return of


def fma(kind: str) -> Operation:
    def of(mode: Mode, a: int, b: int, c: int) -> int:
        if (nan := first_nan(kind, a, b, c)) is not None:
            return nan
        sign = sign_of(a, kind) ^ sign_of(b, kind)
        if is_infinite(a, kind) or is_infinite(b, kind):
            if not size_of(a, kind) or not size_of(b, kind):
                return default_nan(kind)
            product = sign | infinity(kind)
            return default_nan(kind) if is_infinite(c, kind) and c != product else product
        if is_infinite(c, kind):
            return c
        exact = value(a, kind) * value(b, kind) + value(c, kind)
        same = sign == sign_of(c, kind)
        return narrowed(exact, kind, mode, bool(sign) if same else mode.rounding(kind) == DOWN)

    return of


def mad(kind: str) -> Operation:
    """Two roundings."""
    return lambda mode, a, b, c: add(kind)(mode, mul(kind)(mode, a, b), c)


def ordered(bits: int, kind: str) -> int:
    return -size_of(bits, kind) - 1 if sign_of(bits, kind) else size_of(bits, kind)


def extreme(kind: str, choose: Callable[..., int]) -> Operation:
    """v_min and v_max as in the manual: signalling NaNs count in IEEE mode only, of two NaNs the second is given."""

    def of(mode: Mode, a: int, b: int) -> int:
        for operand in (a, b):
            if mode.ieee and is_signalling(operand, kind):
                return quiet(operand, kind)
        if is_nan(a, kind):
            return b
        return a if is_nan(b, kind) else choose(a, b, key=lambda x: ordered(x, kind))

    return of


def extreme_of_three(kind: str, choose: Callable[..., int]) -> Operation:
    two = extreme(kind, choose)
    return lambda mode, a, b, c: two(mode, two(mode, a, b), c)


def median(kind: str) -> Operation:
    def of(mode: Mode, a: int, b: int, c: int) -> int:
        if any(is_nan(x, kind) for x in (a, b, c)):
            return extreme_of_three(kind, min)(mode, a, b, c)
        return sorted((a, b, c), key=lambda x: ordered(x, kind))[1]

    return of


def scaled(kind: str) -> Operation:
    def of(mode: Mode, a: int, n: int) -> int:
        if is_nan(a, kind):
            return quiet(a, kind)
        exponent = n - (1 << 16) if n >> 15 else n
        if is_infinite(a, kind):
            return a
        return narrowed(value(a, kind) * two_to(exponent), kind, mode, bool(sign_of(a, kind)))

    return of


def converted(source: str, kind: str, rounding: int | None = None, rounds_as: str = "") -> Operation:
    """From one float format to another, in the mode's rounding of the format `rounds_as` or always in `rounding`."""

    def of(mode: Mode, a: int) -> int:
        shift = FORMATS[kind][0] - FORMATS[source][0]
        sign = 1 << (WIDTH[kind] - 1) if sign_of(a, source) else 0
        if is_nan(a, source):
            payload = a & (1 << FORMATS[source][0]) - 1
            moved = payload << shift if shift > 0 else payload >> -shift
            return sign | quiet(infinity(kind) | moved, kind)
        if is_infinite(a, source):
            return sign | infinity(kind)
        how = mode.rounding(rounds_as or kind) if rounding is None else rounding
        return limited(rounded(value(a, source), kind, how, bool(sign)), kind, mode)

    return of


def from_integer(signed: bool, kind: str) -> Operation:
    def of(mode: Mode, a: int) -> int:
        width = 16 if kind == "f16" else 32
        return narrowed(Fraction(a - (1 << width) if signed and a >> (width - 1) else a), kind, mode)

    return of


def to_even(kind: str) -> Operation:
    """To the nearest whole number, in every mode."""

    def of(mode: Mode, a: int) -> int:
        if is_nan(a, kind) or is_infinite(a, kind):
            return quiet(a, kind) if is_nan(a, kind) else a
        return rounded(Fraction(round(value(a, kind))), kind, NEAREST, bool(sign_of(a, kind)))

    return of


def both_halves(operation: Operation) -> Operation:
    def of(mode: Mode, *operands: int) -> int:
        low, high = (operation(mode, *(x >> shift & 0xFFFF for x in operands)) for shift in (0, 16))
        return low | high << 16

    return of


def compared(holds: Callable[[Fraction, Fraction], bool]) -> Operation:
    """A comparison of halves."""

    def of(mode: Mode, a: int, b: int) -> int:
        if is_nan(a, "f16") or is_nan(b, "f16"):
            return 0
        large = Fraction(1 << 20)
        x, y = (
            (-large if sign_of(v, "f16") else large) if is_infinite(v, "f16") else value(v, "f16")
            for v in (a, b)
        )
        return int(holds(x, y))

    return of
