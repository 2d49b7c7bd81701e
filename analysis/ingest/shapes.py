"""The shape of one file of a capture, without any value of it: for reports that say what a tool wrote.

Takes a path, gives the columns of a table, the views and tables of a database, or the keys at the beginning of JSON.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from hipscope.analysis.ingest.formats.sql_columns import connect, decoded
from hipscope.analysis.ingest.formats.tables import HEAD, header_of

_KEY = re.compile(rb'"([A-Za-z_]\w{0,40})"\s*:')
_OWN_TABLES = "rocpd_"  # the views on these say the same


def columns_of(path: Path) -> tuple[str, ...]:
    """Empty for a file of another kind, or one that cannot be read."""
    with suppress(OSError, sqlite3.Error):
        if path.suffix == ".db":
            with closing(connect(path)) as database:
                return tuple(_relations(database))
        if path.suffix in (".csv", ".json"):
            with path.open("rb") as file:
                head = file.read(HEAD)
            return header_of(head) if path.suffix == ".csv" else _keys(head)
    return ()


def _keys(head: bytes) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key.decode() for key in _KEY.findall(head)))


def _relations(database: sqlite3.Connection) -> Iterator[str]:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    for name in (str(decoded(row[0])) for row in rows):
        if not name.startswith(_OWN_TABLES):
            columns = [str(decoded(row[1])) for row in database.execute(f'PRAGMA table_info("{name}")')]
            yield f"{name}({', '.join(columns)})"
