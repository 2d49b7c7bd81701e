"""The database of a project's history: one row for each kernel of a profile and for each attempt at a rewrite.

The oldest entries go when there are more than MOST, or when the database is larger than LARGEST. Several processes may
write: SQLite locks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.system.directories import state_directory
from hipscope.analysis.system.places import place_of
from hipscope.analysis.system.process import run_process

MOST = 2000
"""Entries of a project: profiles and optimizations."""
LARGEST = 16 << 20
"""Bytes of a project's database."""
METRIC = "metric."
"""Before the names of metrics; counters have the names of their tool."""
MOST_READINGS = 16 << 10
"""Bytes of the counters of one kernel of one profile."""
_SECONDS = 5.0  # for git, and for another process that writes
_AT_ONCE = 20  # entries that go together where the database is too large


@dataclass(frozen=True)
class HistoryEntry:
    """One report: when it was made, of which commit, on what, and where it lies; `inputs` is a digest of all inputs."""

    time: str
    commit_id: str
    dirty: bool
    device: str
    provenance: str
    inputs: str
    report: str


@dataclass(frozen=True)
class KernelRow:
    """A kernel of a profile."""

    kernel: str
    mangled: str
    time_ns: float | None
    time_ns_low: float | None
    time_ns_high: float | None
    share: float | None
    bound: str
    vgprs: int | None
    spills: int | None
    occupancy: float | None
    file: str = ""
    """Where it is defined, from the project's folder on."""
    launch_ns: float | None = None
    """What a launch took, the mean of those whose counters were recorded."""
    counters: bytes = b""
    """Hardware counters and metrics of such a launch; `readings` opens it."""


@dataclass(frozen=True)
class AttemptRow:
    """A rewrite that was tried on a kernel, and what came of it; `search` is a digest of what a search without a
    result was made on, "" for all others.
    """

    kernel: str
    formula: str
    title: str
    outcome: str
    reason: str
    speedup: float | None
    search: str = ""


_TYPES = {"float | None": "REAL", "int | None": "INTEGER", "bool": "INTEGER", "str": "TEXT", "bytes": "BLOB"}
_EMPTY = {"str": "''", "bytes": "x''"}


def packed(readings: Mapping[str, float]) -> bytes:
    """Numbers by name as few bytes: seven digits of each, compressed; nothing where that is more than MOST_READINGS."""
    text = json.dumps(
        {name: float(f"{value:.7g}") for name, value in readings.items()}, separators=(",", ":")
    )
    found = zlib.compress(text.encode(), level=9) if readings else b""
    return found if len(found) <= MOST_READINGS else b""


def readings(row: KernelRow) -> dict[str, float]:
    """The counters and metrics of a kernel; none of rows of older versions."""
    found: dict[str, float] = json.loads(zlib.decompress(row.counters)) if row.counters else {}
    return found


def add(project: Path, entry: HistoryEntry, rows: Sequence[KernelRow] | Sequence[AttemptRow]) -> bool:
    """Add a report with its rows; False when this very entry is there already. Raises HipscopeError."""
    with _opened(project) as database:
        known = database.execute(
            "SELECT 1 FROM entries WHERE report = ? AND time = ? AND inputs = ?",
            (entry.report, entry.time, entry.inputs),
        ).fetchone()
        if known is not None:
            return False
        names = ", ".join(f.name for f in fields(HistoryEntry))
        number = database.execute(
            f"INSERT INTO entries ({names}) VALUES ({_marks(HistoryEntry)})", astuple(entry)
        ).lastrowid
        for row in rows:
            table = _TABLES[type(row)]
            names = ", ".join(f.name for f in fields(row))
            database.execute(
                f"INSERT INTO {table} (entry, {names}) VALUES (?, {_marks(type(row))})",
                (number, *astuple(row)),
            )
        _drop_oldest(database)
        return True


def kernel_rows(project: Path) -> list[tuple[HistoryEntry, KernelRow]]:
    """The kernels of all profiles, oldest first."""
    return [(HistoryEntry(*row[:7]), KernelRow(*row[7:])) for row in _joined(project, KernelRow)]


def attempt_rows(project: Path) -> list[tuple[HistoryEntry, AttemptRow]]:
    """All attempts, oldest first."""
    return [(HistoryEntry(*row[:7]), AttemptRow(*row[7:])) for row in _joined(project, AttemptRow)]


def lost_searches(project: Path) -> dict[str, str]:
    """When each search that found nothing was made, by its digest."""
    with _opened(project) as database:
        return dict(
            database.execute(
                "SELECT r.search, MAX(e.time) FROM attempts r JOIN entries e ON r.entry = e.id "
                "WHERE r.search != '' GROUP BY r.search"
            ).fetchall()
        )


def project_of(target: Path, here: Path | None = None) -> Path:
    """The folder whose history a program belongs to: its repository's top, else that of its `hipscope.toml`, else
    `here` (the current directory) where it lies below that, else its own.
    """
    real = Path(os.path.realpath(target))
    folder = real if real.is_dir() else real.parent
    top = _repository(folder)
    holder = top or place_of(real, "hipscope.toml").holder
    here = (here or Path.cwd()).resolve()
    return holder or (here if folder.is_relative_to(here) else folder)


def commit_of(folder: Path) -> tuple[str, bool]:
    """The commit that a folder's repository is at, and whether files differ from it; "" without a repository."""
    if _repository(folder.resolve()) is None:  # no git is started for nothing
        return "", False
    try:
        head = run_process(["git", "rev-parse", "--short=12", "HEAD"], timeout=_SECONDS, cwd=folder)
        if head.returncode != 0:
            return "", False
        words = ["git", "--no-optional-locks", "status", "--porcelain", "-uno", "--", "."]
        state = run_process(words, timeout=_SECONDS, cwd=folder)
    except HipscopeError:
        return "", False
    return head.stdout.decode("ascii", "replace").strip(), bool(state.stdout.strip())


def _repository(folder: Path) -> Path | None:
    """The top of the repository that a folder lies in."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


_TABLES: Mapping[type, str] = {KernelRow: "kernels", AttemptRow: "attempts"}


def _drop_oldest(database: sqlite3.Connection) -> None:
    """Remove what is beyond the limits."""
    oldest_first = "SELECT id FROM entries ORDER BY time, id"
    (count,) = database.execute("SELECT COUNT(*) FROM entries").fetchone()
    database.execute(f"DELETE FROM entries WHERE id IN ({oldest_first} LIMIT ?)", (max(0, count - MOST),))
    while count > 1 and _bytes_used(database) > LARGEST:
        database.execute(
            f"DELETE FROM entries WHERE id IN ({oldest_first} LIMIT ?)", (min(_AT_ONCE, count - 1),)
        )
        (count,) = database.execute("SELECT COUNT(*) FROM entries").fetchone()


def _bytes_used(database: sqlite3.Connection) -> int:
    pages, free, size = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _joined(project: Path, kind: type) -> list[tuple[Any, ...]]:
    with _opened(project) as database:
        wanted = [f"e.{f.name}" for f in fields(HistoryEntry)] + [f"r.{f.name}" for f in fields(kind)]
        return database.execute(
            f"SELECT {', '.join(wanted)} FROM entries e JOIN {_TABLES[kind]} r ON r.entry = e.id "
            "ORDER BY e.time, e.id, r.rowid"
        ).fetchall()


@contextlib.contextmanager
def _opened(project: Path) -> Iterator[sqlite3.Connection]:
    real = project.resolve()
    folder = state_directory() / "history"
    path = folder / f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:32]}.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=_SECONDS)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"the history of {project} cannot be kept in {folder}: {error}") from None
    try:
        with database:
            database.execute("PRAGMA foreign_keys = ON")
            database.execute(
                f"CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, {_columns(HistoryEntry)})"
            )
            for kind, table in _TABLES.items():
                database.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} (entry INTEGER REFERENCES entries(id) ON DELETE CASCADE, "
                    f"{_columns(kind)})"
                )
                _add_columns(database, kind, table)
            yield database
    except sqlite3.Error as error:
        raise UsageError(
            f"{path}: the history cannot be read or written: {error}", "move that file away"
        ) from None
    finally:
        database.close()


def _columns(kind: type) -> str:
    return ", ".join(f"{f.name} {_TYPES[str(f.type)]}" for f in fields(kind))


def _add_columns(database: sqlite3.Connection, kind: type, table: str) -> None:
    """The columns that a database of an older version lacks; its rows get their defaults."""
    known = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
    for f in fields(kind):
        if f.name not in known:
            default = _EMPTY.get(str(f.type), "NULL")
            database.execute(
                f"ALTER TABLE {table} ADD COLUMN {f.name} {_TYPES[str(f.type)]} DEFAULT {default}"
            )


def _marks(kind: type) -> str:
    return ", ".join("?" * len(fields(kind)))
