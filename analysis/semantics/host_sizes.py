"""How host code computes the sizes of a launch: through variables, macros and small helpers, down to written numbers.

Takes the grid or the block of a launch, gives a HostExpression for each of its three sides. What only a run says (an
argument, the result of a call) stays a name; a variable that is set more than once is such a one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hipscope.analysis.semantics.bodies import Body, Item, tree_below
from hipscope.analysis.semantics.calls import callee_of, name_of
from hipscope.analysis.semantics.cursors import CASTS, INTEGERS, Cursor, Kind
from hipscope.analysis.semantics.records import HostExpression, HostSizes, Place

Known = Mapping[int, HostExpression]
"""What the parameters of a helper are, by their keys."""

_NUMBER = re.compile(rb"(?:0|[1-9][0-9]*)(?=(?:\.0*)?[uUlLfF]*(?![\w.]))")  # decimal, without its suffix
_SIDES = "xyz"
_ONE = HostExpression("number", value=1)
_DEPTH = 24  # of nested variables and helpers


def sizes_of(body: Body, item: Item) -> HostSizes | None:
    """The three sides of a grid or block; None where the compiler does not say."""
    return _sizes(body, item, {}, 0)


def _sizes(body: Body, item: Item, known: Known, depth: int) -> HostSizes | None:
    if item.kind == Kind.CALL and name_of(item) == "dim3":
        parts = item.expressions
        copied = _record(body, parts[0]) if len(parts) == 1 else None
        if copied is not None:
            return _variable_sizes(body, copied, known, depth)
        found = [_side(body, part, known, depth) for part in parts[:3]]
        found += [_ONE] * (3 - len(found))
        return (found[0], found[1], found[2])
    if (variable := body.declared(item)) is not None and _is_dim3(variable):
        return _variable_sizes(body, variable, known, depth)
    if item.kind in CASTS or item.kind == Kind.FUNCTIONAL_CAST:
        return _sizes(body, item.expressions[-1], known, depth) if item.expressions else None
    return None


def _variable_sizes(body: Body, variable: Cursor, known: Known, depth: int) -> HostSizes | None:
    """Those of a `dim3` that nothing changes."""
    if depth > _DEPTH or body.changes.get(variable.key) is not None:
        return None
    start = body.initialisers.get(variable.key) or _outside(body, variable)
    return None if start is None else _sizes(body, start, known, depth + 1)


def _side(body: Body, part: Item, known: Known, depth: int) -> HostExpression:
    """One argument of a `dim3`; 1 where it is left out."""
    if part.kind == Kind.UNEXPOSED and not part.children and part.cursor.start.file == "":
        return _ONE
    return _expression(body, part, known, depth)


def _record(body: Body, part: Item) -> Cursor | None:
    """The `dim3` that another one is a copy of."""
    while (part.kind in CASTS or part.kind == Kind.CALL) and len(part.expressions) == 1:
        part = part.expressions[0]
    variable = body.declared(part)
    return variable if variable is not None and _is_dim3(variable) else None


def _is_dim3(variable: Cursor) -> bool:
    return variable.type.referred.canonical.unqualified.spelling == "dim3"


def _outside(body: Body, variable: Cursor) -> Item | None:
    """The initialiser of a constant that stands outside of the function."""
    if body.is_local(variable) or not variable.type.constant or not variable.initialiser.exists:
        return None
    return tree_below(variable.initialiser)


def _expression(body: Body, item: Item, known: Known, depth: int) -> HostExpression:
    inner = item.expressions
    integer = item.cursor.type.canonical.kind in INTEGERS
    if item.kind in (Kind.INTEGER, Kind.FLOAT):
        return _number(body, item, integer)
    if (item.kind in CASTS or item.kind == Kind.FUNCTIONAL_CAST) and inner:
        below = _expression(body, inner[-1], known, depth)
        return below if below.integer == integer else HostExpression("cast", (below,), integer=integer)
    if item.kind == Kind.BINARY and len(inner) == 2 and item.cursor.operator != "=":
        operands = tuple(_expression(body, side, known, depth) for side in inner)
        return HostExpression(item.cursor.operator, operands, integer=integer)
    if item.kind == Kind.UNARY and item.cursor.operator in ("-", "+") and len(inner) == 1:
        below = _expression(body, inner[0], known, depth)
        return HostExpression(item.cursor.operator, (_ZERO, below), integer=integer)
    if item.kind == Kind.CONDITIONAL and len(inner) == 3:
        operands = tuple(_expression(body, side, known, depth) for side in inner)
        return HostExpression("?", operands, integer=integer)
    if item.kind == Kind.MEMBER:
        return _member(body, item, known, depth, integer)
    if item.kind == Kind.NAME:
        return _named(body, item, known, depth, integer)
    if item.kind == Kind.CALL:
        return _call(body, item, known, depth, integer)
    return _unknown(body, item, integer)


_ZERO = HostExpression("number", value=0)


def _number(body: Body, item: Item, integer: bool) -> HostExpression:
    value = item.cursor.value
    return HostExpression("number", value=value, place=_digits(body, item.cursor), integer=integer)


def _digits(body: Body, literal: Cursor) -> Place | None:
    """Where a number was written, also inside a macro; None outside of the program's files, or without digits."""
    at = literal.written
    path = body.reading.unit.path(at.file)
    data = body.reading.places.text(path) if path is not None else None
    digits = _NUMBER.match(data, at.offset) if data is not None else None
    return Place(path, digits.span()) if path is not None and digits is not None else None


def _member(body: Body, item: Item, known: Known, depth: int, integer: bool) -> HostExpression:
    """`block.x` of a `dim3`."""
    side = item.cursor.spelling
    base = _record(body, item.expressions[0]) if item.expressions else None
    if base is not None and side in _SIDES and len(side) == 1:
        sizes = _variable_sizes(body, base, known, depth)
        if sizes is not None:
            return sizes[_SIDES.index(side)]
    return _unknown(body, item, integer)


def _named(body: Body, item: Item, known: Known, depth: int, integer: bool) -> HostExpression:
    variable = body.declared(item)
    if variable is None or depth > _DEPTH:
        return _unknown(body, item, integer)
    if variable.key in known:
        return known[variable.key]
    start = _value(body, variable)
    if start is not None:
        below = _expression(body, start, known, depth + 1)
        return below if below.integer == integer else HostExpression("cast", (below,), integer=integer)
    return HostExpression("name", name=f"{variable.spelling}:{variable.key}", integer=integer)


def _value(body: Body, variable: Cursor) -> Item | None:
    """The only value that a variable has."""
    if not body.is_local(variable):
        return _outside(body, variable)
    changes, start = body.changes.get(variable.key), body.initialisers.get(variable.key)
    if changes is None:
        return start
    if (
        start is None
        and len(changes.values) == 1
        and not (changes.steps or changes.members or changes.escapes)
    ):
        return changes.values[0]
    return None


def _call(body: Body, item: Item, known: Known, depth: int, integer: bool) -> HostExpression:
    """A helper that only returns something is what it returns; any other call is one, with its arguments."""
    callee = callee_of(item)
    nodes = [argument.node for argument in item.cursor.arguments]
    given = [part for part in item.expressions if part.cursor.node in nodes]
    arguments = tuple(_expression(body, part, known, depth) for part in given)
    if callee is not None and callee.defines and body.reading.ours(callee) and depth <= _DEPTH:
        parameters = callee.arguments
        returned = _returned(callee)
        if returned is not None and len(parameters) == len(arguments):
            inside = {p.key: a for p, a in zip(parameters, arguments, strict=True)}
            return _expression(body, returned, inside, depth + 1)
    place = body.reading.places.of(item.cursor)
    return HostExpression("call", arguments, name=name_of(item), place=place, integer=integer)


def _returned(callee: Cursor) -> Item | None:
    """What a function returns that does nothing else."""
    statements = [c for c in callee.children if c.kind == Kind.BLOCK]
    inside = statements[0].children if len(statements) == 1 else []
    if len(inside) != 1 or inside[0].kind != Kind.RETURN or not inside[0].children:
        return None
    return tree_below(inside[0].children[0])


def _unknown(body: Body, item: Item, integer: bool) -> HostExpression:
    """What only a run says; the same text is the same."""
    place = body.reading.places.of(item.cursor)
    text = body.reading.places.text(place.file) if place is not None else None
    if place is None or text is None:
        return HostExpression("name", name=f"?{item.cursor.node}", integer=integer)
    return HostExpression("name", name=text[slice(*place.span)].decode("utf-8", "replace"), integer=integer)
