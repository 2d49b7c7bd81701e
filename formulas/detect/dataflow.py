"""What the registers of a kernel's machine code say: whose address a load brought, and what is the same for all lanes.

Takes a kernel's instructions in the order of their addresses, gives indices. It reads operands as LLVM prints them;
what it does not understand counts as unknown, so that nothing is called dependent or uniform that was not seen to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hipscope.analysis.metrics.machine_loops import branch_target, machine_loops
from hipscope.analysis.profile import Instruction, Kernel

_REGISTER = re.compile(r"\b([vasm])(?:(\d+)\b|\[(\d+):(\d+)\])|\b(vcc)\b")
_LOADS = ("global_load", "flat_load", "buffer_load")
_NO_RESULT = (
    "global_store",
    "flat_store",
    "buffer_store",
    "ds_write",
    "scratch_store",
    "s_waitcnt",
    "s_barrier",
)
# Lanes get other values by these, whatever they read.
_PER_LANE = (*_LOADS, "ds_", "scratch_load", "global_atomic", "flat_atomic", "buffer_atomic", "v_mbcnt")
_FURTHEST = 400  # instructions that are searched for what gave an address


@dataclass(frozen=True)
class _Operands:
    """Registers by name (`v12`) that an instruction writes and reads; `writes_exec` changes which lanes are active."""

    name: str
    writes: frozenset[str]
    reads: frozenset[str]
    writes_exec: bool


@lru_cache(maxsize=1 << 15)
def _operands(text: str) -> _Operands:
    name, _, rest = text.partition(" ")
    parts = [p.strip() for p in rest.split(",")]
    stores = name.startswith(_NO_RESULT)
    results = 0 if stores else 2 if name.startswith(("v_div_scale", "v_mad_u64_u32", "v_mad_i64_i32")) else 1
    if "_co_" in name or name.startswith(("v_addc", "v_subb")):
        results = 2
    if name.startswith(("v_div_scale", "v_cmp", "v_addc", "v_subb")) or "_co_" in name:
        parts = [*map(_as_mask, parts[:results]), *parts[results:]]
    masked = name.startswith(("v_cndmask", "v_addc", "v_subb")) or "addc_co" in name or "subb_co" in name
    if masked and len(parts) > results:
        parts[-1] = _as_mask(parts[-1])
    writes = frozenset(r for p in parts[:results] for r in _registers(p))
    reads = frozenset(r for p in parts[results:] for r in _registers(p))
    if name.startswith("v_div_fmas"):
        reads |= {"vcc"}
    if name.startswith(("v_fmac", "v_mac", "v_pk_fmac")):
        reads |= writes
    return _Operands(name, writes, reads, "saveexec" in name or (parts[0] == "exec" and not stores))


def _registers(text: str) -> Iterator[str]:
    for kind, one, first, last, condition in _REGISTER.findall(text):
        if condition:
            yield condition
        elif one:
            yield kind + one
        else:
            yield from (f"{kind}{n}" for n in range(int(first), int(last) + 1))


def _as_mask(operand: str) -> str:
    """A scalar that holds a bit per lane has a name of its own: `m[0:1]` for `s[0:1]`."""
    return "m" + operand[1:] if operand.startswith("s") else operand


def written_registers(instruction: Instruction) -> frozenset[str]:
    """The registers that it gives a value."""
    return _operands(instruction.text).writes


def read_registers(instruction: Instruction) -> frozenset[str]:
    """The registers whose values it takes."""
    return _operands(instruction.text).reads


def addressed_by_loads(kernel: Kernel) -> frozenset[int]:
    """Loads from global memory whose address another such load brought: indices, lists, trees."""
    around = machine_loops(kernel)
    return frozenset(
        i.index
        for i in kernel.instructions
        if i.hits and i.text.startswith(_LOADS) and _from_load(kernel, i, around)
    )


def _from_load(kernel: Kernel, load: Instruction, around: tuple[tuple[int, int], ...]) -> bool:
    inside = [(a, b) for a, b in around if a <= load.index <= b]
    first, last = min(inside, key=lambda loop: loop[1] - loop[0], default=(0, load.index))
    before = range(load.index - 1, first - 1, -1)
    wrapped = range(last, load.index - 1, -1) if inside else range(0)
    wanted = {r for r in _operands(load.text).reads if r.startswith("v")}
    for index in (*before, *wrapped)[:_FURTHEST]:
        if not wanted:
            return False
        instruction = kernel.instructions[index]
        operands = _operands(instruction.text)
        given = wanted & operands.writes
        if not given:
            continue
        if operands.name.startswith(_LOADS):
            return True
        wanted -= given
        if not operands.name.startswith(_PER_LANE):
            wanted |= {r for r in operands.reads if r.startswith("v")}
    return False


def uniform_instructions(kernel: Kernel) -> frozenset[int]:
    """Vector instructions whose operands are the same for all lanes: every lane computes the same again.

    A register counts as uniform where every way to it wrote it from scalars, constants and uniform registers, and no
    lane came back in between.
    """
    code = kernel.instructions
    place = {i.address: i.index for i in code}
    addresses = [branch_target(i) for i in code]
    targets = [None if address is None else place.get(address) for address in addresses]
    states: list[frozenset[str] | None] = [None] * (len(code) + 1)
    states[0] = frozenset()
    for _ in range(4):  # inner loops of loops of loops: each pass settles one level
        before = list(states)
        for i in code:
            state = states[i.index]
            if state is None:
                continue
            after = _after(i, state)
            ways = [targets[i.index]] if targets[i.index] is not None else []
            if not i.text.startswith(("s_branch", "s_endpgm", "s_setpc")):
                ways.append(i.index + 1)
            for way in ways:
                if way is not None:
                    known = states[way]
                    states[way] = after if known is None else known & after
        if before == states:
            break
    else:
        return frozenset()
    return frozenset(
        i.index for i in code if i.hits and (state := states[i.index]) is not None and _is_uniform(i, state)
    )


def _after(instruction: Instruction, state: frozenset[str]) -> frozenset[str]:
    operands = _operands(instruction.text)
    if operands.writes_exec and "and_saveexec" not in operands.name:
        return frozenset()
    written = {r for r in operands.writes if r.startswith(("v", "m"))}
    written |= {"m" + r[1:] for r in operands.writes if r.startswith("s")}
    if not written:
        return state
    return state | operands.writes if _is_uniform(instruction, state) else state - written


def _is_uniform(instruction: Instruction, state: frozenset[str]) -> bool:
    operands = _operands(instruction.text)
    if not operands.name.startswith("v_") or operands.name.startswith(("v_mbcnt", "v_mfma", "v_accvgpr")):
        return False
    if "dpp" in operands.name or "sdwa" in operands.name:
        return False
    return all(r in state for r in operands.reads if not r.startswith("s"))
