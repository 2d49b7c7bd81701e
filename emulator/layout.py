"""Turns the runtime's raw output into the files that rocprofv3 (ROCm 7.0) writes.

Takes the directory that HIPSCOPE_OUT named, gives a capture directory: kernel trace, counters, agent table, kernel
statistics, one decoded thread trace per profiled launch, Omniprobe's memory analysis, the code objects, and the
side-car hipscope.json. One dispatch is held in memory at a time.
"""

from __future__ import annotations

import glob
import json
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hipscope.emulator import att, raw
from hipscope.emulator.csv_tables import (
    AGENT_COLUMNS,
    AGENT_HANDLE,
    COUNTER_COLUMNS,
    KERNEL_TRACE_COLUMNS,
    STATS_COLUMNS,
    DeviceInfo,
    agent_row,
    counter_rows,
    domain_rows,
    stats_rows,
    trace_lines,
    write_lines,
    write_table,
)
from hipscope.emulator.launch_times import Estimates, with_times
from hipscope.emulator.memory_analysis import MemoryAnalysisWriter
from hipscope.emulator.placement import Placement
from hipscope.emulator.results_json import Results, write_results
from hipscope.emulator.symbolize import Position, Symbolizer, demangle, symbolizer_of

SCHEMA = "hipscope.capture/1"
_SIDECAR = "hipscope.json"
_MEMORY_ANALYSIS = "memory_analysis.json"
_NAMED = 5  # kernels without a time are named, these many of them
PREFIX = "hipscope"


def _no_line(_file: str, _line: int) -> str:
    return ""


@dataclass(frozen=True)
class ProgramInfo:
    """How the profiled program ended; `exit_code` is None when it was stopped.

    `source_line` gives a line of the text that it was built from, "" where that is not known.
    """

    command: Sequence[str]
    exit_code: int | None
    output: str
    source_line: Callable[[str, int], str] = _no_line


def _every(_launch: raw.RawDispatch) -> bool:
    return True


@dataclass(frozen=True)
class Selection:
    """Which of rocprofv3's files are written, and what is in them. By default all, for every profiled launch.

    `counters` None means all that exist. `counted` and `traced` choose the launches whose counters and whose thread
    trace are written, `waves` says whether with the timeline of each traced wave, which is most of it; `name` turns a
    mangled kernel name into the one that is shown. Launches of which no time is known take `untimed_ns`; None
    lists them without one.
    """

    prefix: str = PREFIX
    kernel_trace: bool = True
    stats: bool = True
    counters: Collection[str] | None = None
    counted: Callable[[raw.RawDispatch], bool] = _every
    traced: Callable[[raw.RawDispatch], bool] = _every
    waves: bool = True
    csv: bool = True
    json: bool = False
    name: Callable[[str], str] = demangle
    untimed_ns: float | None = None


def write_rocprofv3(
    raw_dir: Path,
    out_dir: Path,
    *,
    device: DeviceInfo,
    program: ProgramInfo,
    stopped: str | None = None,
    tool: str = "hipscope emulator",
    selection: Selection | None = None,
    launches: Sequence[raw.RawDispatch] | None = None,
) -> None:
    """Write the capture of `raw_dir` into `out_dir` (created; files of the same names are replaced).

    `stopped` says why the program did not come to its end, which makes the capture partial. `launches` are those of
    `raw_dir`, where the caller has read them.
    """
    chosen = selection or Selection()
    out_dir.mkdir(parents=True, exist_ok=True)
    found = launches if launches is not None else list(raw.read_dispatches(raw_dir))
    estimates = with_times(found, chosen.untimed_ns)
    launches = estimates.launches
    first_of: dict[str, raw.RawDispatch] = {}
    for d in launches:
        first_of.setdefault(d.kernel, d)
    kernels = {name: number for number, name in enumerate(first_of, start=1)}
    prefix = out_dir / chosen.prefix
    prefix.parent.mkdir(parents=True, exist_ok=True)
    objects = _CodeObjects(raw_dir, prefix, device.arch)
    timed = [d for d in launches if d.start_ns is not None]
    names = {kernel: chosen.name(kernel) for kernel in kernels}
    counted = [_with_counters(d, chosen) for d in timed if chosen.counted(d)]
    if chosen.csv:
        _write_tables(prefix, chosen, device, timed, counted, kernels, names)
    if chosen.json:
        results = Results(device, list(program.command), timed, counted, kernels, names)
        write_results(Path(f"{prefix}_results.json"), results)
    traced = []
    with MemoryAnalysisWriter(
        out_dir / _MEMORY_ANALYSIS, device.arch, program.source_line
    ) as memory_analysis:
        for dispatch in launches:
            if not dispatch.profiled or not chosen.traced(dispatch):
                continue
            profile = raw.read_profile(raw_dir, dispatch.id, waves=chosen.waves)
            if profile is None:
                continue
            code = objects.traced(dispatch, names[dispatch.kernel], profile.instructions)
            folder = att.folder_name(AGENT_HANDLE, dispatch.id)
            stats = out_dir / f"stats_{folder}.csv"
            att.write_trace(out_dir / folder, stats, dispatch, profile, code, waves=chosen.waves)
            memory_analysis.add(dispatch.id, names[dispatch.kernel], profile.instructions, code.positions)
            traced.append({"dispatch": dispatch.id, "kernel": dispatch.kernel, "folder": folder})
    run = raw.read_run(raw_dir)
    faults = raw.read_faults(raw_dir)
    library_calls = raw.read_library_calls(raw_dir)
    sidecar = {
        "schema": SCHEMA,
        "source": "emulator",
        "provenance": "modelled",
        "tool": tool,
        "device": device.key,
        "program": {
            "command": list(program.command),
            "exit_code": program.exit_code,
            "output": program.output,
        },
        "warnings": [
            *(run.warnings if run is not None else ()),
            *(
                [f"{computed_by_host(library_calls)}; all shares are of the other kernels' time"]
                if library_calls
                else []
            ),
        ],
        "library_calls": library_calls,
        "partial": _partial(run, estimates, {fault.dispatch for fault in faults}, stopped, names),
        "kernels": [
            {"mangled": kernel, "name": names[kernel], "id": number, **_resources(first_of[kernel])}
            for kernel, number in kernels.items()
        ],
        "unprofiled": [d.id for d in timed if not d.profiled],
        "untimed": Counter(d.kernel for d in launches if d.start_ns is None),
        "stopped": {str(d.id): list(d.stopped) for d in launches if d.stopped is not None},
        "dynamic_lds": {str(d.id): d.dynamic_lds for d in launches if d.dynamic_lds},
        "traces": traced,
        "faults": [_fault(f, objects) for f in faults],
    }
    (out_dir / _SIDECAR).write_text(json.dumps(sidecar, indent=1), encoding="utf-8")


def computed_by_host(library_calls: Mapping[str, int]) -> str:
    """What a reader has to know of library calls: their time is in no time of a profile."""
    shown = sorted(library_calls.items(), key=lambda item: (-item[1], item[0]))
    listed = [f"{name} ({count})" for name, count in shown[:_NAMED]]
    more = len(shown) - _NAMED
    listed += [f"{more} more functions"] if more > 0 else []
    total = sum(library_calls.values())
    calls = "1 library call was" if total == 1 else f"{total} library calls were"
    return f"{calls} computed by the host and {'has' if total == 1 else 'have'} no modelled time: {', '.join(listed)}"


def replaced_files(out_dir: Path, prefix: str | None) -> list[Path]:
    """What a capture with this prefix may replace in a folder; without one, the files that always have one name."""
    trace = att.folder_name(AGENT_HANDLE, "*")
    names = [_SIDECAR, _MEMORY_ANALYSIS, f"stats_{trace}.csv", f"{trace}/*"]
    found = [path for name in names for path in out_dir.glob(name)]
    if prefix is not None:
        start = out_dir / prefix
        tables = ("kernel_trace", "counter_collection", "kernel_stats", "domain_stats", "agent_info")
        endings = [*(f"{name}.csv" for name in tables), "results.json", "*_code_object_id_*.out"]
        for ending in endings:
            found += start.parent.glob(f"{glob.escape(start.name)}_{ending}")
    return sorted(found)


def _with_counters(d: raw.RawDispatch, chosen: Selection) -> raw.RawDispatch:
    if chosen.counters is None:
        return d
    return replace(d, counters={name: d.counters[name] for name in chosen.counters if name in d.counters})


def _write_tables(
    prefix: Path,
    chosen: Selection,
    device: DeviceInfo,
    timed: Sequence[raw.RawDispatch],
    counted: Sequence[raw.RawDispatch],
    kernels: Mapping[str, int],
    names: Mapping[str, str],
) -> None:
    def table(name: str) -> Path:
        return Path(f"{prefix}_{name}.csv")

    if chosen.kernel_trace:
        write_lines(table("kernel_trace"), KERNEL_TRACE_COLUMNS, trace_lines(timed, kernels, names))
    counts = (
        row for d in counted if d.counters for row in counter_rows(d, kernels[d.kernel], names[d.kernel])
    )
    write_table(table("counter_collection"), COUNTER_COLUMNS, counts)
    if chosen.stats:
        write_table(table("kernel_stats"), STATS_COLUMNS, stats_rows(timed, names))
        write_table(table("domain_stats"), STATS_COLUMNS, domain_rows(timed))
    write_table(table("agent_info"), AGENT_COLUMNS, [agent_row(device)])


def _listed(kernels: Sequence[str]) -> str:
    more = len(kernels) - _NAMED
    return ", ".join([*kernels[:_NAMED], *([f"{more} more kernels"] if more > 0 else [])])


def _partial(
    run: raw.RawRun | None,
    estimates: Estimates,
    faulted: Collection[int],
    stopped: str | None,
    names: Mapping[str, str],
) -> str | None:
    reasons = [reason for reason in (stopped, run.partial if run is not None else None) if reason]
    launches = estimates.launches
    reasons += [
        f"a launch of {names[d.kernel]} was stopped at the program's time limit after {d.stopped[0]} of"
        f" {d.stopped[1]} workgroups; its time and counts are extrapolated from these"
        for d in launches
        if d.stopped is not None
    ]
    if estimates.unlike:
        factors = " to ".join(dict.fromkeys(f"{n:.2g}" for n in (estimates.least, estimates.most)))
        reasons.append(
            f"{estimates.unlike} of {len(launches)} launches did {factors} times the work of any that was profiled;"
            " their times are scaled by the instructions that they executed"
        )
    untimed = [d.kernel for d in launches if d.start_ns is None and d.id not in faulted]
    if untimed:
        of = _listed(list(dict.fromkeys(names[kernel] for kernel in untimed)))
        reasons.append(f"{len(untimed)} of {len(launches)} launches were not profiled and have no time: {of}")
    return "; ".join(reasons) or None


def _resources(first: raw.RawDispatch) -> dict[str, Any]:
    return {"resources": dict(first.resources), "code_object": first.code_object}


class _CodeObjects:
    """The run's code objects: copied once under rocprofv3's name, symbolized once."""

    def __init__(self, raw_dir: Path, prefix: Path, arch: str) -> None:
        self._raw_dir = raw_dir
        self._prefix = prefix
        self._arch = arch
        self._known: dict[str, tuple[int, Symbolizer | None]] = {}

    def get(self, digest: str) -> tuple[int, Symbolizer | None]:
        if digest not in self._known:
            number = len(self._known) + 1
            source = self._raw_dir / "code_objects" / f"{digest}.co"
            symbols = None
            if source.is_file():
                shutil.copyfile(source, f"{self._prefix}_{self._arch}_code_object_id_{number}.out")
                try:
                    symbols = symbolizer_of(source)
                except ValueError:
                    symbols = None  # a damaged object costs the positions, not the profile
            self._known[digest] = (number, symbols)
        return self._known[digest]

    def traced(
        self, dispatch: raw.RawDispatch, name: str, ran: Sequence[raw.RawInstruction]
    ) -> att.TracedCode:
        number, symbols = self.get(dispatch.code_object)
        address = 0
        if symbols is not None:
            address = next((s.address for s in symbols.functions if s.name == dispatch.kernel), 0)
        positions = Placement(ran, symbols).positions if symbols is not None else _no_positions
        return att.TracedCode(number, name, address, positions)


def _no_positions(_address: int) -> tuple[Position, ...]:
    return ()


def _fault(fault: raw.RawFault, objects: _CodeObjects) -> dict[str, Any]:
    frames: tuple[Position, ...] = ()
    if fault.address is not None and fault.code_object:
        _, symbols = objects.get(fault.code_object)
        frames = symbols.positions(fault.address) if symbols is not None else ()
    return {
        "dispatch": fault.dispatch,
        "kernel": fault.kernel,
        "kind": fault.kind,
        "message": fault.message,
        "address": fault.address,
        "instruction": fault.instruction,
        "frames": [[p.file, p.line, p.column, p.function] for p in frames],
    }
