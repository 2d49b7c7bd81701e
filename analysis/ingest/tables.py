"""CSV tables as rocprofv3 and its relatives write them.

Takes a file, gives rows by column name. Strings are quoted there, but quotes inside them are not escaped; other tools
re-export the same tables with standard quoting or with every value quoted. Column names differ between versions.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hipscope.analysis.errors import UsageError

Row = Mapping[str, str]

_INNER_QUOTE = re.compile(r'[^,\r\n]"[^,\r\n]')

# Older or other tools' names of the same column -> the name that rocprofv3 7.0 uses.
ALIASES: Mapping[str, str] = {
    "Private_Segment_Size": "Scratch_Size",
    "Group_Segment_Size": "LDS_Block_Size",
    "LDS_Per_Workgroup": "LDS_Block_Size",
    "Scratch_Per_Workitem": "Scratch_Size",
    "Arch_VGPR": "VGPR_Count",
    "Accum_VGPR": "Accum_VGPR_Count",
    "SGPR": "SGPR_Count",
    "GPU_ID": "Agent_Id",
    "Dispatch_ID": "Dispatch_Id",
    "Kernel_ID": "Kernel_Id",
    "Correlation_ID": "Correlation_Id",
}


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a table under their canonical column names.

    A row with a wrong number of cells raises `UsageError` naming the file and the line, except for a last line
    without its end, which is what a killed tool leaves behind: that one is dropped.
    """
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    complete = text.endswith("\n")
    header: list[str] | None = None
    wrong: tuple[int, int] | None = None
    for number, cells in _split(text):
        if wrong is not None:
            break
        if header is None:
            header = [ALIASES.get(cell, cell) for cell in cells]
        elif len(cells) == len(header):
            yield dict(zip(header, cells, strict=True))
        else:
            wrong = number, len(cells)
    else:
        if wrong is None or not complete:
            return
    raise UsageError(f"{path}:{wrong[0]}: {wrong[1]} cells where the header has {len(header or ())}")


def read_header(path: Path) -> tuple[str, ...]:
    """The canonical column names; empty for an empty file or one that is not text."""
    try:
        with path.open(encoding="utf-8-sig", errors="strict") as stream:
            first = stream.readline(65536)
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(ALIASES.get(cell, cell) for cell in split_record(first.rstrip("\r\n")))


def split_record(record: str) -> list[str]:
    """The cells of one record, without the quotes around them.

    In a quoted cell, a quote followed by a comma or the end closes it, two quotes stand for one (standard CSV), and
    any other quote stands for itself (rocprofv3).
    """
    cells: list[str] = []
    position = 0
    while True:
        if record.startswith('"', position):
            cell, position = _quoted(record, position + 1)
        else:
            end = record.find(",", position)
            end = len(record) if end < 0 else end
            cell, position = record[position:end].strip(), end
        cells.append(cell)
        if position >= len(record):
            return cells
        position += 1  # the comma


def integer(row: Row, column: str) -> int | None:
    """A whole number, also when it was written as a float; None when the cell is missing, empty or no number."""
    text = row.get(column, "").strip()
    try:
        return int(text)
    except ValueError:
        pass
    value = number(row, column)
    return None if value is None else int(value)


def number(row: Row, column: str) -> float | None:
    """A finite number; None when the cell is missing, empty or no number."""
    try:
        value = float(row.get(column, ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def timestamp(row: Row, column: str) -> int | None:
    """Nanoseconds. A stamp that a spreadsheet has rounded (`8.1097E+14`) is damaged and counts as missing."""
    text = row.get(column, "").strip()
    return None if "e" in text.lower() else integer(row, column)


def triple(row: Row, prefix: str) -> tuple[int, int, int] | None:
    """The columns `prefix`_X, _Y, _Z; None when one of them is missing."""
    x, y, z = (integer(row, f"{prefix}_{axis}") for axis in "XYZ")
    return None if x is None or y is None or z is None else (x, y, z)


def _split(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each record. Tables whose quotes all stand at separators need no care."""
    if _INNER_QUOTE.search(text) is None:
        reader = csv.reader(io.StringIO(text))
        yield from ((reader.line_num, cells) for cells in reader if cells)
    else:
        yield from ((number, split_record(record)) for number, record in _records(text))


def _records(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each record; a record goes on over line ends inside a quoted cell."""
    pending = ""
    start = 0
    for line_number, line in enumerate(text.split("\n"), start=1):
        if not pending:
            start = line_number
        pending = f"{pending}\n{line}" if pending else line
        if _open(pending):
            continue
        if pending.rstrip("\r"):
            yield start, pending.rstrip("\r")
        pending = ""
    if pending.strip():
        yield start, pending.rstrip("\r")


def _open(record: str) -> bool:
    """The record ends inside a quoted cell."""
    position = 0
    record = record.rstrip("\r")
    while position <= len(record):
        if record.startswith('"', position):
            end = _closing(record, position + 1)
            if end < 0:
                return True
            position = end + 2
        else:
            comma = record.find(",", position)
            if comma < 0:
                return False
            position = comma + 1
    return False


def _quoted(record: str, position: int) -> tuple[str, int]:
    end = _closing(record, position)
    if end < 0:
        return record[position:].replace('""', '"'), len(record)
    return record[position:end].replace('""', '"'), end + 1


def _closing(record: str, position: int) -> int:
    """Where the quoted cell that starts at `position` has its closing quote, or -1."""
    while (found := record.find('"', position)) >= 0:
        following = record[found + 1 : found + 2]
        if following == '"':
            position = found + 2
        elif following in ("", ","):
            return found
        else:
            position = found + 1
    return -1
