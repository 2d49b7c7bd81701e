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
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer, CapturedDispatch
from hipscope.analysis.process import run_process
from hipscope.emulator.symbolize import with_known_floats, with_short_floats

Kind = Literal["float", "integer", "bytes"]


@dataclass(frozen=True)
class Element:
    """One element type; `epsilon` is its unit roundoff step (0 for what is compared exactly)."""

    name: str
    kind: Kind
    size: int
    epsilon: float = 0.0

    def numbers(self, data: bytes | memoryview) -> NDArray[np.float64]:
        """The bytes as numbers, for errors and for display. Their length is a multiple of `size`."""
        if self.name == "bf16":
            widened = np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16
            return widened.view(np.float32).astype(np.float64)
        with np.errstate(invalid="ignore"):  # signalling NaNs, which poison may hold
            return np.frombuffer(data, dtype=_NUMPY[self.name]).astype(np.float64)

    def bits(self, data: bytes | memoryview) -> NDArray[np.int64]:
        """The bytes as integers in an order in which neighbouring floats differ by one (for ULP distances)."""
        raw = np.frombuffer(data, dtype=f"<i{self.size}").astype(np.int64)
        return np.where(raw < 0, -(raw & ((1 << (self.size * 8 - 1)) - 1)), raw)


BYTES = Element("bytes", "bytes", 1)
WIDENED = ("fp32", "fp16", "bf16")  # what double precision is more precise than
_NUMPY = {
    "fp64": "<f8", "fp32": "<f4", "fp16": "<f2", "int8": "<i1", "uint8": "<u1", "int16": "<i2", "uint16": "<u2",
    "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "bytes": "<u1",
    "bool": "<u1",
}  # fmt: skip
_FP64 = Element("fp64", "float", 8, 2.0**-52)
_FP32 = Element("fp32", "float", 4, 2.0**-23)
_FP16 = Element("fp16", "float", 2, 2.0**-10)
_BF16 = Element("bf16", "float", 2, 2.0**-7)


def _integer(bits: int, signed: bool) -> Element:
    return Element(f"{'int' if signed else 'uint'}{bits}", "integer", bits // 8)


_ELEMENTS: dict[str, Element] = {
    "double": _FP64, "float": _FP32, "_Float16": _FP16, "half": _FP16, "__half": _FP16, "half_float::half": _FP16,
    "__half2": _FP16, "half2": _FP16, "__hip_bfloat162": _BF16, "std::bfloat16_t": _BF16,
    "__bf16": _BF16, "__hip_bfloat16": _BF16, "hip_bfloat16": _BF16, "bool": Element("bool", "integer", 1),
    "char": _integer(8, True), "signed char": _integer(8, True), "unsigned char": _integer(8, False),
    "short": _integer(16, True), "unsigned short": _integer(16, False), "int": _integer(32, True),
    "unsigned int": _integer(32, False), "unsigned": _integer(32, False), "long": _integer(64, True),
    "unsigned long": _integer(64, False), "long long": _integer(64, True), "unsigned long long": _integer(64, False),
    "int8_t": _integer(8, True), "uint8_t": _integer(8, False), "int16_t": _integer(16, True),
    "uint16_t": _integer(16, False), "int32_t": _integer(32, True), "uint32_t": _integer(32, False),
    "int64_t": _integer(64, True), "uint64_t": _integer(64, False), "size_t": _integer(64, False),
}  # fmt: skip
_VECTOR = re.compile(
    r"(?:HIP_vector_type<(.+), \d+u?>|(.+) vector\[\d+\]|(u?(?:char|short|int|long|longlong)|float|double)[1-4])$"
)
_SHORT_VECTOR = {"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int",
                 "ulong": "unsigned long", "longlong": "long long", "ulonglong": "unsigned long long"}  # fmt: skip


@dataclass(frozen=True)
class Segment:
    """Bytes [start, end) of a buffer, all of one element type; `argument` is the kernel argument that says so.

    `member` is which of the pointers in that argument it is, where it is a structure. With a `stride` there is one
    element every so many bytes, and something else between them. `exact`: floats that are compared bit for bit, because
    they are members of structures, which may be of different sizes: one tolerance for all would hide the small ones.
    """

    start: int
    end: int
    element: Element
    argument: int | None
    stride: int | None = None
    member: str = ""
    exact: bool = False


@dataclass(frozen=True)
class MemberPointer:
    """A pointer in a structure that is passed by value: where it lies there, its name, the type it points to."""

    offset: int
    path: str
    pointee: str


@dataclass(frozen=True)
class Pointees:
    """What pointers lead to, by argument; `members` those in arguments that are structures.

    `structures` are those types among them that are structures of floats of one type only, with that type.
    """

    arguments: Mapping[int, str]
    members: Mapping[int, tuple[MemberPointer, ...]] = field(default_factory=dict)
    structures: Mapping[str, str] = field(default_factory=dict)


Leads = Mapping[int, tuple[MemberPointer, ...]]


def element_of(pointee: str) -> Element:
    """The element type of a C++ type name; `BYTES` for anything that is not a plain number or a vector of them."""
    bare = " ".join(re.sub(r"\b(const|volatile|struct|__restrict__|restrict)\b", " ", pointee).split())
    if (known := _ELEMENTS.get(bare)) is not None:
        return known
    if (vector := _VECTOR.match(bare)) is not None:
        inner = vector[1] or vector[2] or _SHORT_VECTOR.get(vector[3], vector[3])
        return _ELEMENTS.get(inner, BYTES)
    return BYTES


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
    structures: Mapping[str, str] | None = None,
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
        elements = {element_of(structures.get(name, name)) for name in named}
        member = members[0].path if members and here[0] not in types else ""
        element = elements.pop() if len(elements) == 1 else BYTES
        whole = end - (end - start) % element.size
        exact = not named.isdisjoint(structures)
        result.append(Segment(start, whole, element, here[0], member=member, exact=exact))
        if whole < end:
            result.append(Segment(whole, end, BYTES, here[0]))
    return tuple(s for s in result if s.end > s.start)


def _plain(kind: str) -> str:
    """A type without restrict and outermost const: `float const*` for `float const* const __restrict__`."""
    text = re.sub(r"\s*\b(__restrict__|__restrict|restrict)\b", "", kind).strip()
    while text.endswith("const"):
        text = text.removesuffix("const").rstrip()
    return text.removesuffix("[]") + "*" if text.endswith("[]") else text


def split_arguments(text: str) -> list[str]:
    """The parts of a C++ argument list, cut at its outermost commas."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]
