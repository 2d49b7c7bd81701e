"""CSV tables as rocprofv3 and its relatives write them.

Takes a file, gives its columns by canonical name and what of it was left out. Strings are quoted there, but quotes
inside
them are not escaped; other tools re-export the same tables with standard quoting, or with every value quoted. A row
with
too many or too few cells costs itself. Large tables are split by pandas, after a look at every quote and comma: pandas
misreads inner quotes and rows that are too long without a word.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hipscope.analysis.ingest.formats.columns import (
    MISSING,
    Floats,
    Integers,
    Texts,
    absent,
    integers,
    numbers,
    same_text,
    texts,
)

Row = Mapping[str, str]
Raw = list[str] | Texts | Integers | Floats

HEAD = 65536  # bytes of a header, which has up to 2,700 columns
_SMALL = 1 << 20  # bytes that are not worth importing pandas for
_CHUNK = 16 << 20
_ROWS = 2_000_000
_NO_MARKS = bytes(set(range(256)) - set(b'",\n'))
_INNER_QUOTE = re.compile(r'[^,\r\n]"[^,\r\n]')
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_EXPONENT = re.compile(r"e", re.IGNORECASE)

# The name that rocprofv3 7.0 uses of a column -> what it is called elsewhere, in any capitals.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "Scratch_Size": ("Private_Segment_Size", "Scratch_Per_Workitem", "scr"),
    "LDS_Block_Size": ("Group_Segment_Size", "LDS_Per_Workgroup", "lds"),
    "VGPR_Count": ("Arch_VGPR", "vgpr"),
    "Accum_VGPR_Count": ("Accum_VGPR",),
    "SGPR_Count": ("SGPR",),
    "Agent_Id": ("GPU_ID", "gpu-id"),
    "Dispatch_Id": ("Dispatch_ID",),
    "Kernel_Id": ("Kernel_ID",),
    "Correlation_Id": ("Correlation_ID",),
    "Queue_Id": ("Queue_ID", "queue-id"),
    "Process_Id": ("PID",),
    "Thread_Id": ("TID",),
    "Wave_Size": (),
    "Stream_Id": (),
    "Kernel_Name": ("KernelName",),
    "Counter_Name": (),
    "Counter_Value": (),
    "Start_Timestamp": ("BeginNs",),
    "End_Timestamp": ("EndNs",),
    "Grid_Size": ("grd",),
    "Workgroup_Size": ("wgr",),
    **{f"{size}_Size_{axis}": () for size in ("Grid", "Workgroup") for axis in "XYZ"},
}
_CANONICAL: Mapping[str, str] = {
    name.lower(): canonical for canonical, others in _NAMES.items() for name in (canonical, *others)
}


class Misread(ValueError):
    """pandas has moved a quote that is inside of a cell: `read_table` reads it as it is meant."""


@dataclass(frozen=True)
class CsvTable:
    """The columns of a table. `damage`: what of it was left out, in words."""

    columns: Mapping[str, Raw]
    length: int
    damage: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def texts(self, name: str) -> Texts:
        """A column of texts; empty ones when there is no such column."""
        raw = self.columns.get(name)
        if raw is None:
            return same_text("", self.length)
        if isinstance(raw, Texts):
            return raw
        return texts(raw if isinstance(raw, list) else raw.tolist())

    def integers(self, name: str) -> Integers:
        """A column of whole numbers, also of ones that were written as floats."""
        raw = self.columns.get(name)
        if raw is None:
            return absent(self.length)
        if isinstance(raw, np.ndarray):
            return raw if raw.dtype == np.int64 else _whole(raw.astype(np.float64))  # type: ignore[return-value]
        return integers(raw if isinstance(raw, list) else [raw[i] for i in range(len(raw))])

    def timestamps(self, name: str) -> Integers:
        """Nanoseconds. A stamp that a spreadsheet has rounded (`8.1097E+14`) is damaged and counts as missing."""
        raw = self.columns.get(name)
        if isinstance(raw, list):
            return integers([None if _EXPONENT.search(text) else text for text in raw])
        return self.integers(name)

    def numbers(self, name: str) -> Floats:
        """A column of numbers."""
        raw = self.columns.get(name)
        if raw is None:
            return np.full(self.length, np.nan)
        if isinstance(raw, np.ndarray):
            return raw.astype(np.float64)
        return numbers(raw if isinstance(raw, list) else [raw[i] for i in range(len(raw))])

    def rows(self) -> Iterator[Row]:
        """Each row by column name; for small tables."""
        names = list(self.columns)
        lists = [self._cells(name) for name in names]
        return (dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True))

    def _cells(self, name: str) -> Sequence[str]:
        raw = self.columns[name]
        if isinstance(raw, Texts):
            return [raw[i] for i in range(len(raw))]
        return raw if isinstance(raw, list) else [str(v) for v in raw.tolist()]


def read_table(path: Path, wanted: Collection[str] | None = None, words: Collection[str] = ()) -> CsvTable:
    """The columns of a table, or those `wanted`. `words` are columns of texts, which come again and again.

    Raises ValueError, with a reason, when it is no table.
    """
    size = path.stat().st_size
    if size > _SMALL and wanted is not None and (table := _large(path, wanted, words)) is not None:
        return table
    return parse_table(_decoded(path.read_bytes()), wanted)


def read_parts(path: Path, wanted: Collection[str], words: Collection[str]) -> Iterator[CsvTable]:
    """A table as `read_table` gives it, a few million rows at a time: what is only counted takes no memory.

    Raises Misread, after some parts, where a cell has quotes inside.
    """
    if path.stat().st_size <= _SMALL or (header := _regular_header(path)) is None:
        yield read_table(path, wanted)
        return
    import pandas

    places = [i for i, name in enumerate(header) if name in wanted]
    kinds: dict[Any, Any] = {i: "category" for i in places if header[i] in words}
    frames = pandas.read_csv(
        path, header=None, skiprows=1, names=list(range(len(header))), usecols=places, dtype=kinds, chunksize=_ROWS,
        index_col=False, encoding="utf-8-sig", encoding_errors="replace", na_filter=True, keep_default_na=False,
        na_values=[""],
    )  # fmt: skip
    for frame in frames:
        columns: dict[str, Raw] = {}
        for place in places:
            column, name = frame[place], header[place]
            if name in words:
                columns[name] = found = _of_categories(column)
                if any('"' in n for n in found.names):
                    raise Misread(name)
            else:
                plain = column.dtype in (np.int64, np.float64)
                columns[name] = column.to_numpy() if plain else column.tolist()
        yield CsvTable(columns, len(frame))


def parse_table(text: str, wanted: Collection[str] | None = None) -> CsvTable:
    """The columns of a table that is given as text."""
    complete = text.endswith("\n")
    records = _split(text)
    header = next(records, None)
    if header is None:
        raise ValueError("an empty table")
    names = [canonical(cell) for cell in header[1]]
    rows: list[list[str]] = []
    odd: list[tuple[int, list[str]]] = []
    for number, cells in records:
        if len(cells) == len(names):
            rows.append(cells)
        else:
            odd.append((number, cells))
    damage: list[str] = []
    if odd and not rows and (width := _even_width(odd, len(names))):
        missing = ", ".join(names[width:][:4]) + (" ..." if len(names) - width > 4 else "")
        damage.append(f"its rows have {width} of {len(names)} cells: {missing} missing")
        rows = [[*cells, *[""] * (len(names) - width)] for _, cells in odd]
    elif odd and not complete and len(odd) == 1 and odd[0][0] >= len(rows) + 1:
        damage.append(f"line {odd[0][0]} is cut off and left out")
    elif odd:
        number, cells = odd[0]
        others = f" and {len(odd) - 1} more rows" if len(odd) > 1 else ""
        damage.append(
            f"line {number} has {len(cells)} cells where the header has {len(names)}: left out{others}"
        )
    columns: dict[str, Raw] = {}
    for place, name in enumerate(names):
        if (wanted is None or name in wanted) and name not in columns:
            columns[name] = [row[place] for row in rows]
    return CsvTable(columns, len(rows), tuple(damage))


def encoding_of(path: Path) -> str:
    """The encoding of a text, by the mark that it begins with: PowerShell redirects into UTF-16."""
    with path.open("rb") as stream:
        return _encoding(stream.read(4))


def text_of(path: Path) -> str:
    """A text in any of the encodings that have a mark."""
    return _decoded(path.read_bytes())


def head_of(data: bytes) -> bytes:
    """The first bytes of a file as they are in UTF-8, whatever its encoding."""
    encoding = _encoding(data)
    if encoding == "utf-16":
        data = data[: len(data) & ~1]
    return data if encoding == "utf-8" else data.decode(encoding, "ignore").encode("utf-8", "replace")


def read_header(path: Path) -> tuple[str, ...]:
    """The canonical column names; empty for an empty file or one that is not text."""
    try:
        with path.open("rb") as stream:
            data = stream.read(HEAD)
    except OSError:
        return ()
    return header_of(data)


def header_of(data: bytes) -> tuple[str, ...]:
    """The canonical column names in the first bytes of a file."""
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ()
    text = _decoded(data[: len(data) & ~1] if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data)
    first = text.split("\n", 1)[0].rstrip("\r")
    return tuple(canonical(cell) for cell in split_record(first)) if first.strip() else ()


def canonical(name: str) -> str:
    """The name that rocprofv3 7.0 has for a column."""
    name = name.strip()
    return _CANONICAL.get(name.lower(), name)


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


def _even_width(odd: Sequence[tuple[int, list[str]]], most: int) -> int:
    """The number of cells that all rows have, when it is the same and too small; else 0."""
    widths = {len(cells) for _, cells in odd}
    width = widths.pop()
    return width if not widths and 1 < width < most else 0


def _whole(raw: Floats) -> Integers:
    found = np.full(len(raw), MISSING, dtype=np.int64)
    known = np.isfinite(raw) & (np.abs(raw) < 9e18)
    found[known] = raw[known].astype(np.int64)
    return found


def _decoded(data: bytes) -> str:
    return data.decode(_encoding(data), "replace")


def _encoding(data: bytes) -> str:
    return next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")


# ---- large tables ----


def _large(path: Path, wanted: Collection[str], words: Collection[str]) -> CsvTable | None:
    """The table as pandas splits it; None where it would misread it."""
    if (header := _regular_header(path)) is None:
        return None
    import pandas

    places = [i for i, name in enumerate(header) if name in wanted]
    kinds: dict[Any, Any] = {i: "category" for i in places if header[i] in words}
    frame = pandas.read_csv(
        path, header=None, skiprows=1, names=list(range(len(header))), usecols=places, dtype=kinds,
        index_col=False, encoding="utf-8-sig", encoding_errors="replace", na_filter=True, keep_default_na=False,
        na_values=[""],
    )  # fmt: skip
    columns: dict[str, Raw] = {}
    for place in places:
        column = frame[place]
        name = header[place]
        if name in words:
            found = _of_categories(column)
            if any('"' in n for n in found.names):
                return None  # a quote inside of a cell, which pandas moves
            columns[name] = found
        elif column.dtype == np.int64 or (column.dtype == np.float64 and "Timestamp" not in name):
            columns[name] = column.to_numpy()
        else:  # texts among the numbers, or numbers that are too large: each cell is looked at
            cells = pandas.read_csv(
                path, header=None, skiprows=1, usecols=[place], dtype=str, index_col=False, keep_default_na=False,
                encoding="utf-8-sig", encoding_errors="replace", names=list(range(len(header))),
            )  # fmt: skip
            columns[name] = cells[place].tolist()
    return CsvTable(columns, len(frame))


def _of_categories(column: Any) -> Texts:
    names = tuple(str(v) for v in column.cat.categories)
    codes = column.cat.codes.to_numpy().astype(np.int64)
    return Texts(np.where(codes < 0, len(names), codes), (*names, ""))


def _regular_header(path: Path) -> tuple[str, ...] | None:
    """The columns of a table whose rows pandas would split as they are meant; None of any other."""
    header = read_header(path)
    if not _is_regular(path, len(header)):
        return None
    with path.open("rb") as stream:
        raw_names = split_record(_decoded(stream.readline()).rstrip("\r\n"))
    return header if len(set(header)) == len(header) == len(raw_names) else None


def _is_regular(path: Path, width: int) -> bool:
    """Whether each row has `width` cells on one line, commas between quotes left aside."""
    shape = b"," * (width - 1) + b"\n"
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            if not chunk.endswith(b"\n"):
                chunk += stream.readline()
            chunk = chunk.removeprefix(_MARKS[2][0])
            if not chunk.endswith(b"\n"):
                chunk += b"\n"
            marks = np.frombuffer(chunk.translate(None, _NO_MARKS), dtype=np.uint8)
            quotes = marks == ord('"')
            outside = (np.bitwise_xor.accumulate(quotes) | quotes) == 0
            marks_outside = marks[outside].tobytes()
            if marks_outside.count(shape) * len(shape) != len(marks_outside):
                return False
    return True


# ---- small tables ----


def _split(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each record. Tables whose quotes all stand at separators need no care."""
    if _INNER_QUOTE.search(text) is None and "\0" not in text:
        reader = csv.reader(io.StringIO(text))
        csv.field_size_limit(1 << 30)
        try:
            yield from ((reader.line_num, cells) for cells in reader if any(cells))
        except csv.Error as error:
            raise ValueError(str(error)) from None
    else:
        yield from (
            (number, cells) for number, record in _records(text) if any(cells := split_record(record))
        )


def _records(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each record; a record goes on over line ends inside a quoted cell."""
    pending = ""
    start = 0
    for line_number, line in enumerate(text.split("\n"), start=1):
        if not pending:
            start = line_number
        pending = f"{pending}\n{line}" if pending else line
        if len(pending) < HEAD and _open(pending):
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
