"""Numbers at which a condition that is worked out may turn: `x * x == 49`, `2.5f * x + 31 == 118.5f`.

Takes what machine code compares with and what it computes with, gives the solutions of simple forms: squares, and one
multiplication and one addition of constants. Which form stands in the code is not looked at, only its constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_FEW = 8  # numbers that are compared with
_CONSTANTS = 12
_MOST = 128
_WORD = 1 << 32


def solved_floats(compared: Sequence[float], computed: Sequence[float]) -> tuple[float, ...]:
    """Where a square, `a * x + b` or a square of `x + b` is one of the numbers compared with; the simplest first."""
    values, constants = tuple(compared)[:_FEW], [c for c in computed if c][:_CONSTANTS]
    found: dict[float, None] = {}

    def add(x: float) -> None:
        if x and math.isfinite(x) and x not in values:
            found.setdefault(x)

    for v in values:
        for root in _roots(v):
            add(root)
        for a in constants:
            add(v / a)
            add(v - a)
            add(v + a)
    for b in constants:
        add(b)
        for v in values:
            for root in _roots(v):
                add(root - b)
                add(root + b)
            for a in constants:
                add((v - b) / a)
                add((v + b) / a)
    return tuple(found)[:_MOST]


def solved_integers(compared: Sequence[int], computed: Sequence[int]) -> tuple[int, ...]:
    """The same in integers of 32 bits, which wrap around, and for shifts and masks. Some are no solutions: no harm."""
    values, constants = tuple(compared)[:_FEW], [c for c in computed if c][:_CONSTANTS]
    found: dict[int, None] = {}

    def add(n: int) -> None:
        n %= _WORD
        if n and n not in values and n - _WORD not in values:
            found.setdefault(n)

    for v in values:
        for root in _integer_roots(v):
            add(root)
            add(-root)
        for a in constants:
            for n in (v - a, v + a, v ^ a):
                add(n)
            for n in _quotients(v, a):
                add(n)
            if 0 < a < 32:
                add(v << a)
                add(v >> a)
    for b in constants:
        for v in values:
            for a in constants:
                for n in (*_quotients(v - b, a), *_quotients(v + b, a)):
                    add(n)
    return tuple(m for n in list(found)[:_MOST] for m in ((n,) if n < _WORD // 2 else (n, n - _WORD)))


def _roots(value: float) -> tuple[float, ...]:
    return (math.sqrt(value), -math.sqrt(value)) if value > 0 else ()


def _integer_roots(value: int) -> tuple[int, ...]:
    """Of a square as 32 bits may show it, without those that wrapped around."""
    value %= _WORD
    root = math.isqrt(value)
    return (root,) if root * root == value else (root, root + 1)


def _quotients(value: int, factor: int) -> tuple[int, ...]:
    """What times the factor gives the value, with and without wrapping around; the next one below otherwise."""
    found = [value // factor]
    if factor % 2:
        found.append(value * pow(factor, -1, _WORD) % _WORD)
    return tuple(found)
