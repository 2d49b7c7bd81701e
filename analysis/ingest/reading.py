"""Reads what was found, and tells runs, processes and GPUs apart.

Takes what a scan found, gives one `Recorded` for all of it that belongs together, with a line for each file. A reader
that fails costs its file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hipscope.analysis.counters.counter_kinds import CYCLES
from hipscope.analysis.ingest.counters import launches_of_passes
from hipscope.analysis.ingest.formats.columns import MISSING, Integers, integers
from hipscope.analysis.ingest.formats.recording import LaunchColumns, Recorded, joined_launches
from hipscope.analysis.ingest.formats.traces import Trace
from hipscope.analysis.ingest.passes import Place, by_program
from hipscope.analysis.ingest.recognise import CODE_OBJECT, SIDECAR, TOTALS, FoundFile
from hipscope.analysis.profile import CaptureFile, RunPart, Timing

_LEVEL_FILE = re.compile(r"SQ_(IFETCH_LEVEL|INST_LEVEL_\w+|LEVEL_WAVES)\.csv(\.gz)?$")
_STAMPS = (("Start_Timestamp", "start_timestamp", "start"), ("End_Timestamp", "end_timestamp", "end"))
_WORDS = 200
_FEW = 4  # names in a line
_KIND = re.compile(
    r"_?(kernel_trace|counter_collection|agent_info|kernel_stats|pc_sampling_\w+|results|pmc_perf|"
    r"(hip|hip_runtime|hip_compiler|hsa|hsa_core|hsa_amd|marker|rccl|memory_copy|memory_allocation|scratch_memory)"
    r"(_api)?_trace)?\.(csv|json|db)(\.gz)?$"
)

# What stands before the kind where only the number of the process tells files apart: rocprofv3's own, and ours.
_OF_PROCESS = re.compile(r"(out_)?\d+")


@dataclass
class ReadFile:
    """One file with what was read from it."""

    found: FoundFile
    recordings: list[Recorded]


@dataclass
class Together:
    """All that was read, and what was chosen of it."""

    launches: LaunchColumns
    whole: Recorded
    files: list[CaptureFile] = field(default_factory=list)
    parts: tuple[RunPart, ...] = ()
    notes: list[str] = field(default_factory=list)
    timing: Timing = "none"


def read_found(items: Sequence[FoundFile]) -> tuple[list[ReadFile], list[CaptureFile]]:
    """Every file read, each with its line."""
    read: list[ReadFile] = []
    lines: list[CaptureFile] = []
    folders = {item.path.name for item in items if item.format == "thread trace"}
    for item in items:
        name = str(item.path)
        if item.format == TOTALS and item.path.stem.removeprefix("stats_") in folders:
            lines.append(CaptureFile(path=name, format=item.format, read=True, why=None))
            continue
        if item.read is None:
            known = item.format in (CODE_OBJECT, SIDECAR)
            lines.append(CaptureFile(path=name, format=item.format, read=known, why=item.why))
            continue
        try:
            found = item.read(item.path)
        except Exception as error:  # whatever a damaged file does to a reader costs that file
            lines.append(CaptureFile(path=name, format=item.format, read=False, why=one_line(error)))
            continue
        recordings = found if isinstance(found, list) else [found]
        notes = [note for r in recordings for note in r.notes]
        if all(r.is_empty() for r in recordings):
            notes.append("nothing is in it")
        lines.append(CaptureFile(path=name, format=item.format, read=True, why=_joined(notes)))
        read.append(ReadFile(item, recordings))
    return read, lines


def _joined(notes: Sequence[str]) -> str | None:
    """Notes in one line: a name that a damaged file gives may hold line ends."""
    return " ".join("; ".join(notes).split()) or None


def one_line(error: BaseException) -> str:
    """What is wrong, in one line."""
    words = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        words = f"the key {words} is missing"
    return words if len(words) <= _WORDS else words[: _WORDS - 3] + "..."


def put_together(read: Sequence[ReadFile]) -> Together:
    """One recording of all that belongs together: the launches of one run, counters of all passes, traces, agents."""
    ordered = sorted(read, key=lambda r: bool(_LEVEL_FILE.search(r.found.path.name)))
    whole = Recorded()
    notes: list[str] = []
    for file in ordered:
        for recording in file.recordings:
            whole.agents += [a for a in recording.agents if a not in whole.agents]
            whole.kinds |= recording.kinds
            whole.mangled = {**recording.mangled, **whole.mangled}
            whole.ceilings = {**recording.ceilings, **whole.ceilings}
            whole.command = whole.command or recording.command
            whole.tool = whole.tool or recording.tool
            whole.nvidia = whole.nvidia or recording.nvidia
    traces = [t for file in _without_repeats(ordered, notes) for r in file.recordings for t in r.traces]
    whole.traces = _each_once(traces, notes)
    same, others = _one_run(_runs(ordered, notes), notes)
    groups = by_program([(_place(f.found), c) for f in ordered for r in f.recordings for c in r.counters])
    if same or not groups:  # a trace says which run it is
        whole.counters = [columns for group in groups for columns in group.columns]
        groups = []
    else:
        whole.counters = groups[0].columns
    if len(groups) > 1:
        _tell_of_runs([_path(group.place) for group in groups], notes)
    _add_events(whole, ordered, others)
    chosen = joined_launches([run.columns for run in same]) if same else None
    timing: Timing = "none" if chosen is None or whole.nvidia else "recorded"
    if chosen is None:
        chosen = launches_of_passes(whole.counters)
        timing = "none" if chosen is None else "serialized"
    elif all(run.counted for run in same) and timing == "recorded":
        timing = "serialized"
    if chosen is None or not len(chosen):
        fallback = [s for file in ordered for r in file.recordings for s in r.statistics if len(s)]
        timed = [s for s in fallback if s.timed.any()] or fallback
        chosen = timed[0] if timed else LaunchColumns.of(joined_launches([]).kernel)
        timing = "none"
    parts = [p for run in others for p in _parts(_name(run), run.columns)]
    parts += [p for g in groups[1:] for p in _parts(_path(g.place), launches_of_passes(g.columns))]
    own_name = _name(same[0]) if others else _path(groups[0].place) if len(groups) > 1 else ""
    own = _parts(own_name, chosen)
    together = Together(chosen, whole, notes=notes, timing=timing)
    if len(own) + len(parts) > 1:
        together.parts = (*own, *parts)
    return together


def _add_events(whole: Recorded, read: Sequence[ReadFile], others: Sequence[_Run]) -> None:
    """Calls, copies and the like, without those of runs that are not shown. What two files hold counts once."""
    elsewhere = {(run.folder, run.prefix) for run in others}
    found: dict[str, list[list[Mapping[str, Any]]]] = {}
    for file in read:
        if _place(file.found) in elsewhere:
            continue
        for kind in {kind for recording in file.recordings for kind in recording.events}:
            tables = [table for recording in file.recordings for table in recording.events.get(kind, ())]
            found.setdefault(kind, []).append(tables)
    for kind, files in found.items():
        known = [_moments(table) for table in files[0]] if len(files) > 1 else []
        whole.events.setdefault(kind, []).extend(files[0])
        for tables in files[1:]:
            before = np.concatenate(known)
            for table in tables:
                moments = _moments(table)
                known.append(moments)
                rows = np.flatnonzero((moments == MISSING) | ~np.isin(moments, before))
                if len(rows) == len(moments):
                    whole.events[kind].append(table)
                elif len(rows):
                    kept = rows.tolist()
                    whole.events[kind].append({n: [column[r] for r in kept] for n, column in table.items()})


def _moments(table: Mapping[str, Any]) -> Integers:
    """A number for the start and the end of each event, in nanoseconds; MISSING where one is not known."""
    stamps = []
    for names in _STAMPS:
        column = next((table[name] for name in names if name in table), None)
        if column is None:
            length = max((len(c) for c in table.values()), default=0)
            return np.full(length, MISSING, dtype=np.int64)
        stamps.append(column if isinstance(column, np.ndarray) else integers(list(column)))
    start, end = stamps
    with np.errstate(over="ignore"):
        moments: Integers = start * 1_000_003 + (end - start)
    return np.where((start == MISSING) | (end == MISSING), MISSING, moments)


@dataclass(frozen=True)
class _Run:
    """The launches that files with one prefix in one folder hold. `counted`: counters were collected in it."""

    folder: str
    prefix: str
    columns: LaunchColumns
    counted: bool
    cycles: bool


def _runs(read: Sequence[ReadFile], notes: list[str]) -> list[_Run]:
    """The launches by folder and prefix; tables that hold the same launches again count once."""
    found: dict[tuple[str, str], list[LaunchColumns]] = {}
    seen: dict[tuple[int, ...], tuple[str, tuple[str, str], int]] = {}
    counted: dict[tuple[str, str], bool] = {}
    for file in read:
        key = _place(file.found)
        for counters in (c for r in file.recordings for c in r.counters):
            counted[key] = counted.get(key, False) or CYCLES in counters.name.used()
        for columns in (c for r in file.recordings for c in r.launches):
            if not len(columns):
                continue
            signature = _signature(columns)
            if signature in seen:
                name, at, place = seen[signature]
                notes.append(f"{file.found.path.name} has the same launches as {name}")
                if _richness(columns) > _richness(found[at][place]):
                    found[at][place] = columns
                continue
            parts = found.setdefault(key, [])
            seen[signature] = file.found.path.name, key, len(parts)
            parts.append(columns)
    return [
        _Run(*key, joined_launches(parts), key in counted, counted.get(key, False))
        for key, parts in found.items()
    ]


def _one_run(runs: Sequence[_Run], notes: list[str]) -> tuple[list[_Run], list[_Run]]:
    """What is one run of the program, and other runs that are no counter passes.

    Launches that overlap in time are of processes of one run, and so are those of files beside each other that only the
    number of the process tells apart.
    """
    if not runs:
        return [], []
    plain = [run for run in runs if not run.counted]
    best = plain[0] if plain else next((run for run in runs if run.cycles), runs[0])
    same = [run for run in runs if run is best or _overlap(run.columns, best.columns) or _beside(run, best)]
    others = [run for run in plain if run not in same]
    if others:
        _tell_of_runs([_name(run) for run in (best, *others)], notes)
    return same, others


def _tell_of_runs(names: Sequence[str], notes: list[str]) -> None:
    shown, *others = names
    more = ", ".join(others[:_FEW]) + (" ..." if len(others) > _FEW else "")
    notes.append(f"several runs of the program are in it: shown is {shown}; the others are {more}")


def _beside(run: _Run, best: _Run) -> bool:
    numbered = _OF_PROCESS.fullmatch(run.prefix) and _OF_PROCESS.fullmatch(best.prefix)
    return bool(numbered) and run.folder == best.folder and not run.counted and not best.counted


def _name(run: _Run) -> str:
    return _path((run.folder, run.prefix))


def _path(place: Place) -> str:
    folder, prefix = place
    return "/".join(part for part in (folder if folder != "." else "", prefix) if part) or "."


def _place(found: FoundFile) -> tuple[str, str]:
    """The folder of a file, relative to the capture, and what stands before the kind of the table in its name."""
    folder = os.path.relpath(found.path.parent, (found.root if found.root.is_dir() else found.root.parent))
    return folder, _KIND.sub("", found.path.name)


def _each_once(traces: Sequence[Trace], notes: list[str]) -> list[Trace]:
    """Without samples that are there again: pages of one report, with and without its source lines."""
    kept: dict[object, Trace] = {}
    for trace in traces:
        counts = (
            tuple((i.address, i.latency, i.hits) for i in trace.instructions) if trace.sampled else id(trace)
        )
        key = (trace.kernel, trace.dispatch, counts)
        before = kept.get(key)
        if before is None:
            kept[key] = trace
            continue
        notes.append(f"the samples of {trace.kernel or 'a kernel'} are there twice: taken once")
        if _places(trace) > _places(before):
            kept[key] = trace
    return list(kept.values())


def _places(trace: Trace) -> int:
    return sum(bool(i.source) for i in trace.instructions)


def _without_repeats(read: Sequence[ReadFile], notes: list[str]) -> list[ReadFile]:
    """Without tables of PC samples where the JSON or the database of the same run has the samples with addresses."""
    with_addresses = {
        f.found.path.parent
        for f in read
        if f.found.format in ("rocprofv3 JSON", "rocpd")
        and any(t.sampled for r in f.recordings for t in r.traces)
    }
    kept = []
    for file in read:
        if file.found.format == "PC samples" and file.found.path.parent in with_addresses:
            notes.append(
                f"{file.found.path.name}: the JSON or database beside it has its samples, with addresses"
            )
        else:
            kept.append(file)
    return kept


def _parts(run: str, columns: LaunchColumns | None) -> list[RunPart]:
    """Launches by process and GPU."""
    if columns is None or not len(columns):
        return []
    times = np.where(columns.timed, columns.end - columns.start, 0).astype(np.float64)
    processes, of_process = np.unique(columns.process, return_inverse=True)
    width = max(1, len(columns.agent.names))
    groups, inverse = np.unique(of_process.reshape(-1) * width + columns.agent.codes, return_inverse=True)
    counts, sums = np.bincount(inverse), np.bincount(inverse, weights=times)
    return [
        RunPart(
            run=run,
            process=None if process == MISSING else process,
            gpu=columns.agent.names[agent],
            launches=int(counts[place]),
            time_ns=float(sums[place]),
        )
        for place, group in enumerate(groups.tolist())
        for process, agent in [(int(processes[group // width]), group % width)]
    ]


def _overlap(a: LaunchColumns, b: LaunchColumns) -> bool:
    first, second = _span(a), _span(b)
    return first is not None and second is not None and first[0] < second[1] and second[0] < first[1]


def _span(columns: LaunchColumns) -> tuple[int, int] | None:
    timed = np.flatnonzero(columns.timed)
    return (int(columns.start[timed].min()), int(columns.end[timed].max())) if len(timed) else None


def _signature(columns: LaunchColumns) -> tuple[int, ...]:
    """What two recordings of the same launches have in common; nothing when they have no times."""
    span = _span(columns)
    if span is None:
        return (id(columns),)
    timed = columns.timed
    return len(columns), *span, int(columns.end[timed].sum() - columns.start[timed].sum())


def _richness(columns: LaunchColumns) -> int:
    return sum(int((c[:1] != MISSING).any()) for c in columns.whole.values())
