"""Intervals of integers: of a type, of an operator, of a comparison. Numbers only, no syntax.

An interval holds every value that an expression can have. None is an interval that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable

Range = tuple[int, int]

INT_LIMIT = 2**31
_NARROW = 32  # bits: beyond them nobody knows what a shift of an `int` gives
_BITS = {
    "bool": 1,
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "int32": 32,
    "uint32": 32,
    "int64": 64,
    "uint64": 64,
}


def of_type(name: str) -> Range:
    """Of an integer type by the name of its element: (0, 255) of `uint8`."""
    bits = _BITS[name]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name.startswith("int") else (0, (1 << bits) - 1)


def of_types(names: Iterable[str]) -> Range | None:
    """Of whichever of these types; None where there is none."""
    ranges = [of_type(name) for name in names]
    return (min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else None


def is_narrow(name: str) -> bool:
    """Whether values of that type are computed as `int`."""
    return _BITS[name] < 32


def common(left: Iterable[str], right: Iterable[str]) -> frozenset[str]:
    """The types in which an operator may compute its two operands."""
    return frozenset(_common(a, b) for a in left for b in right)


def _common(left: str, right: str) -> str:
    wide = [("int32" if is_narrow(name) else name) for name in (left, right)]
    return max(wide, key=lambda name: (_BITS[name], name.startswith("uint")))


def either(one: Range | None, other: Range | None) -> Range | None:
    """What holds the values of both."""
    return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))


def narrower(one: Range | None, other: Range | None) -> Range | None:
    """What is in both intervals of one value, where both are known, else the known one."""
    if one is None or other is None:
        return other if one is None else one
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else one


def combined(operator: str, left: Range | None, right: Range | None) -> Range | None:
    """Of an operator's result, in whichever of the integer types it is computed.

    Sums and products count where they are the same number in all of them. A negative operand may be a large number
    beside an unsigned one.
    """
    if left is None or right is None or (operator == ">>" and right[1] >= _NARROW):
        return None
    if operator == "&":
        limits = [side[1] for side in (left, right) if side[0] >= 0]
        return (0, min(limits)) if limits else None
    if operator == "%" and right[0] > 0 and left[0] < 0:
        return 1 - right[1], right[1] - 1
    if operator in ("|", "^") and left[0] >= 0 and right[0] >= 0:
        return 0, (1 << max(left[1], right[1]).bit_length()) - 1
    ends = without_overflow(operator, left, right)
    if ends is None or operator not in ("+", "-", "*"):
        return ends
    return ends if ends[0] >= 0 and ends[1] < INT_LIMIT else None


def without_overflow(operator: str, left: Range, right: Range) -> Range | None:
    """Of an operator's result where no type has an end: sums and products, the others of what is not negative."""
    if operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    if operator == "*":
        corners = [a * b for a in left for b in right]
        return min(corners), max(corners)
    if left[0] < 0 or right[0] < 0:
        return None
    if operator == "/" and right[0] > 0:
        return left[0] // right[1], left[1] // right[0]
    if operator == "%" and right[0] > 0:
        return 0, min(left[1], right[1] - 1)
    if operator == ">>" and right[1] < 64:
        return left[0] >> right[1], left[1] >> right[0]
    return (0, min(left[1], right[1])) if operator == "&" else None


def compared(operator: str, value: Range, limit: Range | None) -> Range:
    """What is left of an interval where `value < limit` (or `<=`, `>`, `>=`) holds."""
    if limit is None:
        return value
    ends = {
        "<": (value[0], min(value[1], limit[1] - 1)),
        "<=": (value[0], min(value[1], limit[1])),
        ">": (max(value[0], limit[0] + 1), value[1]),
        ">=": (max(value[0], limit[0]), value[1]),
    }
    found = ends.get(operator, value)
    return found if found[0] <= found[1] else value
