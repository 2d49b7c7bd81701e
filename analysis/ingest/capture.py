"""From the files of a capture to one `Profile`.

Takes folders or files that rocprofv3, rocprofiler-compute, Omniprobe, Nsight Compute or our own emulator wrote; gives
device, kernels, launches, counters, instructions and resources joined by kernel. Whatever a capture lacks is missing
in the Profile too; whatever was not read has its line in `captures`.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.devices import DeviceFacts, device_of, find_device, with_measured
from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.ingest.capture_tables import CaptureTables
from hipscope.analysis.ingest.code_lines import ProgramCode, with_lines
from hipscope.analysis.ingest.counters import KernelCounters, join_counters, rows_by_kernel
from hipscope.analysis.ingest.formats.agents import Agent, find_agent
from hipscope.analysis.ingest.formats.columns import MISSING, Integers, Texts
from hipscope.analysis.ingest.formats.recording import LaunchColumns, Recorded
from hipscope.analysis.ingest.formats.traces import DAMAGE, Trace
from hipscope.analysis.ingest.instructions import merged_instructions
from hipscope.analysis.ingest.reading import put_together, read_found
from hipscope.analysis.ingest.recognise import (
    CODE_OBJECT,
    MEMORY_ANALYSIS,
    NO_READER,
    SIDECAR,
    FoundFile,
    scan,
)
from hipscope.analysis.ingest.snapshots import Snapshots
from hipscope.analysis.metrics.line_costs import is_foreign
from hipscope.analysis.metrics.producers import with_producers
from hipscope.analysis.metrics.roofline import impossible_bytes
from hipscope.analysis.metrics.sass_producers import with_sass_producers
from hipscope.analysis.profile import (
    CaptureFile,
    Device,
    Dispatch,
    Fault,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    Launches,
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

_FEW_NAMES = 3
_READ = (
    "what is read is a kernel trace, counters, a decoded thread trace or rocpd of rocprofv3, or what docs/captures.md "
    "lists of other tools"
)
_NO_KERNEL = "in which no kernel is launched"
_UNKNOWN_KERNEL = "(unknown kernel)"
_FEW = 8  # launches of a kernel that are made at once; more are made when they are asked for
_ARCH = re.compile(r"(gfx\w+?)_code_object_id_\d+\.out$")
_RDNA = ("gfx10", "gfx11", "gfx12")  # waves of 32 or of 64 lanes
_MEASURED = "roofline.csv of the capture"
_SCHEMA = "hipscope.capture/1"


def read_capture(directory: Path, texts: SourceTexts | None = None) -> Profile:
    """The Profile of one capture directory; `texts` are those that its program was built from.

    Raises `UsageError` when there is nothing in it that can be read.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory")
    return read_captures([directory], texts)


def read_captures(
    paths: Sequence[Path], texts: SourceTexts | None = None, programs: Iterable[ProgramCode] = ()
) -> Profile:
    """The Profile of captures that belong together: folders, or files.

    `programs` hold the code that was captured, perhaps with lines that the capture lacks. Raises `UsageError` when
    nothing in the captures can be read.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or directory")
    items = scan(paths)
    sidecar, damage = _sidecar(items)
    emulated = sidecar.get("source") == Source.EMULATOR
    if emulated:  # the side-car has what it says, and more
        items = [i for i in items if i.format != MEMORY_ANALYSIS]
    read, lines = read_found(items)
    together = put_together(read)
    if not len(together.launches) and not together.whole.traces and not sidecar.get("faults"):
        raise _nothing(paths, lines)
    objects = [item.path for item in items if item.format == CODE_OBJECT]
    together.whole.traces, placed = with_lines(together.whole.traces, objects, programs)
    names = _Names(sidecar, together.whole, together.launches)
    launches = names.renamed(together.launches)
    counters = join_counters(
        launches, [names.renamed_pass(c) for c in together.whole.counters], together.whole.kinds
    )
    device, devices = _devices(sidecar, together.whole, launches, items)
    builder = _Builder(
        launches=launches,
        rows=rows_by_kernel(launches),
        traces=names.traces_by_kernel(),
        counters=counters.kernels,
        covered=counters.covered,
        metadata=_metadata(items),
        notes=_LaunchNotes.of(sidecar),
        sources=_Sources(Snapshots.below(paths), texts or SourceTexts()),
        measured=not emulated,
        nvidia=together.whole.nvidia,
        wave_size=_only_wave_size(device),
    )
    kernels = [builder.kernel(name, names.mangled.get(name, name)) for name in names.kernels]
    kernels.sort(key=lambda kernel: (-kernel.time_ns, kernel.name))
    tables = CaptureTables(launches, counters.passes, kernels, together.whole.events, together.timing)
    program = sidecar.get("program")
    program = program if isinstance(program, dict) else {}
    modelled = Provenance.MODELLED if damage else Provenance.MEASURED
    return Profile(
        source=Source(sidecar.get("source", Source.RECORDED)),
        provenance=Provenance(sidecar.get("provenance", modelled)),
        device=device,
        kernels=tuple(kernels),
        program=ProgramRun(
            command=tuple(program.get("command", together.whole.command)),
            exit_code=program.get("exit_code"),
            output=program.get("output", ""),
        ),
        faults=tuple(_fault(f) for f in sidecar.get("faults", ())),
        partial=sidecar.get("partial"),
        warnings=tuple(sidecar.get("warnings", ())),
        library_calls=sidecar.get("library_calls", {}),
        untimed=sidecar.get("untimed", {}),
        tool=sidecar.get("tool", together.whole.tool),
        devices=devices,
        tables=tables,
        captures=tuple(lines),
        parts=together.parts,
        notes=(
            *together.notes,
            *placed,
            *names.lost,
            *counters.lost,
            *damage,
            *_clock_notes(together.whole.traces, device),
            *filter(None, [None if emulated else impossible_bytes(kernels, device)]),
        ),
    )


def _nothing(paths: Sequence[Path], lines: Sequence[CaptureFile]) -> UsageError:
    where = ", ".join(str(p) for p in paths)
    told = [line for line in lines if line.why or line.read]
    known = [line for line in told if line.format is not None] or [
        line for line in told if line.why != NO_READER
    ]
    why = [
        f"{Path(line.path).name}: "
        + (": ".join(filter(None, (line.format, line.why))) if line.why else f"{line.format}, {_NO_KERNEL}")
        for line in known
    ]
    if strange := [Path(line.path).name for line in told if line.why == NO_READER]:
        more = " ..." if len(strange) > _FEW_NAMES else ""
        why.append(f"no reader knows {', '.join(strange[:_FEW_NAMES])}{more}: {_READ}")
    return UsageError(
        f"{where}: no profile in this directory"
        if len(paths) == 1 and paths[0].is_dir()
        else f"{where}: no profile",
        "; ".join([*why[:3], *why[-1:]] if len(why) > _FEW_NAMES else why) or f"nothing is in it: {_READ}",
    )


def _sidecar(items: Sequence[FoundFile]) -> tuple[Mapping[str, Any], list[str]]:
    """What our own profilers wrote beside the capture, and what is wrong with it."""
    for item in items:
        if item.path.name != "hipscope.json":
            continue
        try:
            data = json.loads(item.path.read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise ValueError("no object")
        except (OSError, ValueError, RecursionError):
            return {}, [
                f"{item.path} is damaged: whether times are measured is not known, so they count as modelled"
            ]
        schema = data.get("schema")
        if schema == _SCHEMA:
            return data, []
        if item.format == SIDECAR or "schema" in data:
            raise UsageError(f"{item.path}: unknown schema {schema!r}", "was it written by a newer hipscope?")
    return {}, []


class _Names:
    """Demangled kernel names, which the tables use, with the mangled names that traces and code objects use."""

    def __init__(self, sidecar: Mapping[str, Any], whole: Recorded, launches: LaunchColumns) -> None:
        self.mangled: dict[str, str] = {}
        for kernel in sidecar.get("kernels", ()):
            self.mangled[kernel["name"]] = kernel["mangled"]
        self._known = [n for n in launches.kernel.names if n]
        self._spelled = self._spellings()
        for name, mangled in whole.mangled.items():
            self.mangled.setdefault(self._spelled.get(name, name), mangled)
        for raw, name in self._spelled.items():
            if raw.startswith("_Z") and raw != name:
                self.mangled.setdefault(name, raw)
        self._by_dispatch = {
            int(number): launches.kernel.names[int(code)]
            for number, code in zip(launches.id, launches.kernel.codes, strict=True)
        } if whole.traces else {}  # fmt: skip
        self.lost: list[str] = []
        self._traces: dict[str, list[Trace]] = {}
        launched = dict.fromkeys(
            self._spelled.get(launches.kernel.names[c], "") for c in _first_codes(launches)
        )
        unknown = 0
        for trace in whole.traces:
            name = self.of_trace(trace)
            if not name and any(i.latency for i in trace.instructions) and not trace.sampled:
                of = f"launch {trace.dispatch}" if trace.dispatch is not None else "a launch"
                name = f"(kernel of {of})"
                self.lost.append(f"the thread trace of {of} names no kernel: it is shown under its launch")
            elif not name and trace.instructions:
                unknown += sum(i.samples.total for i in trace.instructions if i.samples)
                name = _UNKNOWN_KERNEL if not launched else ""
            if not name:
                continue
            launched.setdefault(name)
            self._traces.setdefault(name, []).append(trace)
            if trace.mangled and name in (trace.kernel, demangle(trace.mangled), trace.mangled):
                self.mangled.setdefault(name, trace.mangled)
        if unknown:
            self.lost.append(f"{unknown} PC samples belong to no launch of the capture")
        self.kernels = tuple(name for name in launched if name)

    def traces_by_kernel(self) -> Mapping[str, Sequence[Trace]]:
        """The traces of each kernel."""
        return self._traces

    def of_trace(self, trace: Trace) -> str:
        """The kernel of a trace: by its label where launches have that name, else by its launch, else by its label."""
        own = [trace.kernel, demangle(trace.mangled) if trace.mangled else "", trace.mangled]
        known = next((self._spelled[n] for n in own if n and n in self._spelled), None)
        by_launch = self._by_dispatch.get(trace.dispatch) if trace.dispatch is not None else None
        return known or self._spelled.get(by_launch or "", by_launch or "") or own[0] or own[1]

    def renamed(self, launches: LaunchColumns) -> LaunchColumns:
        """The launches under one spelling of each name."""
        return LaunchColumns(self._one(launches.kernel), launches.agent, launches.whole)

    def renamed_pass(self, columns: Any) -> Any:
        """A pass under one spelling of each kernel's name."""
        return dataclasses.replace(columns, launches=self.renamed(columns.launches))

    def _one(self, names: Texts) -> Texts:
        spelled = [self._spelled.get(n) or self._shortened(n) for n in names.names]
        if list(names.names) == spelled:
            return names
        places: dict[str, int] = {}
        moved = np.array([places.setdefault(n, len(places)) for n in spelled], dtype=np.int64)
        return Texts(moved[names.codes] if len(moved) else names.codes, tuple(places))

    def _spellings(self) -> dict[str, str]:
        """Every name that is known, and the one that it is shown under: demangled, as long as it is there."""
        whole = {n: demangle(n) if n.startswith("_Z") else n for n in self._known}
        return {**{n: n for n in whole.values()}, **whole}

    def _shortened(self, name: str) -> str:
        """The launched kernel that a truncated or mangled name means, if there is just one."""
        if name.startswith("_Z") and (found := self._spelled.get(demangle(name))):
            return found
        meant = {n for n in self._spelled.values() if base_name(n) == name or base_name(name) == n}
        return meant.pop() if len(meant) == 1 else name


def _first_codes(launches: LaunchColumns) -> list[int]:
    """The codes of kernels in the order in which they are launched first."""
    codes, first = np.unique(launches.kernel.codes, return_index=True)
    return [int(c) for c in codes[np.argsort(first)]]


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

    def gaps(self, numbers: Iterable[int], damaged: int, all_launches: int) -> str | None:
        """What a kernel's record does not cover: `damaged` launches, and the rest of those that were stopped."""
        gaps = [f"{damaged} of {all_launches} launches have damaged time stamps"] if damaged else []
        gaps += [
            f"launch {number} was stopped after {done} of {of} workgroups; its time and counts are extrapolated"
            for number in (numbers if self.stopped else ())
            if number in self.stopped
            for done, of in [self.stopped[number]]
        ]
        return "; ".join(gaps) or None


@dataclass(frozen=True)
class _Builder:
    """Makes one kernel after the other from what was joined."""

    launches: LaunchColumns
    rows: Mapping[str, Integers]
    traces: Mapping[str, Sequence[Trace]]
    counters: Mapping[str, KernelCounters]
    covered: NDArray[np.bool_]
    metadata: Mapping[str, KernelMetadata]
    notes: _LaunchNotes
    sources: _Sources
    measured: bool
    nvidia: bool
    wave_size: int | None

    def kernel(self, name: str, mangled: str) -> Kernel:
        """Everything that is known of it."""
        rows = self.rows.get(name, np.zeros(0, dtype=np.int64))
        timed = rows[self.launches.timed[rows]]
        traces = self.traces.get(name, ())
        dispatches = self._dispatches(timed)
        instructions, sampled = merged_instructions(traces)
        file, line = self.sources.definition(name, instructions)
        if file is not None and line is not None and not is_foreign(file):
            instructions = _anchored(instructions, Frame(file=file, line=line, function=base_name(name)))
        counters = self.counters.get(name, KernelCounters())
        stamped = bool((self.launches.start[rows] != MISSING).any())
        damaged = len(rows) - len(timed)
        gaps = self.notes.gaps(self.launches.id[rows].tolist(), damaged if stamped else 0, len(rows))
        if damaged and not stamped:
            gaps = "its launches have no time stamps"
        untraced = [note for trace in traces if not trace.instructions for note in trace.notes]
        kernel = Kernel(
            name=KernelName(name),
            mangled=mangled,
            file=file,
            line=line,
            dispatches=dispatches,
            without_time=damaged,
            resources=self._resources(rows, self.metadata.get(mangled), dispatches),
            counters=counters.values,
            counted=counters.counted if self.measured else {},
            counter_instances=counters.instances,
            instructions=instructions,
            partial="; ".join([*([gaps] if gaps else []), *untraced]) or None,
            sampled=sampled,
            bound_by=_bound_by(traces, dispatches),
            busy=_busy(traces, dispatches),
        )
        # The emulator has followed each wave; a GPU's samples and traces say where waves waited, not for what.
        if kernel.bound_by:
            return kernel
        return with_sass_producers(kernel) if self.nvidia else with_producers(kernel)

    def _dispatches(self, rows: Integers) -> Sequence[Dispatch]:
        counted = bool(self.covered[rows].any())
        if len(rows) <= _FEW:
            return tuple(self._made(rows, counted))
        whole = self.launches.whole
        total = float((whole["end"][rows] - whole["start"][rows]).sum())
        return Launches(lambda part: self._made(rows[part], counted), len(rows), total)

    def _made(self, rows: Integers, counted: bool) -> Iterator[Dispatch]:
        columns, notes = self.launches, self.notes
        numbers = columns.id[rows].tolist()
        dynamic = columns.dynamic_lds[rows]
        told = np.where(dynamic == MISSING, 0, dynamic).tolist()
        if notes.dynamic_lds:
            told = [notes.dynamic_lds.get(number, 0) for number in numbers]
        profiled: Iterable[bool] = repeat(True)
        if notes.unprofiled:
            profiled = [number not in notes.unprofiled for number in numbers]
        elif self.measured and counted:  # the others have times, and no counters
            profiled = self.covered[rows].tolist()
        starts, ends = columns.start[rows].tolist(), columns.end[rows].tolist()
        made = zip(
            numbers, columns.sizes(rows, "grid"), columns.sizes(rows, "workgroup"), starts, ends, told, profiled,
            strict=False,
        )  # fmt: skip
        return map(Dispatch._make, made)

    def _resources(
        self, rows: Integers, metadata: KernelMetadata | None, dispatches: Sequence[Dispatch]
    ) -> Resources:
        """From the code object where there is one, else from the trace's columns."""
        told = self.launches.dynamic_lds[rows]
        most = int(told.max()) if len(told) and not self.notes.dynamic_lds else 0
        dynamic = (
            max((d.dynamic_lds for d in dispatches), default=0) if self.notes.dynamic_lds else max(0, most)
        )
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
        known = rows[self.launches.vgprs[rows] != MISSING]
        if not len(known):
            known = rows[self.launches.static_lds[rows] != MISSING]
        if not len(known):
            return Resources(wave_size=self.wave_size)
        first = int(known[0])
        lds = self.launches.cell(first, "static_lds")
        return Resources(
            vgprs=self.launches.cell(first, "vgprs"),
            agprs=self.launches.cell(first, "agprs"),
            sgprs=self.launches.cell(first, "sgprs"),
            lds_bytes=None if lds is None else lds + dynamic,
            scratch_bytes=self.launches.cell(first, "scratch"),
            wave_size=self.wave_size,
        )


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
    known = [trace for trace in traces if trace.bound_by]
    times = {dispatch.id: dispatch.time_ns for dispatch in dispatches} if known else {}
    longest = max(known, key=lambda t: times.get(t.dispatch or 0, 0.0), default=None)
    return longest.bound_by if longest is not None else None


def _busy(traces: Sequence[Trace], dispatches: Sequence[Dispatch]) -> dict[str, float]:
    """How busy each unit was over the traced launches, by their times."""
    if not any(trace.busy for trace in traces):
        return {}
    times = {dispatch.id: dispatch.time_ns for dispatch in dispatches}
    known = [(trace.busy, times.get(trace.dispatch or 0, 0.0)) for trace in traces if trace.busy]
    total = sum(time for _, time in known)
    units = dict.fromkeys(unit for busy, _ in known for unit in busy)
    return {
        unit: sum(busy.get(unit, 0.0) * time for busy, time in known) / total for unit in units if total > 0
    }


def _metadata(items: Sequence[FoundFile]) -> dict[str, KernelMetadata]:
    """What the code objects of the capture say about their kernels, by mangled name."""
    found: dict[str, KernelMetadata] = {}
    for item in items:
        if item.format != CODE_OBJECT:
            continue
        try:
            kernels = code_object_metadata(item.path)
        except (HipscopeError, *DAMAGE, OSError):
            continue  # the driver's own blit kernels, or a cut file: their resources stay unknown
        found.update({kernel.symbol.removesuffix(".kd"): kernel for kernel in kernels})
    return found


def _devices(
    sidecar: Mapping[str, Any], whole: Recorded, launches: LaunchColumns, items: Sequence[FoundFile]
) -> tuple[Device, tuple[Device, ...]]:
    """The GPU of most of the time, and all GPUs that have launches."""
    if "device" in sidecar and sidecar.get("source") == Source.EMULATOR:
        device = find_device(str(sidecar["device"]))
        return device, (device,)
    time = np.where(launches.timed, launches.end - launches.start, 0).astype(np.float64)
    of_agent = np.bincount(launches.agent.codes, weights=time, minlength=max(1, len(launches.agent.names)))
    references = [
        launches.agent.names[i] for i in np.argsort(-of_agent, kind="stable") if len(launches.agent.names)
    ]
    agents = [find_agent(whole.agents, reference) for reference in references or [""]]
    devices: list[Device] = []
    for agent in agents:
        if (device := _device(agent, whole, items)) not in devices:
            devices.append(device)
    return devices[0], tuple(devices)


def _only_wave_size(device: Device) -> int | None:
    """The size of all waves of a GPU; None where kernels choose, as on RDNA."""
    return None if (device.arch or "").startswith(_RDNA) else device.wave_size


def _clock_notes(traces: Sequence[Trace], device: Device) -> Iterator[str]:
    """At which clock traced launches ran: cycles are time only with it."""
    for trace in traces:
        if trace.clock_mhz is None:
            continue
        most = f" (at most {device.clock_mhz:.0f})" if device.clock_mhz else ""
        which = f"launch {trace.dispatch}" if trace.dispatch is not None else "a launch"
        yield f"the shader clock was {trace.clock_mhz:.0f} MHz{most} while {which} was traced"


def _device(agent: Agent | None, whole: Recorded, items: Sequence[FoundFile]) -> Device:
    if agent is None:
        archs = {m[1] for i in items if (m := _ARCH.search(i.path.name))}
        device = device_of(DeviceFacts(arch=archs.pop() if len(archs) == 1 else None))
    else:
        device = device_of(agent.facts)
    return with_measured(device, whole.ceilings, _MEASURED) if whole.ceilings else device


class _Sources:
    """Finds where kernels are defined; a file that is not on this machine may have a copy in the capture."""

    def __init__(self, snapshots: Snapshots, texts: SourceTexts) -> None:
        self._snapshots = snapshots
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
        copy = self._snapshots.copy_of(file) if self._texts.read(file) is None else None
        return self._texts.lines(copy or file)


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
