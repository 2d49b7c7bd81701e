"""One launch of a kernel trace as a record, for those who time single runs.

Takes a CSV file, gives its launches. Whole captures are read by `read_captures`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.ingest.formats.rocprof_csv import read_launch_table


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
    """All launches. Tables before ROCm 6.3 have no Dispatch_Id: there, launches count from 1 in file order."""
    (columns,) = read_launch_table(path).launches
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
