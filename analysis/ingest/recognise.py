"""Which files are captures: by what is in them, not by their names.

Takes paths, gives formats. Reads the beginning of a file only, and nothing that is no regular file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hipscope.analysis.ingest.tables import read_header

_TABLES: tuple[tuple[str, frozenset[str]], ...] = (
    ("counters", frozenset({"Counter_Name", "Counter_Value"})),
    ("kernel trace", frozenset({"Kernel_Name", "Start_Timestamp"})),
    ("agents", frozenset({"Agent_Type", "Gfx_Target_Version"})),
    ("PC samples", frozenset({"Sample_Timestamp", "Instruction_Comment"})),
    ("statistics", frozenset({"Name", "Calls", "TotalDurationNs"})),
)
_MOST_LOOKED_AT = 2000


def table_format(path: Path) -> str | None:
    """What a CSV table holds; None for another file."""
    header = set(read_header(path))
    return next((name for name, columns in _TABLES if columns <= header), None)


def is_capture(path: Path) -> bool:
    """Whether a file, or something in a folder, has the form of a capture."""
    if path.is_file():
        return _is_capture_file(path)
    return any(_is_capture_file(file) for file in _some_files(path))


def _some_files(folder: Path) -> Iterator[Path]:
    number = 0
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            number += 1
            if number > _MOST_LOOKED_AT:
                return
            yield Path(place, name)


def _is_capture_file(path: Path) -> bool:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
    except OSError:
        return False
    if path.name == "code.json":
        return (path.parent / "filenames.json").is_file()
    return path.suffix == ".csv" and table_format(path) is not None
