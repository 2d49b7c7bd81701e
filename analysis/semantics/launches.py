"""The launches in a host function, with grid and workgroup; and the calls and assignments that these may come from.

Takes a body, gives records. `kernel<<<...>>>(...)` and the macros that become it; a launch through a variable names no
kernel that the compiler could tell, and is left out unless the variable is set once. A call through a pointer names no
function, and is none of the calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from hipscope.analysis.semantics.bodies import Body, Item, binds_reference, constant
from hipscope.analysis.semantics.calls import CONFIGURING, callee_of, is_launch, name_of
from hipscope.analysis.semantics.cursors import CASTS, FUNCTIONS, INTEGERS, RECORD, Cursor, Kind, walk
from hipscope.analysis.semantics.host_sizes import is_dim3, member, number_of, outer, sizes_given, sizes_of
from hipscope.analysis.semantics.records import (
    FunctionInstance,
    FunctionKey,
    HostAssignment,
    HostCall,
    HostExpression,
    HostSizes,
    HostVariable,
    KernelLaunch,
    Place,
)


def launches(body: Body) -> Iterator[KernelLaunch]:
    """The launches of a function."""
    for item in body.top.walk():
        if is_launch(item) and (launch := _launch(body, item)) is not None:
            yield launch


def launches_of_pattern(body: Body, found: Mapping[FunctionKey, FunctionInstance]) -> Iterator[KernelLaunch]:
    """The launches in a template, of every kernel of the name: what depends on the instance is not known.

    `found` are the functions of the unit.
    """
    for item in body.top.walk():
        if not is_launch(item):
            continue
        named = {name for i in item.children[0].walk() if (name := _function_name(i))}
        kernels = [key for key, f in found.items() if f.kernel and f.name in named]
        for kernel in kernels or map(FunctionKey, sorted(named)):
            if (launch := _made(body, item, kernel)) is not None:
                yield replace(launch, grid_sizes=None, block_sizes=None)


def _function_name(item: Item) -> str:
    """The name of the function or template that an expression names; "" for none."""
    if item.kind == Kind.OVERLOADED:
        return item.cursor.spelling
    named = item.cursor.referenced
    is_function = (
        item.kind == Kind.NAME and named.exists and named.kind in (*FUNCTIONS, Kind.FUNCTION_TEMPLATE)
    )
    return named.spelling if is_function else ""


def _launch(body: Body, item: Item) -> KernelLaunch | None:
    kernel = _kernel(body, item.children[0], frozenset())
    return _made(body, item, FunctionKey(kernel.mangled)) if kernel is not None else None


def _made(body: Body, item: Item, kernel: FunctionKey) -> KernelLaunch | None:
    configuration = next(c for c in item.children if c.kind == Kind.CALL and name_of(c) in CONFIGURING)
    place = body.reading.places.of(item.cursor)
    values = configuration.children[1:]  # behind the name of the function
    if place is None or len(values) < 2:
        return None
    grid, block, *more = values
    shared = body.reading.places.of(more[0].cursor) if more else None
    return KernelLaunch(
        place=place,
        kernel=kernel,
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


def host_calls(body: Body) -> Iterator[HostCall]:
    """The calls of the program's own functions."""
    for item in body.top.walk() if _on_host(body) else ():
        if item.kind == Kind.CALL and not is_launch(item) and (call := _call(body, item)) is not None:
            yield call


def assignments(body: Body) -> Iterator[HostAssignment]:
    """What a function sets members and variables outside of functions to."""
    if not _on_host(body):
        return
    for item in body.top.walk():
        if item.kind in (Kind.MEMBER, Kind.NAME) and (variable := _kept(body, item)) is not None:
            yield from _set(body, item, variable)
        elif item.kind == Kind.CONSTRUCTOR:
            yield from _initialised(body, item)
        elif item.kind == Kind.SIZEOF:  # how a class is read and copied as bytes
            for part in item.cursor.children:
                kind = (part.referenced.type if part.kind == Kind.TYPE_REF else part.type).canonical
                if kind.kind == RECORD:
                    yield HostAssignment(HostVariable(kind.unqualified.spelling, ""), None)


def aliases(variable: Cursor) -> Iterator[HostAssignment]:
    """What a variable outside of functions may be another way to: all that its initialiser names, but for numbers."""
    if variable.type.canonical.kind in INTEGERS:
        return
    for cursor in walk(variable):
        if cursor.kind in (Kind.MEMBER, Kind.NAME) and (named := cursor.referenced).exists:
            found = outer(named) or member(Item(cursor, None))
            if found is not None:
                yield HostAssignment(found, None)


def _kept(body: Body, item: Item) -> HostVariable | None:
    """The member or variable outside of functions that an expression names."""
    named = body.declared(item)
    if named is None:
        return member(item)
    return None if body.is_local(named) else outer(named)


def _set(body: Body, item: Item, variable: HostVariable) -> Iterator[HostAssignment]:
    """What one use of a variable changes about it."""
    used, parent = item, item.parent
    while parent is not None and parent.kind == Kind.PARENTHESES:
        used, parent = parent, parent.parent
    if parent is None:
        return
    operator, first = parent.cursor.operator, used.is_first()
    if parent.kind == Kind.BINARY and operator == "=" and first:
        yield HostAssignment(variable, number_of(body, parent.children[1]))
    elif (
        (parent.kind == Kind.COMPOUND_ASSIGNMENT and first)
        or (parent.kind == Kind.UNARY and operator in ("++", "--", "&"))
        or binds_reference(parent, used)
    ):
        yield HostAssignment(variable, None)


def _initialised(body: Body, constructor: Item) -> Iterator[HostAssignment]:
    """The members that a constructor sets before its body."""
    for name, value in itertools.pairwise(constructor.children):
        if name.kind == Kind.MEMBER_REF and (variable := member(name)) is not None:
            yield HostAssignment(variable, number_of(body, value))


def _on_host(body: Body) -> bool:
    attributes = {child.kind for child in body.function.children}
    on_device = Kind.DEVICE_ATTRIBUTE in attributes and Kind.HOST_ATTRIBUTE not in attributes
    return not on_device and Kind.KERNEL_ATTRIBUTE not in attributes


def _call(body: Body, item: Item) -> HostCall | None:
    callee, name_at = callee_of(item), _name_at(body, item)
    if callee is None or not body.reading.ours(callee) or callee.kind not in (Kind.FUNCTION, Kind.METHOD):
        return None
    if name_at is None:
        return HostCall(callee.spelling, None, ())  # its name may be put together by a macro
    given = [argument.node for argument in item.cursor.arguments]
    parts = {part.cursor.node: part for part in item.expressions}
    parameters = callee.arguments
    if len(given) > len(parameters):
        return HostCall(callee.spelling, name_at, ())  # an operator with its object, or `...`
    arguments = [_argument(body, parts.get(node), p) for node, p in zip(given, parameters, strict=False)]
    return HostCall(callee.spelling, name_at, tuple(arguments))


def _name_at(body: Body, call: Item) -> Place | None:
    """Where the called function is named: not in a macro."""
    for item in call.children[0].walk() if call.children else ():
        named = item.cursor.referenced if item.kind in (Kind.NAME, Kind.MEMBER) else None
        if named is None or named.key != call.cursor.referenced.key:
            continue
        at = item.cursor.name_offset
        path = body.reading.unit.path(at.file)
        text = body.reading.places.text(path) if path is not None else None
        end = at.offset + len(named.spelling.encode())
        if path is None or text is None or text[at.offset : end] != named.spelling.encode():
            return None
        return Place(path, (at.offset, end))
    return None


def _argument(body: Body, part: Item | None, parameter: Cursor) -> HostExpression | HostSizes | None:
    if part is None or (part.kind == Kind.UNEXPOSED and not part.children):
        return None  # a default, which has no text of its own
    if is_dim3(parameter.type):
        return sizes_given(body, part)
    return number_of(body, part) if parameter.type.canonical.kind in INTEGERS else None
