"""What the source says of a kernel's parameters: template arguments, structures passed by value, pointers in them.

Takes captured dispatches, the kernel's syntax and the structures of the program, gives layouts by parameter and
the `Signature` that a proof is made with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.element_types import FloatStructure, MemberPointer, argument_types, pointees
from hipscope.accordo.dispatch.signature import Signature
from hipscope.analysis.source.kernel_definitions import split_arguments
from hipscope.analysis.source.number_types import BYTES, Element, element_of
from hipscope.analysis.source.struct_layout import Definitions, Member, layout_of
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.emulator.symbolize import demangle


def signature_of(
    dispatches: Sequence[CapturedDispatch], kernel: KernelSyntax, definitions: Callable[[], Definitions]
) -> Signature:
    """The kernel's parameters as the source has them. `definitions` is called if a structure is among them."""
    members = pointers_inside(dispatches, kernel, definitions)
    return Signature(
        names=tuple(p.name for p in kernel.parameters),
        types=tuple(p.type for p in kernel.parameters),
        members=members,
        structures=_float_structures(members, kernel, definitions),
    )


def pointers_inside(
    dispatches: Sequence[CapturedDispatch], kernel: KernelSyntax, definitions: Callable[[], Definitions]
) -> dict[str, dict[int, tuple[MemberPointer, ...]]]:
    """For each symbol of the kernel the pointers in the structures that it is given by value, by parameter."""
    found: dict[str, dict[int, tuple[MemberPointer, ...]]] = {}
    for dispatch in dispatches:
        if dispatch.kernel not in found:
            values = template_values(kernel, demangle(dispatch.kernel))
            found[dispatch.kernel] = {
                i: tuple(
                    MemberPointer(m.offset, m.path, m.type.removesuffix("*"))
                    for m in listed
                    if m.type.endswith("*")
                )
                for i, listed in members_of(dispatch, kernel, values, definitions).items()
            }
    return found


def _float_structures(
    inside: Mapping[str, Mapping[int, tuple[MemberPointer, ...]]],
    kernel: KernelSyntax,
    definitions: Callable[[], Definitions],
) -> dict[str, FloatStructure]:
    """Of the types that the kernel's pointers lead to, the structures that hold floats of one type.

    Only those without gaps and arrays: then an array of structures is one of floats.
    """
    types = [p.type for p in kernel.parameters]
    found: dict[str, FloatStructure] = {}
    for symbol, members in inside.items():
        named = [
            *pointees(demangle(symbol), types).values(),
            *(m.pointee for of in members.values() for m in of),
        ]
        for name in named:
            layout = layout_of(definitions(), name) if element_of(name) is BYTES else None
            if layout is None or sum(m.size for m in layout.members) != layout.size:
                continue
            elements = {element_of(m.type) for m in layout.members}
            if len(elements) == 1 and (element := elements.pop()).kind == "float":
                found[name] = FloatStructure(layout.members[0].type, layout.size // element.size)
    return found


def members_of(
    dispatch: CapturedDispatch,
    kernel: KernelSyntax,
    values: Mapping[str, str],
    definitions: Callable[[], Definitions],
) -> dict[int, tuple[Member, ...]]:
    """Parameter -> what lies in the structure that it is, where its definition gives the size that was passed.

    `values` are the template arguments of the instance.
    """
    found = {}
    for i, (parameter, argument) in enumerate(
        zip(kernel.parameters, dispatch.explicit_arguments, strict=False)
    ):
        if (
            argument.value_kind != "by_value"
            or parameter.pointer
            or element_of(parameter.type).kind != "bytes"
        ):
            continue
        layout = layout_of(definitions(), spelled(parameter.type, values))
        if layout is not None and layout.size == argument.size and layout.members[:1] != ():
            found[i] = tuple(m for m in layout.members if m.path)
    return found


def template_values(kernel: KernelSyntax, demangled: str) -> dict[str, str]:
    """Template parameter -> argument of one instance, integers as plain digits; empty when it is no template."""
    names = [
        match[1]
        for parameter in split_arguments(kernel.template_head.removeprefix("<").removesuffix(">"))
        if (match := re.search(r"(\w+)\s*(?:=.*)?$", parameter)) is not None
    ]
    start = demangled.find(f"{kernel.name}<")
    if not names or start < 0:
        return {}
    inner = _between_angles(demangled[start + len(kernel.name) :])
    values = [re.sub(r"^\((?:unsigned )?\w+\)|(?<=\d)u?l?$", "", v) for v in split_arguments(inner)]
    return dict(zip(names, values, strict=False))


def _between_angles(text: str) -> str:
    """What stands between the `<` that the text begins with and its `>`."""
    depth = 0
    for position, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if depth == 0:
            return text[1:position]
    return text[1:]


def spelled(type_name: str, values: Mapping[str, str]) -> str:
    """A type with the template parameters in it replaced by their arguments."""
    return "".join(values.get(word, word) for word in re.split(r"(\w+)", type_name))


def written_through_pointers(
    kernels: Iterable[str], structures: Mapping[str, FloatStructure]
) -> FloatStructure | None:
    """What all that these kernels write consists of, by their parameters; None where that is not one type of floats.

    With `structures` as in `Pointees`; how many members the largest has that they write.
    """
    found: dict[Element, str] = {}
    members = 1
    for kernel in kernels:
        name = demangle(kernel)
        types = argument_types(name)
        if types is None:
            return None
        behind = pointees(name)
        for pointee in behind.values():
            if "const" not in pointee.split():
                structure = structures.get(pointee, FloatStructure(pointee, 1))
                found[element_of(structure.type)] = structure.type
                members = max(members, structure.members)
        if any(i not in behind and element_of(t) is BYTES for i, t in enumerate(types)):
            return None  # it may hold pointers
    if len(found) != 1:
        return None
    element, spelled_as = found.popitem()
    return FloatStructure(spelled_as, members) if element.kind == "float" else None
