"""How host code computes the sizes of a launch: through variables, macros and small helpers, down to written numbers.

Takes the grid or the block of a launch, gives a HostExpression for each of its three sides. What only a run says (the
result of a call) stays a name; a variable that is set more than once is such a one, with its values. So are parameters,
members and variables outside of functions, which say what they are: `host_values` has what the program gives them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hipscope.analysis.semantics.bodies import Body, Changes, Item, constant, in_memory, tree_below
from hipscope.analysis.semantics.calls import callee_of, name_of
from hipscope.analysis.semantics.cursors import (
    CASTS,
    FUNCTIONS,
    INTEGERS,
    REFERENCES,
    ClangType,
    Cursor,
    Kind,
)
from hipscope.analysis.semantics.records import HostExpression, HostParameter, HostSizes, HostVariable, Place

Known = Mapping[int, HostExpression]
"""What the parameters of a helper are, by their keys."""

_NUMBER = re.compile(rb"(?:0|[1-9][0-9]*)(?=(?:\.0*)?[uUlLfF]*(?![\w.]))")  # decimal, without its suffix
_SIDES = "xyz"
_ONE = HostExpression("number", value=1)
_DEPTH = 24  # of nested variables and helpers
_STEPS = 4  # of them for what is only perhaps the size of a launch: any call has arguments
_MOST_VALUES = 8  # of one variable
_TYPE_PARTS = frozenset((Kind.TYPE_REF, Kind.TEMPLATE_REF, Kind.NAMESPACE_REF))
_NAMED = frozenset((Kind.FUNCTION, Kind.METHOD))  # what is called by a name that stands at every call


def sizes_of(body: Body, item: Item) -> HostSizes | None:
    """The three sides of a grid or block; None where the compiler does not say."""
    return _sizes(body, item, {}, 0)


def sizes_given(body: Body, item: Item) -> HostSizes | None:
    """As `sizes_of`, of a `dim3` that is handed on: through fewer variables."""
    return _sizes(body, item, {}, _DEPTH - _STEPS)


def number_of(body: Body, item: Item) -> HostExpression:
    """How a number is computed that is handed on or assigned."""
    return _expression(body, item, {}, _DEPTH - _STEPS)


def is_dim3(kind: ClangType) -> bool:
    """Whether a type is the one of grids and blocks."""
    return kind.referred.canonical.unqualified.spelling == "dim3"


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
    if (parameter := _parameter(body, variable)) is not None:
        return _given_sides(variable, parameter)
    start = body.initialisers.get(variable.key) or _outside(body, variable)
    return None if start is None else _sizes(body, start, known, depth + 1)


def _given_sides(variable: Cursor, parameter: HostParameter) -> HostSizes:
    """Those of a `dim3` that a function is given."""
    names = [f"{variable.spelling}.{side}:{variable.key}" for side in _SIDES]
    x, y, z = (
        HostExpression("name", name=name, origin=replace(parameter, side=side))
        for side, name in enumerate(names)
    )
    return x, y, z


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
    return is_dim3(variable.type)


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
    if item.kind == Kind.SUBSCRIPT:
        return _element(body, item, known, depth, integer)
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
    return replace(_unknown(body, item, integer), origin=member(item))


def member(item: Item) -> HostVariable | None:
    """The member that an expression is, of a class whose members only its own text sets: one with a constructor.

    Without one, `{...}` may set them, which names no member.
    """
    field = item.cursor.referenced
    if not field.exists or field.kind != Kind.FIELD or field.type.canonical.kind not in INTEGERS:
        return None
    owner = field.parent
    own = [c for c in owner.children if c.kind == Kind.CONSTRUCTOR and c.name_offset != owner.name_offset]
    if not own or any(child.kind not in _TYPE_PARTS for child in field.children):
        return None  # the second: a value where it is declared, or a width
    return HostVariable(owner.type.canonical.spelling, field.spelling)


def outer(variable: Cursor) -> HostVariable | None:
    """The variable outside of functions that a number is kept in; None for one with memory on the device."""
    if variable.kind != Kind.VARIABLE or variable.type.kind in REFERENCES or in_memory(variable):
        return None
    if variable.type.canonical.kind not in INTEGERS or variable.parent.kind in FUNCTIONS:
        return None
    return HostVariable("", variable.mangled or variable.spelling)


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
    name = f"{variable.spelling}:{variable.key}"
    if (parameter := _parameter(body, variable)) is not None:
        return HostExpression("name", name=name, integer=integer, origin=parameter)
    limit = _limit(body, item, variable, known)
    values = _all_values(body, variable, known) if limit is None else None
    origin = None if body.is_local(variable) or not values else outer(variable)
    return HostExpression("name", name=name, integer=integer, values=values or (), origin=origin, limit=limit)


def _limit(body: Body, item: Item, variable: Cursor, known: Known) -> HostExpression | None:
    """What a loop's variable does not go beyond in the loop: that counts it upwards only between two steps."""
    step, loop = item, item.parent
    while loop is not None:
        parts = loop.children
        if loop.kind == Kind.FOR and len(parts) > 2 and parts[-1] is step:
            for part in parts[:-2]:
                if part.kind != Kind.BINARY or part.cursor.operator not in ("<", "<="):
                    continue
                named = body.declared(_bare(part.children[0]))
                if (
                    named is not None
                    and named.key == variable.key
                    and _changes_in(body, variable, parts[:-1])
                ):
                    most = _expression(body, part.children[1], known, _DEPTH)
                    return HostExpression("-", (most, _ONE)) if part.cursor.operator == "<" else most
        step, loop = loop, loop.parent
    return None


def _changes_in(body: Body, variable: Cursor, parts: list[Item]) -> bool:
    """Whether a local variable changes in these parts of a function only, after its start."""
    inside = {id(below) for part in parts for below in part.walk()}
    uses = [
        use
        for use in body.top.walk()
        if (name := body.declared(use)) is not None and name.key == variable.key
    ]
    changing = [use for use in uses if body.change(use, variable) is not None]
    escapes = body.changes[variable.key].escapes if variable.key in body.changes else False
    return body.is_local(variable) and not escapes and all(id(use) in inside for use in changing)


def _all_values(body: Body, variable: Cursor, known: Known) -> tuple[HostExpression, ...] | None:
    """What a variable starts with and what this function sets it to; None where something else changes it."""
    if body.is_local(variable):
        starts = [body.initialisers[variable.key]] if variable.key in body.initialisers else []
        changes = body.changes.get(variable.key, Changes())
        if variable.kind == Kind.PARAMETER or changes.steps or changes.members or changes.escapes:
            return None
        starts += changes.values
    else:
        starts = [tree_below(variable.initialiser)] if variable.initialiser.exists else []
    if not 0 < len(starts) <= _MOST_VALUES:
        return None
    inside = {**known, variable.key: HostExpression("name", name=f"{variable.spelling}:{variable.key}")}
    return tuple(_expression(body, start, inside, _DEPTH) for start in starts)


def _parameter(body: Body, variable: Cursor) -> HostParameter | None:
    """The parameter that a variable is, with the value that the caller gave it; None for any other variable."""
    function = body.function
    if function.kind not in _NAMED or not body.is_local(variable) or variable.key in body.changes:
        return None
    keys = [parameter.key for parameter in function.arguments]
    return HostParameter(function.spelling, keys.index(variable.key)) if variable.key in keys else None


def _element(body: Body, item: Item, known: Known, depth: int, integer: bool) -> HostExpression:
    """`sizes[1]` of an array of the function, where that element is set once."""
    start = _element_value(body, item) if depth <= _DEPTH else None
    if start is None:
        return _unknown(body, item, integer)
    below = _expression(body, start, known, depth + 1)
    return below if below.integer == integer else HostExpression("cast", (below,), integer=integer)


def _element_value(body: Body, item: Item) -> Item | None:
    """The only value of an element of a local array that nothing changes out of sight."""
    array, index = _bare(item.expressions[0]), constant(item.expressions[1])
    variable = body.declared(array)
    if index is None or variable is None or not body.is_local(variable):
        return None
    start = body.initialisers.get(variable.key)
    values = start.expressions[index : index + 1] if start is not None else []
    for use in body.top.walk():
        if use.kind == Kind.LAMBDA or (start is not None and start.kind != Kind.INITIALISERS):
            return None
        if (name := body.declared(use)) is None or name.key != variable.key:
            continue
        element = _subscript(use)
        if element is None:
            return None
        change = body.change(element, variable)
        if change is None:
            continue
        other = constant(element.expressions[1])
        if other is None or change.steps or change.members or change.escapes:
            return None
        values = [*values, *(change.values if other == index else ())]
    return values[0] if len(values) == 1 else None


def _bare(item: Item) -> Item:
    while item.kind in CASTS and len(item.expressions) == 1:
        item = item.expressions[0]
    return item


def _subscript(use: Item) -> Item | None:
    """The element that the name of an array is used for; None for any other use."""
    parent = use.parent
    while parent is not None and parent.kind in CASTS:
        use, parent = parent, parent.parent
    return parent if parent is not None and parent.kind == Kind.SUBSCRIPT and use.is_first() else None


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
    """A constant that is written nowhere as a number (a template's argument); or what only a run says, and then the
    same text is the same.
    """
    if integer and (value := constant(item)) is not None:
        return HostExpression("number", value=value)
    place = body.reading.places.of(item.cursor)
    text = body.reading.places.text(place.file) if place is not None else None
    if place is None or text is None:
        return HostExpression("name", name=f"?{item.cursor.node}", integer=integer)
    return HostExpression("name", name=text[slice(*place.span)].decode("utf-8", "replace"), integer=integer)
