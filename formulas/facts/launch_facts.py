"""The facts about a kernel's launches that a rewriter may rely on. Data only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.source.number_types import element_bytes
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.toolchain.code_object import KernelMetadata


@dataclass(frozen=True)
class LaunchFact:
    """One captured launch shape of a kernel.

    `grid` and `workgroup` count work-items. `scalars` maps integer by-value parameters, and such members of structures
    (`grid.nx`), to their value; `buffer_bytes` maps pointers, also those members, to the bytes between the pointer and
    the end of its allocation, `buffer_offsets` to those between the start of its allocation and the pointer.
    """

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds: int = 0
    scalars: Mapping[str, int] = field(default_factory=dict)
    buffer_bytes: Mapping[str, int] = field(default_factory=dict)
    buffer_offsets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceTypes:
    """The types of one kernel in one text of its file.

    `elements` maps the names of pointer parameters to the number type that they lead to, where no template decides
    that; where one does, `instances` has the types of all instances, and those of the written type
    (`T`). `sizes` maps names of types as they are written (an alias, a macro) to their bytes. `numbers` are the
    parameters that hold numbers and nothing else, also in structures; `steady` are those that are passed by value and
    that nothing changes, not even a member of them. `values` are those of the template's parameters that are integers,
    in all instances. `combining` are calls of two numbers by their bytes whose callee adds them, takes the larger one
    or the like, and whether many may be combined in any order without a bit changing. `arguments` are those of the
    template in each instance.
    """

    text: bytes = b""
    elements: Mapping[str, str] = field(default_factory=dict)
    instances: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()
    steady: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[int]] = field(default_factory=dict)
    spans: Mapping[tuple[int, int], str] = field(default_factory=dict, repr=False)
    combining: Mapping[tuple[int, int], bool] = field(default_factory=dict, repr=False)
    arguments: tuple[tuple[str, ...], ...] = ()

    def of(self, source: bytes, node: Node) -> str | None:
        """The type of an expression without qualifiers; None where the compiler does not say, or in another text."""
        return self.spans.get((node.start_byte, node.end_byte)) if source == self.text else None

    def combines(self, source: bytes, call: Node) -> bool | None:
        """What `combining` says of a call; None where nothing is known, or of another text."""
        return self.combining.get((call.start_byte, call.end_byte)) if source == self.text else None


@dataclass(frozen=True)
class LaunchFacts:
    """All captured launch shapes of a kernel and the limits of the device they ran on.

    `type_bytes` are the sizes of types that the source only names, like a template's `T`. `member_pointers` maps
    pointers in structures that are passed by value (`grid.data`) to their element types, `member_numbers` the integers
    there (`grid.nx`) to theirs. `promised` names those of these pointers that are `__restrict__`. `disjoint` names the
    pointers, also those members, that never pointed into the same allocation as another one. `threads` is the size of
    the largest workgroup of any launch, recorded or only seen; 0 when it is not known. `written` is that of all
    launches in the program's text; None where a run decides the size of one. `needs` is what the compiler
    made of the kernel (of its most demanding instance), `types` what it says of types in the source. The LDS is served
    as the row `device` of the device table says.
    """

    launches: tuple[LaunchFact, ...] = ()
    type_bytes: Mapping[str, int] = field(default_factory=dict)
    member_pointers: Mapping[str, str] = field(default_factory=dict)
    member_numbers: Mapping[str, str] = field(default_factory=dict)
    static_lds: int = 0
    lds_limit: int = 65536
    wave_size: int = 64
    xcds: int = 1
    device: str = "mi300x"
    promised: frozenset[str] = frozenset()
    disjoint: frozenset[str] = frozenset()
    threads: int = 0
    written: int | None = None
    needs: KernelMetadata | None = None
    types: SourceTypes = SourceTypes()

    def bytes_of(self, type_name: str) -> int | None:
        """sizeof of a type: a number type, or one whose size the recorded launches give; None when not known."""
        known = element_bytes(type_name)
        return known if known is not None else self.type_bytes.get(type_name, self.types.sizes.get(type_name))


def pointers_of(kernel: KernelSyntax, facts: LaunchFacts) -> dict[str, str]:
    """The pointers that a kernel is given, also in structures (`grid.data`), with their element types."""
    return {
        **facts.member_pointers,
        **{p.name: _element(p.name, p.element_type, facts) for p in kernel.parameters if p.pointer},
    }


def _element(name: str, written: str, facts: LaunchFacts) -> str:
    """What a parameter leads to, as it is written where that says it."""
    return written if element_bytes(written) is not None else facts.types.elements.get(name, written)


def spelled_element(base: str, element: str, kernel: KernelSyntax) -> str:
    """How the kernel names that element type: `real` behind a `const real*`, which another build may make a float."""
    parameter = kernel.parameter(base)
    spelled = parameter.element_type if parameter is not None and parameter.pointer else ""
    return spelled if _ONE_NAME.fullmatch(spelled) and spelled != "void" else element


_ONE_NAME = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")


def elements_of(base: str, written: str, facts: LaunchFacts) -> frozenset[str]:
    """What a name leads to, or holds, in each instance of the kernel; `written` where no template decides it."""
    known = facts.types.instances
    return known.get(base, known.get(written, frozenset({written})))
