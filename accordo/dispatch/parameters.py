"""What the source says of a kernel's parameters: template arguments, structures passed by value, pointers in them.

Takes captured dispatches, the kernel's syntax and what the compiler says of its instances, gives layouts by parameter
and the `Signature` that a proof is made with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.element_types import FloatStructure, MemberPointer, argument_types, pointees
from hipscope.accordo.dispatch.signature import Signature
from hipscope.analysis.semantics.layouts import Member, members_of
from hipscope.analysis.semantics.records import FunctionInstance, Type
from hipscope.analysis.source.kernel_definitions import split_arguments
from hipscope.analysis.source.number_types import BYTES, Element, element_of
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.emulator.symbolize import demangle

Instances = Callable[[str], FunctionInstance | None]
"""What the compiler says of a kernel by its symbol; None where it cannot be asked."""


def signature_of(
    dispatches: Sequence[CapturedDispatch], kernel: KernelSyntax, instances: Instances
) -> Signature:
    """The kernel's parameters as the source has them. `instances` is called if a structure may be among them."""
    types = [p.type for p in kernel.parameters]
    members: dict[str, dict[int, tuple[MemberPointer, ...]]] = {}
    structures: dict[str, FloatStructure] = {}
    for dispatch in {d.kernel: d for d in dispatches}.values():
        inside = passed_members(dispatch, kernel, instances)
        pointers = {i: [m for m in listed if m.target is not None] for i, listed in inside.items()}
        members[dispatch.kernel] = {
            i: tuple(MemberPointer(m.offset, m.path, m.type.removesuffix("*")) for m in listed)
            for i, listed in pointers.items()
        }
        targets = {m.type.removesuffix("*"): m.target for listed in pointers.values() for m in listed}
        for i, name in pointees(demangle(dispatch.kernel), types).items():
            kind = type_of(i, dispatch.kernel, instances) if element_of(name) is BYTES else None
            targets[name] = kind.element if kind is not None else None
        for name, target in targets.items():
            if target is not None and (floats := _float_structure(name, target)) is not None:
                structures[name] = floats
    return Signature(tuple(p.name for p in kernel.parameters), tuple(types), members, structures)


def _float_structure(name: str, kind: Type) -> FloatStructure | None:
    """A structure that holds floats of one type, without gaps and arrays: then an array of it is one of floats."""
    members = members_of(kind) if element_of(name) is BYTES else None
    if not members or sum(m.size for m in members) != kind.bytes:
        return None
    elements = {element_of(m.type) for m in members}
    element = elements.pop()
    if elements or element.kind != "float":
        return None
    return FloatStructure(members[0].type, sum(m.size for m in members) // element.size)


def passed_members(
    dispatch: CapturedDispatch, kernel: KernelSyntax, instances: Instances
) -> dict[int, tuple[Member, ...]]:
    """Parameter -> what lies in the structure that it is, where the compiler gives the size that was passed."""
    found = {}
    for i, (parameter, argument) in enumerate(
        zip(kernel.parameters, dispatch.explicit_arguments, strict=False)
    ):
        plain = parameter.pointer or element_of(parameter.type) is not BYTES
        if argument.value_kind != "by_value" or plain:
            continue
        kind = type_of(i, dispatch.kernel, instances)
        if kind is not None and kind.bytes == argument.size and element_of(kind.plain) is BYTES:
            found[i] = tuple(m for m in members_of(kind) or () if m.path)
    return {i: members for i, members in found.items() if members}


def type_of(parameter: int, kernel: str, instances: Instances) -> Type | None:
    """What the compiler says of a parameter of the kernel with this symbol."""
    instance = instances(kernel)
    known = instance is not None and parameter < len(instance.parameters)
    return instance.parameters[parameter].type if instance is not None and known else None


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
