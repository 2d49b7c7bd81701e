"""What the bytes of a buffer mean: element types from the kernel's demangled signature.

The code object knows sizes and offsets of arguments, not what a pointer points to; the mangled name does. A type that
is not a plain number is compared as bytes, exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.analysis.source.kernel_definitions import split_arguments
from hipscope.analysis.source.number_types import BYTES, Element, element_of
from hipscope.analysis.system.process import run_process
from hipscope.emulator.symbolize import with_known_floats, with_short_floats


@dataclass(frozen=True)
class Segment:
    """Bytes [start, end) of a buffer, all of one element type; `argument` is the kernel argument that says so.

    `member` is which of the pointers in that argument it is, where it is a structure. With a `stride` there is one
    element every so many bytes, and something else between them. `members`: how many of the elements make a structure.
    Those may be of different sizes, so that a tolerance by all of them would hide the small ones. `only` marks the
    elements that are of that type, where others lie between them (another piece has those). `stored`: no declaration
    says the type, but what the kernel's machine code stores there; which elements belong together is not known then.
    `sites` says of each which of the storing instructions wrote it, by a small number.
    """

    start: int
    end: int
    element: Element
    argument: int | None
    stride: int | None = None
    member: str = ""
    members: int = 1
    only: NDArray[np.bool_] | None = field(default=None, compare=False)
    stored: bool = False
    sites: NDArray[np.uint8] | None = field(default=None, compare=False)

    def of_type(self, start: int, count: int) -> NDArray[np.bool_] | None:
        """Of `count` elements from byte `start` of the buffer on, those that are of this type; None: all."""
        first = (start - self.start) // self.element.size
        return None if self.only is None else self.only[first : first + count]


@dataclass(frozen=True)
class FloatStructure:
    """A structure that holds nothing but floats of one type: the type, and how many there are."""

    type: str
    members: int


@dataclass(frozen=True)
class MemberPointer:
    """A pointer in a structure that is passed by value: where it lies there, its name, the type it points to."""

    offset: int
    path: str
    pointee: str


@dataclass(frozen=True)
class Pointees:
    """What pointers lead to, by argument; `members` those in arguments that are structures.

    `structures` are those types among them that are structures of floats of one type only.
    """

    arguments: Mapping[int, str]
    members: Mapping[int, tuple[MemberPointer, ...]] = field(default_factory=dict)
    structures: Mapping[str, FloatStructure] = field(default_factory=dict)


Leads = Mapping[int, tuple[MemberPointer, ...]]


def argument_types(demangled: str) -> list[str] | None:
    """The parameter types of a demangled function, or None when the name carries none."""
    text = re.sub(r"\s*\[clone [^\]]*\]$|\.kd$", "", demangled.strip())
    if not text.endswith(")"):
        return None
    depth, start = 0, len(text) - 1
    while start >= 0:
        depth += {")": 1, "(": -1}.get(text[start], 0)
        if depth == 0:
            break
        start -= 1
    inner = text[start + 1 : -1].strip()
    return [] if inner in ("", "void") else split_arguments(inner)


@lru_cache(maxsize=256)
def demangle(symbol: str, cxxfilt: Path) -> str:
    """The demangled name by LLVM's own tool; the symbol itself when the tool is missing or does not know."""
    if not cxxfilt.exists():
        return symbol
    known = with_known_floats(symbol)
    done = run_process([str(cxxfilt), known], timeout=20)
    name = done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else known
    if known == symbol:
        return name
    return symbol if name == known else with_short_floats(name)


def pointees(demangled: str, fallback: Sequence[str] = ()) -> dict[int, str]:
    """Argument index -> pointee type for the pointer arguments; `fallback` are the source's own parameter types."""
    types = argument_types(demangled)
    listed = types if types is not None else list(fallback)
    return {i: t.rstrip().rstrip("*") for i, t in enumerate(_plain(t) for t in listed) if t.endswith("*")}


def pieces_of(dispatch: CapturedDispatch, types: Pointees) -> dict[int, tuple[Segment, ...]]:
    """The buffers of a launch, by number, cut as `segments` does."""
    leads = _leads(dispatch, dispatch.kernarg(), types)
    return {b.index: segments(b, types.arguments, leads, types.structures) for b in dispatch.buffers}


def _leads(dispatch: CapturedDispatch, kernarg: bytes, types: Pointees) -> Leads:
    """Where the pointers in structures lead to: for each address the members."""
    found: dict[int, tuple[MemberPointer, ...]] = {}
    arguments = dispatch.explicit_arguments
    for index, members in types.members.items():
        for member in members if index < len(arguments) else ():
            at = arguments[index].offset + member.offset
            address = int.from_bytes(kernarg[at : at + 8], "little")
            found[address] = (*found.get(address, ()), member)
    return found


def segments(
    buffer: CapturedBuffer,
    types: Mapping[int, str],
    leads: Leads | None = None,
    structures: Mapping[str, FloatStructure] | None = None,
) -> tuple[Segment, ...]:
    """The buffer cut where pointer arguments point into it, each piece with the element type of its argument.

    `leads` are the pointers in structures, by where they lead to; `structures` as in `Pointees`. Bytes
    before the first pointer, pieces whose arguments disagree, and a rest that is no whole element are bytes.
    """
    leads, structures = leads or {}, structures or {}
    starts = sorted({offset for _, offset in buffer.arguments if 0 <= offset < buffer.size})
    if not starts:
        return (Segment(0, buffer.size, BYTES, None),) if buffer.size else ()
    result = [Segment(0, starts[0], BYTES, None)]
    for start, end in zip(starts, [*starts[1:], buffer.size], strict=True):
        here = [argument for argument, offset in buffer.arguments if offset == start]
        members = leads.get(buffer.address + start, ())
        named = {types[a] for a in here if a in types} | {m.pointee for m in members}
        elements = {element_of(structures[n].type if n in structures else n) for n in named}
        member = members[0].path if members and here[0] not in types else ""
        element = elements.pop() if len(elements) == 1 else BYTES
        whole = end - (end - start) % element.size
        in_one = max((structures[n].members for n in named if n in structures), default=1)
        result.append(Segment(start, whole, element, here[0], member=member, members=in_one))
        if whole < end:
            result.append(Segment(whole, end, BYTES, here[0]))
    return tuple(s for s in result if s.end > s.start)


def _plain(kind: str) -> str:
    """A type without restrict and outermost const: `float const*` for `float const* const __restrict__`."""
    text = re.sub(r"\s*\b(__restrict__|__restrict|restrict)\b", "", kind).strip()
    while text.endswith("const"):
        text = text.removesuffix("const").rstrip()
    return text.removesuffix("[]") + "*" if text.endswith("[]") else text
