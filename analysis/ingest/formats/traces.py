"""Decoded thread traces: code.json, the wave files beside it, and our own side-car when the emulator wrote them.

Takes one `ui_output_*` folder (or a PC-sampling folder of the same layout), gives its instructions with source chains,
cycles, reasons and blame. Works with format 3.0.0 and 3.1.0; null stands for an empty list there. A row, a wave file
or a side-car that is damaged costs itself, and the trace's notes say so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from hipscope.analysis.ingest.formats.tables import text_of
from hipscope.analysis.metrics.wait_reasons import wait_reason
from hipscope.analysis.profile import Frame, MemoryPattern, Sampled, StallReason

_UNTRACED = (
    "nothing was traced (its list of instructions is empty): no wave ran on the traced CU; trace another CU"
)
FOLDER = re.compile(r"ui_output_agent_(\d+)_dispatch_(\d+)$")
_TEN_COLUMNS = (
    "ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle",
)  # fmt: skip
# What a damaged value does to the code that reads it.
DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)

# rocprofiler-sdk pc_sampling.h: why an instruction was not issued, by number. WAITCNT needs its producer.
_SAMPLED_REASONS: Mapping[int, StallReason | None] = {
    1: StallReason.INSTRUCTION_FETCH,
    2: StallReason.DEPENDENCY,
    3: None,
    4: StallReason.OTHER,
    5: StallReason.BARRIER,
    6: StallReason.ISSUE_CONTENTION,
    7: StallReason.PIPE_BUSY,
    8: StallReason.OTHER,
    9: StallReason.SLEEP,
}


@dataclass
class TracedInstruction:
    """One row of code.json with what the other files add. `line` is the trace's own key, not a source line."""

    line: int
    text: str
    code_object: int
    address: int
    source: tuple[Frame, ...]
    hits: int
    lanes: int
    latency: float
    stall: float
    stalls: dict[StallReason, float] = field(default_factory=dict)
    waited_for: dict[int, float] = field(default_factory=dict)
    memory: MemoryPattern | None = None
    samples: Sampled | None = None


@dataclass(frozen=True)
class Trace:
    """One folder. `dispatch` and `agent` are None when its launch is unknown. `notes`: what was left out, and why.

    `clock_mhz`: the mean shader clock while it was traced, where both clocks were recorded.
    """

    dispatch: int | None
    mangled: str
    kernel: str
    instructions: tuple[TracedInstruction, ...]
    sampled: bool
    bound_by: str = ""
    busy: Mapping[str, float] = field(default_factory=dict)
    agent: int | None = None
    notes: tuple[str, ...] = ()
    clock_mhz: float | None = None


def read_trace(folder: Path) -> Trace:
    """The trace in `folder`. Raises ValueError, with the reason, when there is nothing to be read."""
    notes: list[str] = []
    data = load(folder / "code.json", notes)
    if data is None:
        raise ValueError(notes[0] if notes else "there is no code.json")
    if isinstance(data, list):
        data = {"code": data}
    if not isinstance(data, dict):
        raise ValueError("code.json holds no object")
    match = FOLDER.search(folder.name)
    agent, dispatch = (int(match[1]), int(match[2])) if match else (None, None)
    rows = data.get("code")
    if not rows:
        return Trace(
            dispatch, "", _occupant(folder, notes), (), False, agent=agent,
            notes=(*notes, _UNTRACED),
        )  # fmt: skip
    columns = _columns(data.get("header"))
    sampled = _is_sampled(folder)
    sidecar = _sidecar(folder / "hipscope.json", notes)
    labels: list[tuple[str, str]] = []
    instructions: list[TracedInstruction] = []
    damaged = 0
    for row in rows if isinstance(rows, list) else ():
        try:
            if str(row[0]).startswith("; "):
                labels.append((str(row[0]).removeprefix("; "), str(row[3] or "")))
            else:
                instructions.append(_instruction(row, columns, sampled, counted=sidecar is None))
        except DAMAGE:
            damaged += 1
    if damaged:
        notes.append(f"{damaged} of {len(rows)} rows of code.json are damaged and left out")
    by_line = {i.line: i for i in instructions}
    if sidecar is not None:
        _add_sidecar(by_line, sidecar, notes)
    else:
        _add_blame(by_line, folder, notes)
        for instruction in instructions:
            if not instruction.stalls:
                instruction.stalls = _reasons(instruction, by_line)
    mangled, name = labels[0] if labels else ("", "")
    told = sidecar or {}
    return Trace(
        dispatch=dispatch,
        mangled=str(told.get("kernel", mangled)),
        kernel=name,
        instructions=tuple(instructions),
        sampled=sampled,
        bound_by=str(told.get("bound_by", "")),
        busy=_numbers(told.get("busy")),
        agent=agent,
        notes=tuple(notes),
        clock_mhz=_clock(folder, notes),
    )


def _numbers(values: object) -> dict[str, float]:
    found = values if isinstance(values, dict) else {}
    return {str(k): float(v) for k, v in found.items() if isinstance(v, int | float)}


def _occupant(folder: Path, notes: list[str]) -> str:
    """The kernel that occupancy.json names, of a trace without instructions; "" when it names none, or several."""
    data = load(folder / "occupancy.json", notes)
    names = data.get("dispatches") if isinstance(data, dict) else None
    known = {str(n).removesuffix(".kd") for n in names.values()} if isinstance(names, dict) else set()
    plain = {n for n in known if n and "/" not in n}
    return plain.pop() if len(plain) == 1 else ""


def _sidecar(path: Path, notes: list[str]) -> Mapping[str, Any] | None:
    """Our own file beside a trace; None when there is none, or a damaged one."""
    data = load(path, notes)
    if data is not None and not (isinstance(data, dict) and isinstance(data.get("instructions"), list)):
        notes.append(f"{path.name} has no instructions and is left out")
        return None
    return data


@lru_cache(maxsize=4096)  # most instructions come from few places
def source_chain(text: str | None) -> tuple[Frame, ...]:
    """`file:line -> file:line`, outermost last; what has no line number is left out."""
    frames = []
    for part in (text or "").split(" -> "):
        file, _, line = part.rpartition(":")
        if file and line.strip().isdigit():
            frames.append(Frame(file=file_name(file.strip()), line=int(line)))
    return tuple(frames)


def file_name(text: str) -> str:
    """A path that can be asked for: no system has one with a zero byte."""
    return text.replace("\0", "\ufffd")


def load(path: Path, notes: list[str]) -> Any:
    """The JSON of a file; None when there is none, or, with a note, when it is damaged."""
    try:
        return json.loads(text_of(path))
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        # rocprofv3 glues rows together as text: a quote in a source path spoils its code.json.
        notes.append(f"{path.name} is not valid JSON, or not all of it (line {error.lineno})")
    except (OSError, RecursionError, ValueError) as error:
        notes.append(f"{path.name}: {error}")
    return None


def _clock(folder: Path, notes: list[str]) -> float | None:
    """The mean shader clock, from pairs of its cycles and those of the constant clock (realtime.json, ROCm 7.1)."""
    data = load(folder / "realtime.json", notes)
    if not isinstance(data, dict):
        return None
    told = data.get("metadata")
    frequency = told.get("frequency") if isinstance(told, dict) else None
    cycles = ticks = 0.0
    for pairs in data.values():
        try:
            first, last = pairs[0], pairs[-1]
            cycles, ticks = (
                cycles + float(last[0]) - float(first[0]),
                ticks + float(last[1]) - float(first[1]),
            )
        except DAMAGE:
            continue  # the metadata, or an engine without pairs
    if not isinstance(frequency, int | float) or frequency <= 0 or ticks <= 0 or cycles <= 0:
        return None
    return cycles / ticks * frequency / 1e6


def _columns(header: Any) -> dict[str, int]:
    names = [h.strip() for h in header.split(",")] if isinstance(header, str) else header
    names = [str(n) for n in names] if isinstance(names, list) else []
    # The first ten are found by position, as AMD's viewer does; what follows them by name.
    return {**{n: i for i, n in enumerate(_TEN_COLUMNS)}, **{n: i for i, n in enumerate(names) if i >= 10}}


def _is_sampled(folder: Path) -> bool:
    """A PC-sampling folder: its numbers are samples, not cycles."""
    data = load(folder / "filenames.json", [])
    return isinstance(data, dict) and bool(data.get("pc_sampling")) and not data.get("thread_trace")


def _instruction(
    row: Sequence[Any], columns: Mapping[str, int], sampled: bool, *, counted: bool
) -> TracedInstruction:
    """A row. `counted`: its sampling columns hold samples; the emulator's hold cycles."""
    if not isinstance(row, list) or len(row) <= columns["Latency"]:
        raise ValueError("no row")

    def cell(name: str) -> Any:
        index = columns.get(name)
        return row[index] if index is not None and index < len(row) else None

    issued, stalled = _count(cell("PC_Issued")), _count(cell("PC_Stalled"))
    reasons = _sampled_reasons(cell("Stall_Reasons") or ())
    source = cell("Source")
    return TracedInstruction(
        line=int(cell("LineNumber")),
        text=str(cell("ISA")),
        code_object=int(cell("Codeobj") or 0),
        address=int(cell("Vaddr") or 0),
        source=source_chain(source if isinstance(source, str) else None),
        hits=int(_count(cell("Hit"))),
        lanes=0,
        latency=issued + stalled if sampled else _count(cell("Latency")),
        stall=stalled if sampled else _count(cell("Stall")),
        stalls=reasons if sampled else {},
        samples=Sampled(total=int(issued + stalled), stalled=int(stalled), reasons=reasons)
        if counted and issued + stalled
        else None,
    )


def _count(value: Any) -> float:
    """A number of a row; null is none. Raises ValueError for text and for what is no count."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise ValueError(f"{value!r} is no count")
    return float(value)


def _sampled_reasons(counts: Sequence[Any]) -> dict[StallReason, float]:
    reasons: dict[StallReason, float] = {}
    for number, value in enumerate(counts):
        if count := _count(value):
            reason = _SAMPLED_REASONS.get(number) or StallReason.OTHER
            reasons[reason] = reasons.get(reason, 0.0) + count
    return reasons


def _add_sidecar(
    by_line: Mapping[int, TracedInstruction], sidecar: Mapping[str, Any], notes: list[str]
) -> None:
    damaged = 0
    for entry in sidecar["instructions"]:
        try:
            _add_entry(by_line, entry)
        except DAMAGE:
            damaged += 1
    if damaged:
        notes.append(f"{damaged} instructions of hipscope.json are damaged and left out")


def _add_entry(by_line: Mapping[int, TracedInstruction], entry: Mapping[str, Any]) -> None:
    instruction = by_line.get(int(entry["line"]))
    if instruction is None:
        return
    lanes, stall, issue = int(entry["lanes"]), float(entry["stall"]), float(entry["issue"])
    stalls = {StallReason(reason): float(c) for reason, c in entry["stalls"].items() if c}
    waited_for = {int(line): float(c) for line, c in entry["waited_for"].items()}
    source = tuple(_frame(*frame) for frame in entry["frames"])
    memory = _pattern(entry.get("memory"))
    instruction.lanes, instruction.stall, instruction.latency = lanes, stall, stall + issue
    instruction.stalls, instruction.waited_for = stalls, waited_for
    instruction.source, instruction.memory = source, memory


@lru_cache(maxsize=4096)
def _frame(file: str, line: int, column: int, function: str) -> Frame:
    return Frame(file=file_name(file), line=line, column=column, function=function)


def _pattern(data: Mapping[str, Any] | None) -> MemoryPattern | None:
    if data is None:
        return None
    known = {k: v for k, v in data.items() if k in MemoryPattern.model_fields}
    return MemoryPattern(**{**known, "bytes_per_lane": data["bytes"]})


def _add_blame(by_line: Mapping[int, TracedInstruction], folder: Path, notes: list[str]) -> None:
    """Split each wait over the operations that it waited for, as often as the traced waves saw them."""
    seen: dict[int, dict[int, int]] = {}
    damaged = 0
    for path in sorted(folder.glob("se*_sm*_sl*_wv*.json")):
        problems: list[str] = []
        found = load(path, problems)
        wave = found.get("wave") if isinstance(found, dict) else None
        waits = wave.get("waitcnt") if isinstance(wave, dict) else None
        odd = bool(problems)
        for wait in waits if isinstance(waits, list) else ():
            try:
                waiting, producers = wait
                counts = seen.setdefault(int(waiting), {})
                for producer, *_ in producers or ():
                    counts[int(producer)] = counts.get(int(producer), 0) + 1
            except DAMAGE:
                odd = True
        damaged += odd
    if damaged:
        notes.append(f"{damaged} wave files are damaged; what they say of waits is left out")
    for waiting, counts in seen.items():
        instruction = by_line.get(waiting)
        known = {line: count for line, count in counts.items() if line in by_line}
        if instruction is None or not known:
            continue
        total = sum(known.values())
        instruction.waited_for = {
            line: instruction.stall * count / total for line, count in known.items() if instruction.stall
        }


def _reasons(
    instruction: TracedInstruction, by_line: Mapping[int, TracedInstruction]
) -> dict[StallReason, float]:
    """Why an instruction of a hardware trace stalled, where the trace has it; the rest is OTHER."""
    if not instruction.stall:
        return {}
    reasons: dict[StallReason, float] = {}
    for line, cycles in instruction.waited_for.items():
        reason = wait_reason(by_line[line].text)
        reasons[reason] = reasons.get(reason, 0.0) + cycles
    rest = instruction.stall - sum(reasons.values())
    if rest > 0:
        reason = _own_reason(instruction.text)
        reasons[reason] = reasons.get(reason, 0.0) + rest
    return reasons


def _own_reason(text: str) -> StallReason:
    mnemonic = text.split(None, 1)[0] if text else ""
    if mnemonic == "s_barrier":
        return StallReason.BARRIER
    if mnemonic == "s_sleep":
        return StallReason.SLEEP
    if wait_reason(text) is not StallReason.DEPENDENCY:
        return StallReason.PIPE_BUSY  # a memory instruction that its own unit did not accept yet
    return StallReason.OTHER
