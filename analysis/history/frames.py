"""The history of a project as a pandas frame: a row for each kernel of each profile, oldest first."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.analysis.history.store import HistoryEntry, KernelRow, kernel_rows, project_of

if TYPE_CHECKING:
    import pandas


def frame(project: Path | str) -> pandas.DataFrame:
    """Time, commit, device and provenance of each profile, with its kernels' times and resources.

    Raises HipscopeError.
    """
    import pandas

    project = project_of(Path(project), Path(project))
    columns = [f.name for kind in (HistoryEntry, KernelRow) for f in fields(kind)]
    rows = [{**asdict(entry), **asdict(row)} for entry, row in kernel_rows(project)]
    found = pandas.DataFrame(rows, columns=columns)
    found["time"] = pandas.to_datetime(found["time"], utc=True)
    found["dirty"] = found["dirty"].astype(bool)
    return found
