"""Pages of Nsight Compute as CSV: the raw page (a row per launch) and the source page (a row per line or instruction).

Takes the file, gives a `Recorded`. Columns of the source page are found by position, since two are called "Source".
A `-` is no value, `29(31)` is 29. The report has durations, no time stamps: launches stand one behind the other.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import MISSING, Integers, integers, numbers, texts
from hipscope.analysis.ingest.formats.recording import YEAR_NS, CounterColumns, LaunchColumns, Recorded
from hipscope.analysis.ingest.formats.tables import encoding_of
from hipscope.analysis.ingest.formats.traces import Trace, TracedInstruction, file_name
from hipscope.analysis.profile import Frame, MemoryPattern, Sampled, StallReason

_PREFIXES = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SECONDS = {
    "s": 1e9,
    "second": 1e9,
    "ms": 1e6,
    "msecond": 1e6,
    "us": 1e3,
    "usecond": 1e3,
    "ns": 1.0,
    "nsecond": 1.0,
}
_UNITS = ("byte", "hz", "cycle", "inst", "sector", "request", "thread", "warp", "block", "sample", "pass")
_TIME = "gpu__time_duration.sum"
_SECTOR = 32  # bytes
_FIRST = 8  # columns of the raw page that stand before its metrics
STALLS: Mapping[str, StallReason] = {
    "barrier": StallReason.BARRIER,
    "branch_resolving": StallReason.INSTRUCTION_FETCH,
    "dispatch": StallReason.OTHER,
    "drain": StallReason.MEMORY_QUEUE,
    "imc": StallReason.CONSTANT_CACHE,
    "lg": StallReason.MEMORY_QUEUE,
    "long_sb": StallReason.GLOBAL_MEMORY,
    "math": StallReason.MATH_PIPE,
    "membar": StallReason.FENCE,
    "mio": StallReason.MEMORY_QUEUE,
    "misc": StallReason.OTHER,
    "no_inst": StallReason.INSTRUCTION_FETCH,
    "not_selected": StallReason.NOT_SELECTED,
    "short_sb": StallReason.LDS,
    "sleep": StallReason.SLEEP,
    "sleeping": StallReason.SLEEP,
    "tex": StallReason.TEXTURE,
    "wait": StallReason.DEPENDENCY,
}
_SHARED = re.compile(r"(^|\s)(LDS|STS|LDSM|STSM|ATOMS|UBLKCP|LDGSTS|REDUX|SHFL)\b")
_JUMP = re.compile(r"(?:^|\s)(?:BRA|BRX|BRXU|JMP|JMX)\b(?:.*?(0x[0-9a-f]+))?")
_SPACES: Mapping[str, tuple[str, ...]] = {
    "global": ("Global", "Generic"),
    "lds": ("Shared",),
    "scratch": ("Local",),
}


def read_raw_page(path: Path) -> Recorded:
    """Launches with durations, sizes and registers, and each metric as a counter, in base units."""
    rows = _rows(path)
    header, units = next(rows, []), next(rows, [])
    if "Kernel Name" not in header or "ID" not in header:
        raise ValueError("it has no column `Kernel Name`")
    places = {name: place for place, name in enumerate(header)}
    kept = [row for row in rows if len(row) == len(header)]
    if not kept:
        raise ValueError("no launch is in it")

    def cells(name: str) -> list[str]:
        place = places.get(name)
        return [row[place] if place is not None else "" for row in kept]

    def metric(name: str) -> list[float]:
        place = places.get(name)
        if place is None:
            return [np.nan] * len(kept)
        return [number(row[place]) * _factor(units[place]) for row in kept]

    start, end, said = stamps(metric(_TIME))
    blocks, groups = [triple(c) for c in cells("Grid Size")], [triple(c) for c in cells("Block Size")]
    sizes = {f"workgroup_{a}": integers([g[i] for g in groups]) for i, a in enumerate("xyz")}
    sizes |= {
        f"grid_{a}": integers([b[i] * g[i] for b, g in zip(blocks, groups, strict=True)])
        for i, a in enumerate("xyz")
    }
    launches = LaunchColumns.of(
        texts(cells("Kernel Name")),
        texts(f"GPU {c}" for c in cells("Device")),
        id=integers([place + 1 for place in range(len(kept))]),
        start=start,
        end=end,
        process=integers(cells("Process ID")),
        stream=integers(cells("Stream")),
        vgprs=integers(metric("launch__registers_per_thread")),
        static_lds=integers(metric("launch__shared_mem_per_block_static")),
        dynamic_lds=integers(metric("launch__shared_mem_per_block_dynamic")),
        **sizes,
    )
    rows_of, names, values = [], [], []
    for place, name in enumerate(header[_FIRST:], start=_FIRST):
        if "__" not in name or name.startswith(("device__", "launch__")):
            continue
        factor = _factor(units[place])
        for row, cell in enumerate(r[place] for r in kept):
            value = number(cell)
            if value == value:
                rows_of.append(row)
                names.append(name)
                values.append(value * factor)
    counters = CounterColumns(launches, np.array(rows_of, dtype=np.int64), texts(names), numbers(values))
    return Recorded(
        launches=[launches],
        counters=[counters] if names else [],
        agents=[_agent(cells, metric)],
        tool="Nsight Compute",
        nvidia=True,
        notes=[said],
    )


def stamps(durations: Sequence[float]) -> tuple[Integers, Integers, str]:
    """Starts and ends of launches that have durations only, or not even these, and what to say of it."""
    told = np.array(durations, dtype=np.float64)
    known = (told > 0) & (told < YEAR_NS)
    whole = np.where(known, told, 0).round().astype(np.int64)
    ends = np.cumsum(whole)
    said = "launches have durations, no time stamps: they stand one behind the other"
    if not known.any():
        said = f"launches have no time: {_TIME} was not collected"
    return np.where(known, ends - whole, MISSING), np.where(known, ends, MISSING), said


def read_source_page(path: Path) -> Recorded:
    """Samples, executions and memory accesses by instruction, with the source lines that it came from.

    Raises ValueError when no instruction is in it.
    """
    sections: list[tuple[str, _Section]] = []
    section: _Section | None = None
    file = ""
    line = 0
    columns: _Columns | None = None
    damaged = 0
    for row in _rows(path):
        words = [cell for cell in row if cell]
        if len(words) <= 2 and words and words[0] in ("File Path", "Function Name", "Kernel Name"):
            value = words[1] if len(words) > 1 else ""
            if words[0] == "File Path":
                file, section = file_name(value), None
                continue
            last = sections[-1] if sections else ("", None)
            if words[0] == "Function Name" and last[0] == value and last[1] is not None:
                section = last[1]  # the same launch, with the lines of another file
            else:
                section = _Section()
                sections.append((value, section))
            line = 0
        elif "Address" in row and "Source" in row:
            columns = _Columns.of(row)
        elif columns is not None and section is not None:
            if len(row) < columns.width:
                damaged += 1
                continue
            if columns.line is not None and (found := re.match(r"\d+", row[columns.line])):
                line = int(found[0])
            address = row[columns.address]
            if address.startswith("0x"):
                section.add(
                    int(address, 16), row, columns, Frame(file=file, line=line) if file and line else None
                )
    traces = [
        Trace(None, "", name, _by_address(part.instructions), sampled=True)
        for name, part in sections
        if part.instructions
    ]
    if not traces:
        raise ValueError("no instruction is in the page: print it with --print-source sass or cuda,sass")
    notes = [f"{damaged} rows are cut short and left out"] if damaged else []
    return Recorded(traces=traces, tool="Nsight Compute", nvidia=True, notes=notes)


def _by_address(instructions: Mapping[int, TracedInstruction]) -> tuple[TracedInstruction, ...]:
    """In order. A wait on the short scoreboard before any access to shared memory is for another result.

    What else it stands for are special registers and functions (S2R, MUFU) and conversions. A jump from behind the
    first access to before it leaves all as they are.
    """
    ordered = tuple(instructions[address] for address in sorted(instructions))
    first = next((i.address for i in ordered if _SHARED.search(i.text)), None)
    for instruction in ordered:
        if first is not None and instruction.address >= first:
            jump = _JUMP.search(instruction.text)
            if jump is not None and (jump[1] is None or int(jump[1], 16) < first):
                return ordered
    for instruction in ordered:
        if StallReason.LDS in instruction.stalls and (first is None or instruction.address < first):
            stalls = dict(instruction.stalls)
            waited = stalls.pop(StallReason.LDS)
            stalls[StallReason.DEPENDENCY] = stalls.get(StallReason.DEPENDENCY, 0.0) + waited
            instruction.stalls = stalls
            if instruction.samples is not None:
                instruction.samples = instruction.samples.model_copy(update={"reasons": stalls})
    return ordered


@dataclass(frozen=True)
class _Columns:
    """Where a page has what: the second "Source" is the instruction, where there are two."""

    places: Mapping[str, int]
    address: int
    text: int
    line: int | None
    width: int

    @classmethod
    def of(cls, header: Sequence[str]) -> _Columns:
        places: dict[str, int] = {}
        for place, name in enumerate(header):
            places.setdefault(name, place)
        address = places["Address"]
        text = next((i for i in range(address, len(header)) if header[i] == "Source"), None)
        if text is None:
            raise ValueError("its header has no column of instructions")
        return cls(places, address, text, places.get("Line No"), len(header))

    def number(self, row: Sequence[str], name: str) -> float:
        place = self.places.get(name)
        value = number(row[place]) if place is not None else 0.0
        return value if value == value else 0.0

    def word(self, row: Sequence[str], name: str) -> str:
        place = self.places.get(name)
        return row[place] if place is not None else ""


@dataclass
class _Section:
    """The instructions of one launch. A page repeats an instruction under each line that it was inlined through."""

    instructions: dict[int, TracedInstruction] = field(default_factory=dict)

    def add(self, address: int, row: Sequence[str], columns: _Columns, frame: Frame | None) -> None:
        known = self.instructions.get(address)
        if known is None:
            self.instructions[address] = _instruction(
                len(self.instructions) + 1, address, row, columns, frame
            )
        elif frame is not None and frame not in known.source:
            known.source = (*known.source, frame)


def _instruction(
    line: int, address: int, row: Sequence[str], columns: _Columns, frame: Frame | None
) -> TracedInstruction:
    total = columns.number(row, "# Samples")
    stalls: dict[StallReason, float] = {}
    for name, reason in STALLS.items():
        if count := columns.number(row, f"stall_{name}"):
            stalls[reason] = stalls.get(reason, 0.0) + count
    stalled = min(total, sum(stalls.values()))
    return TracedInstruction(
        line=line,
        text=row[columns.text].strip(),
        code_object=0,
        address=address,
        source=(frame,) if frame is not None else (),
        hits=int(columns.number(row, "Instructions Executed")),
        lanes=int(columns.number(row, "Predicated-On Thread Instructions Executed")),
        latency=total,
        stall=stalled,
        stalls=stalls,
        memory=_pattern(row, columns),
        samples=Sampled(total=int(total), stalled=int(stalled), reasons=stalls) if total else None,
    )


def _pattern(row: Sequence[str], columns: _Columns) -> MemoryPattern | None:
    """Sectors of the L2 for global accesses, wavefronts of the L1 for shared ones."""
    word = columns.word(row, "Address Space")
    space = next((ours for ours, words in _SPACES.items() if word.startswith(words)), None)
    if space is None:
        return None
    bits = number(columns.word(row, "Access Size"))
    executed = int(columns.number(row, "Instructions Executed"))
    wavefronts = columns.number(row, "L1 Wavefronts Shared") if space == "lds" else 0.0
    kind = _kind(columns.word(row, "Access Activity"), row[columns.text])
    return MemoryPattern.model_validate(
        {
            "space": space,
            "kind": kind,
            "bytes_per_lane": int(bits) // 8 if bits == bits else 4,
            "accesses": executed,
            "lanes": int(columns.number(row, "Predicated-On Thread Instructions Executed")),
            "line_bytes": _SECTOR,
            "lines_needed": columns.number(row, "L2 Theoretical Sectors Global Ideal"),
            "lines_used": columns.number(row, "L2 Theoretical Sectors Global"),
            "lds_cycles": wavefronts,
            "lds_conflict_cycles": max(0.0, wavefronts - columns.number(row, "L1 Wavefronts Shared Ideal"))
            if wavefronts
            else 0.0,
        }
    )


def _kind(operation: str, text: str) -> str:
    """By the page's own word; for reductions, where that is `-`, by the instruction."""
    words = [w for w in text.split() if not w.startswith("@")]
    said = operation.lower() if operation.strip("-") else (words[0].lower() if words else "")
    if said.startswith(("atom", "red")):
        return "atomic"
    return "store" if said.startswith("st") else "load"


def number(cell: str) -> float:
    """`1,024` is 1024, `29(31)` is 29; `-`, nothing and words are NaN."""
    found = re.match(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?", cell.strip())
    if not found:
        return np.nan
    try:
        return float(found[0].replace(",", ""))
    except ValueError:
        return np.nan


def _agent(cells: object, metric: object) -> Agent:
    assert callable(cells)
    assert callable(metric)

    def attribute(name: str) -> int | None:
        value = metric(f"device__attribute_{name}")[0]
        return int(value) if value == value and value > 0 else None

    major, minor = attribute("compute_capability_major"), attribute("compute_capability_minor")
    warps = attribute("max_warps_per_multiprocessor")
    clock = attribute("clock_rate")
    return Agent(
        node=None,
        logical_node=None,
        facts=DeviceFacts(
            arch=f"{major}.{minor or 0}" if major else None,
            product=cells("device__attribute_display_name")[0] or None,
            compute_units=attribute("multiprocessor_count"),
            clock_mhz=clock // 1000 if clock else None,
            max_waves_per_simd=warps // 4 if warps else None,
            wave_size=attribute("warp_size") or 32,
            lds_bytes=attribute("max_shared_memory_per_multiprocessor"),
        ),
    )


def scaled(cell: str, unit: str) -> float:
    """A number in the base unit of its metric; times are nanoseconds."""
    return number(cell) * _factor(unit)


def _factor(unit: str) -> float:
    """What a metric's unit is of its base unit; times are nanoseconds."""
    unit = unit.split("/")[0]
    if unit in _SECONDS:
        return _SECONDS[unit]
    prefix = unit[:1]
    return _PREFIXES[prefix] if prefix in _PREFIXES and unit[1:].lower().startswith(_UNITS) else 1.0


def triple(cell: str) -> tuple[int, int, int]:
    """`(32, 8, 1)` as numbers; sizes that are not there are 1."""
    found = [int(n) for n in re.findall(r"\d+", cell)[:3]]
    x, y, z = (*found, 1, 1, 1)[:3]
    return x, y, z


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding=encoding_of(path), errors="replace", newline="") as stream:
        try:
            yield from (row for row in csv.reader(stream) if row and not row[0].startswith("==PROF=="))
        except csv.Error as error:
            raise ValueError(str(error)) from None
