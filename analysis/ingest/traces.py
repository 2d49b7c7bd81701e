"""Decoded thread traces: code.json, the wave files beside it, and our own side-car when the emulator wrote them.

Takes one `ui_output_*` folder (or a PC-sampling folder of the same layout), gives its instructions with source chains,
cycles, reasons and blame. Works with format 3.0.0 and 3.1.0; null stands for an empty list there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import UsageError
from hipscope.analysis.metrics.wait_reasons import wait_reason
from hipscope.analysis.profile import Frame, MemoryPattern, StallReason

_FOLDER = re.compile(r"ui_output_agent_\d+_dispatch_(\d+)$")
_TEN_COLUMNS = (
    "ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle",
)  # fmt: skip

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


@dataclass(frozen=True)
class Trace:
    """One folder. `dispatch` is None when its launch is unknown."""

    dispatch: int | None
    mangled: str
    kernel: str
    instructions: tuple[TracedInstruction, ...]
    sampled: bool
    bound_by: str = ""
    busy: Mapping[str, float] = field(default_factory=dict)


def read_trace(folder: Path) -> Trace | None:
    """The trace in `folder`; None when it has no code.json, or an unreadable one beside valid wave files."""
    data = _load(folder / "code.json")
    if data is None:
        return None
    rows = data.get("code") or []
    columns = _columns(data.get("header"))
    labels: list[tuple[str, str]] = []
    instructions: list[TracedInstruction] = []
    sampled = _is_sampled(folder)
    for row in rows:
        if _is_label(row):
            labels.append((str(row[0]).removeprefix("; "), str(row[3] or "")))
        else:
            instructions.append(_instruction(row, columns, sampled))
    by_line = {i.line: i for i in instructions}
    sidecar = _load(folder / "hipscope.json")
    if sidecar is not None:
        _add_sidecar(by_line, sidecar)
    else:
        _add_blame(by_line, folder)
        for instruction in instructions:
            if not instruction.stalls:
                instruction.stalls = _reasons(instruction, by_line)
    match = _FOLDER.search(folder.name)
    mangled, name = labels[0] if labels else ("", "")
    return Trace(
        dispatch=int(match[1]) if match else None,
        mangled=str(sidecar["kernel"]) if sidecar else mangled,
        kernel=name,
        instructions=tuple(instructions),
        sampled=sampled,
        bound_by=str(sidecar.get("bound_by", "")) if sidecar else "",
        busy=sidecar.get("busy", {}) if sidecar else {},
    )


@lru_cache(maxsize=4096)  # most instructions come from few places
def source_chain(text: str | None) -> tuple[Frame, ...]:
    """`file:line -> file:line`, outermost last; what has no line number is left out."""
    frames = []
    for part in (text or "").split(" -> "):
        file, _, line = part.rpartition(":")
        if file and line.strip().isdigit():
            frames.append(Frame(file=file.strip(), line=int(line)))
    return tuple(frames)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        # rocprofv3 glues rows together as text: a quote in a source path spoils its code.json.
        if path.name == "code.json":
            return None
        raise UsageError(f"{path}: not valid JSON (line {error.lineno})") from error


def _columns(header: Any) -> dict[str, int]:
    names = [h.strip() for h in header.split(",")] if isinstance(header, str) else list(header or ())
    # The first ten are found by position, as AMD's viewer does; what follows them by name.
    return {**{n: i for i, n in enumerate(_TEN_COLUMNS)}, **{n: i for i, n in enumerate(names) if i >= 10}}


def _is_label(row: Sequence[Any]) -> bool:
    return str(row[0]).startswith("; ")


def _is_sampled(folder: Path) -> bool:
    """A PC-sampling folder: its numbers are samples, not cycles."""
    data = _load(folder / "filenames.json") or {}
    return bool(data.get("pc_sampling")) and not data.get("thread_trace")


def _instruction(row: Sequence[Any], columns: Mapping[str, int], sampled: bool) -> TracedInstruction:
    def cell(name: str) -> Any:
        index = columns.get(name)
        return row[index] if index is not None and index < len(row) else None

    issued, stalled = cell("PC_Issued") or 0, cell("PC_Stalled") or 0
    return TracedInstruction(
        line=int(cell("LineNumber")),
        text=str(cell("ISA")),
        code_object=int(cell("Codeobj") or 0),
        address=int(cell("Vaddr") or 0),
        source=source_chain(cell("Source")),
        hits=int(cell("Hit") or 0),
        lanes=0,
        latency=float(issued + stalled if sampled else cell("Latency") or 0),
        stall=float(stalled if sampled else cell("Stall") or 0),
        stalls=_sampled_reasons(cell("Stall_Reasons") or ()) if sampled else {},
    )


def _sampled_reasons(counts: Sequence[int]) -> dict[StallReason, float]:
    reasons: dict[StallReason, float] = {}
    for number, count in enumerate(counts):
        if count:
            reason = _SAMPLED_REASONS.get(number) or StallReason.OTHER
            reasons[reason] = reasons.get(reason, 0.0) + count
    return reasons


def _add_sidecar(by_line: Mapping[int, TracedInstruction], sidecar: Mapping[str, Any]) -> None:
    for entry in sidecar["instructions"]:
        instruction = by_line.get(int(entry["line"]))
        if instruction is None:
            continue
        instruction.lanes = int(entry["lanes"])
        instruction.stall = float(entry["stall"])
        instruction.latency = float(entry["stall"]) + float(entry["issue"])
        instruction.stalls = {StallReason(reason): float(c) for reason, c in entry["stalls"].items() if c}
        instruction.waited_for = {int(line): float(c) for line, c in entry["waited_for"].items()}
        instruction.source = tuple(_frame(*frame) for frame in entry["frames"])
        instruction.memory = _pattern(entry.get("memory"))


@lru_cache(maxsize=4096)
def _frame(file: str, line: int, column: int, function: str) -> Frame:
    return Frame(file=file, line=line, column=column, function=function)


def _pattern(data: Mapping[str, Any] | None) -> MemoryPattern | None:
    if data is None:
        return None
    known = {k: v for k, v in data.items() if k in MemoryPattern.model_fields}
    return MemoryPattern(**{**known, "bytes_per_lane": data["bytes"]})


def _add_blame(by_line: Mapping[int, TracedInstruction], folder: Path) -> None:
    """Split each wait over the operations that it waited for, as often as the traced waves saw them."""
    seen: dict[int, dict[int, int]] = {}
    for path in sorted(folder.glob("se*_sm*_sl*_wv*.json")):
        wave = (_load(path) or {}).get("wave") or {}
        for waiting, producers in wave.get("waitcnt") or ():
            counts = seen.setdefault(int(waiting), {})
            for producer, *_ in producers or ():
                counts[int(producer)] = counts.get(int(producer), 0) + 1
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
