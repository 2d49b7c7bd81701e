"""The launches in a host function: which kernel, with which instance, grid and workgroup.

Takes a body, gives records. `kernel<<<...>>>(...)` and the macros that become it; a launch through a variable names no
kernel that the compiler could tell, and is left out unless the variable is set once.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from hipscope.analysis.semantics.bodies import Body, Item
from hipscope.analysis.semantics.calls import CONFIGURING, is_launch, name_of
from hipscope.analysis.semantics.cursors import CASTS, FUNCTIONS, Cursor, Kind
from hipscope.analysis.semantics.host_sizes import sizes_of
from hipscope.analysis.semantics.loops import constant
from hipscope.analysis.semantics.records import FunctionKey, KernelLaunch, Place


def launches(body: Body) -> Iterator[KernelLaunch]:
    """The launches of a function."""
    for item in body.top.walk():
        if is_launch(item) and (launch := _launch(body, item)) is not None:
            yield launch


def _launch(body: Body, item: Item) -> KernelLaunch | None:
    configuration = next(c for c in item.children if c.kind == Kind.CALL and name_of(c) in CONFIGURING)
    place = body.reading.places.of(item.cursor)
    kernel = _kernel(body, item.children[0], frozenset())
    values = configuration.children[1:]  # behind the name of the function
    if place is None or kernel is None or len(values) < 2:
        return None
    grid, block, *more = values
    shared = body.reading.places.of(more[0].cursor) if more else None
    return KernelLaunch(
        place=place,
        kernel=FunctionKey(kernel.mangled),
        grid=_place(body, grid, place),
        block=_place(body, block, place),
        shared=shared,
        block_value=_threads(body, block),
        grid_sizes=sizes_of(body, grid),
        block_sizes=sizes_of(body, block),
        function=body.reading.places.of(body.function),
    )


def _place(body: Body, item: Item, launch: Place) -> Place:
    return body.reading.places.of(item.cursor) or launch


def _kernel(body: Body, callee: Item, seen: frozenset[int]) -> Cursor | None:
    """The function that is launched, through a variable that has never another value."""
    for item in callee.walk():
        if item.kind != Kind.NAME:
            continue
        named = item.cursor.referenced
        if named.exists and named.kind in FUNCTIONS:
            return named
        variable = body.declared(item)
        if variable is None or variable.key in seen or variable.key in body.changes:
            return None
        start = body.initialisers.get(variable.key)
        return _kernel(body, start, seen | {variable.key}) if start is not None else None
    return None


def _threads(body: Body, block: Item) -> int | None:
    """The product of the sizes of a `dim3` whose parts are constant."""
    item: Item | None = block
    while item is not None:
        if item.kind == Kind.CALL and name_of(item) == "dim3":
            parts = item.expressions
            copied = _variable(body, parts)
            if copied is None:
                sizes = [_size(body, part) for part in parts]
                known = [size for size in sizes if size is not None]
                return prod(known) if sizes and len(known) == len(sizes) else None
            if body.changes.get(copied.key) is not None:
                return None
            item = body.initialisers.get(copied.key)
        elif item.kind in CASTS or item.kind == Kind.FUNCTIONAL_CAST:
            item = item.expressions[-1] if item.expressions else None
        else:
            return None
    return None


def _variable(body: Body, parts: list[Item]) -> Cursor | None:
    """The variable that a `dim3` is a copy of."""
    if len(parts) != 1:
        return None
    for item in parts[0].walk():
        variable = body.declared(item)
        if variable is not None and variable.type.canonical.unqualified.spelling == "dim3":
            return variable
    return None


def _size(body: Body, part: Item) -> int | None:
    """One size; 1 where the argument is left out."""
    if part.kind == Kind.UNEXPOSED and not part.children and part.cursor.start.file == "":
        return 1
    value = constant(part)
    if value is not None:
        return value
    inner = part
    while inner.kind in CASTS and len(inner.expressions) == 1:
        inner = inner.expressions[0]
    variable = body.declared(inner)
    if variable is None or variable.key in body.changes or variable.key not in body.initialisers:
        return None
    return constant(body.initialisers[variable.key]) if body.is_local(variable) else None
