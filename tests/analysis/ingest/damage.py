"""Damage for captures: values of a JSON, a table or a database that are missing, of another type, or out of range."""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

_ODD: tuple[Any, ...] = (
    None, [], {}, [None], {"a": 1}, "", "x", "-", "1,5", "\0", "nan", "1e999", True, 0, -1, 3.7, -5e12, 1 << 64, 1e308,
    float("nan"),
)  # fmt: skip
_IN_A_DATABASE: tuple[Any, ...] = (None, "x", "", b"\xff\0", 0, -1, 3.7, 1e308, 1 << 40, 1 << 62)


def with_odd_values(path: Path, draw: random.Random, edits: int) -> bool:
    """Change values of a file in place; False for a format that has none."""
    data = path.read_bytes()
    try:
        if data.startswith(b"SQLite"):
            _database(path, draw, edits)
        elif data.startswith(b"\x1f\x8b"):
            path.write_bytes(gzip.compress(_json(gzip.decompress(data).decode(), draw, edits).encode()))
        elif path.suffix == ".json":
            path.write_text(_json(data.decode(), draw, edits))
        elif path.suffix == ".csv":
            path.write_text(_table(data.decode(), draw, edits))
        else:
            return False
    except (UnicodeError, json.JSONDecodeError):
        return False
    return True


def _json(text: str, draw: random.Random, edits: int) -> str:
    top = [json.loads(text)]
    for _ in range(edits):
        place, key = draw.choice(list(_places(top)))
        if draw.random() < 0.2 and place is not top:
            del place[key]
        else:
            place[key] = copy.deepcopy(draw.choice(_ODD))
    return json.dumps(top[0])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _table(text: str, draw: random.Random, edits: int) -> str:
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    for _ in range(edits):
        row = draw.choice(rows)
        row[draw.randrange(len(row))] = str(draw.choice(_ODD))
        if draw.random() < 0.2:
            row.insert(draw.randrange(len(row)), "x")
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()


def _database(path: Path, draw: random.Random, edits: int) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        for _ in range(edits):
            tables = [
                row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            if not tables:
                break
            table = draw.choice(tables)
            column = draw.choice([row[1] for row in database.execute(f'PRAGMA table_info("{table}")')])
            change = draw.choice(("DROP", "DELETE", "INSERT", *["UPDATE"] * 9))
            rows = f'SELECT rowid FROM "{table}" ORDER BY {draw.random()} * rowid % 1 LIMIT 1'
            with suppress(sqlite3.Error):  # what a constraint refuses
                if change == "DROP":
                    database.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
                elif change == "DELETE":
                    database.execute(f'DELETE FROM "{table}"')
                elif change == "INSERT":
                    database.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" LIMIT 3')
                else:
                    database.execute(
                        f'UPDATE "{table}" SET "{column}" = ? WHERE rowid IN ({rows})',
                        (draw.choice(_IN_A_DATABASE),),
                    )
        database.commit()
