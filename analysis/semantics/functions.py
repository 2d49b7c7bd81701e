"""The functions of a program: every definition in its files, and every instance of a template that is used.

Takes one reading of a unit, gives records and launches. An instance is nobody's child in libclang: it is found by
following what calls, launches and names of functions mean, from body to body.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hipscope.analysis.semantics.bodies import Body, Item, Reading
from hipscope.analysis.semantics.calls import calls
from hipscope.analysis.semantics.cursors import FUNCTIONS, RECORDS, ClangType, Cursor, Kind, walk
from hipscope.analysis.semantics.launches import (
    aliases,
    assignments,
    host_calls,
    launches,
    launches_of_pattern,
)
from hipscope.analysis.semantics.records import (
    Diagnostic,
    FunctionInstance,
    FunctionKey,
    FunctionParameter,
    HostAssignment,
    HostCall,
    KernelLaunch,
    Place,
    Type,
)
from hipscope.analysis.semantics.units import NotReadable

_SCOPES = frozenset((Kind.NAMESPACE, Kind.LINKAGE, Kind.UNEXPOSED_DECL, *RECORDS))
_TEMPLATES = frozenset((Kind.FUNCTION_TEMPLATE, Kind.CLASS_TEMPLATE, Kind.CLASS_PARTIAL))
_NAMING = frozenset((Kind.NAME, Kind.MEMBER, Kind.CALL))


@dataclass(frozen=True)
class Found:
    """All functions of a program by key, its launches, and what its host code calls and sets."""

    functions: dict[FunctionKey, FunctionInstance]
    launches: tuple[KernelLaunch, ...]
    calls: tuple[HostCall, ...]
    assignments: tuple[HostAssignment, ...]


def find_functions(
    reading: Reading,
    errors: tuple[Diagnostic, ...],
    *,
    one_of_each: bool = False,
    limit_s: float | None = None,
) -> Found:
    """Everything that the program's own files define, and the instances that these use.

    `one_of_each`: of all instances of a template the first that is found, for questions about the text alone. Raises
    NotReadable when reading takes more than `limit_s` seconds of this thread.
    """
    begun, places = time.thread_time(), set[Place]()
    found: dict[FunctionKey, FunctionInstance] = {}
    launched: list[KernelLaunch] = []
    called: list[HostCall] = []
    assigned = [
        one for variable in _outer_variables(reading, reading.unit.top.children) for one in aliases(variable)
    ]
    waiting = list(_outer_functions(reading, reading.unit.top.children))
    seen: set[int] = set()
    while waiting:
        cursor = waiting.pop()
        definition = cursor.definition
        if not definition.exists or definition.key in seen or not reading.ours(definition):
            continue
        seen.add(definition.key)
        if _is_pattern(definition):
            continue
        if limit_s is not None and time.thread_time() - begun > limit_s:
            raise NotReadable(f"its functions and their instances take more than {limit_s:g} s to read")
        if one_of_each and (place := reading.places.of(definition)) is not None:
            if place in places:
                continue
            places.add(place)
        body = Body(reading, definition)
        function = _function(body, errors)
        if function is not None:
            found[function.key] = function
            launched += launches(body)
            called += host_calls(body)
            assigned += assignments(body)
        waiting += _used(body)
    launched += _unseen_launches(reading, found)
    by_place = sorted(set(launched), key=lambda launch: launch.place.span)
    return Found(found, tuple(by_place), tuple(dict.fromkeys(called)), tuple(dict.fromkeys(assigned)))


def _unseen_launches(
    reading: Reading, found: Mapping[FunctionKey, FunctionInstance]
) -> Iterator[KernelLaunch]:
    """The launches in templates of which not every instance is found: what other files or virtual calls use.

    Members of explicit instances, virtual ones, those that no instance was found of, and the templates that they call.
    """
    seen = {f.place for f in found.values()}
    explicit = _explicit_instances(reading, reading.unit.top.children)
    left, free = [], []
    for pattern in _patterns(reading, reading.unit.top.children):
        unseen = reading.places.of(pattern) not in seen
        if pattern.kind == Kind.FUNCTION_TEMPLATE and pattern.parent.kind not in _TEMPLATES:
            free += [pattern] if unseen else []
        elif unseen or pattern.is_virtual or pattern.parent.key in explicit:
            left.append(pattern)
    while left:
        body = Body(reading, left.pop())
        yield from launches_of_pattern(body, found)
        left += [
            operator for i in body.top.walk() if i.kind == Kind.LAMBDA for operator in _operators(i.cursor)
        ]
        named = {item.cursor.spelling for item in body.top.walk() if item.kind == Kind.OVERLOADED}
        left += [pattern for pattern in free if pattern.spelling in named]
        free = [pattern for pattern in free if pattern.spelling not in named]


def _patterns(reading: Reading, cursors: Iterable[Cursor]) -> Iterator[Cursor]:
    """The definitions of function templates and of members of class templates."""
    for cursor in cursors:
        if not reading.ours(cursor):
            continue
        if cursor.kind in (*_SCOPES, Kind.CLASS_TEMPLATE, Kind.CLASS_PARTIAL):
            yield from _patterns(reading, cursor.children)
        elif cursor.kind in (*FUNCTIONS, Kind.FUNCTION_TEMPLATE) and cursor.defines and _is_pattern(cursor):
            yield cursor


def _explicit_instances(reading: Reading, cursors: Iterable[Cursor]) -> frozenset[int]:
    """The class templates that the program has the compiler make instances of, used or not."""
    found: set[int] = set()
    for cursor in cursors:
        if reading.ours(cursor) and cursor.kind in _SCOPES:
            if cursor.kind in RECORDS and (template := cursor.template).exists:
                found.add(template.key)
            found |= _explicit_instances(reading, cursor.children)
    return frozenset(found)


def _outer_functions(reading: Reading, cursors: Iterable[Cursor]) -> Iterator[Cursor]:
    """The functions that are defined outside of functions, and those that other declarations use."""
    for cursor in cursors:
        if not reading.ours(cursor) or cursor.kind in _TEMPLATES:
            continue
        if cursor.kind in FUNCTIONS:
            yield cursor
        elif cursor.kind in _SCOPES:
            yield from _outer_functions(reading, cursor.children)
        elif cursor.kind == Kind.VARIABLE:
            yield from _named(cursor)


def _outer_variables(reading: Reading, cursors: Iterable[Cursor]) -> Iterator[Cursor]:
    """The variables that stand outside of functions."""
    for cursor in cursors:
        if reading.ours(cursor) and cursor.kind == Kind.VARIABLE:
            yield cursor
        elif reading.ours(cursor) and cursor.kind in _SCOPES:
            yield from _outer_variables(reading, cursor.children)


def _used(body: Body) -> Iterator[Cursor]:
    for item in body.top.walk():
        if item.kind == Kind.LAMBDA:
            yield from _operators(item.cursor)
        elif item.kind in _NAMING:
            cursor = item.cursor.referenced
            if cursor.exists and cursor.kind in FUNCTIONS:
                yield cursor


def _named(variable: Cursor) -> Iterator[Cursor]:
    for cursor in walk(variable):
        if cursor.kind == Kind.LAMBDA:
            yield from _operators(cursor)
        elif cursor.kind in _NAMING and (named := cursor.referenced).exists and named.kind in FUNCTIONS:
            yield named


def _operators(lambda_expression: Cursor) -> Iterator[Cursor]:
    """The function that a lambda is; none for one with `auto` parameters, which has instances instead."""
    for member in lambda_expression.type.declaration.children:
        if member.kind == Kind.METHOD and member.spelling == "operator()":
            yield member


def _is_pattern(function: Cursor) -> bool:
    """Whether a function stands inside a template: its types are not known, its instances are asked instead."""
    parent = function
    while parent.exists and parent.kind != Kind.NAMESPACE:
        if parent.kind in _TEMPLATES:
            return True
        parent = parent.parent
    return False


def _function(body: Body, errors: tuple[Diagnostic, ...]) -> FunctionInstance | None:
    reading, cursor = body.reading, body.function
    place = reading.places.of(cursor)
    key = cursor.mangled
    if place is None or not key:
        return None
    template = _template_of(cursor)
    parameters = _parameters(body, cursor)
    return FunctionInstance(
        key=FunctionKey(key),
        name=cursor.spelling,
        place=place,
        template=reading.places.of(template) if template is not None else None,
        arguments=_arguments(reading, cursor),
        parameters=parameters,
        declared=_declared(reading, template) if template is not None and template.kind == Kind.FUNCTION_TEMPLATE
        else parameters,
        kernel=any(child.kind == Kind.KERNEL_ATTRIBUTE for child in cursor.children),
        host=any(child.kind == Kind.HOST_ATTRIBUTE for child in cursor.children),
        calls=calls(body),
        errors=_errors(body, place, errors),
        types=_types(body),
    )  # fmt: skip


def _parameters(body: Body, function: Cursor) -> tuple[FunctionParameter, ...]:
    return tuple(made for p in function.arguments if (made := body.parameter(p)) is not None)


def _declared(reading: Reading, template: Cursor) -> tuple[FunctionParameter, ...]:
    """The parameters of a template; the cursor of a template does not say its arguments, its children do."""
    return tuple(
        FunctionParameter(cursor.spelling, made, reading.places.of(cursor))
        for cursor in template.children
        if cursor.kind == Kind.PARAMETER and (made := reading.types.of(cursor.type)) is not None
    )


def _template_of(function: Cursor) -> Cursor | None:
    """The template that a function, or the class that it belongs to, is an instance of."""
    cursor = function
    while cursor.exists and cursor.kind in (*FUNCTIONS, *RECORDS):
        template = cursor.template
        if template.exists:
            return template
        cursor = cursor.parent
    return None


def _arguments(reading: Reading, function: Cursor) -> tuple[Type | int | str, ...]:
    cursor = function
    while cursor.exists and cursor.kind in (*FUNCTIONS, *RECORDS):
        given = cursor.template_arguments()
        if given:
            unsigned = _unsigned_parameters(cursor.template)
            return tuple(_argument(reading, cursor, i, a, i in unsigned) for i, a in enumerate(given))
        cursor = cursor.parent
    return ()


def _argument(
    reading: Reading, owner: Cursor, index: int, given: ClangType | int | str, unsigned: bool
) -> Type | int | str:
    if isinstance(given, ClangType):
        return reading.types.of(given) or ""
    if isinstance(given, int) and given < 0 and unsigned:
        return owner.unsigned_argument(index)
    return given


def _unsigned_parameters(template: Cursor) -> frozenset[int]:
    """Which parameters of a template are numbers without a sign: a bool that is true comes as -1."""
    if not template.exists:
        return frozenset()
    kinds = (Kind.TEMPLATE_TYPE_PARAMETER, Kind.TEMPLATE_VALUE_PARAMETER)
    parameters = [child for child in template.children if child.kind in kinds]
    return frozenset(i for i, p in enumerate(parameters) if p.type.canonical.kind in _UNSIGNED)


_UNSIGNED = frozenset((3, 4, 5, 6, 7, 8, 9, 10, 11, 12))  # CXType_Bool to CXType_UInt128


def _errors(body: Body, place: Place, errors: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """The errors that lie in a function, or in a declaration of the program that it uses."""
    if not errors:
        return ()
    places = {place}
    for item in body.top.walk():
        if item.kind in (*_NAMING, Kind.TYPE_REF, Kind.TEMPLATE_REF):
            used = item.cursor.referenced
            if (
                used.exists
                and body.reading.ours(used)
                and (there := body.reading.places.of(used)) is not None
            ):
                places.add(there)
    return tuple(e for e in errors if e.place is not None and any(p.holds(e.place) for p in places))


def _converts(item: Item) -> bool:
    """Whether an expression only makes another type, or a copy, of what has the same bytes."""
    if item.kind == Kind.UNEXPOSED:
        return bool(item.children)
    return (
        item.kind == Kind.CALL and len(item.children) == 1 and item.cursor.referenced.kind == Kind.CONSTRUCTOR
    )


def _types(body: Body) -> dict[Place, Type]:
    """The type of each expression that has bytes of its own, before what converts it; of several the outermost's."""
    found: dict[Place, Type] = {}
    for item in body.top.walk():
        if not 100 <= item.kind < 200 or _converts(item):
            continue
        place = body.reading.places.of(item.cursor)
        if place is None or place.macro is not None or place in found:
            continue
        if (made := body.reading.types.of(item.cursor.type)) is not None:
            found[place] = made
    return found
