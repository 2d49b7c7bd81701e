"""Small floats of the OCP as exact numbers (8, 6 and 4 bits), and the wider formats that they are made of."""

from __future__ import annotations

import bisect
import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from tests.emulator import isa_oracle as isa


@dataclass(frozen=True)
class Small:
    """An OCP format: `top` says what codes beyond the largest number are."""

    bits: int
    mantissa: int
    bias: int
    top: str = "numbers"

    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    @functools.cached_property
    def numbers(self) -> list[Fraction]:
        """Positive numbers by code."""
        count = {"numbers": self.sign, "one nan": self.sign - 1, "ieee": self.sign - (1 << self.mantissa)}[
            self.top
        ]
        return [self.number(code) for code in range(count)]

    def number(self, code: int) -> Fraction:
        exponent, fraction = code >> self.mantissa, code & (1 << self.mantissa) - 1
        size = Fraction(fraction, 1 << self.mantissa) + (1 if exponent else 0)
        return size * isa.two_to((exponent or 1) - self.bias)

    def value(self, code: int) -> float:
        size = code & self.sign - 1
        sign = -1.0 if code & self.sign else 1.0
        if size < len(self.numbers):
            return math.copysign(float(self.numbers[size]), sign)
        infinite = self.top == "ieee" and size == len(self.numbers)
        return math.copysign(math.inf, sign) if infinite else math.nan

    def too_large(self) -> int:
        return len(self.numbers) - 1 if self.top == "numbers" else len(self.numbers)

    def code(self, value: Fraction | float, noise: int | None = None) -> int | None:
        """Nearest even, or rounded down after adding noise / 2^32 steps; None: any NaN."""
        if isinstance(value, float):
            if math.isnan(value):
                return None if self.top != "numbers" else -1
            if math.isinf(value):
                return self.too_large() | (self.sign if value < 0 else 0)
            negative, exact = math.copysign(1, value) < 0, abs(Fraction(value))
        else:
            negative, exact = value < 0, abs(value)
        numbers = self.numbers
        step = numbers[-1] - numbers[-2]
        beyond = [*numbers, numbers[-1] + step]
        if exact >= beyond[-1]:
            size = len(numbers)
        else:
            low = bisect.bisect_right(numbers, exact) - 1
            part = (exact - beyond[low]) / (beyond[low + 1] - beyond[low])
            if noise is None:
                up = part > Fraction(1, 2) or (part == Fraction(1, 2) and low & 1)
            else:
                up = part + Fraction(noise, 2**32) >= 1
            size = low + int(up)
        size = self.too_large() if size >= len(numbers) else size
        return size | (self.sign if negative else 0)


FORMATS = {
    "fp8": Small(8, 3, 7, "one nan"),
    "bf8": Small(8, 2, 15, "ieee"),
    "fp6": Small(6, 3, 1),
    "bf6": Small(6, 2, 3),
    "fp4": Small(4, 1, 1),
}
WIDTH = {"f32": 32, "f16": 16, "bf16": 16}


def wide_value(bits: int, kind: str) -> float:
    return float(isa.decode(bits << 16, "f32") if kind == "bf16" else isa.decode(bits, kind))


def wide_bits(value: float, kind: str) -> int:
    """Rounded to nearest even."""
    if kind != "bf16":
        return isa.encode(isa.rounded_or_special(value, kind), kind)
    single = isa.encode(isa.rounded_or_special(value, "f32"), "f32")
    return single + 0x7FFF + (single >> 16 & 1) >> 16 if math.isfinite(value) else single >> 16


def is_nan_bits(bits: int, kind: str) -> bool:
    return math.isnan(wide_value(bits, kind))


def scaled(value: float, scale: int, up: bool) -> Fraction | float:
    """Times or over 2^(scale - 127); zero keeps its sign."""
    if scale == 255:
        return math.nan
    if not math.isfinite(value) or value == 0:
        return value
    return Fraction(value) * isa.two_to((scale - 127) * (1 if up else -1))


def span(first: int, bits: int) -> str:
    count = max(1, bits // 32)
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"
