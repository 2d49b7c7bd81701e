"""From a pointer or an element to the parameter or variable that holds the data.

Takes an expression of a body, gives each way as declarations, from the name that is written to the one that is meant;
None where the compiler does not say: a pointer that was loaded from memory, given by a call, or changed out of sight.
"""

from __future__ import annotations

from hipscope.analysis.semantics.bodies import Body, Item, is_pointer
from hipscope.analysis.semantics.cursors import ARRAYS, CASTS, POINTER, REFERENCES, Cursor, Kind
from hipscope.analysis.semantics.records import VariableDeclaration

Way = tuple[VariableDeclaration, ...]


def pointer_ways(body: Body, item: Item, seen: frozenset[int] = frozenset()) -> list[Way] | None:
    """Where a pointer leads."""
    kind, inner = item.kind, item.expressions
    if item.cursor.type.canonical.kind in ARRAYS:
        return object_ways(body, item, seen)
    if kind in CASTS or kind == Kind.FUNCTIONAL_CAST:
        return pointer_ways(body, inner[-1], seen) if inner else None
    if kind == Kind.NAME:
        variable = body.declared(item)
        return None if variable is None else _variable_ways(body, variable, seen)
    if kind == Kind.MEMBER:
        return _member_ways(body, item, seen)
    if kind == Kind.UNARY and inner:
        operator = item.cursor.operator
        if operator == "&":
            return object_ways(body, inner[0], seen)
        return pointer_ways(body, inner[0], seen) if operator in ("++", "--") else None
    if kind == Kind.BINARY and len(inner) == 2:
        operator = item.cursor.operator
        if operator in ("=", ","):
            return pointer_ways(body, inner[1], seen)
        side = next((child for child in inner if is_pointer(child)), None)
        return pointer_ways(body, side, seen) if side is not None and operator in ("+", "-") else None
    if kind == Kind.CONDITIONAL and len(inner) == 3:
        return _all([pointer_ways(body, child, seen) for child in inner[1:]])
    return None


def object_ways(body: Body, item: Item, seen: frozenset[int] = frozenset()) -> list[Way] | None:
    """In which object an element, a member or a variable lies."""
    kind, inner = item.kind, item.expressions
    if kind in CASTS:
        return object_ways(body, inner[-1], seen) if inner else None
    if kind == Kind.NAME:
        variable = body.declared(item)
        if variable is None:
            return None
        return (
            _variable_ways(body, variable, seen)
            if variable.type.kind in REFERENCES
            else _itself(body, variable)
        )
    if kind == Kind.SUBSCRIPT:
        side = next((child for child in inner if is_pointer(child)), None)
        return None if side is None else pointer_ways(body, side, seen)
    if kind == Kind.UNARY and inner and item.cursor.operator == "*":
        return pointer_ways(body, inner[0], seen)
    if kind == Kind.MEMBER:
        if not inner or inner[0].kind == Kind.THIS:
            return _itself(body, item.cursor.referenced)
        if inner[0].cursor.type.canonical.kind == POINTER:
            return pointer_ways(body, inner[0], seen)
        return object_ways(body, inner[0], seen)
    if kind == Kind.CONDITIONAL and len(inner) == 3:
        return _all([object_ways(body, child, seen) for child in inner[1:]])
    return None


def _itself(body: Body, cursor: Cursor) -> list[Way] | None:
    declaration = body.declaration(cursor) if cursor.exists else None
    return None if declaration is None else [(declaration,)]


def _variable_ways(body: Body, variable: Cursor, seen: frozenset[int]) -> list[Way] | None:
    """Where a pointer or reference leads: through its initialiser and everything that is assigned to it."""
    own = _itself(body, variable)
    if own is None or variable.key in seen:
        return None if own is None else []
    seen |= {variable.key}
    changes = body.changes.get(variable.key)
    if changes is not None and changes.escapes:
        return None
    follow = object_ways if variable.type.kind in REFERENCES else pointer_ways
    assigned = [follow(body, value, seen) for value in changes.values] if changes is not None else []
    if own[0][0].kind != "local":
        return _all([own, *assigned])
    start = body.initialisers.get(variable.key)
    sources = [*([follow(body, start, seen)] if start is not None else []), *assigned]
    found = _all(sources) if sources else None
    return None if found is None else [own[0] + way for way in found]


def _member_ways(body: Body, item: Item, seen: frozenset[int]) -> list[Way] | None:
    """A pointer that is a member: of a structure that the function was given or has, or of its own object."""
    own = _itself(body, item.cursor.referenced)
    inner = item.expressions
    if own is None or not inner or inner[0].kind == Kind.THIS:
        return own
    while inner[0].kind in CASTS and inner[0].expressions:
        inner = inner[0].expressions
    if inner[0].cursor.type.canonical.kind == POINTER or inner[0].kind not in (Kind.NAME, Kind.MEMBER):
        return own if inner[0].kind == Kind.THIS else None  # loaded from memory
    if _member_set(body, inner[0]):
        return None
    outer = object_ways(body, inner[0], seen)
    return None if outer is None else [own[0] + way for way in outer]


def _member_set(body: Body, item: Item) -> bool:
    """Whether a member of the structure may have another value than at its start."""
    for below in item.walk():
        variable = body.declared(below)
        changes = body.changes.get(variable.key) if variable is not None else None
        if changes is not None and (changes.members or changes.escapes):
            return True
    return False


def _all(found: list[list[Way] | None]) -> list[Way] | None:
    """All ways together; None when one is not known."""
    ways: list[Way] = []
    for some in found:
        if some is None:
            return None
        ways += some
    return list(dict.fromkeys(ways))
