"""Facts about a kernel from recorded launches: shapes, integer arguments, buffer sizes, template arguments.

Takes captured dispatches and the kernel's syntax, gives the LaunchFacts that recipes and the guard rely on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.parameters import Instances, passed_members, template_values, type_of
from hipscope.analysis.errors import UsageError
from hipscope.analysis.profile import Device
from hipscope.analysis.semantics.layouts import Member
from hipscope.analysis.source.number_types import element_bytes, element_of
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.emulator.devices import device_table
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts

_MODELLED = "mi300x"  # whose LDS stands for that of a device without a table


def launch_facts(
    dispatches: Sequence[CapturedDispatch],
    kernel: KernelSyntax,
    compiled: CodeObject,
    device: Device,
    instances: Instances,
) -> dict[str, LaunchFacts]:
    """The facts for each symbol of the kernel: several when it is a template with several instances.

    `instances` says what the compiler knows of them; it is called for
    structures and pointers to them.
    """
    layout, lds_limit, xcds = device.layout, device.lds_bytes, device.xcds
    if layout is None or lds_limit is None or xcds is None:
        raise UsageError(f"the sizes of {device.name} are not known", "name another device")
    facts: dict[str, LaunchFacts] = {}
    for symbol in dict.fromkeys(d.kernel for d in dispatches):
        metadata = compiled.kernels.get(symbol)
        values = template_values(kernel, demangle(symbol))
        elements = {name: element_of(value) for name, value in values.items()}
        types = {name: element.size for name, element in elements.items() if element.kind != "bytes"}
        types |= _structures(symbol, kernel, types, instances)
        constants = {name: int(value) for name, value in values.items() if re.fullmatch(r"-?\d+", value)}
        of_symbol = [d for d in dispatches if d.kernel == symbol]
        members = passed_members(of_symbol[0], kernel, instances)
        facts[symbol] = LaunchFacts(
            launches=tuple(_launch(d, kernel, constants, members) for d in of_symbol),
            type_bytes=types,
            member_pointers={
                f"{kernel.parameters[i].name}.{m.path}": m.type.removesuffix("*")
                for i, found in members.items()
                for m in found
                if m.type.endswith("*")
            },
            member_numbers={
                f"{kernel.parameters[i].name}.{m.path}": m.type
                for i, found in members.items()
                for m in found
                if element_of(m.type).kind == "integer"
            },
            promised=frozenset(
                f"{kernel.parameters[i].name}.{m.path}"
                for i, found in members.items()
                for m in found
                if m.restrict
            ),
            static_lds=metadata.lds if metadata is not None else 0,
            lds_limit=lds_limit,
            wave_size=layout.wave_size,
            xcds=xcds,
            device=device.name if device.name in device_table() else _MODELLED,
            disjoint=_disjoint(of_symbol, kernel, members),
            needs=metadata,
        )
    return facts


def all_facts(by_symbol: Mapping[str, LaunchFacts]) -> LaunchFacts:
    """The facts of all instances together; a type's size is that of its largest."""
    first = next(iter(by_symbol.values()))
    sizes: dict[str, int] = {}
    for facts in by_symbol.values():
        for name, size in facts.type_bytes.items():
            sizes[name] = max(size, sizes.get(name, 0))
    return LaunchFacts(
        launches=tuple(launch for facts in by_symbol.values() for launch in facts.launches),
        type_bytes=sizes,
        member_pointers=_common([facts.member_pointers for facts in by_symbol.values()]),
        member_numbers=_common([facts.member_numbers for facts in by_symbol.values()]),
        static_lds=max(facts.static_lds for facts in by_symbol.values()),
        lds_limit=first.lds_limit,
        wave_size=first.wave_size,
        xcds=first.xcds,
        device=first.device,
        promised=frozenset.intersection(*(facts.promised for facts in by_symbol.values())),
        disjoint=frozenset.intersection(*(facts.disjoint for facts in by_symbol.values())),
        needs=max(
            (facts.needs for facts in by_symbol.values() if facts.needs is not None),
            key=lambda needs: (needs.scratch, needs.vgprs),
            default=None,
        ),
    )


def _common(listed: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What all of them say."""
    return {name: value for name, value in listed[0].items() if all(o.get(name) == value for o in listed)}


def _disjoint(
    dispatches: Sequence[CapturedDispatch], kernel: KernelSyntax, members: Mapping[int, tuple[Member, ...]]
) -> frozenset[str]:
    """The pointers that had an allocation to themselves in each of the dispatches."""
    alone: list[set[str]] = []
    for dispatch in dispatches:
        owners = [{argument for argument, _ in buffer.arguments} for buffer in dispatch.buffers]
        single = {next(iter(who)) for who in owners if len(who) == 1}
        found = {p.name for i, p in enumerate(kernel.parameters) if p.pointer and i in single}
        places = _member_places(dispatch, kernel, members)
        for name, (argument, buffer, _) in places.items():
            others = [other for other, (_, its, _) in places.items() if its is buffer]
            if {a for a, _ in buffer.arguments} == {argument} and others == [name]:
                found.add(name)
        alone.append(found)
    return frozenset(set.intersection(*alone)) if alone else frozenset()


def _member_places(
    dispatch: CapturedDispatch, kernel: KernelSyntax, members: Mapping[int, tuple[Member, ...]]
) -> dict[str, tuple[int, CapturedBuffer, int]]:
    """For each pointer in a structure: the argument that holds it, the buffer that it leads into, and where there."""
    found = {}
    for i, listed in members.items():
        start, raw = dispatch.explicit_arguments[i].offset, dispatch.kernarg()
        for member in listed:
            at = start + member.offset
            address = int.from_bytes(raw[at : at + 8], "little")
            for buffer in dispatch.buffers if member.type.endswith("*") else ():
                if 0 <= address - buffer.address < max(1, buffer.size):
                    name = f"{kernel.parameters[i].name}.{member.path}"
                    found[name] = (i, buffer, address - buffer.address)
    return found


def _structures(
    symbol: str, kernel: KernelSyntax, known: Mapping[str, int], instances: Instances
) -> dict[str, int]:
    """Sizes of the structures that pointer parameters point to, by the name that the parameter has for them."""
    sizes = {}
    for i, parameter in enumerate(kernel.parameters):
        name = parameter.element_type
        if not parameter.pointer or name in known or element_bytes(name) is not None:
            continue
        kind = type_of(i, symbol, instances)
        if kind is not None and kind.element is not None and kind.element.bytes is not None:
            sizes[name] = kind.element.bytes
    return sizes


def _launch(
    dispatch: CapturedDispatch,
    kernel: KernelSyntax,
    constants: Mapping[str, int],
    members: Mapping[int, tuple[Member, ...]],
) -> LaunchFact:
    names = [p.name for p in kernel.parameters]
    values = {
        p.name: dispatch.scalar(i)
        for i, p in enumerate(kernel.parameters)
        if element_of(p.element_type).kind != "float" and element_of(p.element_type).name != "bool"
    }
    inside: dict[str, int] = {}
    places = _member_places(dispatch, kernel, members)
    for i, found in members.items():
        start, raw = dispatch.explicit_arguments[i].offset, dispatch.kernarg()
        for member in found:
            element = element_of(member.type)
            if element.kind == "integer":
                at = start + member.offset
                signed = element.name.startswith("int")
                number = int.from_bytes(raw[at : at + member.size], "little", signed=signed)
                inside[f"{names[i]}.{member.path}"] = number
    return LaunchFact(
        grid=dispatch.grid,
        workgroup=dispatch.workgroup,
        dynamic_lds=dispatch.dynamic_lds,
        scalars={
            **constants,
            **{name: value for name, value in values.items() if value is not None},
            **inside,
        },
        buffer_bytes={
            **{
                names[argument]: buffer.size - offset
                for buffer in dispatch.buffers
                for argument, offset in buffer.arguments
                if argument < len(names)
            },
            **{name: buffer.size - at for name, (_, buffer, at) in places.items()},
        },
        buffer_offsets={
            **{
                names[argument]: offset
                for buffer in dispatch.buffers
                for argument, offset in buffer.arguments
                if argument < len(names)
            },
            **{name: at for name, (_, _, at) in places.items()},
        },
    )
