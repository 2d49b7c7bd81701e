"""Rows of an SQLite database as columns, a batch at a time.

Takes a query, gives arrays: of texts each is kept once, of whole numbers no object stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hipscope.analysis.ingest.formats.columns import Floats, Integers, Texts, integers, numbers

_BATCH = 1 << 12
# What SQLite says of a damaged schema may hold bytes that are no UTF-8: then it is not one of its own errors.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)


def connect(path: Path) -> sqlite3.Connection:
    """The database, read-only; text that is not UTF-8 is replaced."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    database.text_factory = bytes  # text that is not UTF-8 must not end a query
    return database


def decoded(cell: Any) -> Any:
    """A cell with its text decoded."""
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell


def relations(database: sqlite3.Connection) -> list[str]:
    """The names of tables and views."""
    rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return [str(decoded(row[0])) for row in rows]


def columns_of(database: sqlite3.Connection, relation: str) -> list[str]:
    """The names of the columns of a table or view."""
    return [str(decoded(row[1])) for row in database.execute(f'PRAGMA table_info("{relation}")')]


def batches(database: sqlite3.Connection, sql: str) -> Iterator[list[tuple[Any, ...]]]:
    """Many rows at a time, with texts as bytes."""
    cursor = database.execute(sql)
    while batch := cursor.fetchmany(_BATCH):
        yield batch


def fetched(
    found: Iterable[Sequence[Any]], texts: int, whole: int, floats: int = 0
) -> tuple[list[Texts], list[Integers], list[Floats]]:
    """Rows that begin with so many texts, go on with numbers and end with whole numbers, as columns."""
    coders = [_Coder() for _ in range(texts)]
    parts = [_Column() for _ in range(whole)]
    values: list[list[Floats]] = [[] for _ in range(floats)]
    for batch in found:
        cells = list(zip(*batch, strict=True))
        for coder, column in zip(coders, cells, strict=False):
            coder.add(column)
        for kept, column in zip(values, cells[texts:], strict=False):
            kept.append(numbers(column))
        for part, column in zip(parts, cells[texts + floats :], strict=True):
            part.add(column)
    joined = [np.concatenate(kept) if kept else np.zeros(0) for kept in values]
    return [coder.column() for coder in coders], [part.joined() for part in parts], joined


class _Column:
    """A column of whole numbers in the making. A value that fills batches from the first on is kept once for each."""

    def __init__(self) -> None:
        self._parts: list[Integers] = []
        self._same = True

    def add(self, cells: Sequence[Any]) -> None:
        """One batch more."""
        self._same = self._same and cells.count(cells[0]) == len(cells)
        if self._same:
            self._parts.append(np.broadcast_to(integers(cells[:1])[0], len(cells)))
        else:
            self._parts.append(integers(cells))

    def joined(self) -> Integers:
        """All batches; they are gone after that."""
        parts, self._parts = self._parts, []
        length = sum(map(len, parts))
        if parts and all(part.strides == (0,) and part[0] == parts[0][0] for part in parts):
            return np.broadcast_to(parts[0][0], length)
        found = np.empty(length, dtype=np.int64)
        place = 0
        for part in parts:
            found[place : place + len(part)] = part
            place += len(part)
        return found


class _Coder:
    """A column of texts in the making."""

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}
        self._column = _Column()

    def add(self, cells: Sequence[Any]) -> None:
        places = self._places
        for cell in dict.fromkeys(cells):
            places.setdefault(cell, len(places))
        self._column.add(list(map(places.__getitem__, cells)))

    def column(self) -> Texts:
        cells = [decoded(c) for c in self._places]
        return Texts(self._column.joined(), tuple("" if c is None else str(c) for c in cells))
