"""The calls of a body: which function the compiler chose, with which types, and where its arguments stand.

Takes a body, gives records in the order of the text. Launches are records of their own.
"""

from __future__ import annotations

from hipscope.analysis.semantics.bodies import Body, Item
from hipscope.analysis.semantics.cursors import FUNCTIONS, Cursor, Kind
from hipscope.analysis.semantics.records import Call, FunctionKey, Type

CONFIGURING = frozenset(("__hipPushCallConfiguration", "__cudaPushCallConfiguration"))


def calls(body: Body) -> tuple[Call, ...]:
    """All calls of a function. Conversions and constructors that nobody wrote are among them."""
    found = []
    for item in body.top.walk():
        if item.kind != Kind.CALL or is_launch(item) or name_of(item) in CONFIGURING:
            continue
        if (call := _call(body, item)) is not None:
            found.append(call)
    return tuple(sorted(found, key=lambda call: (str(call.place.file), call.place.span)))


def callee_of(item: Item) -> Cursor | None:
    """The definition of the function that is called, or its declaration; None where the compiler names none."""
    callee = item.cursor.referenced
    if not callee.exists or callee.kind not in FUNCTIONS:
        return None
    definition = callee.definition
    return definition if definition.exists else callee


def name_of(item: Item) -> str:
    """The name of what is called; "" for an expression."""
    return item.cursor.spelling


def is_launch(item: Item) -> bool:
    """Whether a call is `kernel<<<...>>>(...)`: the launch's configuration is one of its operands."""
    return item.kind == Kind.CALL and any(
        child.kind == Kind.CALL and name_of(child) in CONFIGURING for child in item.children
    )


def _call(body: Body, item: Item) -> Call | None:
    reading = body.reading
    place = reading.places.of(item.cursor)
    if place is None:
        return None
    callee = callee_of(item)
    ours = callee is not None and reading.ours(callee)
    given = [reading.places.of(argument) for argument in item.cursor.arguments]
    return Call(
        place=place,
        name=name_of(item),
        callee=FunctionKey(callee.mangled) if callee is not None and ours and callee.defines else None,
        arguments=tuple(argument for argument in given if argument is not None),
        builtin=callee is not None and not ours,
        parameters=_parameters(body, callee),
        result=reading.types.of(callee.result) if callee is not None else None,
    )


def _parameters(body: Body, callee: Cursor | None) -> tuple[Type, ...]:
    if callee is None:
        return ()
    return tuple(made for kind in callee.type.arguments if (made := body.reading.types.of(kind)) is not None)
