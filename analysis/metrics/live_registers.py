"""How many vector registers a kernel's machine code has in use at each instruction.

Takes a kernel's instructions in the order of their addresses, gives a number for each of which it is known. A register
is in use behind an instruction that has just written it, or when some lane still reads the value. Lanes that are not
active keep theirs, so two answers are computed: the least, as if each write were one of all lanes, and the most, which
keeps what a later instruction may read once more lanes are active. Where the two differ, the number is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hipscope.analysis.metrics.machine_loops import branch_target
from hipscope.analysis.profile import Instruction, Kernel

_REGISTERS = re.compile(r"\bv(?:\[(\d+):(\d+)\]|(\d+))")
_LEAVES = ("s_swappc", "s_setpc", "s_call", "s_cbranch_g_fork", "s_cbranch_i_fork", "s_rfe", "s_trap")
_BY_NUMBER = ("v_movrel", "s_set_gpr_idx")
_LOADS = ("global_load", "flat_load", "buffer_load", "tbuffer_load", "scratch_load", "image_load")
_STORES = (
    "global_store",
    "flat_store",
    "buffer_store",
    "tbuffer_store",
    "scratch_store",
    "ds_write",
    "ds_store",
)
_ATOMICS = ("global_atomic", "flat_atomic", "buffer_atomic")
_LDS_RESULTS = ("ds_read", "ds_load", "ds_bpermute", "ds_permute", "ds_swizzle")
_SCALAR_RESULTS = ("v_cmp", "v_readlane", "v_readfirstlane", "v_nop")
_READS_RESULT = ("v_fmac", "v_mac", "v_pk_fmac", "v_dot2c", "v_dot4c", "v_dot8c")
# Only some lanes, or a part of each, get a new value.
_PARTLY = re.compile(
    r"_d16|_hi\b|mixlo|mixhi|v_writelane|v_cvt_(?:pk|sr)_(?:fp8|bf8)"
    r"|dst_sel|dst_unused|op_sel|row_|quad_perm|wave_|bank_mask|_dpp|_sdwa"
)
_NARROWS = re.compile(
    r"s_and_saveexec|v_cmpx|s_andn2_b(?:64|32) exec(?:_lo)?, exec|s_and_b(?:64|32) exec(?:_lo)?, exec"
)
_SETS_LANES = re.compile(r"saveexec|wrexec|v_cmpx|^s_\w+ exec")
_ENDS = ("s_endpgm", "s_branch")


@dataclass(frozen=True)
class _Step:
    """Registers as bits: what is surely and what is perhaps read, what all of is written and what is touched."""

    reads: int
    may_read: int
    kills: int
    may_write: int


@dataclass
class _Live:
    """Behind an instruction: values that active lanes read, and those that others do once they are active again."""

    active: int = 0
    others: int = 0


def registers_in_use(kernel: Kernel) -> Mapping[int, int]:
    """Vector registers in use behind each instruction, by index; without those of which it is not known."""
    code = kernel.instructions
    texts = [one.text for one in code]
    if not code or any(text.startswith((*_LEAVES, *_BY_NUMBER)) for text in texts):
        return {}
    steps = [_step(text) for text in texts]
    ways = _ways(code)
    least = _least(steps, ways)
    most = _most(texts, steps, ways)
    defined = _defined(steps, ways)
    known = {}
    for n, step in enumerate(steps):
        low = least[n] | step.kills
        high = (most[n].active | most[n].others | step.may_write) & defined[n]
        if low & defined[n] == high:
            known[code[n].index] = high.bit_count()
    return known


def _step(text: str) -> _Step:
    name, _, rest = text.partition(" ")
    operands = rest.split(",")
    first, later = _bits(operands[0]), _bits(",".join(operands[1:]))
    everything = first | later
    if not everything:
        return _Step(0, 0, 0, 0)
    if name.startswith((*_STORES, *_SCALAR_RESULTS)) or " lds" in rest:
        return _Step(everything, everything, 0, 0)
    if name.startswith(_ATOMICS) or name.startswith("ds_"):
        returns = name.startswith(_LDS_RESULTS) or "_rtn" in name or re.search(r"\b(?:glc|sc0)\b", rest)
        if not returns:
            return _Step(everything, everything, 0, 0)
    elif not name.startswith(("v_", *_LOADS)):
        return _Step(0, everything, 0, everything)
    if name.startswith("v_swap"):
        return _Step(everything, everything, everything, everything)
    if _PARTLY.search(text):
        return _Step(later, everything, 0, first)
    reads = everything if name.startswith(_READS_RESULT) else later
    return _Step(reads, reads, first, first)


def _bits(text: str) -> int:
    found = 0
    for low, high, one in _REGISTERS.findall(text):
        for number in range(int(low or one), int(high or one) + 1):
            found |= 1 << number
    return found


def _ways(code: Sequence[Instruction]) -> list[tuple[int, ...]]:
    """Where each instruction may go on, as positions."""
    place = {one.address: n for n, one in enumerate(code)}
    found = []
    for n, one in enumerate(code):
        address = branch_target(one)
        target = place.get(address) if address is not None else None
        ways = [] if target is None else [target]
        if not one.text.startswith(_ENDS) and n + 1 < len(code):
            ways.append(n + 1)
        found.append(tuple(ways))
    return found


def _least(steps: Sequence[_Step], ways: Sequence[tuple[int, ...]]) -> list[int]:
    """What is read behind each instruction if every write is one of all lanes."""
    behind = [0] * len(steps)
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(steps))):
            live = 0
            for way in ways[n]:
                live |= (behind[way] & ~(steps[way].kills | steps[way].may_write)) | steps[way].reads
            if live != behind[n]:
                behind[n], changed = live, True
    return behind


def _most(texts: Sequence[str], steps: Sequence[_Step], ways: Sequence[tuple[int, ...]]) -> list[_Live]:
    """What may be read behind each instruction by lanes that are active there, and by others."""
    behind = [_Live() for _ in steps]
    sets = [bool(_SETS_LANES.search(text)) for text in texts]
    narrows = [bool(_NARROWS.match(text)) for text in texts]
    by_lane = 0  # a lane's value that any other may ask for
    for n, text in enumerate(texts):
        by_lane |= steps[n].reads if text.startswith("v_readlane") else 0
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(steps))):
            active = others = 0
            for way in ways[n]:
                after = behind[way]
                now, then = after.active, after.others
                if sets[way]:
                    now, then = now | then, then if narrows[way] else now | then
                active |= (now & ~(steps[way].kills & ~by_lane)) | steps[way].may_read
                others |= then
            if (active, others) != (behind[n].active, behind[n].others):
                behind[n], changed = _Live(active, others), True
    return behind


def _defined(steps: Sequence[_Step], ways: Sequence[tuple[int, ...]]) -> list[int]:
    """What may have a value behind each instruction: what a way to it writes, and what a wave begins with."""
    into: list[int] = [0] * len(steps)
    into[0] = 0b111
    behind = [0] * len(steps)
    changed = True
    while changed:
        changed = False
        for n, step in enumerate(steps):
            now = into[n] | step.kills | step.may_write
            if now == behind[n]:
                continue
            behind[n], changed = now, True
            for way in ways[n]:
                into[way] |= now
    return behind
