"""The body of one function as a tree that knows its parents, with the declarations of its variables.

Takes the definition of a function, gives its expressions and, for each variable, what changes it. Lambdas in it are
functions of their own, but for what they change; what is not evaluated (`sizeof`) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hipscope.analysis.semantics.cursors import (
    FUNCTIONS,
    POINTER,
    RECORD,
    REFERENCES,
    Cursor,
    Kind,
)
from hipscope.analysis.semantics.places import Places
from hipscope.analysis.semantics.records import FunctionParameter
from hipscope.analysis.semantics.type_records import Types
from hipscope.analysis.semantics.units import Unit

VARIABLES = frozenset((Kind.VARIABLE, Kind.PARAMETER))
_NO_EXPRESSIONS = frozenset((Kind.TYPE_REF, Kind.TEMPLATE_REF, Kind.NAMESPACE_REF, Kind.MEMBER_REF))
_CHANGING = frozenset(("++", "--"))


@dataclass(frozen=True)
class Reading:
    """One reading of a unit: what everything that is read from it shares."""

    unit: Unit
    places: Places
    types: Types

    def ours(self, cursor: Cursor) -> bool:
        """Whether a declaration stands in a file of the program."""
        return self.unit.path(cursor.file) is not None


class Item:
    """One statement, expression or declaration of a body."""

    __slots__ = ("children", "cursor", "kind", "parent")

    def __init__(self, cursor: Cursor, parent: Item | None) -> None:
        self.cursor, self.parent, self.kind = cursor, parent, cursor.kind
        self.children: list[Item] = []

    @property
    def expressions(self) -> list[Item]:
        """The children without names of types, templates and namespaces."""
        return [child for child in self.children if child.kind not in _NO_EXPRESSIONS]

    def walk(self) -> Iterator[Item]:
        """This and everything below, parents first."""
        waiting = [self]
        while waiting:
            item = waiting.pop()
            yield item
            waiting.extend(reversed(item.children))

    def is_first(self) -> bool:
        """Whether it is the left operand of its parent."""
        return self.parent is not None and self.parent.children[0] is self


@dataclass
class Changes:
    """What happens to a local variable behind its initialiser.

    `members`: one of its members is set, or a method may set one. `escapes`: it may be changed out of sight.
    """

    values: list[Item] = field(default_factory=list)
    steps: int = 0
    members: bool = False
    escapes: bool = False


class Body:
    """One function's definition, read."""

    def __init__(self, reading: Reading, function: Cursor) -> None:
        self.reading, self.function = reading, function
        self.top = tree_below(function)
        self.initialisers: dict[int, Item] = {}
        self.changes: dict[int, Changes] = {}
        self._own: set[int] = set()
        for item in self.top.walk():
            self._note(item)

    def declared(self, item: Item) -> Cursor | None:
        """The variable that a name means; None for anything else."""
        if item.kind != Kind.NAME:
            return None
        cursor = item.cursor.referenced
        return cursor if cursor.exists and cursor.kind in VARIABLES else None

    def is_local(self, cursor: Cursor) -> bool:
        """Whether a variable is one of this function's own."""
        return cursor.key in self._own

    def parameter(self, cursor: Cursor) -> FunctionParameter | None:
        """The record of a parameter."""
        made = self.reading.types.of(cursor.type)
        if made is None:
            return None
        changes = self.changes.get(cursor.key)
        assigned = changes is not None and bool(
            changes.values or changes.steps or changes.members or changes.escapes
        )
        return FunctionParameter(cursor.spelling, made, self.reading.places.of(cursor), assigned)

    def _note(self, item: Item) -> None:
        cursor = item.cursor
        if item.kind in VARIABLES:
            self._own.add(cursor.key)
            if item.kind == Kind.VARIABLE and (start := _initialiser(item)) is not None:
                self.initialisers[cursor.key] = start
        elif item.kind == Kind.NAME and (variable := self.declared(item)) is not None:
            change = self.change(item, variable)
            if change is not None:
                self._merge(variable.key, change)
        elif item.kind == Kind.LAMBDA:
            self._note_lambda(item.cursor)

    def _note_lambda(self, cursor: Cursor) -> None:
        """What a lambda changes, at another time than where it stands."""
        for item in tree_below(cursor).walk():
            variable = self.declared(item)
            if variable is not None and self.change(item, variable) is not None:
                self._merge(variable.key, Changes(escapes=True))

    def _merge(self, key: int, change: Changes) -> None:
        known = self.changes.setdefault(key, Changes())
        known.values += change.values
        known.steps += change.steps
        known.members |= change.members
        known.escapes |= change.escapes

    def change(self, item: Item, variable: Cursor) -> Changes | None:
        """What the use of a variable, or of an element of it, changes about it."""
        if variable.type.kind in REFERENCES:
            return None
        whole = item
        while item.parent is not None and item.parent.kind in (Kind.PARENTHESES, Kind.MEMBER):
            if item.parent.kind == Kind.MEMBER and item.cursor.type.canonical.kind == POINTER:
                return None  # what it points to is changed, not the variable
            item = item.parent
        parent = item.parent
        if parent is None:
            return None
        if item.kind == Kind.MEMBER or whole.cursor.type.canonical.kind == RECORD:
            return _change_of_structure(item, parent)
        if parent.kind in (Kind.BINARY, Kind.COMPOUND_ASSIGNMENT) and item.is_first():
            operator = parent.cursor.operator
            if operator == "=":
                return Changes(values=[parent.children[1]])
            return Changes(steps=1) if parent.kind == Kind.COMPOUND_ASSIGNMENT else None
        if parent.kind == Kind.UNARY:
            if parent.cursor.operator in _CHANGING:
                return Changes(steps=1)
            return Changes(escapes=True) if parent.cursor.operator == "&" else None
        if binds_reference(parent, item):
            return Changes(escapes=True)
        return None


def _change_of_structure(item: Item, parent: Item) -> Changes | None:
    """What the use of a structure, or of a member of one, changes about it."""
    if item.kind == Kind.MEMBER and item.cursor.referenced.kind in FUNCTIONS:
        return None if item.cursor.referenced.constant_method else Changes(members=True)
    changing = parent.kind in (Kind.BINARY, Kind.COMPOUND_ASSIGNMENT) and item.is_first()
    if changing and (parent.kind == Kind.COMPOUND_ASSIGNMENT or parent.cursor.operator == "="):
        return Changes(members=True)
    if parent.kind == Kind.UNARY and parent.cursor.operator in _CHANGING | {"&"}:
        return Changes(members=True)
    callee = parent.cursor.referenced if parent.kind == Kind.CALL else None
    if callee is not None and callee.exists and callee.kind == Kind.METHOD and not callee.constant_method:
        arguments = parent.cursor.arguments
        if arguments and arguments[0].node == item.cursor.node and len(arguments) > len(callee.arguments):
            return Changes(members=True)  # an operator of its own, like an assignment
    return Changes(members=True) if binds_reference(parent, item) else None


def in_memory(cursor: Cursor) -> bool:
    """Whether a variable lies in memory of the device by its attributes."""
    memory = {Kind.SHARED_ATTRIBUTE, Kind.CONSTANT_ATTRIBUTE, Kind.DEVICE_ATTRIBUTE}
    return cursor.kind == Kind.VARIABLE and any(child.kind in memory for child in cursor.children)


def binds_reference(parent: Item, item: Item) -> bool:
    """Whether `item`, an lvalue, is bound to a reference through which it may be changed."""
    if parent.kind == Kind.VARIABLE:
        kind = parent.cursor.type
        return kind.kind in REFERENCES and not kind.pointee.constant
    if parent.kind != Kind.CALL:
        return False
    parameter = parameter_of(parent, item)
    if parameter is None:
        return False
    return parameter.type.kind in REFERENCES and not parameter.type.pointee.constant


def parameter_of(call: Item, argument: Item) -> Cursor | None:
    """The parameter of the called function that an argument is for; None where the call or it is not known."""
    callee = call.cursor.referenced
    if not callee.exists or callee.kind not in FUNCTIONS:
        return None
    node = argument.cursor.node
    given = [other.node for other in call.cursor.arguments]
    if node not in given:
        return None
    parameters = callee.arguments
    # The object of an overloaded operator that is a member stands before the arguments.
    index = given.index(node) - max(0, len(given) - len(parameters)) * (callee.kind == Kind.METHOD)
    return parameters[index] if 0 <= index < len(parameters) else None


def _initialiser(item: Item) -> Item | None:
    start = item.cursor.initialiser
    if not start.exists:
        return None
    node = start.node
    return next((child for child in item.children if child.cursor.node == node), None)


def tree_below(cursor: Cursor) -> Item:
    """A function, or an expression outside of the one that is read, with everything below it."""
    top = Item(cursor, None)
    waiting = [top]
    while waiting:
        item = waiting.pop()
        if item.kind in (Kind.SIZEOF, Kind.LAMBDA) and item is not top:
            continue
        item.children = [Item(child, item) for child in item.cursor.children]
        waiting.extend(item.children)
    return top


def constant(item: Item) -> int | None:
    """The integer that an expression is; None where it is none, or depends on a template."""
    if any(below.cursor.type.dependent for below in item.walk()):
        return None
    value = item.cursor.value
    return value if isinstance(value, int) else None
