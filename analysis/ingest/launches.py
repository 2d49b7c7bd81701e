"""What one run of a profiler left: its launches as records, and the names of its counters.

Takes the folder of the run, gives what its tables or databases hold. Whole captures are read by `read_captures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.ingest.formats.recording import LaunchColumns, Recorded
from hipscope.analysis.ingest.formats.rocpd import is_rocpd, read_rocpd
from hipscope.analysis.ingest.formats.rocprof_csv import read_launch_table, read_long_counters


@dataclass(frozen=True)
class Launch:
    """One row of the trace. Times are nanoseconds; None is a value that the table lacks."""

    id: int
    kernel: str
    start_ns: int | None = None
    end_ns: int | None = None
    grid: tuple[int, int, int] | None = None
    workgroup: tuple[int, int, int] | None = None
    lds: int | None = None
    vgprs: int | None = None
    agprs: int | None = None

    @property
    def timed(self) -> bool:
        """Both stamps are there and in order; a launch with damaged stamps has no duration."""
        return self.start_ns is not None and self.end_ns is not None and self.end_ns > self.start_ns


def read_kernel_trace(path: Path) -> list[Launch]:
    """All launches of a table. Those before ROCm 6.3 have no Dispatch_Id: there, launches count from 1."""
    (columns,) = read_launch_table(path).launches
    return _records(columns)


def launches_in(folder: Path) -> list[Launch]:
    """All launches that one run left in a folder: in tables, else in databases (ROCm 7.0 and later)."""
    tables = [
        launch for path in sorted(folder.rglob("*kernel_trace.csv")) for launch in read_kernel_trace(path)
    ]
    return tables or [
        launch
        for recorded in _databases(folder)
        for columns in recorded.launches
        for launch in _records(columns)
    ]


def counters_in(folder: Path) -> frozenset[str]:
    """The counters of which one run left a value."""
    tables = [read_long_counters(path) for path in sorted(folder.rglob("*counter_collection.csv"))]
    found = (columns for recorded in (*tables, *_databases(folder)) for columns in recorded.counters)
    return frozenset(name for columns in found for name in columns.name.used())


def _databases(folder: Path) -> Iterator[Recorded]:
    """Those that can be read: a run that was ended leaves half of one."""
    for path in sorted(folder.rglob("*.db")):
        if is_rocpd(path):
            with suppress(ValueError):
                yield read_rocpd(path)


def _records(columns: LaunchColumns) -> list[Launch]:
    return [
        Launch(
            id=int(columns.id[row]),
            kernel=columns.kernel[row],
            start_ns=columns.cell(row, "start"),
            end_ns=columns.cell(row, "end"),
            grid=columns.size(row, "grid") if columns.cell(row, "grid_x") is not None else None,
            workgroup=columns.size(row, "workgroup")
            if columns.cell(row, "workgroup_x") is not None
            else None,
            lds=columns.cell(row, "static_lds"),
            vgprs=columns.cell(row, "vgprs"),
            agprs=columns.cell(row, "agprs"),
        )
        for row in range(len(columns))
    ]
