"""The numbers that a program names: what its machine code compares with, or loads to compare with.

Takes ELF files for gfx9 GPUs, gives numbers. Nobody's data need hold such a number, so a
branch that only one of them takes is seen in no run: they are planted into the inputs of one. Encodings are those of
the CDNA3 ISA manual, chapter 12: words that only look like such an instruction do no harm.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from hipscope.accordo.trials.solved_constants import solved_floats, solved_integers
from hipscope.analysis.source.number_types import Element

_T = TypeVar("_T", bound=float)
_LITERAL = 255
_FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
_FEW = 64
# What is only loaded is rarely a float of another size: it is an integer, or half of something.
_SIZES = (1e-6, 1e15)


Kind = Literal["half", "float", "double", "integer", "loaded"]
_KINDS: tuple[Kind, ...] = ("float", "integer")


@dataclass(frozen=True)
class Planting:
    """Numbers for elements of an input: those that are named, neighbours, and where what is computed may be one."""

    exact: tuple[float, ...]
    near: tuple[float, ...]
    solved: tuple[float, ...]

    def within(self, fits: Callable[[float], bool]) -> Planting:
        """Those for which it is true."""
        return Planting(*(tuple(filter(fits, group)) for group in (self.exact, self.near, self.solved)))


@dataclass(frozen=True)
class Named:
    """What floats and integers may be compared with, and the constants that are computed with before."""

    floats: frozenset[float]
    integers: frozenset[int]
    factors: tuple[float, ...] = ()
    whole_factors: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to compare with."""
        return bool(self.floats or self.integers)

    def without(self, other: Named) -> Named:
        """Those that the other does not compare with; of what they are computed with, its own goes first."""
        return Named(
            self.floats - other.floats,
            self.integers - other.integers,
            _own_first(self.factors, other.factors),
            _own_first(self.whole_factors, other.whole_factors),
        )

    def for_floats(self) -> Planting:
        """What is planted among floats."""
        exact = sorted(self.floats, key=_plainness)[:_FEW]
        near = [x * d for d in (1 + 1e-3, 1 - 1e-3) for x in exact]
        return Planting(tuple(exact), tuple(near), solved_floats(exact, self.factors))

    def for_integers(self, element: Element) -> Planting:
        """What is planted among integers of a type."""
        bits = 8 * element.size
        signed = element.name.startswith("int")
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        exact = sorted((n for n in self.integers if low <= n <= high), key=abs)[:_FEW]
        near = [n + d for d in (-1, 1) for n in exact if low <= n + d <= high]
        solved = solved_integers(sorted(self.integers, key=abs), self.whole_factors)
        return Planting(tuple(exact), tuple(near), tuple(n for n in solved if low <= n <= high))


def _own_first(listed: tuple[_T, ...], other: tuple[_T, ...]) -> tuple[_T, ...]:
    return (*(n for n in listed if n not in other), *(n for n in listed if n in other))


def _plainness(number: float) -> tuple[int, float]:
    """How likely somebody wrote it: numbers of few binary digits come first, what is only half of a number last."""
    return abs(number).as_integer_ratio()[0].bit_length(), abs(number)


NONE = Named(frozenset(), frozenset())


def named_in(code_object: Path, kernel: str | None = None) -> Named:
    """The numbers in the code of a kernel, by its mangled name, or in all of the code; none if it can't be read."""
    try:
        with code_object.open("rb") as file:
            code = _code(ELFFile(file), kernel)
    except (OSError, ELFError):
        return NONE
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    found = list(_constants(words))
    loaded = [word for word, kind in found if kind == "loaded"]
    floats = {_number("<I", word, "<f") for word, kind in found if kind == "float"}
    floats |= {_number("<H", word & 0xFFFF, "<e") for word, kind in found if kind == "half"}
    floats |= {_number("<Q", word << 32, "<d") for word, kind in found if kind == "double"}
    floats |= {x for word in loaded if _SIZES[0] < abs(x := _number("<I", word, "<f")) < _SIZES[1]}
    compared = {found[1] for found in map(_operands, words, (*words[1:], 0)) if found is not None}
    if "half" in compared:
        floats |= {_number("<H", word, "<e") for word in loaded if word < 1 << 16}
    for at, one in enumerate(loaded) if "double" in compared else ():
        near = loaded[at + 1 : at + 3]
        for pair in (
            one << 32,
            *(one | other << 32 for other in near),
            *(other | one << 32 for other in near),
        ):
            if _SIZES[0] < abs(x := _number("<Q", pair, "<d")) < _SIZES[1]:
                floats.add(x)
    integers = {word for word, kind in found if kind in ("integer", "loaded")}
    integers |= {word - (1 << 32) for word in integers if word >> 31}
    factors, whole = set[float](), set[int]()
    for word in {
        *loaded,
        *(w for pair in zip(words, (*words[1:], 0), strict=True) for w in _computed(*pair)),
    }:
        whole |= {word, word - (1 << 32) if word >> 31 else word}
        if _SIZES[0] < abs(x := _number("<I", word, "<f")) < _SIZES[1]:
            factors.add(x)
    return Named(
        frozenset(x for x in floats if x and math.isfinite(x)),
        frozenset(integers),
        tuple(sorted(factors, key=_plainness)),
        tuple(sorted(whole, key=abs)),
    )


def _number(kind: str, word: int, float_kind: str) -> float:
    return float(struct.unpack(float_kind, struct.pack(kind, word))[0])


def _code(elf: ELFFile, kernel: str | None) -> bytes:
    section = elf.get_section_by_name(".text")
    if section is None:
        return b""
    data = bytes(section.data())
    for table in elf.iter_sections():
        if kernel is None or not isinstance(table, SymbolTableSection):
            continue
        for symbol in table.get_symbol_by_name(kernel) or ():
            start = symbol["st_value"] - section["sh_addr"]
            return data[start : start + symbol["st_size"]]
    return data


def _constants(words: tuple[int, ...]) -> Iterator[tuple[int, Kind]]:
    """Each constant as a word, and what it is compared with."""
    for word, following in zip(words, (*words[1:], 0), strict=True):
        if (found := _operands(word, following)) is not None:
            operands, kind = found
            for operand in operands:
                if operand == _LITERAL:
                    yield following, kind
                elif kind != "loaded" and (value := _inline(operand, kind)) is not None:
                    yield value, kind
        if word >> 28 == 0b1011 and 0 < word >> 23 & 0x1F <= 14:  # SOPK: s_cmpk_*, s_cmovk_i32
            yield (word & 0xFFFF) - (0x10000 if word & 0x8000 else 0) & 0xFFFFFFFF, "integer"
        elif word >> 23 == 0b101100000:  # s_movk_i32
            yield (word & 0xFFFF) - (0x10000 if word & 0x8000 else 0) & 0xFFFFFFFF, "loaded"


def _inline(operand: int, kind: Kind) -> int | None:
    """A constant that needs no word of its own, as a word of that kind (the upper half of a double)."""
    if operand in _FLOATS and kind != "integer":
        packed = struct.pack({"half": "<e", "double": "<d"}.get(kind, "<f"), _FLOATS[operand])
        return int.from_bytes(packed, "little") >> (32 if kind == "double" else 0)
    if 129 <= operand <= 208 and kind == "integer":
        return operand - 128 if operand <= 192 else (192 - operand) & 0xFFFFFFFF
    return None


def _operands(word: int, following: int) -> tuple[tuple[int, ...], Kind] | None:
    """The operands that may be constants of an instruction that compares, or adds, or loads what is compared."""
    if word >> 25 == 0b0111110:  # VOPC
        return (word & 0x1FF,), _compared(word >> 17 & 0xFF)
    if word >> 26 == 0b110100 and (word >> 16 & 0x3FF) < 0x100:  # VOPC in VOP3 form
        return (following & 0x1FF, following >> 9 & 0x1FF), _compared(word >> 16 & 0xFF)
    if word >> 23 == 0b101111110:  # SOPC
        return (word & 0xFF, word >> 8 & 0xFF), "integer"
    if word >> 23 == 0b101111101 and word >> 8 & 0xFF in (0, 1):  # s_mov_b32, s_mov_b64
        return (word & 0xFF,), "loaded"
    if word >> 25 == 0b0111111 and word >> 9 & 0xFF == 1:  # v_mov_b32
        return (word & 0x1FF,), "loaded"
    if word >> 25 in (0x15, 0x19, 0x1A, 0x34, 0x35, 0x36):  # VOP2: v_xor, v_add and v_sub of integers
        return (word & 0x1FF,), "integer"
    return None


def _computed(word: int, following: int) -> Iterator[int]:
    """The constants that an instruction adds, subtracts or multiplies, or shifts by, as words of 32 bits."""
    operands: tuple[int, ...] = ()
    if word >> 31 == 0 and word >> 25 < 0x3E:  # VOP2
        operands = (word & 0x1FF,)
        if word >> 25 in (0x17, 0x18, 0x24, 0x25):  # v_fmamk, v_fmaak: the constant is a word of its own
            yield following
    elif word >> 26 == 0b110100 and (word >> 16 & 0x3FF) >= 0x100:  # VOP3 without comparisons
        operands = tuple(following >> at & 0x1FF for at in (0, 9, 18))
    elif word >> 30 == 0b10 and word >> 28 != 0b1011:  # SOP2
        operands = (word & 0xFF, word >> 8 & 0xFF)
    elif word >> 23 in (0b101101110, 0b101101111):  # s_addk_i32, s_mulk_i32
        yield (word & 0xFFFF) - (0x10000 if word & 0x8000 else 0) & 0xFFFFFFFF
    for operand in operands:
        if operand == _LITERAL and word >> 26 != 0b110100:
            yield following
        else:
            for kind in _KINDS:
                if (value := _inline(operand, kind)) is not None:
                    yield value


def _compared(operation: int) -> Kind:
    """What a VOPC instruction of that number compares."""
    known: dict[int, Kind] = {2: "half", 3: "half", 4: "float", 5: "float", 6: "double", 7: "double"}
    return known.get(operation >> 4, "integer")
