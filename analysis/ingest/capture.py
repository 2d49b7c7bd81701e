"""From the files of a capture directory to one `Profile`.

Takes a directory that rocprofv3, rocprofiler-compute or our own emulator wrote; gives device, kernels, launches,
counters, instructions and resources joined by kernel. Whatever a capture lacks is missing in the Profile too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from hipscope.analysis.devices import DeviceFacts, device_of, find_device
from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.ingest.agents import Agent, find_agent, read_agents
from hipscope.analysis.ingest.launches import (
    CounterTable,
    Launch,
    join_counters,
    launches_of_passes,
    read_counters,
    read_kernel_trace,
    read_stats,
)
from hipscope.analysis.ingest.pc_samples import read_samples
from hipscope.analysis.ingest.tables import read_header
from hipscope.analysis.ingest.traces import Trace, TracedInstruction, read_trace
from hipscope.analysis.metrics.line_costs import is_foreign
from hipscope.analysis.metrics.memory_patterns import sum_patterns
from hipscope.analysis.metrics.producers import with_producers
from hipscope.analysis.metrics.stalls import add_stalls
from hipscope.analysis.profile import (
    Device,
    Dispatch,
    Fault,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    MemoryPattern,
    Profile,
    ProgramRun,
    Provenance,
    Resources,
    Source,
)
from hipscope.analysis.source.kernel_definitions import base_name, definition_line
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.code_object import KernelMetadata, code_object_metadata
from hipscope.emulator.symbolize import demangle

_NO_SHAPE = (0, 0, 0)


def read_captures(paths: Sequence[Path], texts: SourceTexts | None = None) -> Profile:
    """The Profile of captures that belong together. Raises `UsageError` when nothing in them can be read."""
    (path,) = paths
    return read_capture(path, texts)


def read_capture(directory: Path, texts: SourceTexts | None = None) -> Profile:
    """The Profile of a capture; `texts` are those that its program was built from.

    Raises `UsageError` when there is nothing in it that can be read.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory")
    files = _recognise(directory)
    sidecar = _read_sidecar(directory / "hipscope.json")
    passes = [table for path in files.counters for table in read_counters(path)]
    launches = _launches(files, passes)
    traces = [*_read_traces(directory), *(t for path in files.samples for t in read_samples(path, launches))]
    if not launches and not traces and not sidecar.get("faults"):
        raise UsageError(
            f"{directory}: no profile in this directory",
            "expected rocprofv3 output: a kernel trace, counters or a decoded thread trace",
        )
    names = _Names(sidecar, traces, launches)
    counters, _ = join_counters(launches, passes)
    metadata = _metadata(directory)
    agents = [agent for path in files.agents for agent in read_agents(path)]
    device = _device(sidecar, agents, launches)
    sources = _Sources(directory, texts or SourceTexts())
    # Grouped once: a program may have hundreds of kernels and thousands of launches.
    traces_of: dict[str, list[Trace]] = {}
    for trace in traces:
        traces_of.setdefault(names.of_trace(trace), []).append(trace)
    launches_of: dict[str, list[Launch]] = {}
    for launch in launches:
        launches_of.setdefault(launch.kernel, []).append(launch)
    notes = _LaunchNotes.of(sidecar)
    kernels = [
        _kernel(
            name,
            names.mangled.get(name, name),
            launches_of.get(name, []),
            traces_of.get(name, []),
            counters.get(name, {}),
            metadata,
            notes,
            sources,
        )
        for name in names.kernels
    ]
    kernels.sort(key=lambda kernel: (-kernel.time_ns, kernel.name))
    program = sidecar.get("program") or {}
    return Profile(
        source=Source(sidecar.get("source", Source.RECORDED)),
        provenance=Provenance(sidecar.get("provenance", Provenance.MEASURED)),
        device=device,
        kernels=tuple(kernels),
        program=ProgramRun(
            command=tuple(program.get("command", ())),
            exit_code=program.get("exit_code"),
            output=program.get("output", ""),
        ),
        faults=tuple(_fault(f) for f in sidecar.get("faults", ())),
        partial=sidecar.get("partial"),
        warnings=tuple(sidecar.get("warnings", ())),
        untimed=sidecar.get("untimed", {}),
        tool=sidecar.get("tool", ""),
    )


@dataclass
class _Files:
    """The tables of a capture by what they hold."""

    traces: list[Path] = field(default_factory=list)
    counters: list[Path] = field(default_factory=list)
    agents: list[Path] = field(default_factory=list)
    samples: list[Path] = field(default_factory=list)
    stats: list[Path] = field(default_factory=list)


def _recognise(directory: Path) -> _Files:
    files = _Files()
    for path in sorted(directory.rglob("*.csv")):
        header = set(read_header(path))
        if {"Counter_Name", "Counter_Value", "Dispatch_Id"} <= header:
            files.counters.append(path)
        elif {"Kind", "Kernel_Name", "Start_Timestamp"} <= header:
            files.traces.append(path)
        elif {"Agent_Type", "Gfx_Target_Version"} <= header:
            files.agents.append(path)
        elif {"Sample_Timestamp", "Instruction_Comment"} <= header:
            files.samples.append(path)
        elif {"Name", "Calls", "TotalDurationNs"} <= header and path.stem.endswith("kernel_stats"):
            files.stats.append(path)
    return files


def _launches(files: _Files, passes: Sequence[CounterTable]) -> list[Launch]:
    """The launches of one run. Every counter pass is a run of its own and writes a trace of its own."""
    with_counters = {path.parent for path in files.counters}
    folders = dict.fromkeys(path.parent for path in files.traces)
    if folders:
        best = next((folder for folder in folders if folder not in with_counters), next(iter(folders)))
        launches: list[Launch] = []
        for path in (p for p in files.traces if p.parent == best):
            launches.extend(read_kernel_trace(path))
        return launches
    if passes:
        return launches_of_passes(passes)
    return [launch for path in files.stats[:1] for launch in read_stats(path)]


def _read_traces(directory: Path) -> list[Trace]:
    folders = sorted(path.parent for path in directory.rglob("code.json"))
    return [trace for folder in folders if (trace := read_trace(folder)) is not None]


def _read_sidecar(path: Path) -> Mapping[str, Any]:
    try:
        data: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid JSON") from error
    schema = data.get("schema")
    if schema != "hipscope.capture/1":
        raise UsageError(f"{path}: unknown schema {schema!r}", "was it written by a newer hipscope?")
    return data


class _Names:
    """Demangled kernel names, which the tables use, with the mangled names that traces and code objects use."""

    def __init__(
        self, sidecar: Mapping[str, Any], traces: Iterable[Trace], launches: Iterable[Launch]
    ) -> None:
        self.mangled: dict[str, str] = {k["name"]: k["mangled"] for k in sidecar.get("kernels", ())}
        self._by_dispatch = {launch.id: launch.kernel for launch in launches}
        launched = dict.fromkeys(self._by_dispatch.values())
        for trace in traces:
            name = self.of_trace(trace)
            launched.setdefault(name)
            if trace.mangled and name in (trace.kernel, demangle(trace.mangled), trace.mangled):
                self.mangled.setdefault(name, trace.mangled)
        self.kernels = tuple(name for name in launched if name)

    def of_trace(self, trace: Trace) -> str:
        """The kernel that a trace belongs to: by its launch, else by the label in the trace."""
        by_launch = self._by_dispatch.get(trace.dispatch) if trace.dispatch is not None else None
        return by_launch or trace.kernel or demangle(trace.mangled)


@dataclass(frozen=True)
class _LaunchNotes:
    """What only the sidecar says of launches: which were not profiled, the bytes of LDS that each asked for.

    `stopped`: of those that were stopped, how many workgroups had ended, and of how many.
    """

    unprofiled: frozenset[int]
    dynamic_lds: Mapping[int, int]
    stopped: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, sidecar: Mapping[str, Any]) -> _LaunchNotes:
        sizes = {int(i): int(size) for i, size in sidecar.get("dynamic_lds", {}).items()}
        stopped = {int(i): (int(done), int(of)) for i, (done, of) in sidecar.get("stopped", {}).items()}
        return cls(frozenset(sidecar.get("unprofiled", ())), sizes, stopped)

    def gaps(self, launches: Sequence[Launch], damaged: int) -> str | None:
        """What a kernel's record does not cover: `damaged` launches, and the rest of those that were stopped."""
        gaps = [f"{damaged} of {len(launches)} launches have damaged time stamps"] if damaged else []
        gaps += [
            f"launch {launch.id} was stopped after {done} of {of} workgroups; its time and counts are extrapolated"
            for launch in launches
            if launch.id in self.stopped
            for done, of in [self.stopped[launch.id]]
        ]
        return "; ".join(gaps) or None


def _kernel(
    name: str,
    mangled: str,
    launches: Sequence[Launch],
    traces: Sequence[Trace],
    counters: Mapping[str, float],
    metadata: Mapping[str, KernelMetadata],
    notes: _LaunchNotes,
    sources: _Sources,
) -> Kernel:
    dispatches = tuple(
        Dispatch(
            id=launch.id,
            grid=launch.grid or _NO_SHAPE,
            workgroup=launch.workgroup or _NO_SHAPE,
            dynamic_lds=notes.dynamic_lds.get(launch.id, 0),
            start_ns=float(launch.start_ns or 0),
            end_ns=float(launch.end_ns or 0),
            profiled=launch.id not in notes.unprofiled,
        )
        for launch in launches
        if launch.timed
    )
    instructions = _merge(traces)
    file, line = sources.definition(name, instructions)
    if file is not None and line is not None and not is_foreign(file):
        instructions = _anchored(instructions, Frame(file=file, line=line, function=base_name(name)))
    kernel = Kernel(
        name=KernelName(name),
        mangled=mangled,
        file=file,
        line=line,
        dispatches=dispatches,
        resources=_resources(launches, metadata.get(mangled), dispatches),
        counters=dict(counters),
        instructions=instructions,
        partial=notes.gaps(launches, len(launches) - len(dispatches)),
        sampled=any(trace.sampled for trace in traces),
        bound_by=_bound_by(traces, dispatches),
        busy=_busy(traces, dispatches),
    )
    # The emulator has followed each wave; a GPU's samples and traces say where waves waited, not for what.
    return kernel if kernel.bound_by else with_producers(kernel)


def _anchored(instructions: Sequence[Instruction], kernel: Frame) -> tuple[Instruction, ...]:
    """The instructions, with the kernel as the outermost frame where the chain ends in a header that is not the user's.

    A compiler that merges two statements leaves the result without a place of its own, and the line table then goes on
    with whatever stood before it. All that is known of such an instruction is its kernel.
    """
    return tuple(
        i.model_copy(update={"source": (*i.source, kernel)})
        if i.source and is_foreign(i.source[-1].file)
        else i
        for i in instructions
    )


def _bound_by(traces: Sequence[Trace], dispatches: Sequence[Dispatch]) -> str | None:
    """What limits the longest of the traced launches."""
    times = {dispatch.id: dispatch.time_ns for dispatch in dispatches}
    known = [trace for trace in traces if trace.bound_by]
    longest = max(known, key=lambda t: times.get(t.dispatch or 0, 0.0), default=None)
    return longest.bound_by if longest is not None else None


def _busy(traces: Sequence[Trace], dispatches: Sequence[Dispatch]) -> dict[str, float]:
    """How busy each unit was over the traced launches, by their times."""
    times = {dispatch.id: dispatch.time_ns for dispatch in dispatches}
    known = [(trace.busy, times.get(trace.dispatch or 0, 0.0)) for trace in traces if trace.busy]
    total = sum(time for _, time in known)
    units = dict.fromkeys(unit for busy, _ in known for unit in busy)
    return {
        unit: sum(busy.get(unit, 0.0) * time for busy, time in known) / total for unit in units if total > 0
    }


def _merge(traces: Sequence[Trace]) -> tuple[Instruction, ...]:
    """One list over all traced launches of a kernel, in address order."""
    merged: dict[tuple[int, int, str], list[TracedInstruction]] = {}
    keys: list[dict[int, tuple[int, int, str]]] = []
    for trace in traces:
        of_line = {}
        for instruction in trace.instructions:
            # Samples without addresses differ by their text and position.
            place = instruction.text + repr(instruction.source) if not instruction.address else ""
            key = (instruction.code_object, instruction.address, place)
            of_line[instruction.line] = key
            merged.setdefault(key, []).append(instruction)
        keys.append(of_line)
    index = {key: number for number, key in enumerate(sorted(merged))}
    waited: dict[int, dict[int, float]] = {}
    for trace, of_line in zip(traces, keys, strict=True):
        for instruction in trace.instructions:
            into = waited.setdefault(index[of_line[instruction.line]], {})
            for line, cycles in instruction.waited_for.items():
                if line in of_line:
                    producer = index[of_line[line]]
                    into[producer] = into.get(producer, 0.0) + cycles
    return tuple(
        Instruction(
            index=number,
            address=merged[key][0].address,
            text=merged[key][0].text,
            source=merged[key][0].source,
            hits=sum(i.hits for i in merged[key]),
            lanes=sum(i.lanes for i in merged[key]),
            latency=sum(i.latency for i in merged[key]),
            stall=sum(i.stall for i in merged[key]),
            stalls=add_stalls(i.stalls for i in merged[key]),
            waited_for=waited[number],
            memory=_memory(merged[key]),
        )
        for key, number in index.items()
    )


def _memory(parts: Sequence[TracedInstruction]) -> MemoryPattern | None:
    patterns = [part.memory for part in parts if part.memory is not None]
    return sum_patterns(patterns) if patterns else None


def _resources(
    launches: Sequence[Launch], metadata: KernelMetadata | None, dispatches: Sequence[Dispatch]
) -> Resources:
    """From the code object where there is one, else from the trace's columns."""
    dynamic = max((d.dynamic_lds for d in dispatches), default=0)
    if metadata is not None:
        return Resources(
            # The note counts both kinds where they share one register file.
            vgprs=metadata.vgprs - metadata.agprs,
            agprs=metadata.agprs,
            sgprs=metadata.sgprs,
            lds_bytes=metadata.lds + dynamic,
            scratch_bytes=metadata.scratch,
            vgpr_spills=metadata.vgpr_spills,
            sgpr_spills=metadata.sgpr_spills,
            max_workgroup_size=metadata.max_flat_workgroup_size,
            wave_size=metadata.wavefront_size,
        )
    first = next((launch for launch in launches if launch.vgprs is not None), None)
    if first is None:
        return Resources()
    return Resources(
        vgprs=first.vgprs,
        agprs=first.agprs,
        sgprs=first.sgprs,
        lds_bytes=None if first.lds is None else first.lds + dynamic,
        scratch_bytes=first.scratch,
    )


def _metadata(directory: Path) -> dict[str, KernelMetadata]:
    """What the code objects of the capture say about their kernels, by mangled name."""
    found: dict[str, KernelMetadata] = {}
    for path in sorted(directory.rglob("*code_object_id_*.out")):
        try:
            kernels = code_object_metadata(path)
        except HipscopeError:
            continue  # the driver's own blit kernels, or a cut file: their resources stay unknown
        found.update({kernel.symbol.removesuffix(".kd"): kernel for kernel in kernels})
    return found


def _device(sidecar: Mapping[str, Any], agents: Sequence[Agent], launches: Sequence[Launch]) -> Device:
    if "device" in sidecar and sidecar.get("source") == Source.EMULATOR:
        return find_device(str(sidecar["device"]))
    agent = find_agent(agents, launches[0].agent if launches else "")
    return device_of(DeviceFacts() if agent is None else agent.facts)


class _Sources:
    """Finds where kernels are defined; a file that is not on this machine may have a copy in the capture."""

    def __init__(self, directory: Path, texts: SourceTexts) -> None:
        self._directory = directory
        self._texts = texts
        self._known: dict[tuple[str, str], int | None] = {}

    def definition(self, kernel: str, instructions: Sequence[Instruction]) -> tuple[str | None, int | None]:
        """File and line of a kernel, from the outermost frames of its instructions."""
        outermost = [i.source[-1] for i in instructions if i.source]
        outermost = [frame for frame in outermost if not is_foreign(frame.file)] or outermost
        if not outermost:
            return None, None
        counts: dict[str, int] = {}
        for frame in outermost:
            counts[frame.file] = counts.get(frame.file, 0) + 1
        file = max(counts, key=lambda name: counts[name])
        first = min(frame.line for frame in outermost if frame.file == file)
        key = (file, kernel)
        if key not in self._known:
            self._known[key] = definition_line(self._lines(file), kernel, first)
        return file, self._known[key] or first

    def _lines(self, file: str) -> Sequence[bytes]:
        copy = _copy(self._directory, file) if self._texts.read(file) is None else None
        return self._texts.lines(copy or file)


def _copy(directory: Path, file: str) -> Path | None:
    """The copy of a source that the trace made, found through its snapshots.json."""
    for snapshots in sorted(directory.rglob("snapshots.json")):
        try:
            branch = json.loads(snapshots.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for part in PurePosixPath(file).parts:
            branch = branch.get(part) if isinstance(branch, dict) else None
        if isinstance(branch, str):
            return snapshots.parent / branch
    return None


def _fault(data: Mapping[str, Any]) -> Fault:
    return Fault(
        kernel=KernelName(demangle(str(data["kernel"]))),
        message=str(data["message"]),
        refused=data.get("kind") == "launch",
        left_out=data.get("kind") == "left_out",
        address=data.get("address"),
        instruction=data.get("instruction"),
        source=tuple(
            Frame(file=file, line=line, column=column, function=function)
            for file, line, column, function in data.get("frames", ())
        ),
    )
