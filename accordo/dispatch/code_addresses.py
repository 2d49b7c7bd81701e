"""Whether machine code takes addresses for numbers: shifts them, masks them, multiplies them.

Takes the instructions of a kernel and where its pointers lie among the arguments; gives the mnemonics that work on a
pointer, or on a sum with one, as no access to memory needs it. The code is read once from top to bottom.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from hipscope.accordo.dispatch.disassembly import AssemblyInstruction

_RANGE = re.compile(r"\|?-?([sv])(?:\[(\d+):(\d+)\]|(\d+))\|?(?: .*)?$")
_ACCESS = re.compile(r"(?:global|flat|buffer|scratch|ds|s_load|s_buffer|s_store|s_dcache|s_scratch)")
_LOAD = re.compile(r"s_load_dword(?:x(\d+))?$")
_STAYS = re.compile(
    r"[sv]_(?:mov|add|sub|lshl\d?_add|cselect|cndmask|readfirstlane|readlane|writelane|accvgpr|cmov|swap|perm)"
)
_CARRIES = re.compile(r"v_(?:mad_[iu]64_[iu]32|(?:add|sub|subrev|addc|subb|subbrev)_co_u32|div_scale)")
_WITH_ADDEND = re.compile(r"v_mad_[iu]64_[iu]32$")
_MASKS = re.compile(r"s_(?:and|andn2|or|orn2|xor|xnor|nand|nor|not|wqm)\w*_b64$")  # of lanes, nearly always
_OF_FLOATS = re.compile(r"v_(?!cvt)\w+_f(?:16|32|64)$")  # what it works on was put there on another way
_COMPARES = re.compile(r"(?:[sv]_cmpx?|s_cmpk)_")
_NOTHING = re.compile(r"s_(?:wait|nop|branch|cbranch|endpgm|barrier|sleep|setprio|sendmsg|swappc|setpc|call)")


def taken_for_numbers(code: Sequence[AssemblyInstruction], pointers: Collection[int]) -> set[str]:
    """Mnemonics that take an address for a number. `pointers` are the bytes of the arguments where addresses begin."""
    base = next(
        (one.operands[1] for one in code if _LOAD.match(one.mnemonic) and len(one.operands) > 2), None
    )
    words = {byte + half for byte in pointers for half in (0, 4)}
    addresses, found = set[str](), set[str]()
    arguments, gone = set(_registers(base or "")), False  # where the arguments lie, until other things do
    for one in code:
        if not one.operands or _NOTHING.match(one.mnemonic):
            continue
        to, *sources = (_registers(text) for text in one.operands)
        if _CARRIES.match(one.mnemonic):
            to, sources = [*to, *sources[0]], sources[1:]
        if _COMPARES.match(one.mnemonic):
            both = [to, *sources] if one.mnemonic.startswith("s_") else sources
            if _with_another(both, addresses) and "0" not in one.operands:
                found.add(one.mnemonic)
            if not one.mnemonic.startswith("s_"):
                addresses -= set(to)
                gone = gone or bool(arguments & set(to))
            continue
        if _LOAD.match(one.mnemonic):
            addresses -= set(to)
            offset = _offset(one.operands[2]) if one.operands[1] == base and not gone else None
            gone = gone or bool(arguments & set(to))
            addresses |= {name for n, name in enumerate(to) if offset is not None and offset + 4 * n in words}
            continue
        if _ACCESS.match(one.mnemonic):
            if "store" not in one.mnemonic and "write" not in one.mnemonic:
                addresses -= set(to)
            continue
        gone = gone or bool(arguments & set(to))
        used = [n for n, names in enumerate(sources) if addresses & set(names)]
        addend = _WITH_ADDEND.match(one.mnemonic) and used == [len(sources) - 1]
        addresses -= set(to)
        if used and (_MASKS.match(one.mnemonic) or _OF_FLOATS.match(one.mnemonic)):
            continue
        if used and not (addend or _STAYS.match(one.mnemonic)):
            found.add(one.mnemonic)
        elif used and not ("sub" in one.mnemonic and len(used) > 1):  # the difference of two is no address
            addresses |= set(to)
    return found


def _with_another(operands: Sequence[Sequence[str]], addresses: Collection[str]) -> bool:
    """Whether an address is compared with what is none."""
    kinds = {bool(set(addresses) & set(names)) for names in operands}
    return kinds == {True, False}


def _registers(text: str) -> list[str]:
    """`s[4:6]` is s4, s5, s6; a constant is none."""
    match = _RANGE.match(text)
    if match is None:
        return []
    kind, first, last, only = match.groups()
    if only is not None:
        return [f"{kind}{only}"]
    return [f"{kind}{n}" for n in range(int(first), int(last) + 1)]


def _offset(text: str) -> int | None:
    try:
        return int(text.split(" ")[0], 0)
    except ValueError:
        return None
