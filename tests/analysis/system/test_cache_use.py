"""`cache --clear` beside running commands."""

from __future__ import annotations

from pathlib import Path

from hipscope.analysis.system.cache_size import cache_entries
from hipscope.analysis.system.cache_use import cache_in_use, clear_unused_cache


def filled(cache: Path) -> Path:
    (cache / "build" / "one").mkdir(parents=True)
    (cache / "build" / "one" / "context.h").write_text("x")
    return cache


def test_clearing_never_takes_files_from_a_running_command(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    with cache_in_use(cache), cache_in_use(cache):
        assert clear_unused_cache(cache) is None
        assert (cache / "build" / "one" / "context.h").is_file()
        assert [entry.kind for entry in cache_entries(cache)] == ["build"]
        with cache_in_use(cache):  # begins beside the others: it must not clear either
            assert (cache / "build" / "one" / "context.h").is_file()
    with cache_in_use(cache):
        assert list(cache.iterdir()) == []  # what was asked for is done by the first that finds it unused
        (cache / "build").mkdir()
    with cache_in_use(cache):
        assert (cache / "build").is_dir()  # and only once


def test_an_unused_cache_is_cleared_at_once(tmp_path: Path) -> None:
    cleared = clear_unused_cache(filled(tmp_path))
    assert cleared is not None
    assert [entry.path.name for entry in cleared] == ["one"]
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with cache_in_use(tmp_path / "file" / "cache"):
        assert clear_unused_cache(tmp_path / "file") == []
