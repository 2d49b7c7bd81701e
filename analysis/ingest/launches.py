"""Kernel launches of a capture: the kernel trace in any of its versions, or what can stand in for it.

Takes CSV files, gives one record per launch, and counters summed per kernel. Nothing that a table lacks is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.analysis.ingest.tables import Row, integer, number, read_rows, timestamp, triple


@dataclass(frozen=True)
class Launch:
    """One row of the trace. Times are nanoseconds, sizes bytes; None is a value that the table lacks."""

    id: int
    kernel: str
    start_ns: int | None = None
    end_ns: int | None = None
    grid: tuple[int, int, int] | None = None
    workgroup: tuple[int, int, int] | None = None
    agent: str = ""
    lds: int | None = None
    scratch: int | None = None
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None

    @property
    def timed(self) -> bool:
        """Both stamps are there and in order; a launch with damaged stamps has no duration."""
        return self.start_ns is not None and self.end_ns is not None and self.end_ns > self.start_ns


@dataclass
class CounterTable:
    """Counters of one pass (one run of the program), by dispatch."""

    launches: dict[int, Launch] = field(default_factory=dict)
    values: dict[int, dict[str, float]] = field(default_factory=dict)


def read_kernel_trace(path: Path) -> list[Launch]:
    """All launches. Tables before ROCm 6.3 have no Dispatch_Id: there, launches count from 1 in file order."""
    return [_launch(row, number) for number, row in enumerate(read_rows(path), start=1)]


def read_counters(path: Path) -> list[CounterTable]:
    """Long tables, one row per dispatch and counter, split into the passes that they hold.

    A merged table repeats each dispatch with the stamps of every pass. A counter that comes twice in one pass
    (hardware instances) is added up.
    """
    passes: list[CounterTable] = []
    starts: dict[int, list[int | None]] = {}
    for row in read_rows(path):
        dispatch = integer(row, "Dispatch_Id")
        value = number(row, "Counter_Value")
        name = row.get("Counter_Name", "")
        if dispatch is None or value is None or not name:
            continue
        start = timestamp(row, "Start_Timestamp")
        known = starts.setdefault(dispatch, [])
        if start not in known:
            known.append(start)
        index = known.index(start)
        if index == len(passes):
            passes.append(CounterTable())
        table = passes[index]
        if dispatch not in table.launches:
            table.launches[dispatch] = _launch(row, dispatch)
            table.values[dispatch] = {}
        counters = table.values[dispatch]
        counters[name] = counters.get(name, 0.0) + value
    return passes


def launches_of_passes(passes: Sequence[CounterTable]) -> list[Launch]:
    """The launches of one pass, for captures without a kernel trace: the one that also counted GPU cycles."""
    for table in passes:
        if any("GRBM_GUI_ACTIVE" in values for values in table.values.values()):
            return [table.launches[d] for d in sorted(table.launches)]
    return [passes[0].launches[d] for d in sorted(passes[0].launches)] if passes else []


def read_stats(path: Path) -> list[Launch]:
    """Launches rebuilt from kernel statistics: the right number and sum of times, without shapes."""
    launches: list[Launch] = []
    now = 0
    for row in read_rows(path):
        calls = integer(row, "Calls") or 0
        total = integer(row, "TotalDurationNs")
        if total is None:
            continue
        for call in range(calls):
            duration = total // calls + (1 if call < total % calls else 0)
            launches.append(Launch(len(launches) + 1, kernel_name(row["Name"]), now, now + duration))
            now += duration
    return launches


def join_counters(
    launches: Sequence[Launch], passes: Iterable[CounterTable]
) -> tuple[dict[str, dict[str, float]], dict[str, int]]:
    """Counter sums per kernel over the launches of the trace, and over how many launches.

    Each pass is a run of its own, so its dispatch numbers mean nothing to the trace: the n-th launch of a kernel in
    a pass is the n-th one in the trace. A counter that several passes recorded is taken from the first.
    """
    sums: dict[str, dict[str, float]] = {}
    covered: dict[str, int] = {}
    expected: dict[str, int] = {}
    for launch in launches:
        expected[launch.kernel] = expected.get(launch.kernel, 0) + 1
    for table in passes:
        taken: dict[str, set[str]] = {kernel: set(values) for kernel, values in sums.items()}
        seen: dict[str, int] = {}
        for dispatch in sorted(table.values):
            kernel = table.launches[dispatch].kernel
            seen[kernel] = seen.get(kernel, 0) + 1
            if expected.get(kernel) and seen[kernel] > expected[kernel]:
                continue
            into = sums.setdefault(kernel, {})
            for name, value in table.values[dispatch].items():
                if name not in taken.get(kernel, ()):
                    into[name] = into.get(name, 0.0) + value
        for kernel, count in seen.items():
            covered[kernel] = max(covered.get(kernel, 0), count)
    return sums, covered


def kernel_name(text: str) -> str:
    """A kernel's name without the suffixes that some tools leave on it."""
    for suffix in (" [clone .kd]", " (.kd)", ".kd"):
        text = text.removesuffix(suffix)
    return text.strip()


def _launch(row: Row, fallback_id: int) -> Launch:
    dispatch = integer(row, "Dispatch_Id")
    return Launch(
        id=fallback_id if dispatch is None else dispatch,
        kernel=kernel_name(row.get("Kernel_Name", "")),
        start_ns=timestamp(row, "Start_Timestamp"),
        end_ns=timestamp(row, "End_Timestamp"),
        grid=triple(row, "Grid_Size") or _flat(row, "Grid_Size"),
        workgroup=triple(row, "Workgroup_Size") or _flat(row, "Workgroup_Size"),
        agent=row.get("Agent_Id", ""),
        lds=integer(row, "LDS_Block_Size"),
        scratch=integer(row, "Scratch_Size"),
        vgprs=integer(row, "VGPR_Count"),
        agprs=integer(row, "Accum_VGPR_Count"),
        sgprs=integer(row, "SGPR_Count"),
    )


def _flat(row: Row, column: str) -> tuple[int, int, int] | None:
    """Counter tables give only the product of the three sizes."""
    value = integer(row, column)
    return None if value is None else (value, 1, 1)
