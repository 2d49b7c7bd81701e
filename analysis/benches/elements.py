"""Of what numbers an element of a buffer consists: names of types, and types as the compiler knows them.

Takes a name or a type record, gives an `BenchElement`: its size and the numbers in it with their offsets in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.semantics.records import Type

Kind = Literal["f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"]

BYTES: Mapping[Kind, int] = {
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8,
    "u64": 8, "bool": 1,
}  # fmt: skip

_OF_TYPE: Mapping[str, Kind] = {
    "float": "f32", "double": "f64", "_Float16": "f16", "__half": "f16", "half": "f16", "__fp16": "f16",
    "__bf16": "bf16", "__hip_bfloat16": "bf16", "hip_bfloat16": "bf16", "bool": "bool", "char": "i8",
    "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16", "int": "i32",
    "unsigned int": "u32", "long": "i64", "unsigned long": "u64", "long long": "i64", "unsigned long long": "u64",
}  # fmt: skip
_PAIRS: Mapping[str, Kind] = {"__half2": "f16", "__hip_bfloat162": "bf16"}
_VECTOR = re.compile(r"HIP_vector_type<(?P<of>[\w ]+), (?P<count>[1-4])>")
_COMPLEX = re.compile(r"(?:std|thrust)::(?:\w+::)*complex<(?P<of>[\w ]+)>")
_SHORT = re.compile(r"(?P<kind>[a-z]+\d*)(?:x(?P<count>[1-4]))?")
_ENUM_BYTES: Mapping[int, Kind] = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


@dataclass(frozen=True)
class BenchElement:
    """`size` in bytes; `numbers` are the offset and kind of each number in it. `name` is what messages call it."""

    name: str
    size: int
    numbers: tuple[tuple[int, Kind], ...]


class NoElement(ValueError):
    """Why a type cannot be filled with numbers."""


def named_element(name: str) -> BenchElement | None:
    """The element that a bench's own word for a type stands for (`f32`, `i32x2`); None for a C++ name."""
    match = _SHORT.fullmatch(name)
    kind = next((known for known in BYTES if match is not None and known == match["kind"]), None)
    if match is None or kind is None:
        return None
    count, size = int(match["count"] or 1), BYTES[kind]
    # Vectors of three lie without padding, as HIP's float3 does.
    return BenchElement(name, size * count, tuple((i * size, kind) for i in range(count)))


def element_of(type: Type) -> BenchElement:
    """The element that a type of the program is. Raises NoElement for pointers, unions and what has no size."""
    name = type.plain
    if type.bytes is None or name == "void":
        raise NoElement(f"`{name}` has no size")
    numbers = tuple(_numbers(type, 0))
    if not numbers:
        raise NoElement(f"it is not known what numbers a `{name}` holds")
    return BenchElement(name, type.bytes, numbers)


def same_layout(one: BenchElement, other: BenchElement) -> bool:
    """Whether both hold the same numbers at the same places; signs and names of integers aside."""

    def bare(element: BenchElement) -> list[tuple[int, str]]:
        return [(at, kind.replace("u", "i") if kind != "bool" else "i8") for at, kind in element.numbers]

    return one.size == other.size and bare(one) == bare(other)


def _numbers(type: Type, at: int) -> Iterator[tuple[int, Kind]]:
    """The numbers in a type that stands at an offset."""
    name = type.plain
    if name in _OF_TYPE:
        yield at, _OF_TYPE[name]
    elif name in _PAIRS:
        yield from ((at, _PAIRS[name]), (at + 2, _PAIRS[name]))
    elif (match := _VECTOR.fullmatch(name) or _COMPLEX.fullmatch(name)) is not None and match[
        "of"
    ] in _OF_TYPE:
        kind = _OF_TYPE[match["of"]]
        count = int(match.groupdict().get("count") or 2)
        yield from ((at + i * BYTES[kind], kind) for i in range(count))
    elif "*" in name or "&" in name:
        raise NoElement(f"it holds a pointer (`{name}`)")
    elif type.element is not None and type.bytes is not None and type.element.bytes:
        for i in range(type.bytes // type.element.bytes):
            yield from _numbers(type.element, at + i * type.element.bytes)
    elif type.fields:
        for member in type.fields:
            if member.offset is not None:
                yield from _numbers(member.type, at + member.offset)
    elif name.startswith("enum ") or _looks_like_enum(type):
        yield at, _ENUM_BYTES[type.bytes or 4]


def _looks_like_enum(type: Type) -> bool:
    """A type with a size of an integer, and neither members nor elements."""
    return type.bytes in _ENUM_BYTES and not type.fields and "<" not in type.plain
