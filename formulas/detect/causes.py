"""What the wave time goes into: every cycle of every instruction has a cause, and each cause a remedy.

Takes a kernel, gives its time by cause, over all and per line. Formulas say what is wrong; this says what each hot line
spends its time on when none of them speaks. The words stand in causes.toml.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.metrics.memory_patterns import conflict_degree
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.metrics.stalls import blamed_stalls, total_cycles
from hipscope.analysis.profile import Instruction, Kernel, MemoryPattern, Profile, StallReason
from hipscope.formulas.detect.dataflow import addressed_by_loads
from hipscope.formulas.detect.fences import is_fence
from hipscope.formulas.detect.instruction_mix import (
    is_double,
    is_scratch,
    is_synchronising,
    is_transcendental,
    is_valu,
    mnemonic,
    waves,
)
from hipscope.formulas.detect.memory_access import wasteful, wasteful_loads
from hipscope.formulas.detect.slow_arithmetic import lanes_in_turn, slow_lines
from hipscope.formulas.detect.time_at_stake import unit_share
from hipscope.formulas.tables import THRESHOLDS, table


@dataclass(frozen=True)
class Cause:
    """A row of the table."""

    words: str
    remedy: str
    instructions: Sequence[str] = ()
    waits: Sequence[str] = ()


CAUSES: Mapping[str, Cause] = {name: Cause(**row) for name, row in table("causes").items()}
_ONCE = {StallReason(wait): name for name, cause in CAUSES.items() for wait in cause.waits}
_ISSUED = sorted(
    ((start, name) for name, cause in CAUSES.items() for start in cause.instructions),
    key=lambda begin: -len(begin[0]),
)


@dataclass(frozen=True)
class LineCause:
    """One line with what it spends its time on: `share` is of the kernel's wave time, `causes` of the line's, largest
    first. `column` 0 is unknown; `rounds` is how often each wave comes there.
    """

    file: str
    line: int
    column: int
    share: float
    causes: tuple[tuple[str, float], ...]
    rounds: float | None


def time_by_cause(profile: Profile, kernel: Kernel) -> Mapping[str, float]:
    """Parts of the kernel's wave time, largest first; empty without instructions that took time."""
    total = total_cycles(kernel)
    if not total:
        return {}
    found: dict[str, float] = {}
    for cycles in _tables(profile, kernel):
        _add(found, cycles)
    return {name: part / total for name, part in _ranked(found) if part > 0}


def line_causes(profile: Profile, kernel: Kernel) -> tuple[LineCause, ...]:
    """The kernel's lines, costliest first."""
    total = total_cycles(kernel)
    if not total:
        return ()
    number = waves(kernel)
    grouped: dict[tuple[str, int], tuple[dict[str, float], list[Instruction]]] = {}
    for instruction, spent in zip(kernel.instructions, _tables(profile, kernel), strict=True):
        frame = user_frame(instruction.source)
        if frame is not None:
            causes, instructions = grouped.setdefault((frame.file, frame.line), ({}, []))
            _add(causes, spent)
            instructions.append(instruction)
    lines = []
    for (file, line), (causes, instructions) in grouped.items():
        cycles = sum(causes.values())
        if cycles <= 0:
            continue
        worst = max(instructions, key=lambda i: i.latency)
        frame = user_frame(worst.source)
        hits = max(i.hits for i in instructions)
        parts = tuple((name, c / cycles) for name, c in _ranked(causes))
        column = frame.column if frame is not None else 0
        lines.append(LineCause(file, line, column, cycles / total, parts, hits / number if number else None))
    return tuple(sorted(lines, key=lambda entry: (-entry.share, entry.file, entry.line)))


def _add(into: dict[str, float], cycles: Mapping[str, float]) -> None:
    for name, more in cycles.items():
        into[name] = into.get(name, 0.0) + more


def _ranked(cycles: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(cycles.items(), key=lambda item: -item[1])


def _tables(profile: Profile, kernel: Kernel) -> list[dict[str, float]]:
    """Per instruction: its cycles by cause, waits given to what is waited for."""
    slow: dict[int, str] = {i.index: line.kind for line in slow_lines(kernel) for i in line.instructions}
    slow |= dict.fromkeys(lanes_in_turn(kernel), "lanes in turn")
    load, queued = _load_cause(profile, kernel), _queued(kernel)
    lost = _lost_to_conflicts(profile, kernel)
    tables = []
    for instruction, blamed in zip(kernel.instructions, blamed_stalls(kernel), strict=True):
        table = {_work(instruction, slow): max(0.0, instruction.latency - instruction.stall)}
        for reason, cycles in blamed.items():
            cause = _wait(instruction, reason, slow, load)
            behind = min(cycles, queued.get(instruction.index, 0.0)) if cause == "stores" else 0.0
            turns = cycles * lost.get(instruction.index, 0.0) if cause == "LDS" else 0.0
            moved = {"store queue": behind} if behind else {"bank conflicts": turns} if turns else {}
            _add(table, {cause: cycles - behind - turns, **moved})
        tables.append(table)
    return tables


def _lost_to_conflicts(profile: Profile, kernel: Kernel) -> dict[int, float]:
    """Per access to LDS with conflicts, the part of the waits for it that the conflicts take: no more over all than the
    LDS is busy with them. It is what `bankConflict` has at stake.
    """
    blamed, total = blamed_stalls(kernel), total_cycles(kernel)
    parts: dict[int, float] = {}
    waited = cycles = 0.0
    for i in kernel.instructions:
        degree = conflict_degree(i.memory) if i.memory is not None and i.memory.space == "lds" else None
        if i.memory is None or degree is None or degree < THRESHOLDS["bankConflict.degree"]:
            continue
        parts[i.index] = i.memory.lds_conflict_cycles / i.memory.lds_cycles
        waited += parts[i.index] * sum(blamed[i.index].values())
        cycles += i.memory.lds_conflict_cycles
    busy = unit_share(kernel, profile.device, cycles)
    if busy is None or not waited or not total:
        return parts
    scale = min(1.0, busy / (waited / total))
    return {index: part * scale for index, part in parts.items()}


def _queued(kernel: Kernel) -> dict[int, float]:
    """Per store, the cycles that stores waited for it before they could be issued: there is no load behind them."""
    found: dict[int, float] = {}
    stores = [i for i in kernel.instructions if "_store" in mnemonic(i)]
    own = {i.index for i in stores}
    for instruction in stores:
        for producer, cycles in instruction.waited_for.items():
            if producer in own:
                found[producer] = found.get(producer, 0.0) + cycles
    return found


def _load_cause(profile: Profile, kernel: Kernel) -> Callable[[Instruction], str]:
    """Why waves wait for an access to global memory, or for a scalar load."""
    number = waves(kernel) or 0.0
    dependent, wasted = addressed_by_loads(kernel), wasteful_loads(kernel)
    roof = roofline(kernel, profile.device, profile.provenance)
    streaming = roof.bound == "memory" and _memory_is_busy(kernel)
    full = (roof.memory_fraction or 0.0) >= AT_THE_ROOF * THRESHOLDS["memoryAccess.reachable_bandwidth"]
    loads = Counter(_line(i) for i in kernel.instructions if i.hits and _is_load(i))  # many: an unrolled loop

    def cause(instruction: Instruction) -> str:
        pattern = instruction.memory
        rounds = instruction.hits / number if number else 0.0
        if mnemonic(instruction).startswith("s_"):
            return "start" if rounds < _AGAIN and _is_argument(instruction) else "uniform loads"
        if is_fence(instruction):
            return "fences"
        if is_synchronising(instruction) and rounds >= THRESHOLDS["spinning.rounds"]:
            return "polling"
        narrow = pattern is not None and pattern.bytes_per_lane <= _NARROW and not full
        if "_store" in mnemonic(instruction):
            if wasteful(instruction):
                return "scattered stores"
            return "narrow stores" if narrow else "bandwidth" if streaming else "stores"
        if instruction.index in dependent:
            return "dependent loads"
        if instruction.index in wasted:
            return "scattered loads"
        if narrow:
            return "narrow loads"
        if streaming:
            return "bandwidth"
        if rounds < _LOOP:
            return "batched loads" if loads[_line(instruction)] >= _BATCH else "first loads"
        if pattern is not None and _asked(pattern) >= _REPEATED:
            return "repeated loads"
        return "loop loads"

    return cause


def _memory_is_busy(kernel: Kernel) -> bool:
    """Whether memory works as fast as it can while the waves run; not where a model says that it has room."""
    busy = max((kernel.busy[unit] for unit in _MEMORY if unit in kernel.busy), default=None)
    return busy is None or busy >= AT_THE_ROOF * (1 - min(1.0, kernel.busy.get("launch", 0.0)))


def _is_load(instruction: Instruction) -> bool:
    pattern = instruction.memory
    return pattern is not None and pattern.space == "global" and pattern.kind == "load"


def _line(instruction: Instruction) -> tuple[str, int] | None:
    frame = user_frame(instruction.source)
    return (frame.file, frame.line) if frame is not None else None


def _asked(pattern: MemoryPattern) -> float:
    """How often the same line is asked for; 0 when it is not known."""
    return pattern.lines_used / pattern.distinct_lines if pattern.distinct_lines else 0.0


_MEMORY = ("hbm", "mall")
_ARGUMENTS = tuple(f"s[{n}:{n + 1}]" for n in range(0, 12, 2))  # where a wave finds what it was launched with
_AGAIN = 1.5  # times per wave: an argument is loaded once
AT_THE_ROOF = 0.85  # of what the device reaches: "within 15 % of a roof"
_NARROW = 2  # bytes per lane
_REPEATED = 16  # times that the same line is asked for: a wave of floats fills two lines at once
_LOOP = THRESHOLDS["latencyHiding.rounds"]
_BATCH = 16  # load instructions of a line: more than one expression has, so that a loop was unrolled there


def _wait(
    instruction: Instruction,
    reason: StallReason,
    slow: Mapping[int, str],
    load: Callable[[Instruction], str],
) -> str:
    name = mnemonic(instruction)
    if reason in _ONCE:
        return _ONCE[reason]
    if reason in (StallReason.GLOBAL_MEMORY, StallReason.SCALAR_MEMORY):
        return load(instruction)
    if reason is StallReason.LDS:
        return _lds(instruction)
    if reason is StallReason.PIPE_BUSY:
        if instruction.memory is not None or name.startswith(("global_", "flat_", "buffer_")):
            return "LDS" if name.startswith("ds_") else "memory queue"
        return slow.get(instruction.index, "function" if is_transcendental(instruction) else "arithmetic")
    if reason is StallReason.DEPENDENCY:
        return slow.get(instruction.index, "dependency")
    return "other"


def _is_argument(instruction: Instruction) -> bool:
    """A scalar load from the block of arguments: at a constant place behind one of the first scalars."""
    parts = instruction.text.replace(",", " ").split()
    return len(parts) > 3 and parts[3].startswith("0x") and parts[2] in _ARGUMENTS


def _lds(instruction: Instruction) -> str:
    if mnemonic(instruction).startswith(("ds_bpermute", "ds_permute", "ds_swizzle")):
        return "lane exchange"
    return "LDS"


def _work(instruction: Instruction, slow: Mapping[int, str]) -> str:
    """What issuing the instruction is for."""
    name = mnemonic(instruction)
    if instruction.index in slow:
        return slow[instruction.index]
    for start, cause in _ISSUED:
        if name.startswith(start):
            return cause
    if is_scratch(instruction):
        return "scratch"
    if is_double(instruction):
        return "double"
    if is_valu(instruction) and any(part in name for part in _INTEGER):
        return "integers"
    return "arithmetic" if is_valu(instruction) else "control"


# What issuing is for; the other causes are waits.
WORK = frozenset(
    {
        *("matrix", "moves", "function", "division", "double division", "integer division"),
        *("integers", "control", "double", "arithmetic", "lanes in turn"),
    }
)
_INTEGER = ("_u32", "_i32", "_u64", "_i64", "_b32", "_b64", "_u16", "_i16", "_u24", "_i24")
