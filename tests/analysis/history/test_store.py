"""A project's history: rows come back as they were added, once, the oldest go, and pandas has them all."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.errors import UsageError
from hipscope.analysis.history import frame, store
from hipscope.analysis.history.store import AttemptRow, HistoryEntry, KernelRow

ENTRY = HistoryEntry("2026-11-28T12:00:00+00:00", "abc", True, "mi300x", "modelled", "digest", "/run.json")
KERNEL = KernelRow("axpy", "_Z4axpy", 1200.0, 900.0, None, 1.0, "memory", 12, 0, 8.0)
ATTEMPT = AttemptRow("axpy", "memoryAccess", "wider loads", "not_faster", "1.001x", 1.001)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_rows_come_back_as_they_were_and_an_entry_is_added_once(tmp_path: Path) -> None:
    assert store.add(tmp_path, ENTRY, [KERNEL])
    assert not store.add(tmp_path, ENTRY, [KERNEL])
    assert store.kernel_rows(tmp_path) == [(ENTRY, KERNEL)]
    assert store.kernel_rows(tmp_path / "other") == []
    assert store.add(tmp_path, replace(ENTRY, report="/tried.json"), [ATTEMPT])
    assert [row for _, row in store.attempt_rows(tmp_path)] == [ATTEMPT]


def test_the_oldest_go_with_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST", 3)
    for day in range(1, 6):
        store.add(tmp_path, replace(ENTRY, time=f"2026-11-{day:02}T00:00:00+00:00"), [KERNEL])
    assert [entry.time[8:10] for entry, _ in store.kernel_rows(tmp_path)] == ["03", "04", "05"]


def test_the_frame_has_a_row_for_each_kernel_of_each_profile(tmp_path: Path) -> None:
    assert list(frame(tmp_path)["kernel"]) == []
    store.add(tmp_path, ENTRY, [KERNEL, replace(KERNEL, mangled="_Z5other", kernel="other")])
    found = frame(tmp_path)
    assert list(found["kernel"]) == ["axpy", "other"]
    assert found["time_ns"].sum() == 2400.0
    assert found["dirty"].all()
    assert found["time"].dt.year.unique().tolist() == [2026]


def test_a_broken_database_is_named(tmp_path: Path, state: Path) -> None:
    store.add(tmp_path, ENTRY, [KERNEL])
    (file,) = state.rglob("*.sqlite")
    file.write_bytes(b"no database" * 100)
    with pytest.raises(UsageError, match="history cannot be read"):
        store.kernel_rows(tmp_path)


def test_a_database_that_is_too_large_loses_its_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LARGEST", 200_000)
    for minute in range(30):
        entry = replace(ENTRY, time=f"2026-11-28T12:{minute:02}:00+00:00")
        store.add(tmp_path, entry, [replace(ATTEMPT, reason="x" * 20_000)])
    left = [entry.time[14:16] for entry, _ in store.attempt_rows(tmp_path)]
    assert left[-1] == "29"
    assert "00" not in left


def test_a_database_of_an_older_version_gets_its_columns(tmp_path: Path, state: Path) -> None:
    store.add(tmp_path, ENTRY, [ATTEMPT])
    (file,) = state.rglob("*.sqlite")
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("ALTER TABLE attempts DROP COLUMN search")
        database.execute("ALTER TABLE kernels DROP COLUMN file")
    assert [row for _, row in store.attempt_rows(tmp_path)] == [ATTEMPT]
    later = replace(ENTRY, time="2026-11-29T00:00:00+00:00")
    store.add(tmp_path, later, [replace(ATTEMPT, search="s")])
    assert store.lost_searches(tmp_path) == {"s": later.time}


def test_a_program_belongs_to_its_repository_its_settings_or_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert store.project_of(tmp_path / "a" / "x.hip") == tmp_path / "a"
    monkeypatch.chdir(tmp_path)
    assert store.project_of(inner / "x.hip") == tmp_path
    (tmp_path / "a" / "hipscope.toml").touch()
    assert store.project_of(inner / "x.hip") == tmp_path / "a"
    (inner / ".git").touch()
    assert store.project_of(inner) == inner


def test_a_folder_without_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert store.commit_of(tmp_path) == ("", False)
