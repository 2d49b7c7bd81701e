"""Sizes at which a rewrite's machine code may begin to do something else than the original's.

Takes the instructions of both, gives the limits that only the rewrite has: numbers that it compares with or
cuts at, and the widths of narrower arithmetic. A recorded launch is rarely as large; trials are made beyond each, or it
is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, disassemble

_SMALLEST, _LARGEST = 5, 1 << 31
_NEGATIVE_FLOAT = -(1 << 23)  # the bits of -infinity; large negative floats have those of smaller integers
_FEW_STEPS, _MANY_STEPS = 7, 22
_CUTS = re.compile(
    r"(?:v_cmpx?_\w+|s_cmpk?_\w+|[vs]_(?:min|max|med3|min3|max3))_[iu](?:16|32|64)$|[vs]_xor_b(?:32|64)$"
)
_LOADS = re.compile(r"[vs]_mov(?:k_i32|_b32|_b64)$")
_HALF_WORDS = re.compile(r"v_(?:pk_)?(?!cmp|cvt|interp)\w+_[iub]16$|s_sext_i32_i16$")
_PRODUCTS_24 = re.compile(r"v_(?:mul_[iu]32_[iu]24|mad_[iu]32_[iu]24)$")
_OTHER_WIDTHS = range(17, 23)  # fewer bits number lanes and work-items, 23 are those of a float
_KEPT = range(9, 32)
_ASKED_BITS = range(5, 24)
_MASKS = ("v_and_b32", "s_and_b32")
_FIELDS = ("v_bfe_u32", "v_bfe_i32", "s_bfe_u32", "s_bfe_i32")
_LOADS_SHORT = re.compile(r"ds_read_[ui](?:8|16)$|(?:global|flat|buffer)_load_[us](?:byte|short)$")
_REGISTERS = re.compile(r"([sv])(?:\[(\d+):(\d+)\]|(\d+))$")
_REGISTER = re.compile(r"v\d+$|s\d+$")


@dataclass(frozen=True)
class CodeLimit:
    """So many elements, work-items or bytes, and what the rewrite does there; `width`: by narrower arithmetic."""

    size: int
    why: str
    width: bool = False


def own_limits(candidate: Path, original: Path, objdump: Path, kernel: str) -> tuple[CodeLimit, ...]:
    """The limits of the candidate alone, the smallest first; none where its code cannot be read."""
    own, known = (disassemble(path, objdump, kernel) for path in (candidate, original))
    return limits_of(own, known) if own and known else ()


def halved_away(limits: Sequence[CodeLimit]) -> tuple[CodeLimit, ...]:
    """The sizes of which so many halvings as a limit is leave nothing: where it ends a search."""
    few = [limit.size for limit in limits if not limit.width and _FEW_STEPS <= limit.size <= _MANY_STEPS]
    return tuple(CodeLimit(1 << n + 2, f"of which {n} halvings leave little") for n in few)


def narrower_masks(
    own: Sequence[AssemblyInstruction], known: Sequence[AssemblyInstruction]
) -> tuple[int, int] | None:
    """The fewest bits that one code keeps of a number where the other one keeps more, and these; None without such."""
    ours, theirs = (_kept_bits(code) for code in (own, known))
    fewer = [bits for bits in ours if ours[bits] > theirs[bits]]
    more = [bits for bits in theirs if theirs[bits] > ours[bits] and bits > min(fewer, default=bits)]
    return (min(fewer), max(more)) if more else None


def _kept_bits(code: Iterable[AssemblyInstruction]) -> Counter[int]:
    """How often the code keeps so many of the lower bits of a number."""
    found = (next((n for n in _KEPT if _keeps_low(one, n)), None) for one in code)
    return Counter(bits for bits in found if bits is not None)


def limits_of(
    own: Sequence[AssemblyInstruction], known: Sequence[AssemblyInstruction]
) -> tuple[CodeLimit, ...]:
    """The limits of one code that another one has not."""
    numbers = sorted(set(_cuts(own)) - set(_cuts(known)))
    found = [CodeLimit(n, "with which the rewrite compares") for n in numbers]
    bits = sorted(set(_asked_bits(own)) - set(_asked_bits(known)))
    found += [CodeLimit(1 << bit, "of which the rewrite asks for a bit", width=True) for bit in bits]
    theirs = _narrow(known)
    found += [
        CodeLimit(1 << bits, f"behind which {why}", width=True)
        for (bits, why), count in _narrow(own).items()
        if count > theirs[bits, why]
    ]
    return tuple(sorted(found, key=lambda limit: limit.size))


def _cuts(code: Sequence[AssemblyInstruction]) -> Iterator[int]:
    """Integers that the code compares with or cuts at, also those that it loads for that."""
    held: dict[str, int] = {}
    for one in code:
        values = [_value(text, held) for text in one.operands]
        if _CUTS.match(one.mnemonic):
            sizes = (abs(v) for v in values if v is not None and v > _NEGATIVE_FLOAT)
            yield from (n for n in sizes if _SMALLEST <= n < _LARGEST)
        if not one.operands:
            continue
        to = registers_in(one.operands[0])
        for name in to:
            held.pop(name, None)
        if _LOADS.match(one.mnemonic) and len(values) > 1 and values[1] is not None and to:
            held[to[0]] = values[1]
            held |= {name: 0 for name in to[1:] if values[1] >= 0}


def _asked_bits(code: Iterable[AssemblyInstruction]) -> Iterator[int]:
    """The numbers of single bits that the code takes out of a number, from the sixth on."""
    shifted: dict[str, int] = {}
    for one in code:
        yield from (bit for bit in _single_bits(one, shifted) if bit in _ASKED_BITS)
        if not one.operands:
            continue
        to, *sources = one.operands
        numbers = [n for text in sources if (n := _integer(text)) is not None]
        moved = [shifted[text] for text in sources if text in shifted] if one.mnemonic in _MASKS else []
        if "_lshr" in one.mnemonic and numbers:
            shifted[to] = numbers[0]
        elif moved:
            shifted[to] = moved[0]
        else:
            shifted.pop(to, None)


def _single_bits(one: AssemblyInstruction, shifted: Mapping[str, int]) -> list[int]:
    """The bits that an instruction asks for by itself, or of what was `shifted` to the right by so many before."""
    last = _integer(one.operands[-1]) if one.operands else None
    if one.mnemonic in _FIELDS[:2] and last == 1:
        bits = [_integer(one.operands[-2])]
    elif one.mnemonic in _FIELDS[2:] and last is not None and last >> 16 == 1:
        bits = [last & 31]
    elif one.mnemonic.startswith("s_bitcmp"):
        bits = [last]
    elif one.mnemonic in _MASKS and 1 in map(_integer, one.operands[1:]):
        bits = [shifted.get(text) for text in one.operands[1:]]
    else:
        bits = []
    return [bit for bit in bits if bit is not None]


def _value(text: str, held: Mapping[str, int]) -> int | None:
    """A constant, or what a register or a pair of them is known to hold."""
    names = registers_in(text)
    if not names:
        return _integer(text)
    return held.get(names[0]) if all(held.get(name) == 0 for name in names[1:]) else None


def registers_in(text: str) -> list[str]:
    """The registers of an operand: `s[4:5]` is s4 and s5; a constant is none."""
    match = _REGISTERS.match(text)
    if match is None:
        return []
    kind, first, last, only = match.groups()
    return [f"{kind}{only}"] if only else [f"{kind}{n}" for n in range(int(first), int(last) + 1)]


def _integer(text: str) -> int | None:
    word = text.split(" ")[0]
    if re.fullmatch(r"0x[0-9a-f]+", word):
        value = int(word, 16)
        return value - (1 << 32) if value >> 31 and value < 1 << 32 else value
    return int(word) if re.fullmatch(r"-?\d+", word) else None


def _narrow(code: Sequence[AssemblyInstruction]) -> Counter[tuple[int, str]]:
    """How often the code computes in how many bits, where it may have more."""
    counts: Counter[tuple[int, str]] = Counter()
    # A mask behind a shift that leaves no more bits cuts nothing, nor one behind a quotient that floats made.
    shifts = {_integer(text) for one in code if "_lshr" in one.mnemonic for text in one.operands[1:]}
    widths = () if any(one.mnemonic == "v_cvt_u32_f32" for one in code) else _OTHER_WIDTHS
    for one, small in _with_small_registers(code):
        if _HALF_WORDS.match(one.mnemonic) or _keeps_low(one, 16):
            counts[16, "it counts in 16 bits"] += 1
        elif _keeps_low(one, 24):
            counts[24, "it counts in 24 bits"] += 1
        elif (
            kept := next((n for n in widths if 32 - n not in shifts and _keeps_low(one, n)), None)
        ) is not None:
            counts[kept, f"it counts in {kept} bits"] += 1
        elif _PRODUCTS_24.match(one.mnemonic):
            factors = [text for text in one.operands[1:3] if _REGISTER.match(text)]
            if not all(text in small for text in factors):
                counts[24, "it multiplies in 24 bits"] += 1
    names = Counter(one.mnemonic for one in code)
    to_float = names["v_cvt_f32_i32"] + names["v_cvt_f32_u32"]
    back = names["v_cvt_i32_f32"] + names["v_cvt_u32_f32"]
    counted = min(to_float, back) - names["v_rcp_iflag_f32"]  # the others are divisions of integers
    if counted > 0:
        counts[24, "it counts in floats"] = counted
    return counts


def _keeps_low(one: AssemblyInstruction, bits: int) -> bool:
    """Whether an instruction leaves so many bits of a number, from the lowest."""
    if one.mnemonic in _MASKS:
        return any(_integer(text) == (1 << bits) - 1 for text in one.operands[1:])
    if one.mnemonic in _FIELDS[:2]:
        return [_integer(text) for text in one.operands[2:4]] == [0, bits]
    if one.mnemonic in ("v_ashrrev_i64", "s_ashr_i64") and bits == 16:  # also of what is scaled to bytes
        return any(32 < (_integer(text) or 0) < 63 for text in one.operands[1:])
    if one.mnemonic in ("v_ashrrev_i32", "s_ashr_i32"):
        return any(_integer(text) == 32 - bits for text in one.operands[1:])
    if one.mnemonic in _FIELDS[2:]:
        return _integer(one.operands[-1]) == bits << 16
    return any(f"sel:WORD_{n}" in text for text in one.operands[-1:] for n in (0, 1)) and bits == 16


def _with_small_registers(
    code: Iterable[AssemblyInstruction],
) -> Iterator[tuple[AssemblyInstruction, set[str]]]:
    """Each instruction with the registers before it that hold no more than 24 bits, as by a mask: work-item numbers,
    bytes with their sign.
    """
    small = {"v0"}
    for one in code:
        yield one, small
        if not one.operands:
            continue
        to, *sources = one.operands
        constants = [_integer(text) for text in sources]
        known = [text in small or c is not None for text, c in zip(sources, constants, strict=True)]
        masked = one.mnemonic in _MASKS and any(c is not None and 0 <= c < 1 << 24 for c in constants)
        field = one.mnemonic in _FIELDS[:2] and (constants[-1] or 32) <= 24
        moved = one.mnemonic.startswith(("v_mov", "s_mov", "v_mbcnt", "v_lshrrev", "s_lshr")) and any(known)
        summed = one.mnemonic in ("v_add_u32", "v_or_b32", "v_add3_u32", "v_lshl_or_b32") and all(known)
        smaller = one.mnemonic in ("s_min_u32", "v_min_u32") and any(text in small for text in sources)
        loaded = _LOADS_SHORT.match(one.mnemonic) is not None or "src0_sel:BYTE" in one.operands[-1]
        if masked or field or moved or summed or smaller or loaded:
            small.add(to)
        else:
            small.discard(to)
