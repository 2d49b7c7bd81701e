"""`hipscope.profile/2`: a profile with its findings, as the command line prints it and the editor shows it.

Paths are absolute, lines and columns count from 1 (columns in bytes of UTF-8, 0 where they are unknown), times are
nanoseconds, shares are 0..1. What was not recorded is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Literal, NamedTuple

from hipscope.analysis.source.kernel_definitions import base_name, instance_name, signature_without_result
from hipscope.analysis.source.texts import ByteColumn
from hipscope.analysis.system.process import signal_name
from hipscope.analysis.timeline.records import Timeline
from hipscope.server.reports.schema.notes import CompileNote

PROFILE_SCHEMA = "hipscope.profile/2"
Provenance = Literal["measured", "modelled"]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most of something in a second: `per_s` is compared with; `peak_per_s`, where `per_s` was measured, is the sum
    of its units.
    """

    per_s: float
    basis: str
    source: str
    peak_per_s: float | None


@dataclass(frozen=True, slots=True)
class Device:
    """The GPU that the numbers are of; clocks in MHz, LDS in bytes, peaks per second; None is unknown.

    Measured ceilings win over those of data sheets and computed ones.
    `unified_registers`: both kinds share a file; `sgpr_limit`: scalar ones can limit the waves. `lds_reserved` is what
    the system takes of each workgroup, whose waves run on `cus_per_workgroup` CUs; a CU holds `barriers_per_cu` of
    several waves and `groups_per_cu` of any. `partition` is the mode (CPX, ...) of a part of a GPU. `ceilings`: most
    per second, by level of memory, by unit and data type.
    """

    name: str
    arch: str
    compute_units: int | None
    simds_per_cu: int | None
    xcds: int | None
    clock_mhz: float | None
    wave_size: int | None
    max_waves_per_simd: int | None
    vgprs_per_lane: int | None
    vgpr_granule: int | None
    lds_bytes: int | None
    lds_granule: int | None
    hbm_bytes_per_s: float | None
    l2_bytes_per_s: float | None
    flops_fp32: float | None
    flops_fp64: float | None
    unified_registers: bool | None
    sgpr_limit: bool | None
    lds_reserved: int
    cus_per_workgroup: int
    barriers_per_cu: int | None
    groups_per_cu: int | None
    shader_engines: int | None
    l2_channels: int | None
    partition: str | None
    ceilings: Mapping[str, Ceiling]


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """One file or folder of a capture: its format in words, None where no reader knows it, and whether it was read.

    `why`: why it was not, or what of it was left out.
    """

    path: str
    format: str | None
    read: bool
    why: str | None


@dataclass(frozen=True, slots=True)
class RunPart:
    """The launches of one process on one GPU in one run; `run` is a folder or database of the capture."""

    run: str
    process: int | None
    gpu: str
    launches: int
    time_ns: float


@dataclass(frozen=True, slots=True)
class Program:
    """The program that was run; `exit_code` is None when it was stopped, and negative for a signal.

    `build_note` says how it was built where no `hipscope.toml` does and it does not build alone; `build_settings` is
    the text of one that says the same.
    """

    command: tuple[str, ...]
    exit_code: int | None
    output: str
    build_note: str | None
    build_settings: str | None


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a profile depends on: another one of the same inputs says the same.

    `files` maps each file that build and run read (sources and headers, settings, build files, data that arguments
    name) to its SHA-256, "" for settings that were looked for and not there. The others are what was asked for over
    the settings in `hipscope.toml`: None, no arguments and "auto" leave what these say.
    """

    files: Mapping[str, str]
    arguments: tuple[str, ...]
    device: str | None
    arch: str | None
    backend: str


@dataclass(frozen=True, slots=True)
class Reach:
    """A rate beside the device's ceiling of that name; None where none is known. `basis`: whether it was measured."""

    name: str
    unit: str
    per_s: float
    ceiling: float | None
    fraction: float | None
    basis: str | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Roofline:
    """Totals over the profiled launches and rates while they ran; None where a counter is missing.

    `flops` counts floating-point operations, `memory_bytes` traffic between L2 and memory, `intensity` is their ratio.
    `bound` is what limits the kernel, `near` what it may be instead within 5 % of measured inputs, `why` the numbers
    that decided, with their thresholds.
    """

    provenance: Provenance
    time_ns: float
    flops: float | None
    memory_bytes: float | None
    intensity: float | None
    flops_per_s: float | None
    bytes_per_s: float | None
    peak_flops_per_s: float | None
    peak_bytes_per_s: float | None
    ridge: float | None
    flops_fraction: float | None
    memory_fraction: float | None
    bound: str
    ceilings: tuple[Reach, ...]
    nearest: str | None
    near: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class NextStep:
    """`now` of `resource` (VGPRs, AGPRs, SGPRs, LDS bytes) down to `then` gives `waves` per SIMD."""

    resource: str
    now: int
    then: int
    waves: float


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Waves per SIMD: what the resources allow (`limits` by resource), what the largest launch fills, and the mean.

    `filled` is the part of the lanes of these waves that have a work-item. `next_step` is the least of one resource
    that must go for more waves.
    """

    theoretical: float
    maximum: int
    limiter: str
    limits: Mapping[str, float]
    launched: float | None
    achieved: float | None
    filled: float
    next_step: NextStep | None


@dataclass(frozen=True, slots=True)
class Resources:
    """What the code object says that a kernel needs; LDS of a workgroup, scratch of a work-item, both in bytes."""

    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    lds_bytes: int | None
    scratch_bytes: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    max_workgroup_size: int | None
    wave_size: int | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What one line's accesses of one kind touched, summed over the profiled dispatches.

    `lines_needed` cache lines of `line_bytes` bytes would hold what was accessed, `lines_used` were touched; LDS times
    are in cycles. `memory_kinds` are those of the accesses that went to managed or host memory, or to
    fine-grained memory of the device.
    """

    space: Literal["global", "lds", "scratch", "scalar"]
    kind: Literal["load", "store", "atomic"]
    bytes_per_lane: int
    accesses: int
    lanes: int
    line_bytes: int
    lines_needed: float
    lines_used: float
    l1_hits: float | None
    l2_hits: float | None
    memory_lines: float | None
    distinct_lines: float | None
    lds_cycles: float
    lds_conflict_cycles: float
    atomic_conflicts: float
    same_address_share: float | None
    memory_kinds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Line:
    """The cost of one source line in one kernel, in cycles over all waves; `share` is its part of that kernel's cycles.

    `memory` has a record for each way in which the line accesses memory.
    `reason_may_be`: what it may wait for most instead of the first of `stalls`, within the ranges of the model's
    assumed constants; None where the first is certain, and of measured profiles.
    """

    file: str
    line: int
    column: ByteColumn
    hits: int
    latency: float
    stall: float
    share: float
    stalls: Mapping[str, float]
    memory: tuple[Memory, ...]
    reason_may_be: str | None

    @property
    def reason(self) -> str | None:
        """What the line waits for most, or None when it does not wait."""
        return max(self.stalls, key=lambda r: self.stalls[r]) if self.stall > 0 and self.stalls else None


class Definition(NamedTuple):
    """Where a kernel stands: the line that names it, and the first and last line of its definition."""

    file: str
    line: int
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel; `share` is its part of all GPU time, None when there is no time. `start_line` and `end_line` are its
    definition's. `time_ns` is the sum over all `dispatches`.
    `profiled`: of the dispatches; the others have their mean time. `sampled`: its lines count samples
    instead of cycles. `time_ns_low` and `time_ns_high`: what a modelled time may be; None for a measured one.
    `busy`: by unit, the part of the time for which it would be busy at its highest rate; empty for a measured one.
    `counter_instances`: the parts of counters that a capture has apart by XCD, shader engine or channel."""

    name: str
    mangled: str
    file: str | None
    line: int | None
    start_line: int | None
    end_line: int | None
    time_ns: float | None
    share: float | None
    dispatches: int
    profiled: int
    bound: str
    roofline: Roofline
    occupancy: Occupancy | None
    resources: Resources
    counters: Mapping[str, float]
    lines: tuple[Line, ...]
    sampled: bool
    partial: str | None
    time_ns_low: float | None
    time_ns_high: float | None
    busy: Mapping[str, float]
    counter_instances: Mapping[str, tuple[float, ...]]

    @property
    def base_name(self) -> str:
        """The identifier as it stands in the source: no namespace, template or parameters."""
        return base_name(self.name)

    def gpu_share(self, line: Line) -> float | None:
        """The part of all GPU time that one of its lines takes; None when there is no time."""
        return None if self.share is None else line.share * self.share

    @property
    def definition(self) -> Definition | None:
        """Where the kernel is defined; None when that is not known."""
        if not self.file or not self.line or not self.start_line or not self.end_line:
            return None
        return Definition(self.file, self.line, self.start_line, self.end_line)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that supports a finding, with the value it would have if nothing were wrong."""

    metric: str
    value: float | str | None
    ideal: float | str | None
    unit: str


@dataclass(frozen=True, slots=True)
class Place:
    """A source position that has to do with a finding, and why."""

    file: str
    line: int
    message: str


@lru_cache(maxsize=8)
def _forms_of(names: tuple[str, ...]) -> tuple[tuple[Callable[[str], str], Counter[str]], ...]:
    """The forms of a kernel's name from the shortest on, with how often each is there."""
    forms = (base_name, instance_name, signature_without_result)
    return tuple((form, Counter(map(form, names))) for form in forms)


@dataclass(frozen=True, slots=True)
class FindingInstance:
    """The same finding in one instance of a template; `share` is the part of that kernel's time at stake."""

    kernel: str
    mangled: str
    share: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that costs time; `share` is the part of its kernel's time at stake. `file` is "" and `line` 0 without
    debug information; `end_column` is behind the last byte. `instances`: all of a template's kernels that have it, the
    one that is told here first; empty for a kernel that is alone."""

    formula: str
    kernel: str
    mangled: str
    file: str
    line: int
    end_line: int
    column: ByteColumn
    end_column: ByteColumn
    share: float
    message: str
    evidence: tuple[Evidence, ...]
    related: tuple[Place, ...]
    estimated_speedup: float | None
    usual_speedup: tuple[float, float] | None
    title: str
    remedy: tuple[str, ...]
    instances: tuple[FindingInstance, ...]

    @property
    def mangled_names(self) -> frozenset[str]:
        """All kernels that have it."""
        return frozenset({self.mangled, *(instance.mangled for instance in self.instances)})


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a kernel did that stopped it. `refused`: it never began, and HIP told the program so. `left_out`: the
    kernel went on, without the access (--keep-going). `file` is "" and `line` 0 without debug information."""

    kernel: str
    message: str
    refused: bool
    left_out: bool
    file: str
    line: int
    column: ByteColumn
    instruction: str | None


class HotLine(NamedTuple):
    """A line that costs something: its number, its share of all GPU time (None: unknown), and its cost by kernel."""

    number: int
    share: float | None
    costs: Sequence[tuple[Kernel, Line]]


@dataclass(frozen=True)
class Report:
    """One profile, ready to be shown; its kernels by time, longest first.

    `diagnoses` say what bounds the kernels without a finding (`share` 0), what the hot lines without one spend their
    time on (`share` of the kernel's wave time), and what is at stake below `min_share` (of other formulas). `headers`
    are, for each file, those of the project that it includes; `sources` maps each of these files to the SHA-256 of the
    profiled text. `inputs` are all that it is of. `warnings`: what is odd about the results that came to the host.
    `captures` are the files that an opened capture was read from, or not, `parts` its runs, processes and GPUs where
    there are several, `notes` what was decided on the way, `copies` its files that hold a source as it was profiled.
    `defects` are what is wrong with the kernels: seen in their text, or of their lanes in this run.
    `library_calls` are calls of libraries that the host computed, by function: they have no time.
    `time`: where the time of the run went; None for a modelled profile, and where launches have no times of their own.
    """

    TAG: ClassVar = ("schema", PROFILE_SCHEMA)
    device: Device
    provenance: Provenance
    source: Literal["emulator", "rocm", "nvidia", "recorded"]
    tool: str
    kernels: tuple[Kernel, ...]
    findings: tuple[Finding, ...]
    diagnoses: tuple[Finding, ...]
    faults: tuple[Fault, ...]
    program: Program
    source_note: str | None
    partial: str | None
    headers: Mapping[str, tuple[str, ...]]
    sources: Mapping[str, str]
    inputs: Inputs
    warnings: tuple[str, ...]
    captures: tuple[CaptureFile, ...]
    parts: tuple[RunPart, ...]
    notes: tuple[str, ...]
    copies: Mapping[str, str]
    defects: tuple[CompileNote, ...]
    time: Timeline | None
    library_calls: Mapping[str, int]

    def kernel(self, name: str) -> Kernel | None:
        """The kernel of that demangled or mangled name."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, Kernel]:
        return {name: k for k in reversed(self.kernels) for name in (k.name, k.mangled)}

    def prepare(self) -> None:
        """Find now what lookups need."""
        _ = self._by_name, self._by_base_name, self._by_file, self._forms

    def kernels_called(self, name: str) -> Sequence[Kernel]:
        """The kernels of that identifier, as it stands in the source."""
        return self._by_base_name.get(name, ())

    @cached_property
    def _by_base_name(self) -> Mapping[str, Sequence[Kernel]]:
        found: dict[str, list[Kernel]] = {}
        for kernel in self.kernels:
            found.setdefault(kernel.base_name, []).append(kernel)
        return found

    def kernels_in(self, file: str) -> Iterator[tuple[Kernel, Definition]]:
        """The kernels defined in that file, and where."""
        yield from self._by_file.get(file, ())

    @cached_property
    def _by_file(self) -> Mapping[str, Sequence[tuple[Kernel, Definition]]]:
        found: dict[str, list[tuple[Kernel, Definition]]] = {}
        for kernel in self.kernels:
            if (place := kernel.definition) is not None:
                found.setdefault(place.file, []).append((kernel, place))
        return found

    def hot_lines(self, file: str) -> Sequence[HotLine]:
        """The lines of that file that cost something, by number."""
        if file not in self._hot_lines:
            rows = self._rows.get(file, {})
            self._hot_lines[file] = [HotLine(n, _summed(rows[n]), rows[n]) for n in sorted(rows)]
        return self._hot_lines[file]

    @cached_property
    def _hot_lines(self) -> dict[str, Sequence[HotLine]]:
        return {}

    @cached_property
    def _rows(self) -> Mapping[str, Mapping[int, list[tuple[Kernel, Line]]]]:
        """The lines of all kernels by file and number: sorted when a file is asked for."""
        found: dict[str, dict[int, list[tuple[Kernel, Line]]]] = {}
        for kernel in self.kernels:
            for row in kernel.lines:
                found.setdefault(row.file, {}).setdefault(row.line, []).append((kernel, row))
        return found

    def diagnosis(self, kernel: Kernel) -> Finding | None:
        """What bounds a kernel in which no formula finds anything."""
        return next((d for d in self.diagnoses if d.mangled == kernel.mangled and not d.share), None)

    def told_of(self, kernel: Kernel) -> Iterator[Finding]:
        """What is said of a kernel's lines beside its findings: causes of hot lines, and hints."""
        return (d for d in self.diagnoses if d.mangled == kernel.mangled and d.share)

    def told_in(self, file: str) -> Iterator[Finding]:
        """What is said of lines of that file beside findings."""
        return (d for d in self.diagnoses if d.file == file and d.line > 0 and d.share)

    def findings_in(self, file: str) -> Iterator[Finding]:
        """The findings whose place is in that file. One of a kernel without debug information has no line: no place."""
        return (f for f in self.findings if f.file == file and f.line > 0)

    def files(self) -> set[str]:
        """Every file that has something to show, or that one of these includes."""
        places = set(self._rows)
        places |= {k.file for k in self.kernels if k.file} | {f.file for f in self.findings if f.file}
        places |= {header for headers in self.headers.values() for header in headers}
        return places | {f.file for f in self.faults if f.file}

    def failure(self) -> str | None:
        """How the program failed, in one line; None when it ended well."""
        # A launch that was refused is the program's own affair, as when it tries out workgroup sizes.
        fault = next((f for f in self.faults if not ((f.refused and self.kernels) or f.left_out)), None)
        if fault is not None:
            place = f"{fault.file}:{fault.line}: " if fault.file else ""
            return f"{place}kernel {base_name(fault.kernel)}: {fault.message}"
        code = self.program.exit_code
        if code is None and self.source == "recorded":
            return None  # how it ended is not in the capture
        if code is None:
            return self.partial or "the program was stopped"
        if code < 0:
            return f"the program was ended by {signal_name(-code)}"
        return f"the program left with exit code {code}" if code else None

    def short_name(self, kernel: Kernel) -> str:
        """As short as tells it from the other kernels: `axpy`, `axpy<float>`, `axpy(float*, int)`."""
        found = ((shown, names) for form, names in self._forms for shown in [form(kernel.name)])
        return next((shown for shown, names in found if names[shown] < 2), kernel.name)

    @cached_property
    def _forms(self) -> tuple[tuple[Callable[[str], str], Counter[str]], ...]:
        return _forms_of(tuple(k.name for k in self.kernels))

    def gpu_share(self, finding: Finding) -> float | None:
        """The part of all GPU time that a finding has at stake; None when the kernel's part is not known."""
        if finding.instances:
            shares = [self._gpu_share(i.mangled, i.kernel, i.share) for i in finding.instances]
            return None if None in shares else sum(share for share in shares if share is not None)
        return self._gpu_share(finding.mangled, finding.kernel, finding.share)

    def _gpu_share(self, mangled: str, name: str, share: float) -> float | None:
        kernel = self.kernel(mangled) or self.kernel(name)
        if kernel is None:
            return share
        return None if kernel.share is None else share * kernel.share


def _summed(costs: Sequence[tuple[Kernel, Line]]) -> float | None:
    """The part of all GPU time that a line takes in all of its kernels; None where no part is known."""
    shares = [share for kernel, row in costs if (share := kernel.gpu_share(row)) is not None]
    return sum(shares) if shares else None
