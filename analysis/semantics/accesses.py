"""The accesses of a body to memory: elements, what pointers and references lead to, variables of the device, atomics.

Takes a body, gives records in the order of the text. An address that is only computed or handed on is no access.
An element that a function of the program gives by reference is one of its caller, in an object that is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from hipscope.analysis.semantics.bodies import (
    Body,
    Item,
    is_pointer,
    memory_of,
    parameter_of,
    place_of_all,
)
from hipscope.analysis.semantics.calls import callee_of, name_of
from hipscope.analysis.semantics.cursors import ARRAYS, CASTS, FUNCTIONS, POINTER, REFERENCES, Cursor, Kind
from hipscope.analysis.semantics.records import AccessKind, ElementAccess, Type, VariableDeclaration
from hipscope.analysis.semantics.ways import object_ways, pointer_ways

_ASSIGNING = frozenset(f"operator{o}=" for o in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))
_STATEMENTS = frozenset((202, 203, 204, 205, 206, 207, 208, 209))  # CXCursor_CompoundStmt to CXCursor_ForStmt
_STEPPING = frozenset(("operator++", "operator--"))
_ATOMIC = (
    "atomic",
    "unsafeAtomic",
    "safeAtomic",
    "__hip_atomic_",
    "__atomic_",
    "__scoped_atomic_",
    "__opencl_atomic_",
)
# Functions of the toolchain that move what their argument points to: the argument, and what they do there.
_MOVING: dict[str, tuple[int, AccessKind]] = {
    "__ldg": (0, "read"), "__ldcg": (0, "read"), "__ldcs": (0, "read"), "__builtin_nontemporal_load": (0, "read"),
    "__builtin_nontemporal_store": (1, "write"), "__stcg": (0, "write"), "__stcs": (0, "write"),
}  # fmt: skip


def accesses(body: Body) -> tuple[ElementAccess, ...]:
    """All accesses of a function, those of the functions that it calls left out."""
    found = (access for item in body.top.walk() for access in _at(body, item))
    return tuple(sorted(found, key=lambda access: (str(access.place.file), access.place.span)))


def atomic_name(item: Item, body: Body) -> str:
    """The name of the atomic function that an expression calls; "" when it calls none.

    The compiler's own atomics are no calls in libclang, but expressions without a kind that begin with the name.
    """
    if item.kind == Kind.CALL:
        name = name_of(item)
        callee = callee_of(item)
        ours = callee is not None and body.reading.ours(callee)
        return name if name.startswith(_ATOMIC) and not ours else ""
    if item.kind != Kind.UNEXPOSED or len(item.children) < 2 or item.cursor.spelling:
        return ""
    name = body.reading.places.first_word(item.cursor)
    return name if name.startswith(_ATOMIC[3:]) else ""


def _at(body: Body, item: Item) -> Iterator[ElementAccess]:
    if atomic_name(item, body):
        if arguments := _arguments(item):
            yield from _through(body, arguments[0], "atomic")
    elif item.kind == Kind.CALL and (moving := _MOVING.get(name_of(item))) is not None:
        arguments = _arguments(item)
        callee = callee_of(item)
        if moving[0] < len(arguments) and not (callee is not None and body.reading.ours(callee)):
            yield from _through(body, arguments[moving[0]], moving[1])
    elif _is_element(body, item):
        top, moved = _moved(item)
        kind = _use(body, top)
        if kind is not None and (access := _access(body, item, moved, kind)) is not None:
            yield access


def _arguments(item: Item) -> list[Item]:
    """The arguments of a call; the operands of a compiler's own atomic."""
    if item.kind != Kind.CALL:
        return item.children
    given = {argument.node: i for i, argument in enumerate(item.cursor.arguments)}
    found = [child for child in item.children if child.cursor.node in given]
    return sorted(found, key=lambda child: given[child.cursor.node])


def _is_element(body: Body, item: Item) -> bool:
    """Whether an expression is a place in memory that is used here, not only part of one."""
    if item.kind in (Kind.SUBSCRIPT, Kind.UNARY):
        if item.kind == Kind.UNARY and item.cursor.operator != "*":
            return False
        return item.cursor.type.canonical.kind not in ARRAYS and not _is_function(item)
    if item.kind == Kind.MEMBER:
        if item.cursor.referenced.kind != Kind.FIELD or item.cursor.type.canonical.kind in ARRAYS:
            return False
        inner = item.expressions
        # Where a method's own object lies, only its caller knows.
        return bool(inner) and inner[0].kind != Kind.THIS and inner[0].cursor.type.canonical.kind == POINTER
    if item.kind == Kind.CALL:
        return _gives_reference(body, item)
    variable = body.declared(item)
    if variable is None or not body.reading.ours(variable):
        return False
    if variable.type.kind in REFERENCES:
        return variable.type.pointee.canonical.kind not in ARRAYS
    return variable.type.canonical.kind not in ARRAYS and memory_of(variable) is not None


def _gives_reference(body: Body, call: Item) -> bool:
    """Whether a call of the program's own function gives an element, which is then used."""
    callee = callee_of(call)
    used = call.parent is not None and call.parent.kind not in _STATEMENTS
    return callee is not None and used and body.reading.ours(callee) and callee.result.kind in REFERENCES


def _is_function(item: Item) -> bool:
    return item.cursor.type.canonical.kind in (110, 111)  # CXType_FunctionNoProto, CXType_FunctionProto


def _moved(item: Item) -> tuple[Item, Item]:
    """The expression that is used, casts and parentheses around it included, and the member of it that is moved."""
    moved = top = item
    while top.parent is not None:
        parent = top.parent
        if parent.kind == Kind.MEMBER and parent.cursor.referenced.kind == Kind.FIELD:
            if top.cursor.type.canonical.kind == POINTER:
                break
            moved = parent
        elif parent.kind != Kind.PARENTHESES and not (
            parent.kind == Kind.UNEXPOSED and len(parent.children) == 1
        ):
            break
        top = parent
    return top, moved


def _use(body: Body, top: Item) -> AccessKind | None:
    """What is done with a place in memory; None when only its address is taken."""
    parent = top.parent
    if top.cursor.type.canonical.kind in ARRAYS or parent is None:
        return None
    if parent.kind in (Kind.BINARY, Kind.COMPOUND_ASSIGNMENT) and top.is_first():
        operator = parent.cursor.operator
        if operator == "=":
            return "write"
        return "update" if parent.kind == Kind.COMPOUND_ASSIGNMENT else "read"
    if parent.kind == Kind.UNARY:
        operator = parent.cursor.operator
        if operator == "&":
            return None
        return "update" if operator in ("++", "--") else "read"
    if parent.kind == Kind.SUBSCRIPT and top.cursor.type.canonical.kind in ARRAYS:
        return None
    if parent.kind == Kind.VARIABLE:
        return None if parent.cursor.type.kind in REFERENCES else "read"
    if parent.kind == Kind.RETURN:
        return None if body.function.result.kind in REFERENCES else "read"
    if parent.kind == Kind.ASSEMBLY:  # an operand that is not loaded is an output
        return "read" if top.kind == Kind.UNEXPOSED else "update"
    if parent.kind == Kind.CALL:
        return _use_in_call(body, parent, top)
    if parent.kind == Kind.MEMBER and parent.cursor.referenced.kind in FUNCTIONS:
        return _use_by_method(body, parent.cursor.referenced)
    return "read"


def _use_in_call(body: Body, call: Item, top: Item) -> AccessKind | None:
    callee = call.cursor.referenced
    if not callee.exists or callee.kind not in FUNCTIONS:
        return "read"
    arguments = call.cursor.arguments
    is_object = bool(arguments) and arguments[0].node == top.cursor.node and callee.kind == Kind.METHOD
    if is_object and len(arguments) > len(callee.arguments):
        return _use_by_method(body, callee)
    parameter = parameter_of(call, top)
    if parameter is None or parameter.type.kind not in REFERENCES:
        return "read"
    definition = callee.definition
    if definition.exists and body.reading.ours(definition):
        return None  # the callee's use of its parameter is the access
    if parameter.type.pointee.constant:
        return "read"
    return "update" if callee.spelling in _ASSIGNING | _STEPPING or callee.kind == Kind.FUNCTION else "read"


def _use_by_method(body: Body, method: Cursor) -> AccessKind | None:
    name, definition = method.spelling, method.definition
    if name == "operator=":
        return "write"
    if definition.exists and body.reading.ours(definition):
        return None  # what the method does with its object is an access of the method
    return "read" if method.constant_method else "update"


def _access(body: Body, item: Item, moved: Item, kind: AccessKind) -> ElementAccess | None:
    place = body.reading.places.of(moved.cursor)
    made = body.reading.types.of(moved.cursor.type.referred)
    if place is None or made is None:
        return None
    indices = _indices(item)
    return ElementAccess(
        place=place,
        kind=kind,
        type=made,
        bases=tuple(object_ways(body, item) or ()),
        index=_named(body, indices),
        indices=place_of_all(body.reading, indices),
    )


def _through(body: Body, argument: Item, kind: AccessKind) -> Iterator[ElementAccess]:
    """The access of a function to what its argument points to."""
    inner = argument
    while inner.kind in CASTS and len(inner.expressions) == 1:
        inner = inner.expressions[0]
    made = _pointed_to(body, argument)
    if made is None:
        return
    if inner.kind == Kind.UNARY and inner.cursor.operator == "&" and inner.expressions:
        element = inner.expressions[0]
        ways = object_ways(body, element)
        while element.kind == Kind.PARENTHESES:
            element = element.expressions[0]
        indices, place = _indices(element), body.reading.places.of(element.cursor)
    else:
        ways, place = pointer_ways(body, inner), body.reading.places.of(inner.cursor)
        indices = [c for c in inner.expressions if not is_pointer(c)] if inner.kind == Kind.BINARY else []
    if place is not None:
        yield ElementAccess(
            place, kind, made, tuple(ways or ()), _named(body, indices), place_of_all(body.reading, indices)
        )


def _pointed_to(body: Body, argument: Item) -> Type | None:
    canonical = argument.cursor.type.canonical
    if canonical.kind in ARRAYS:
        return body.reading.types.of(canonical.array_element)
    return (
        body.reading.types.of(argument.cursor.type.canonical.pointee) if canonical.kind == POINTER else None
    )


def _indices(item: Item) -> list[Item]:
    """What stands between the brackets, outermost dimension first; the offset of `*(p + i)`."""
    found: list[Item] = []
    while True:
        if item.kind == Kind.SUBSCRIPT:
            inner = item.expressions
            found[:0] = [child for child in inner if not is_pointer(child)][:1]
            item = next((child for child in inner if is_pointer(child)), item.children[0])
            if item.cursor.type.canonical.kind == POINTER and not _decayed(item):
                return found
        elif item.kind == Kind.UNARY and item.cursor.operator == "*" and item.expressions:
            item = item.expressions[0]
        elif item.kind in CASTS and item.expressions:
            item = item.expressions[-1]
        elif item.kind == Kind.BINARY and item.cursor.operator in ("+", "-"):
            return [child for child in item.expressions if not is_pointer(child)] + found
        elif item.kind == Kind.MEMBER and item.expressions:
            item = item.expressions[0]
            if item.cursor.type.canonical.kind == POINTER:
                return found
        else:
            return found


def _decayed(item: Item) -> bool:
    """An array that became a pointer: what is behind it belongs to the same element."""
    inner = item.expressions
    return item.kind in CASTS and bool(inner) and inner[-1].cursor.type.canonical.kind in ARRAYS


def _named(body: Body, items: list[Item]) -> tuple[VariableDeclaration, ...]:
    """The variables in these expressions, each once."""
    found: dict[int, VariableDeclaration] = {}
    for item in (below for top in items for below in top.walk()):
        variable = body.declared(item)
        if variable is not None and (declaration := body.declaration(variable)) is not None:
            found.setdefault(variable.key, declaration)
    return tuple(found.values())
