"""The number types of C++ and HIP: one table of spellings, with the element, its size and its double-precision name.

Takes the name of a type as source or compiler spell it, gives its `Element`, its bytes, or None for what is no number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
        with np.errstate(invalid="ignore"):  # signalling NaNs, which poison may hold
            if self.name == "bf16":
                widened = np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16
                return widened.view(np.float32).astype(np.float64)
            return np.frombuffer(data, dtype=_NUMPY[self.name]).astype(np.float64)

    def bits(self, data: bytes | memoryview) -> NDArray[np.int64]:
        """The bytes as integers in an order in which neighbouring floats differ by one (for ULP distances)."""
        raw = np.frombuffer(data, dtype=f"<i{self.size}").astype(np.int64)
        return np.where(raw < 0, -(raw & ((1 << (self.size * 8 - 1)) - 1)), raw)


@dataclass(frozen=True)
class NumberType:
    """One spelling of a type: `count` elements in a row, and what double precision calls it ("" for integers)."""

    element: Element
    count: int = 1
    wider: str = ""

    @property
    def bytes(self) -> int:
        """sizeof."""
        return self.element.size * self.count


@dataclass(frozen=True)
class IntegerType:
    """The size and sign of an integer."""

    bits: int
    signed: bool


def _spelled() -> Iterator[tuple[str, IntegerType]]:
    """Every order of the words of an integer: `unsigned long int` and `long unsigned` are one type."""
    sizes = {"char": 8, "short": 16, "short int": 16, "int": 32, "": 32}
    sizes |= dict.fromkeys(("long", "long int", "long long", "long long int"), 64)
    for base, bits in sizes.items():
        for sign in ("", "signed", "unsigned"):
            for order in itertools.permutations([*base.split(), *sign.split()]):
                if order:
                    yield " ".join(order), IntegerType(bits, sign != "unsigned")
    for bits in (8, 16, 32, 64):
        for scope in ("", "std::"):
            yield f"{scope}int{bits}_t", IntegerType(bits, True)
            yield f"{scope}uint{bits}_t", IntegerType(bits, False)
    for scope in ("", "std::"):
        yield from ((f"{scope}{name}", IntegerType(64, False)) for name in ("size_t", "uintptr_t"))
        yield from ((f"{scope}{name}", IntegerType(64, True)) for name in ("ptrdiff_t", "intptr_t"))
    yield "ssize_t", IntegerType(64, True)
    for name, bits in (("uchar", 8), ("ushort", 16), ("uint", 32), ("ulong", 64), ("ulonglong", 64)):
        yield name, IntegerType(bits, False)


INTEGERS: Mapping[str, IntegerType] = dict(_spelled())


def integers(least: int, most: int = 64, *, signed: bool | None = None) -> frozenset[str]:
    """The spellings of all integer types of these sizes in bits, of one sign or of both; `bool` is none."""
    return frozenset(n for n, t in INTEGERS.items() if least <= t.bits <= most and signed in (None, t.signed))


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


# Sizes: LP64 (System V x86-64 ABI, and the AMDGPU target, which follows its host). HIP's own names: amd_hip_fp16.h,
# amd_hip_bf16.h, amd_hip_complex.h.
NUMBER_TYPES: Mapping[str, NumberType] = {
    "double": NumberType(_FP64, wider="double"),
    "float": NumberType(_FP32, wider="double"),
    **dict.fromkeys(("_Float16", "__half", "half", "half_float::half"), NumberType(_FP16, wider="double")),
    **dict.fromkeys(("__half2", "half2"), NumberType(_FP16, 2, "double2")),
    **dict.fromkeys(("__bf16", "__hip_bfloat16", "hip_bfloat16", "std::bfloat16_t"), NumberType(_BF16, wider="double")),
    "__hip_bfloat162": NumberType(_BF16, 2, "double2"),
    **dict.fromkeys(("hipFloatComplex", "hipComplex"), NumberType(_FP32, 2)),
    "hipDoubleComplex": NumberType(_FP64, 2),
    "bool": NumberType(Element("bool", "integer", 1)),
    **{
        name: NumberType(Element(f"{'int' if kind.signed else 'uint'}{kind.bits}", "integer", kind.bits // 8))
        for name, kind in INTEGERS.items()
    },
}  # fmt: skip
SMALL_FLOATS = frozenset(
    n for n, t in NUMBER_TYPES.items() if t.element.size == 2 and t.element.kind == "float"
)
# HIP's vectors and short names (amd_hip_vector_types.h): three elements take the place of three, not of four.
_VECTOR = re.compile(r"(u?(?:char|short|int|long|longlong)|float|double)([1-4]?)")
_SPELLED_VECTOR = re.compile(r"HIP_vector_type<(?P<hip>.+), \d+u?>|(?P<ext>.+) vector\[\d+\]")


def element_of(type_name: str) -> Element:
    """The element type of a C++ type name; `BYTES` for anything that is not a plain number or a vector of them."""
    bare = " ".join(re.sub(r"\b(const|volatile|struct|__restrict__|restrict)\b", " ", type_name).split())
    if (known := NUMBER_TYPES.get(bare)) is not None:
        return known.element
    if (spelled := _SPELLED_VECTOR.fullmatch(bare)) is not None:
        inner = NUMBER_TYPES.get(spelled["hip"] or spelled["ext"])
        return inner.element if inner is not None else BYTES
    vector = vector_type(bare)
    return NUMBER_TYPES[vector[0]].element if vector is not None else BYTES


def element_bytes(type_name: str) -> int | None:
    """sizeof of a number type or a HIP vector of them; None for other types."""
    if (known := NUMBER_TYPES.get(type_name)) is not None:
        return known.bytes
    vector = vector_type(type_name)
    return NUMBER_TYPES[vector[0]].bytes * vector[1] if vector is not None else None


def vector_type(type_name: str) -> tuple[str, int] | None:
    """The built-in type and the number of the elements of a HIP vector (`uchar4`) or short name (`uchar`)."""
    if (match := _VECTOR.fullmatch(type_name)) is None:
        return None
    element, count = match[1].replace("longlong", "long long"), int(match[2] or 1)
    return f"unsigned {element[1:]}" if element.startswith("u") else element, count
