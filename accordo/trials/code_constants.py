"""The numbers that a program's machine code compares with, or loads to compare with.

Takes disassembled code, gives numbers. The recorded data may hold none of them, so a branch that only one of them takes
is seen in no run: they are planted into the inputs of one.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, FileContents, disassemble
from hipscope.accordo.trials.solved_constants import solved_floats, solved_integers
from hipscope.analysis.source.number_types import Element

_T = TypeVar("_T", bound=float)
_FEW = 64
# What is only loaded is rarely a float of another size: it is an integer, or half of something.
_SIZES = (1e-6, 1e15)
_COMPARES = re.compile(
    r"(?:v_cmpx?_\w+|s_cmpk?_\w+|s_bitcmp[01]|[vs]_(?:min|max|med3|min3|max3))_([fiubB])(\d+)$"
)
_EQUALITY = re.compile(r"v_cmpx?_(?:eq|neq|lg|nlg)_f")
_LOADS = frozenset({"s_mov_b32", "s_mov_b64", "s_movk_i32", "v_mov_b32", "v_mov_b64"})
# The compiler compares for equality by these, too.
_LIKE_COMPARES = frozenset(
    {"v_xor_b32", "v_add_co_u32", "v_sub_co_u32", "v_add_u32", "v_sub_u32", "v_subrev_u32"}
)
_NO_ARITHMETIC = re.compile(
    r"v_(?:cmp|mov|read|write|accvgpr|mfma|smfma)"
    r"|s_(?:mov|cmp|load|store|buffer|scratch|atomic|dcache|memtime|memrealtime|wait|branch|cbranch|call|setpc|swappc"
    r"|getpc|endpgm|nop|barrier|sleep|sendmsg|setreg|getreg|setprio|set_gpr|trap|icache|inst|code_end|version|ttrace)"
)

WordKind = Literal["half", "float", "double", "integer", "loaded"]
_FLOAT_KINDS: dict[str, WordKind] = {"16": "half", "32": "float", "64": "double"}


@dataclass(frozen=True)
class CodeConstant:
    """A constant operand: the word of a literal, or the number that the encoding stands for without one."""

    literal: int | None = None
    integer: int | None = None
    real: float | None = None

    def word(self, kind: WordKind) -> int | None:
        """Its 32 bits for an operand of that kind (the upper half of a double); None where it is no such number."""
        if self.literal is not None:
            return self.literal & 0xFFFFFFFF
        if kind == "integer" and self.integer is not None:
            return self.integer & 0xFFFFFFFF
        if kind not in ("integer", "loaded") and self.real is not None:
            packed = struct.pack({"half": "<e", "double": "<d"}.get(kind, "<f"), self.real)
            return int.from_bytes(packed, "little") >> (32 if kind == "double" else 0)
        return None


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
    """The likelihood that the source names it: numbers of few binary digits first, halves of a number last."""
    return abs(number).as_integer_ratio()[0].bit_length(), abs(number)


NONE = Named(frozenset(), frozenset())


def named_in(code_object: Path, objdump: Path, kernel: str | None = None) -> Named:
    """The numbers in the code of a kernel, by its mangled name, or in all of the code; none if it can't be read."""
    try:
        return _named_in(FileContents.of(code_object), objdump, kernel)
    except (OSError, _NoCode):
        return NONE


def compared_in(code: Sequence[AssemblyInstruction]) -> tuple[Counter[float], Counter[int]]:
    """How often each float and each integer stands in a comparison, or is loaded for one.

    Infinity counts only where something may be asked to be it: what begins a search for the largest is no question.
    """
    floats, integers = Counter[float](), Counter[int]()
    for word, kind in _named_words(code):
        if kind in ("integer", "loaded"):
            integers[word - (1 << 32) if word >> 31 else word] += 1
        floats.update(x for x in _floats([(word, kind)], [], set()) if math.isfinite(x))
        if kind == "loaded" and _SIZES[0] < abs(x := _number("<I", word, "<f")) < _SIZES[1]:
            floats[x] += 1
    floats.update(_asked_infinities(code))
    return floats, integers


def _asked_infinities(code: Sequence[AssemblyInstruction]) -> Iterator[float]:
    """Infinities in questions for equality, or in registers that stand there; both for a question for a class."""
    held: dict[str, set[float]] = {}
    for one in code:
        if one.mnemonic in _LOADS and (found := set(_infinities(one))):
            held.setdefault(one.operands[0], set()).update(found)
    for one in code:
        if "_cmp_class_f" in one.mnemonic or "_cmpx_class_f" in one.mnemonic:
            yield from (math.inf, -math.inf)
        elif _EQUALITY.match(one.mnemonic):
            yield from _infinities(one)
            for operand in one.operands:
                yield from held.get(operand.strip("|-"), ())


def _infinities(one: AssemblyInstruction) -> Iterator[float]:
    words = (constant.word("loaded") for constant in _constants(one))
    numbers = (_number("<I", word, "<f") for word in words if word is not None)
    return (x for x in numbers if math.isinf(x))


class _NoCode(Exception):
    """There are no instructions, or they could not be read this time."""


@lru_cache(maxsize=32)  # each launch of a program has a copy of its code
def _named_in(file: FileContents, objdump: Path, kernel: str | None) -> Named:
    """Raises _NoCode."""
    if not (code := disassemble(file.path, objdump, kernel)):
        raise _NoCode
    found = list(_named_words(code))
    loaded = [word for word, kind in found if kind == "loaded"]
    compared = {kind for one in code if (kind := _compared(one.mnemonic)) is not None}
    integers = {word for word, kind in found if kind in ("integer", "loaded")}
    integers |= {word - (1 << 32) for word in integers if word >> 31}
    factors, whole = set[float](), set[int]()
    for word in {*loaded, *_computed_words(code)}:
        whole |= {word, word - (1 << 32) if word >> 31 else word}
        if _SIZES[0] < abs(x := _number("<I", word, "<f")) < _SIZES[1]:
            factors.add(x)
    return Named(
        frozenset(x for x in _floats(found, loaded, compared) if x and math.isfinite(x)),
        frozenset(integers),
        tuple(sorted(factors, key=_plainness)),
        tuple(sorted(whole, key=abs)),
    )


def _floats(found: Iterable[tuple[int, WordKind]], loaded: list[int], compared: set[WordKind]) -> set[float]:
    """The floats that words may be: those compared with, and what loaded words make, alone and in pairs."""
    floats = {_number("<I", word, "<f") for word, kind in found if kind == "float"}
    floats |= {_number("<H", word & 0xFFFF, "<e") for word, kind in found if kind == "half"}
    floats |= {_number("<Q", word << 32, "<d") for word, kind in found if kind == "double"}
    floats |= {x for word in loaded if _SIZES[0] < abs(x := _number("<I", word, "<f")) < _SIZES[1]}
    if "half" in compared:
        floats |= {_number("<H", word, "<e") for word in loaded if word < 1 << 16}
    for at, one in enumerate(loaded) if "double" in compared else ():
        near = loaded[at + 1 : at + 3]
        pairs = (one << 32, *(one | other << 32 for other in near), *(other | one << 32 for other in near))
        floats |= {x for pair in pairs if _SIZES[0] < abs(x := _number("<Q", pair, "<d")) < _SIZES[1]}
    return floats


def _number(kind: str, word: int, float_kind: str) -> float:
    return float(struct.unpack(float_kind, struct.pack(kind, word))[0])


def _named_words(code: Iterable[AssemblyInstruction]) -> Iterator[tuple[int, WordKind]]:
    """Each constant that is compared with, or loaded, as a word, and what it is compared with: also in a register, as
    far as the code shows from top to bottom.
    """
    held: dict[str, int] = {}
    for one in code:
        if _compared(one.mnemonic) == "float":
            yield from (
                (held[text.strip("|-")], "float") for text in one.operands[1:] if text.strip("|-") in held
            )
        if one.mnemonic in _LOADS:
            kind: WordKind | None = "loaded"
        else:
            kind = "integer" if one.mnemonic in _LIKE_COMPARES else _compared(one.mnemonic)
        if kind is not None:
            words = [word for c in _constants(one) if (word := c.word(kind)) is not None]
            yield from ((word, kind) for word in words)
            if one.mnemonic in _LOADS and words:
                held[one.operands[0]] = words[0]


def _computed_words(code: Iterable[AssemblyInstruction]) -> Iterator[int]:
    """The constants that instructions add, subtract or multiply, or shift by, as words of 32 bits."""
    for one in code:
        if one.mnemonic[:2] not in ("v_", "s_") or _NO_ARITHMETIC.match(one.mnemonic):
            continue
        for constant in _constants(one):
            words = (constant.word("float"), constant.word("integer"))
            yield from {word for word in words if word is not None}


def _compared(mnemonic: str) -> WordKind | None:
    """What an instruction compares; None when it does not."""
    if (found := _COMPARES.match(mnemonic)) is None or "_class_" in mnemonic:
        return None
    return _FLOAT_KINDS.get(found[2], "integer") if found[1] == "f" else "integer"


def _constants(one: AssemblyInstruction) -> Iterator[CodeConstant]:
    """The constant operands; those of 16 bits with their sign, as the instruction takes them."""
    short = one.mnemonic.startswith(("s_cmpk", "s_movk", "s_addk", "s_mulk", "s_cmovk"))
    for text in one.operands:
        word = text.split(" ")[0].strip("|-") if text.startswith(("|", "-|")) else text.split(" ")[0]
        if re.fullmatch(r"0x[0-9a-f]+", word):
            value = int(word, 16)
            yield CodeConstant(literal=value - 0x10000 if short and value & 0x8000 else value)
        elif re.fullmatch(r"-?\d+", word):
            yield CodeConstant(literal=int(word)) if short else CodeConstant(integer=int(word))
        elif re.fullmatch(r"-?\d+\.\d+", word):
            yield CodeConstant(real=float(word))
