"""The loops of a body: what they count, by how much, and up to which constant.

Takes a body, gives records in the order of the text. Children of a loop have no roles in libclang, so condition and
increment are told by the bytes of tree-sitter's fields; where those do not fit (a macro), nothing is said of them.
"""

from __future__ import annotations

from typing import Literal

from tree_sitter import Node

from hipscope.analysis.semantics.bodies import Body, Item
from hipscope.analysis.semantics.cursors import CASTS, Cursor, Kind
from hipscope.analysis.semantics.records import CountedLoop, Place

_LOOPS: dict[int, tuple[Literal["for", "while", "do", "range"], str]] = {
    Kind.FOR: ("for", "for_statement"),
    Kind.WHILE: ("while", "while_statement"),
    Kind.DO: ("do", "do_statement"),
    Kind.RANGE_FOR: ("range", "for_range_loop"),
}
_COMPARISONS = frozenset(("<", "<=", ">", ">=", "!="))
_SIGNS = {"++": 1, "--": -1, "+=": 1, "-=": -1}


def loops(body: Body) -> tuple[CountedLoop, ...]:
    """All loops of a function."""
    found = [_loop(body, item, *_LOOPS[item.kind]) for item in body.top.walk() if item.kind in _LOOPS]
    known = [loop for loop in found if loop is not None]
    return tuple(sorted(known, key=lambda loop: (str(loop.place.file), loop.place.span)))


def _loop(
    body: Body, item: Item, kind: Literal["for", "while", "do", "range"], type_name: str
) -> CountedLoop | None:
    place = body.reading.places.of(item.cursor)
    if place is None:
        return None
    node = body.reading.places.node(place, type_name) if place.macro is None else None
    if node is None or kind == "range":
        return CountedLoop(place, kind)
    condition = _within(body, item, place, node.child_by_field_name("condition"))
    update = _within(body, item, place, node.child_by_field_name("update"))
    operator, variable, step = _step(body, update)
    bound = _bound(body, condition, variable)
    declared = body.declaration(variable) if variable is not None else None
    return CountedLoop(place, kind, bound, step, operator, declared)


def _within(body: Body, item: Item, loop: Place, field: Node | None) -> Item | None:
    """The child of the loop that fills the bytes of a field."""
    if field is None:
        return None
    span = (field.start_byte, field.end_byte)
    for child in item.children:
        place = body.reading.places.of(child.cursor)
        if (
            place is not None
            and place.file == loop.file
            and span[0] <= place.span[0]
            and place.span[1] <= span[1]
        ):
            return child
    return None


def _step(body: Body, update: Item | None) -> tuple[str, Cursor | None, int | None]:
    """What changes which variable, and the constant that is added."""
    update = _bare(update)
    if update is None or update.kind not in (Kind.UNARY, Kind.COMPOUND_ASSIGNMENT, Kind.BINARY):
        return "", None, None
    operator = update.cursor.operator
    target = _bare(update.expressions[0]) if update.expressions else None
    variable = body.declared(target) if target is not None else None
    if update.kind == Kind.UNARY:
        return operator, variable, _SIGNS.get(operator)
    if update.kind == Kind.BINARY and operator != "=":
        return "", None, None
    amount = constant(update.expressions[1]) if operator in _SIGNS else None
    return operator, variable, None if amount is None else _SIGNS[operator] * amount


def _bound(body: Body, condition: Item | None, variable: Cursor | None) -> int | None:
    condition = _bare(condition)
    if condition is None or condition.kind != Kind.BINARY or condition.cursor.operator not in _COMPARISONS:
        return None
    sides = condition.expressions
    for side, other in (sides, sides[::-1]):
        target = _bare(side)
        named = body.declared(target) if target is not None else None
        if named is not None and (variable is None or named.key == variable.key):
            return constant(other)
    return None


def constant(item: Item) -> int | None:
    """The integer that an expression is; None where it is none, or depends on a template."""
    if any(below.cursor.type.dependent for below in item.walk()):
        return None
    value = item.cursor.value
    return value if isinstance(value, int) else None


def _bare(item: Item | None) -> Item | None:
    while item is not None and item.kind in CASTS and len(item.expressions) == 1:
        item = item.expressions[0]
    return item
