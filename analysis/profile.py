"""The Profile: the data of one run of a program about its kernels, from any tool.

Data only. Readers (`hipscope.analysis.ingest`) build it, plain functions elsewhere compute from it, nothing in
here knows about files, LSP or a particular source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from operator import eq
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NewType, Protocol, overload

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator

if TYPE_CHECKING:
    from pandas import DataFrame

Cycles = NewType("Cycles", float)
Bytes = NewType("Bytes", int)
Nanoseconds = NewType("Nanoseconds", float)
KernelName = NewType("KernelName", str)


class _Record(BaseModel):
    """Immutable, and an unknown field is an error: a typo in a reader must not pass silently."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Provenance(StrEnum):
    """Where a number comes from. A modelled time is never shown as a measured one."""

    MEASURED = "measured"
    MODELLED = "modelled"


class Source(StrEnum):
    """Which of the four sources recorded the capture."""

    EMULATOR = "emulator"
    ROCM = "rocm"
    NVIDIA = "nvidia"
    RECORDED = "recorded"


class StallReason(StrEnum):
    """Why a wave did not issue. The first seven are waits for something that an earlier instruction asked for."""

    GLOBAL_MEMORY = "global_memory"
    SCRATCH_MEMORY = "scratch_memory"
    SCALAR_MEMORY = "scalar_memory"
    LDS = "lds"
    ATOMIC = "atomic"
    BARRIER = "barrier"
    DEPENDENCY = "dependency"
    INSTRUCTION_FETCH = "instruction_fetch"
    ISSUE_CONTENTION = "issue_contention"
    PIPE_BUSY = "pipe_busy"
    SLEEP = "sleep"
    OTHER = "other"
    MEMORY_QUEUE = "memory_queue"
    MATH_PIPE = "math_pipe"
    TEXTURE = "texture"
    FENCE = "fence"
    NOT_SELECTED = "not_selected"
    CONSTANT_CACHE = "constant_cache"


class Frame(_Record):
    """One level of an inline chain; `column` 0 means the compiler gave none."""

    file: str
    line: int
    column: int = 0
    function: str = ""


class MemoryPattern(_Record):
    """What the accesses of one instruction (or one source line) touched, summed over all its executions.

    `lines_*` count cache lines of `line_bytes` bytes: `needed` if every wave's bytes had been packed densely,
    `used` is how many distinct lines the waves really touched. `lds_cycles` are the cycles the LDS was busy with
    these accesses, `lds_conflict_cycles` those of them that bank conflicts added.
    """

    space: Literal["global", "lds", "scratch", "scalar"]
    kind: Literal["load", "store", "atomic"]
    bytes_per_lane: int
    accesses: int
    lanes: int
    line_bytes: int = 128
    lines_needed: float = 0
    lines_used: float = 0
    l1_hits: float | None = None
    l2_hits: float | None = None
    memory_lines: float | None = Field(None, description="lines that came from or went to HBM/MALL")
    distinct_lines: float | None = Field(
        None,
        description="different lines touched in a dispatch, summed over dispatches; estimated, good to 3 %",
    )
    lds_cycles: float = 0
    lds_conflict_cycles: float = 0
    atomic_conflicts: float = Field(
        0, description="lanes that had to wait for another lane of their wave on the same address"
    )
    memory_kinds: dict[str, float] = Field(
        {},
        description="accesses to memory that is no plain device memory, by its kind: managed, host, host_noncoherent, "
        "fine_grained or uncached",
    )
    same_address_share: float | None = Field(
        None,
        description="share of this instruction's atomic operations on its most used cache line, over the dispatch",
    )


class Sampled(_Record):
    """PC samples at one instruction: all, those of waves that did not issue, and why they did not."""

    total: int
    stalled: int
    reasons: dict[StallReason, float] = {}


class Instruction(_Record):
    """One machine instruction with its totals over all profiled dispatches of its kernel.

    Cycles are summed over waves, as thread trace does: `latency` = `stall` + issue cycles. Where the kernel was
    sampled and not traced, both count samples. `samples` stand beside cycles and are never added to them.
    `waited_for` maps the index of a producing instruction to the part of `stall` that was spent waiting for it.
    """

    index: int
    address: int
    code_object: int = 0
    text: str
    source: tuple[Frame, ...] = Field((), description="inline chain, innermost first")
    hits: int = 0
    lanes: int = Field(0, description="active lanes, summed over `hits`")
    latency: float = 0
    stall: float = 0
    stalls: dict[StallReason, float] = {}
    waited_for: dict[int, float] = {}
    memory: MemoryPattern | None = None
    samples: Sampled | None = None


class Dispatch(NamedTuple):
    """One launch of a kernel. `grid` counts work-items, not workgroups; times are whole nanoseconds where measured.

    `profiled`: the kernel's counters include it.
    """

    id: int
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    start_ns: float
    end_ns: float
    dynamic_lds: int = 0
    profiled: bool = True

    @property
    def time_ns(self) -> float:
        """Duration in nanoseconds; its provenance is that of the Profile."""
        return float(self.end_ns - self.start_ns)


class Launches(Sequence[Dispatch]):
    """Launches of one kernel that lie in columns: each `Dispatch` is made when it is asked for.

    `make` gives those of a slice; `time_ns` is the sum of their durations.
    """

    def __init__(self, make: Callable[[slice], Iterable[Dispatch]], length: int, time_ns: float) -> None:
        self._make = make
        self._length = length
        self.time_ns = time_ns

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Dispatch: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Dispatch]: ...
    def __getitem__(self, place: int | slice) -> Dispatch | Sequence[Dispatch]:
        if isinstance(place, slice):
            return tuple(self._make(place))
        at = range(self._length)[place]
        return next(iter(self._make(slice(at, at + 1))))

    def __iter__(self) -> Iterator[Dispatch]:
        return iter(self._make(slice(None)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def _as_it_is(value: Any) -> Any:
    """Objects that no JSON holds."""
    return value


def _launches(value: Any) -> Sequence[Dispatch]:
    """Launches as they are; those that come from JSON are lists."""
    if isinstance(value, Launches) or (
        isinstance(value, tuple) and all(isinstance(d, Dispatch) for d in value)
    ):
        return value
    return tuple(
        d if isinstance(d, Dispatch) else Dispatch(d[0], tuple(d[1]), tuple(d[2]), *d[3:]) for d in value
    )


CounterKind = Literal["count", "ratio", "level"]


class Counted(NamedTuple):
    """What a kernel's counter covers: how many launches, and their time; None where they have none.

    A `ratio` is the mean over these launches by its own weight, a `count` and a `level` are sums.
    """

    launches: int
    time_ns: float | None
    kind: CounterKind
    run: int
    """The pass: counters of one pass are of the same run of the program."""


class Resources(_Record):
    """What the code object says a kernel needs; `None` when the source lacks it."""

    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    lds_bytes: int | None = Field(None, description="static plus dynamic, of one workgroup")
    scratch_bytes: int | None = Field(None, description="per work-item")
    vgpr_spills: int | None = None
    sgpr_spills: int | None = None
    max_workgroup_size: int | None = None
    wave_size: int | None = Field(
        64, description="None where it is not known, as in captures of GPUs that have both"
    )


class Kernel(_Record):
    """One kernel of the program with everything recorded about it.

    `counters` use rocprofv3's names and are sums over the launches that `counted` says; a ratio is their mean by its
    own weight. One that was not recorded, or a ratio without its weight, is absent. `file`/`line` are the kernel's
    definition.
    """

    name: KernelName
    mangled: str
    file: str | None = None
    line: int | None = None
    dispatches: Annotated[Sequence[Dispatch], PlainValidator(_launches), PlainSerializer(list)]
    without_time: int = Field(
        0, description="launches of which no time is known; they are not among `dispatches`"
    )
    resources: Resources
    counters: dict[str, float] = {}
    counted: Annotated[
        Mapping[str, Counted],
        PlainValidator(lambda v: {k: Counted(*c) for k, c in v.items()}),
        PlainSerializer(dict),
    ] = Field(
        default_factory=dict,
        description="of measured counters, what each covers; empty: all profiled launches",
    )
    counter_instances: dict[str, tuple[float, ...]] = Field(
        default_factory=dict,
        description="of counters that the capture has apart by instance of the hardware (an XCD, a shader engine, a "
        "channel), the part of each: the sum of these is the counter",
    )
    instructions: tuple[Instruction, ...] = ()
    partial: str | None = Field(None, description="why the record does not cover all dispatches, if so")
    sampled: bool = Field(False, description="latency and stall count samples, not cycles")
    bound_by: str | None = Field(None, description="what the emulator's model says limits the kernel")
    busy: dict[str, float] = Field(
        default_factory=dict,
        description="by unit, the part of the launches' time for which it would be busy at the highest rate that it "
        "reaches; `launch`: an empty launch; `round_trip`: one with as many waves, each of which reads its "
        "arguments, waits for memory once and stores, as far as this kernel does; from the emulator only",
    )

    @property
    def time_ns(self) -> float:
        """Summed duration of all dispatches in nanoseconds."""
        if isinstance(self.dispatches, Launches):
            return self.dispatches.time_ns
        return sum(d.time_ns for d in self.dispatches)

    def rate(self, name: str) -> float | None:
        """A counter per nanosecond of the launches that it was counted on; None for a ratio, or without time."""
        value, counted = self.counters.get(name), self.counted.get(name)
        if value is None or (counted is not None and counted.kind == "ratio"):
            return None
        if counted is None:
            time_ns: float | None = sum(d.time_ns for d in self.dispatches if d.profiled)
        else:
            time_ns = counted.time_ns
        return value / time_ns if time_ns else None


class DeviceLayout(NamedTuple):
    """What waves are laid out on: CUs, SIMDs of each, lanes of a wave."""

    compute_units: int
    simds_per_cu: int
    wave_size: int

    @property
    def simds(self) -> int:
        """SIMDs of the whole device."""
        return self.compute_units * self.simds_per_cu


class Ceiling(_Record):
    """The most of something that a device does in a second, and who says so.

    `per_s` is what to compare with. `peak_per_s` is what its units and clock come to where `per_s` was measured.
    """

    per_s: float
    basis: Literal["measured", "data sheet", "computed"]
    source: str
    peak_per_s: float | None = None


class Device(_Record):
    """The GPU the profile is of; what is not known of it is None, and no other device's number stands in for it.

    A CU of NVIDIA's is an SM, a SIMD one of its schedulers. `vgprs_per_lane` are those of a wave of `wave_size`, of
    both kinds where they share a file (`unified_registers`). `cus_per_workgroup` is 2 where a workgroup runs on the CUs
    of a WGP. `sgpr_limit`: scalar registers can limit the waves. `barriers_per_cu` are workgroups of several waves,
    `groups_per_cu` any. `partition` is the mode (CPX, ...) when the device is a part of a GPU. `ceilings`: by level of
    memory (`hbm`, `mall`, `l2`, `l1`, `lds`) in bytes, by unit and data type (`vector_f32`, `matrix_bf16`, `sparse_f8`)
    in operations, `issue` and `valu` in instructions; the four peaks before it are computed or of data sheets.
    """

    name: str = "unknown device"
    arch: str = ""
    compute_units: int | None = None
    simds_per_cu: int | None = None
    xcds: int | None = None
    clock_mhz: float | None = None
    wave_size: int | None = None
    max_waves_per_simd: int | None = None
    vgprs_per_lane: int | None = None
    vgpr_granule: int | None = None
    unified_registers: bool | None = None
    sgpr_limit: bool | None = None
    lds_bytes: int | None = None
    lds_granule: int | None = None
    lds_reserved: int = 0
    cus_per_workgroup: int = 1
    barriers_per_cu: int | None = None
    groups_per_cu: int | None = None
    shader_engines: int | None = None
    l2_channels: int | None = None
    partition: str | None = None
    hbm_bytes_per_s: float | None = None
    l2_bytes_per_s: float | None = None
    flops_fp32: float | None = None
    flops_fp64: float | None = None
    ceilings: Mapping[str, Ceiling] = Field(default_factory=dict)

    @property
    def layout(self) -> DeviceLayout | None:
        """Where waves go; None when a part of it is not known."""
        if not self.compute_units or not self.simds_per_cu or not self.wave_size:
            return None
        return DeviceLayout(self.compute_units, self.simds_per_cu, self.wave_size)


class CaptureFile(_Record):
    """One file or folder of a capture, and what came of it."""

    path: str
    format: str | None = Field(description="its format in words; None where no reader knows it")
    read: bool
    why: str | None = Field(None, description="why it was not read, or what of it was left out")


class RunPart(_Record):
    """The launches of one process on one GPU, in one run of the program."""

    run: str = Field(
        description="what tells the run from others: its folder or database, relative to the capture"
    )
    process: int | None = None
    gpu: str = Field("", description="as the capture calls it: `Agent 4`, a node number")
    launches: int
    time_ns: float


class ProgramRun(_Record):
    """How the profiled program ended."""

    command: tuple[str, ...]
    exit_code: int | None = Field(description="None when it was stopped")
    output: str


class Fault(_Record):
    """A dispatch that could not be finished, or did something it must not do.

    `refused`: it never began, and the call that launches said so to the program, which may have expected it.
    `left_out`: an access out of bounds that did not stop it, because the run was to keep going.
    """

    kernel: KernelName
    message: str
    refused: bool = False
    left_out: bool = False
    address: int | None = None
    instruction: str | None = None
    source: tuple[Frame, ...] = ()


Timing = Literal["recorded", "serialized", "none"]
"""Of launches: they have own stamps; counters were collected, so that one ran at a time; they have only durations."""


class Tables(Protocol):
    """The columns of a capture as pandas frames, made when they are asked for. Missing values are NA."""

    @property
    def timing(self) -> Timing:
        """Whether the stamps of launches say when they ran."""

    @property
    def launches(self) -> DataFrame:
        """A row per launch: kernel, agent, queue, stream, process, thread, correlation, times, sizes, registers."""

    def launches_with(self, *names: str) -> DataFrame:
        """Kernel, agent and some of the columns of `launches`."""

    @property
    def counters(self) -> DataFrame:
        """A row per counter and launch of a pass: kernel, launch, run, counter, value."""

    @property
    def samples(self) -> DataFrame:
        """A row per kernel and instruction that was sampled: total, stalled, and a column per reason."""

    @property
    def traced(self) -> DataFrame:
        """A row per kernel and instruction that was traced: hits, latency, stall, idle cycles by reason."""

    def events(self, kind: str) -> DataFrame:
        """API calls, copies, allocations or markers, as the capture has them."""


class Profile(_Record):
    """One capture, read and joined. Kernels are sorted by time, longest first."""

    source: Source
    provenance: Provenance
    device: Device
    kernels: tuple[Kernel, ...]
    program: ProgramRun
    faults: tuple[Fault, ...] = ()
    partial: str | None = Field(None, description="what was not covered and why; None when all was")
    warnings: tuple[str, ...] = Field(
        (), description="what is odd about the program's results: all NaN, never written"
    )
    library_calls: Mapping[str, int] = Field(
        default_factory=dict,
        description="calls of libraries that the host computed, by function; they have no time",
    )
    untimed: Mapping[str, int] = Field(
        default_factory=dict, description="launches that have no time and are in no kernel, by mangled name"
    )
    tool: str = Field("", description="the tool and version that recorded it")
    source_note: str | None = Field(None, description="why a GPU of this machine was not used, if so")
    devices: tuple[Device, ...] = Field(
        (), description="all GPUs of the capture; `device` is that of the kernels"
    )
    tables: Annotated[Tables | None, PlainValidator(_as_it_is)] = Field(
        None, exclude=True, repr=False, description="launches, counters, samples and events as frames"
    )
    captures: tuple[CaptureFile, ...] = Field((), description="the files that it was read from, or not")
    parts: tuple[RunPart, ...] = Field((), description="runs, processes and GPUs, where it is of several")
    notes: tuple[str, ...] = Field(
        (), description="what was decided on the way: sources found, launches left out"
    )

    def kernel(self, name: str) -> Kernel | None:
        """The kernel of that demangled or mangled name, or None."""
        return next((k for k in self.kernels if name in (k.name, k.mangled)), None)
