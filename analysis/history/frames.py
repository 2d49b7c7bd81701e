"""The history of a project as a pandas frame: a row for each kernel of each profile, oldest first."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.analysis.history.store import HistoryEntry, KernelRow, kernel_rows, project_of, readings

if TYPE_CHECKING:
    import pandas


def frame(project: Path | str) -> pandas.DataFrame:
    """Time, commit, device and provenance of each profile, with its kernels' times, resources, counters and metrics.

    Counters (`SQ_WAVES`) and metrics (`metric.l2_hit`) are means of the launches that they were recorded of, which took
    `launch_ns`; what was not recorded is NaN. Raises HipscopeError.
    """
    import pandas

    project = project_of(Path(project), Path(project))
    columns = [f.name for kind in (HistoryEntry, KernelRow) for f in fields(kind) if f.name != "counters"]
    kept = kernel_rows(project)
    rows = [{**asdict(entry), **asdict(row)} for entry, row in kept]
    numbers = pandas.DataFrame([readings(row) for _, row in kept], dtype=float)
    found = pandas.concat([pandas.DataFrame(rows, columns=columns), numbers], axis=1)
    found["time"] = pandas.to_datetime(found["time"], utc=True)
    found["dirty"] = found["dirty"].astype(bool)
    return found
