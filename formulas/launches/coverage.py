"""Does a launch with another number in its host code still reach all of the work, at every size of the problem?

Takes how the program computes grid and workgroup, gives the sizes with other numbers in place, and whether the grid
follows them upwards. Replays see the recorded sizes and smaller ones only, so this is decided from the expression.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hipscope.analysis.semantics.records import HostExpression, Place

Numbers = Mapping[Place, int]
"""Other values for numbers of the text, by where they stand."""

_SAMPLES = 400
_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<<": lambda a, b: int(a) << min(int(b), 40),
    ">>": lambda a, b: int(a) >> min(int(b), 60), "&": lambda a, b: int(a) & int(b),
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip
_CALLS: Mapping[str, Callable[..., float]] = {
    "ceil": math.ceil, "ceilf": math.ceil, "floor": math.floor, "floorf": math.floor, "min": min, "max": max,
    "fmin": min, "fmax": max,
}  # fmt: skip


@dataclass(frozen=True)
class NotKnown(Exception):
    """The value of an expression is not known before the program runs."""


@dataclass
class Names:
    """Values of what only a run says: given ones, and one of its own for each other name where `made` has them."""

    values: dict[str, float] = field(default_factory=dict)
    made: Callable[[], int] | None = None

    def of(self, name: str) -> float:
        """Raises NotKnown."""
        if name not in self.values:
            if self.made is None:
                raise NotKnown
            self.values[name] = self.made()
        return self.values[name]


def value_of(e: HostExpression, numbers: Numbers, names: Names | None = None) -> float:
    """What an expression is with these numbers in place. Raises NotKnown."""
    names = names or Names()
    if e.operator == "number":
        if e.place is not None and e.place in numbers:
            return numbers[e.place]
        if e.value is None:
            raise NotKnown
        return e.value
    if e.operator == "name":
        return names.of(e.name)
    if e.operator == "call" and e.name not in _CALLS:
        if depends_on(e, numbers):
            raise NotKnown
        return names.of(f"{e.name}:{e.place}")
    operands = [value_of(below, numbers, names) for below in e.operands]
    try:
        return _computed(e, operands)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError) as error:
        raise NotKnown from error


def _computed(e: HostExpression, operands: list[float]) -> float:
    if e.operator == "cast":
        return int(operands[0]) if e.integer else float(operands[0])
    if e.operator == "?":
        return operands[1] if operands[0] else operands[2]
    if e.operator == "call" and e.name in _CALLS and operands:
        found = _CALLS[e.name](*operands)
        return int(found) if e.integer else float(found)
    if e.operator == "/":
        return _towards_zero(operands) if e.integer else operands[0] / operands[1]
    if e.operator == "%":
        return operands[0] - operands[1] * _towards_zero(operands)
    if e.operator in _ARITHMETIC:
        return _ARITHMETIC[e.operator](*operands)
    raise NotKnown


def _towards_zero(operands: list[float]) -> int:
    a, b = int(operands[0]), int(operands[1])
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def depends_on(e: HostExpression, numbers: Numbers) -> bool:
    """Whether one of these numbers is a part of the expression."""
    return any(below.place in numbers for below in e.walk() if below.operator == "number" and below.place)


def reaches_all(grid: HostExpression, size: int, other: int, numbers: Numbers) -> bool:
    """Whether workgroups of `other` work-items, with these numbers, reach all that those of `size` reach.

    True at every value of what only a run says: a grid that is rounded up may grow in steps of another size, one that
    is rounded down only in parts of the old step. False also where the expression does not tell.
    """
    if size % other == 0 and not _capped(grid, numbers):
        return True  # a division by a part of the divisor covers as much, however it is rounded
    dice = random.Random(0)
    try:
        if value_of(grid, {}, Names(made=lambda: 1)) < 1:
            return False  # rounded down
        for number in range(_SAMPLES):
            largest = (4 * max(size, other), 1 << 20)[number % 2]
            names = Names(made=lambda most=largest: dice.randint(1, most))  # type: ignore[misc]
            before = value_of(grid, {}, names) * size
            after = value_of(grid, numbers, names) * other
            if after < before - size + 1:
                return False
    except NotKnown:
        return False
    return True


def _capped(grid: HostExpression, numbers: Numbers) -> bool:
    """Whether the grid is more than quotients of these numbers: bounded, or one of two."""
    return any(
        (e.operator in ("?", "%", "&") or (e.operator == "call" and not e.name.startswith("ceil")))
        and depends_on(e, numbers)
        for e in grid.walk()
    )
