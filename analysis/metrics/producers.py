"""Which instructions a wait waited for, found in the machine code by going back from the wait.

Takes a kernel whose capture says where waves waited, not what for (samples, traces without the list of a decoder),
gives it with `waited_for`. A wait on a counter (`s_waitcnt vmcnt(1)`, `s_wait_loadcnt`) goes to the memory operations
that the counter still counted there, on each way that leads to the wait; another stall goes to the last write of its
operands. Several operations share a wait by the order in which they would be done if all took as long as usual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hipscope.analysis.metrics.machine_loops import branch_target
from hipscope.analysis.metrics.wait_reasons import wait_reason
from hipscope.analysis.profile import Instruction, Kernel, StallReason

# Counters with the operations that they count, by the start of the mnemonic. gfx9 counts stores with loads; from gfx10
# on stores have their own, from gfx12 on scalar loads, too.
_VECTOR = ("global_", "buffer_", "tbuffer_", "scratch_", "image_", "flat_")
_LOCAL = (
    "ds_",
    "flat_",
    "s_load",
    "s_buffer_load",
    "s_scratch_load",
    "s_memtime",
    "s_memrealtime",
    "s_gl1_inv",
    "s_atc",
)
_SCALAR = ("s_load", "s_buffer_load")
_USUAL: Mapping[StallReason, float] = {
    StallReason.GLOBAL_MEMORY: 700.0,
    StallReason.SCRATCH_MEMORY: 500.0,
    StallReason.ATOMIC: 1000.0,
    StallReason.SCALAR_MEMORY: 200.0,
    StallReason.LDS: 64.0,
}
_STORE = 500.0
_OTHER = 100.0
_FIELD = re.compile(r"(vmcnt|lgkmcnt|vscnt|expcnt)\((\d+)\)")
_NEWER = re.compile(r"s_wait_(load|store|ds|km|sample|bvh)cnt(_dscnt)?\s+(?:0x)?([0-9a-f]+)")
_REGISTER = re.compile(r"\b([vas])(?:\[(\d+):(\d+)\]|(\d+))|\b(vcc|scc|exec|m0)\b")
_FAR = 4000  # instructions back, over all ways
_RARE = 0.01  # ways that are gone less often are not followed
_BACK_EDGE = 10.0  # times as often as the way into a loop, where nothing was counted


@dataclass(frozen=True)
class _Wait:
    """A counter must be at most `left`; `starts` are the mnemonics that it counts, `without` what it leaves out."""

    starts: tuple[str, ...]
    left: int
    without: str = ""


@dataclass(frozen=True)
class _Found:
    """An operation that was outstanding: how much of the waits' ways come by, and how long before the wait it began."""

    index: int
    weight: float
    before: float


def with_producers(kernel: Kernel) -> Kernel:
    """The kernel with its waits given to what they waited for. One whose capture says that already stays as it is."""
    if not kernel.instructions or any(i.waited_for for i in kernel.instructions):
        return kernel
    code = _Code(kernel.instructions)
    changed = tuple(_attributed(i, code) if i.stall > 0 else i for i in kernel.instructions)
    return kernel.model_copy(update={"instructions": changed})


def _attributed(instruction: Instruction, code: _Code) -> Instruction:
    waits = _waits(instruction.text)
    if waits:
        reason, producers = StallReason.OTHER, _shared(instruction, waits, code)
    else:
        reason, producers = StallReason.DEPENDENCY, code.writers(instruction)
    left = dict(instruction.stalls) or {StallReason.OTHER: instruction.stall}
    cycles = left.pop(reason, 0.0)
    if not producers or cycles <= 0:
        return instruction
    waited = {index: cycles * part for index, part in producers.items()}
    for index, part in waited.items():
        kind = wait_reason(code.text(index))
        left[kind] = left.get(kind, 0.0) + part
    return instruction.model_copy(update={"stalls": left, "waited_for": waited})


def _waits(text: str) -> tuple[_Wait, ...]:
    """The counters that an instruction waits for."""
    if newer := _NEWER.match(text):
        kind, _, left = newer.groups()
        number = int(left, 16 if "0x" in text else 10)
        if newer[2]:  # both in one number: loads or stores in the upper half, LDS in the lower
            return (_newer(kind, number >> 8), _newer("ds", number & 0xFF))
        return (_newer(kind, number),)
    if not text.startswith("s_waitcnt"):
        return ()
    if "vscnt" in text and "(" not in text:
        return (_Wait(_VECTOR, int(text.split()[-1], 0), "_load"),)
    found = []
    for name, left in _FIELD.findall(text):
        if name != "expcnt":
            found.append(
                _Wait(_LOCAL if name == "lgkmcnt" else _VECTOR, int(left), "_load" if name == "vscnt" else "")
            )
    return tuple(found)


def _newer(kind: str, left: int) -> _Wait:
    if kind == "ds":
        return _Wait(("ds_", "flat_"), left)
    if kind == "km":
        return _Wait(_SCALAR, left)
    return _Wait(_VECTOR, left, "_load" if kind == "store" else "_store")


def _shared(instruction: Instruction, waits: Sequence[_Wait], code: _Code) -> dict[int, float]:
    """The parts of a wait by what it waited for, 0..1 each."""
    found = [f for wait in waits for f in code.outstanding(instruction.index, wait)]
    if not found:
        return {}
    # In a loop, the wait of an inner loop is one only when its operation was asked for anew.
    often = instruction.hits * min(1.0, max(f.weight for f in found))
    mean = instruction.stall / max(1.0, often)
    # All took so many times as long as usual that the last is done when the wait ends. They are done in their order.
    times = min((mean + f.before) / code.usual(f.index) for f in found)
    parts: dict[int, float] = {}
    until = 0.0
    for f in sorted(found, key=lambda f: -f.before):
        ends = code.usual(f.index) * times - f.before
        parts[f.index] = parts.get(f.index, 0.0) + f.weight * max(0.0, ends - until)
        until = max(until, ends)
    total = sum(parts.values())
    return {index: part / total for index, part in parts.items() if part > 0} if total else {}


class _Code:
    """The instructions of a kernel with the ways between them."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._code = instructions
        place = {i.address: n for n, i in enumerate(instructions)}
        self._before: list[list[tuple[int, float]]] = [[] for _ in instructions]
        for n, i in enumerate(instructions):
            name = i.text.partition(" ")[0]
            target = place.get(address) if (address := branch_target(i)) is not None else None
            ends = name in ("s_branch", "s_endpgm", "s_setpc_b64", "s_trap")
            falls = not ends and n + 1 < len(instructions)
            if falls:
                self._before[n + 1].append((n, self._taken(n, n + 1, target)))
            if target is not None:
                self._before[target].append((n, self._taken(n, target, n + 1 if falls else None)))

    def text(self, index: int) -> str:
        return self._code[index].text

    def usual(self, index: int) -> float:
        """The cycles that such an operation usually takes; a store is done when the L2 has it."""
        text = self.text(index)
        return _STORE if "_store" in text.partition(" ")[0] else _USUAL.get(wait_reason(text), _OTHER)

    def outstanding(self, index: int, wait: _Wait) -> Iterator[_Found]:
        """The operations that the counter may still have counted when the wait at `index` began."""
        steps = 0
        # Where, how much of the ways, cycles since, operations passed, and how many can be outstanding at most.
        ways: list[tuple[int, float, float, int, float]] = [(index, 1.0, 0.0, 0, float("inf"))]
        seen: dict[tuple[int, int], float] = {}
        while ways and steps < _FAR:
            at, weight, cycles, passed, most = ways.pop()
            for before, part in self._leading(at):
                steps += 1
                share = weight * part
                state = (before, passed)
                if share < _RARE or seen.get(state, 0.0) >= share:
                    continue
                seen[state] = share
                now, limit = passed, most
                text = self._code[before].text
                if text.startswith(wait.starts) and not (wait.without and wait.without in text):
                    now += 1
                    if now > wait.left:
                        yield _Found(before, share, cycles)
                for other in _waits(text):
                    if other.starts == wait.starts and other.without == wait.without:
                        limit = min(limit, now + other.left)
                if now < limit:
                    ways.append((before, share, cycles + self._time(before), now, limit))

    def writers(self, instruction: Instruction) -> dict[int, float]:
        """The last instruction before that wrote what this one reads, in the same run of instructions."""
        wanted = set(_registers(instruction.text.partition(",")[2]))
        at = instruction.index
        while wanted:
            leading = self._before[at]
            if len(leading) != 1 or leading[0][0] != at - 1:
                return {}
            at -= 1
            text = self._code[at].text
            if wanted & set(_registers(_written(text))):
                return {at: 1.0}
        return {}

    def _leading(self, at: int) -> Iterator[tuple[int, float]]:
        ways = self._before[at]
        total = sum(part for _, part in ways)
        return ((before, part / total if total else 1 / len(ways)) for before, part in ways)

    def _time(self, index: int) -> float:
        """Cycles (or samples) of one execution."""
        instruction = self._code[index]
        return instruction.latency / max(1, instruction.hits)

    def _taken(self, source: int, target: int, other: int | None) -> float:
        """How often that way was gone: what does not go the other way."""
        hits = self._code[source].hits
        if not hits:
            return _BACK_EDGE if target <= source else 1.0
        if other is None:
            return float(hits)
        return float(max(0, min(hits, self._code[target].hits)))


def _written(text: str) -> str:
    """The operand that an instruction writes; none for a store."""
    name, _, rest = text.partition(" ")
    return "" if "store" in name or name.startswith(("s_cbranch", "s_waitcnt")) else rest.partition(",")[0]


def _registers(operands: str) -> Iterator[str]:
    for kind, first, last, one, named in _REGISTER.findall(operands):
        if named:
            yield named
        elif one:
            yield kind + one
        else:
            yield from (f"{kind}{n}" for n in range(int(first), int(last) + 1))
