"""A pandas frame as a file: .csv or .parquet.

`check_table` refuses before any work what `write_table` could not write after it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.server.console.terminal import check_output

if TYPE_CHECKING:
    import pandas

_FORMS = (".csv", ".parquet")


def check_table(path: Path, inputs: Sequence[Path], extra: str) -> None:
    """Raises UsageError for a file of another form or one that is an input, MissingTool where the packages of the
    extra lack that Parquet needs.
    """
    from hipscope.analysis.errors import MissingTool, UsageError
    from hipscope.analysis.system.python_packages import install_extra

    if path.suffix not in _FORMS:
        raise UsageError(f"{path}: not a table", f"name a file that ends in {' or '.join(_FORMS)}")
    if path.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise MissingTool(f"Parquet files need the packages of the extra `{extra}`", install_extra(extra))
    check_output(path, inputs)


def write_table(found: pandas.DataFrame, path: Path) -> None:
    """The frame as that file. Raises CannotWrite."""
    write_bytes(
        found.to_csv(index=False).encode() if path.suffix == ".csv" else found.to_parquet(index=False), path
    )


def write_bytes(made: bytes, path: Path) -> None:
    """Write a whole file. Raises CannotWrite."""
    from hipscope.analysis.errors import CannotWrite

    try:
        path.write_bytes(made)
    except OSError as error:
        raise CannotWrite(f"cannot write to {path}: {error.strerror}") from error
