"""One dispatch in the shape of rocprofv3's decoded thread trace (`ui_output_agent_<h>_dispatch_<id>/`).

Takes the runtime's record of a dispatch and a symbolizer, writes what AMD's viewer opens (format 3.0.0): code.json,
filenames.json, the wave files, occupancy.json, wstates0-4.json, snapshots.json with copies of the sources, stats CSV.
What the layout has no place for (columns, inline chains, blame, memory pattern) goes into hipscope.json beside them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hipscope.emulator.raw import RawDispatch, RawInstruction, RawProfile, RawWave
from hipscope.emulator.symbolize import Position

VERSION = "3.0.0"
SIDECAR_SCHEMA = "hipscope.dispatch/1"
CODE_COLUMNS = (
    "ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle",
    "PC_Issued", "PC_Stalled", "Stall_Reasons",
)  # fmt: skip

# rocprofiler-sdk pc_sampling.h, "not issued" reasons by number; a wait for memory is a WAITCNT there.
STALL_REASON_IDS: Mapping[str, int] = {
    "instruction_fetch": 1,
    "dependency": 2,
    "global_memory": 3,
    "scratch_memory": 3,
    "scalar_memory": 3,
    "lds": 3,
    "atomic": 3,
    "barrier": 5,
    "issue_contention": 6,
    "pipe_busy": 7,
    "other": 8,
    "sleep": 9,
}
_REASONS = 10
_IDLE, _EXEC, _WAIT, _STALL = 1, 2, 3, 4  # wave states of the timeline
_STATES = 5
_IMMEDIATE = 9  # instruction category of s_waitcnt, s_nop, s_barrier
_MAX_SOURCE_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True)
class TracedCode:
    """What the trace of one dispatch needs to know about its code object."""

    number: int
    kernel_name: str
    kernel_address: int
    positions: Callable[[int], tuple[Position, ...]]


def folder_name(agent_handle: int, dispatch: int | str) -> str:
    """rocprofv3's name for the folder of one traced dispatch."""
    return f"ui_output_agent_{agent_handle}_dispatch_{dispatch}"


def write_trace(
    directory: Path,
    stats_csv: Path,
    dispatch: RawDispatch,
    profile: RawProfile,
    code: TracedCode,
    *,
    waves: bool = True,
) -> None:
    """Write the folder `directory` and the table `stats_csv` beside it; `waves`: with what single waves did."""
    directory.mkdir(parents=True, exist_ok=True)
    instructions = sorted(profile.instructions, key=lambda i: i.address)
    line_of = {instruction.address: number for number, instruction in enumerate(instructions, start=1)}
    chains = [code.positions(instruction.address) for instruction in instructions]
    label = [
        f"; {dispatch.kernel}", 0, 0, code.kernel_name, code.number, code.kernel_address,
        0, 0, 0, 0, 0, 0, [0] * _REASONS,
    ]  # fmt: skip
    rows = [label] + [
        _code_row(i, line_of[i.address], chain, code.number)
        for i, chain in zip(instructions, chains, strict=True)
    ]
    _dump(directory / "code.json", {"code": rows, "version": VERSION, "header": list(CODE_COLUMNS)})
    _write_stats(stats_csv, rows)
    _copy_sources(directory, chains)
    _dump(directory / "hipscope.json", _sidecar(dispatch, instructions, chains, line_of))
    if waves:
        _write_waves(directory, dispatch, profile, code, line_of)


def _write_waves(
    directory: Path, dispatch: RawDispatch, profile: RawProfile, code: TracedCode, line_of: Mapping[int, int]
) -> None:
    instructions = sorted(profile.instructions, key=lambda i: i.address)
    waves = _name_waves(profile.waves)
    blame = {
        i.address: [line_of[a] for a in i.waited_for if a in line_of]
        for i in instructions
        if i.text.startswith("s_waitcnt")
    }
    for name, number, wave in waves:
        _dump(directory / name, _wave_file(wave, number, line_of, blame))
    for state in range(_STATES):
        name = f"wstates{state}.json"
        _dump(directory / name, _wave_states(waves, state, name))
    _dump(directory / "filenames.json", _filenames(waves))
    _dump(directory / "occupancy.json", _occupancy(waves, dispatch, code.kernel_name))


def _code_row(
    instruction: RawInstruction, line: int, chain: Sequence[Position], code_object: int
) -> list[Any]:
    reasons = [0.0] * _REASONS
    for reason, cycles in instruction.stalls.items():
        reasons[STALL_REASON_IDS.get(reason, STALL_REASON_IDS["other"])] += cycles
    return [
        instruction.text,
        0,
        line,
        " -> ".join(f"{p.file}:{p.line}" for p in chain),
        code_object,
        instruction.address,
        instruction.hits,
        round(instruction.issue + instruction.stall),
        round(instruction.stall),
        0,
        # The model sees every cycle, as a sampler with an interval of one cycle would.
        round(instruction.issue),
        round(instruction.stall),
        [round(r) for r in reasons],
    ]


def _write_stats(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.write('"CodeObj","Vaddr","Instruction","Hitcount","Latency","Stall","Idle","Source"\n')
        for row in rows:
            source = str(row[3]).replace('"', "'")
            stream.write(f'{row[4]},{row[5]},"{row[0]}",{row[6]},{row[7]},{row[8]},{row[9]},"{source}"\n')


def _name_waves(waves: Sequence[RawWave]) -> list[tuple[str, int, RawWave]]:
    """File name and running number of each wave in its slot."""
    used: dict[tuple[int, int, int], int] = {}
    named = []
    for wave in sorted(waves, key=lambda w: (w.xcd, w.simd, w.slot, w.begin)):
        key = (wave.xcd, wave.simd, wave.slot)
        number = used.get(key, 0)
        used[key] = number + 1
        named.append((f"se{wave.xcd}_sm{wave.simd}_sl{wave.slot}_wv{number}.json", number, wave))
    return named


def _wave_file(
    wave: RawWave, number: int, line_of: Mapping[int, int], blame: Mapping[int, list[int]]
) -> dict[str, Any]:
    instructions = [
        [t, category, stall, duration, line_of.get(address, 0)]
        for t, category, stall, duration, address in wave.instructions
    ]
    waited = {a for _, _, _, _, a in wave.instructions if blame.get(a)}
    return {
        "name": f"SE{wave.xcd}",
        "duration": wave.end - wave.begin,
        "num_insts": len(instructions),
        "num_stitched": len(instructions),
        "wave": {
            "cu": wave.cu,
            "id": number,
            "simd": wave.simd,
            "slot": wave.slot,
            "begin": wave.begin,
            "end": wave.end,
            "instructions": instructions,
            "timeline": _timeline(wave),
            "waitcnt": [[line_of[a], [[line, 0] for line in blame[a]]] for a in sorted(waited)],
        },
    }


def _timeline(wave: RawWave) -> list[list[int]]:
    """[state, duration] without gaps from the wave's begin to its end."""
    spans: list[list[int]] = []

    def add(state: int, duration: int) -> None:
        if duration <= 0:
            return
        if spans and spans[-1][0] == state:
            spans[-1][1] += duration
        else:
            spans.append([state, duration])

    now = wave.begin
    for start, category, stall, duration, _ in wave.instructions:
        add(_IDLE, start - now)
        add(_WAIT if category == _IMMEDIATE else _STALL, stall)
        add(_EXEC, duration - stall)
        now = max(now, start + duration)
    add(_IDLE, wave.end - now)
    return spans


def _wave_states(waves: Sequence[tuple[str, int, RawWave]], state: int, name: str) -> dict[str, Any]:
    """How many traced waves are in a state, as a step function of time. State 0 (no wave) is never counted."""
    changes: dict[int, int] = {}
    for _, _, wave in waves:
        now = wave.begin
        for of_span, duration in _timeline(wave):
            if of_span == state:
                changes[now] = changes.get(now, 0) + 1
                changes[now + duration] = changes.get(now + duration, 0) - 1
            now += duration
    times = sorted(t for t, change in changes.items() if change)
    counts, count = [], 0
    for t in times:
        count += changes[t]
        counts.append(count)
    return {"time": times, "state": counts, "name": name}


def _filenames(waves: Sequence[tuple[str, int, RawWave]]) -> dict[str, Any]:
    tree: dict[str, dict[str, dict[str, dict[str, list[Any]]]]] = {}
    for name, number, wave in waves:
        slots = tree.setdefault(str(wave.xcd), {}).setdefault(str(wave.simd), {})
        slots.setdefault(str(wave.slot), {})[str(number)] = [name, wave.begin, wave.end]
    return {
        "global_begin_time": 0,
        "gfxv": "vega",
        "gfxip": 9,
        "version": VERSION,
        "thread_trace": True,
        "pc_sampling": True,
        "is_pcs_stochastic": True,
        "counter_names": [],
        "wave_filenames": tree,
    }


def _occupancy(
    waves: Sequence[tuple[str, int, RawWave]], dispatch: RawDispatch, kernel_name: str
) -> dict[str, Any]:
    events: dict[str, list[list[int]]] = {}
    for _, _, wave in waves:
        of_engine = events.setdefault(str(wave.xcd), [])
        of_engine.append([wave.begin, wave.cu, wave.simd, wave.slot, 1, dispatch.id])
        of_engine.append([wave.end, wave.cu, wave.simd, wave.slot, 0, dispatch.id])
    for of_engine in events.values():
        of_engine.sort()
    return {**events, "dispatches": {str(dispatch.id): kernel_name}, "version": VERSION}


def _copy_sources(directory: Path, chains: Sequence[Sequence[Position]]) -> None:
    """snapshots.json: the source tree with the name of each copy at its leaves."""
    tree: dict[str, Any] = {}
    paths = dict.fromkeys(p.file for chain in chains for p in chain if p.file.startswith("/"))
    number = 0
    for name in paths:
        source = Path(name)
        try:
            if source.stat().st_size > _MAX_SOURCE_BYTES:
                continue
            copy = f"source_{number}_{source.name}"
            shutil.copyfile(source, directory / copy)
        except OSError:
            continue  # compiled elsewhere: the positions stay, the text is not available
        number += 1
        *folders, leaf = PurePosixPath(name).parts
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
        branch[leaf] = copy
    _dump(directory / "snapshots.json", tree)


def _sidecar(
    dispatch: RawDispatch,
    instructions: Sequence[RawInstruction],
    chains: Sequence[Sequence[Position]],
    line_of: Mapping[int, int],
) -> dict[str, Any]:
    return {
        "schema": SIDECAR_SCHEMA,
        "dispatch": dispatch.id,
        "kernel": dispatch.kernel,
        "bound_by": dispatch.bound_by,
        "busy": dict(dispatch.busy),
        "instructions": [
            {
                "line": line_of[i.address],
                "lanes": i.lanes,
                "stall": i.stall,
                "issue": i.issue,
                "stalls": dict(i.stalls),
                "waited_for": {str(line_of[a]): c for a, c in i.waited_for.items() if a in line_of},
                "memory": i.memory,
                "frames": [[p.file, p.line, p.column, p.function] for p in chain],
            }
            for i, chain in zip(instructions, chains, strict=True)
        ],
    }


def _dump(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
