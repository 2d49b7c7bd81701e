"""The value of an expression of host code: with other numbers in place, and all values that it can have in the program.

Takes HostExpressions, what the program's host code calls and sets, and its texts; gives numbers. A parameter has the
values of all calls, where its function is named by nothing but calls; a member those of all assignments. Whatever a run
decides has none.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from hipscope.analysis.semantics.records import (
    HostAssignment,
    HostCall,
    HostExpression,
    HostParameter,
    HostVariable,
    KernelLaunch,
    Place,
)
from hipscope.analysis.source.parse import tree_of

Numbers = Mapping[Place, int]
"""Other values for numbers of the text, by where they stand."""

_MOST_VALUES = 64  # of one expression
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


Origin = HostParameter | HostVariable


@dataclass(frozen=True)
class HostCode:
    """All host code of a program: its calls, what it assigns, and the texts of all its files.

    `others` are texts that another compiler may read: what is named there may be called or set there.
    """

    calls: Sequence[HostCall]
    assignments: Sequence[HostAssignment]
    texts: Mapping[Path, bytes]
    others: Sequence[bytes] = ()

    def most_threads(self, launch: KernelLaunch) -> int | None:
        """The largest workgroup that a launch can have; None where a run decides it."""
        if launch.block_value is not None or launch.block_sizes is None:
            return launch.block_value
        sides = [self.at_most(side) for side in launch.block_sizes]
        known = [side for side in sides if side is not None]
        return math.prod(known) if len(known) == len(sides) else None

    def at_most(self, e: HostExpression, asked: frozenset[Origin] = frozenset()) -> int | None:
        """The largest value of an expression, or a bound of it; None where none is known. `asked` as for `values`."""
        if exact := self.values(e, asked):
            return max(exact)
        if e.limit is not None:
            return self.at_most(e.limit, asked)
        if e.operator == "name":
            given = self._given(e, asked)
            bounds = [self.at_most(one, inside) if one is not None else None for one, inside in given]
            known = [bound for bound in bounds if bound is not None]
            return max(known) if known and len(known) == len(bounds) else None
        if e.operator == "cast":
            return self.at_most(e.operands[0], asked)
        if e.operator == "call" and e.name in ("min", "fmin", "fminf"):
            least = [bound for below in e.operands if (bound := self.at_most(below, asked)) is not None]
            return min(least, default=None)
        return None

    def values(self, e: HostExpression, asked: frozenset[Origin] = frozenset()) -> frozenset[int] | None:
        """All values of an expression; None where they are not all known. `asked`: what it is a value of."""
        names = {below.name: below for below in e.walk() if below.operator == "name"}
        known = []
        for leaf in names.values():
            found = self._of_name(leaf, asked)
            if found is None:
                return None
            known.append(sorted(found))
        if math.prod(map(len, known)) > _MOST_VALUES:
            return None
        try:
            return frozenset(
                int(value_of(e, {}, Names(dict(zip(names, values, strict=True)))))
                for values in itertools.product(*known)
            )
        except NotKnown:
            return None

    def _of_name(self, leaf: HostExpression, asked: frozenset[Origin]) -> frozenset[int] | None:
        """All values of what a name stands for."""
        given = self._given(leaf, asked)
        found = [self.values(value, inside) if value is not None else None for value, inside in given]
        known = [values for values in found if values is not None]
        return frozenset().union(*known) if known and len(known) == len(found) else None

    def _given(
        self, leaf: HostExpression, asked: frozenset[Origin]
    ) -> list[tuple[HostExpression | None, frozenset[Origin]]]:
        """What a name stands for, each with what is asked inside; None where that is not known."""
        given: list[HostExpression | None] = [*leaf.values]
        if isinstance(leaf.origin, HostParameter):
            given += self._arguments(leaf.origin)
        elif leaf.origin is not None:
            given += self._assigned(leaf.origin)
        if leaf.origin in asked:
            return []
        inside = asked if leaf.origin is None else asked | {leaf.origin}
        return [(one, inside) for one in given]

    def _arguments(self, parameter: HostParameter) -> Iterator[HostExpression | None]:
        """What all calls give to a parameter; None where that is not known."""
        calls = [call for call in self.calls if call.function == parameter.function]
        if not self._only_called(parameter.function, calls):
            yield None
        for call in calls:
            given = call.arguments[parameter.index] if parameter.index < len(call.arguments) else None
            if isinstance(given, tuple):
                given = given[parameter.side] if parameter.side is not None else None
            yield given

    def _assigned(self, variable: HostVariable) -> Iterator[HostExpression | None]:
        """What a member or a variable outside of functions is set to; None where that is not known."""
        if self._named_elsewhere(variable.owner.rpartition("::")[2] or variable.name):
            yield None
        for one in self.assignments:
            if one.variable == variable or (one.variable.owner == variable.owner and not one.variable.name):
                yield one.value

    def _only_called(self, function: str, calls: Collection[HostCall]) -> bool:
        """Whether the text names a function, or another one with its name, in these calls and declarations only."""
        called = {(at.file, at.span) for call in calls if (at := call.name_at) is not None}
        return not self._named_elsewhere(function) and all(
            (path, node.byte_range) in called or _is_declared(node)
            for path, text in self.texts.items()
            for node in _names(text, function.encode())
        )

    def _named_elsewhere(self, name: str) -> bool:
        return any(_word(name.encode()).search(text) for text in self.others)


def _word(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])")


def _names(text: bytes, name: bytes) -> Iterator[Node]:
    """Where a word stands in a text, but for comments and strings: the smallest node there, in macros all of it."""
    root = tree_of(text) if name in text else None
    for match in (
        re.finditer(rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])", text) if root is not None else ()
    ):
        node = root.descendant_for_byte_range(*match.span()) if root is not None else None
        if node is not None and not any(word in node.type for word in ("comment", "string", "char")):
            yield node


def _is_declared(node: Node) -> bool:
    """Whether a name is that of a function in its declaration or definition."""
    child, parent = node, node.parent
    while parent is not None and parent.type in ("qualified_identifier", "template_function"):
        child, parent = parent, parent.parent
    declares = parent is not None and parent.type == "function_declarator"
    return declares and parent is not None and parent.child_by_field_name("declarator") == child
