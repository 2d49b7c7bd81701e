"""The history of a project as a pandas frame: a row for each kernel of each profile, oldest first."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.analysis.errors import MissingTool, UsageError
from hipscope.analysis.history.store import HistoryEntry, KernelRow, kernel_rows, project_of
from hipscope.analysis.system.python_packages import install_extra

if TYPE_CHECKING:
    import pandas

TABLE_FORMS = (".csv", ".parquet")


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


def check_table_form(path: Path) -> None:
    """Raises UsageError for a file of another form than those of tables, MissingTool where the packages lack."""
    if path.suffix not in TABLE_FORMS:
        raise UsageError(f"{path}: not a table", "name a file that ends in .csv or .parquet")
    if path.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise MissingTool("Parquet files need the packages of the extra `history`", install_extra("history"))


def table(found: pandas.DataFrame, suffix: str) -> bytes:
    """The frame as a file of that form: ".csv" or ".parquet"."""
    if suffix == ".csv":
        return found.to_csv(index=False).encode()
    written: bytes = found.to_parquet(index=False)
    return written
