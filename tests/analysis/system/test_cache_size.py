"""The size of the cache and its limit."""

import os
from pathlib import Path

from hipscope.analysis.system.cache_size import cache_entries, clear_cache, limit_cache


def put(path: Path, size: int, used: float) -> None:
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"x" * size)
    for place in (path / "file", path):
        os.utime(place, (used, used))


def filled(cache: Path) -> Path:
    put(cache / "build" / "old", 300, 1_000)
    put(cache / "captures" / "app-1" / "run1", 500, 2_000)
    put(cache / "captures" / "app-1" / "run2", 200, 9_000)
    put(cache / "trees" / "app-2", 100, 3_000)
    return cache


def test_entries_are_whole_results_the_oldest_first(tmp_path: Path) -> None:
    found = [(e.kind, e.path.name, e.size) for e in cache_entries(filled(tmp_path))]
    assert found == [
        ("build", "old", 300),
        ("captures", "run1", 500),
        ("trees", "app-2", 100),
        ("captures", "run2", 200),
    ]
    assert cache_entries(tmp_path / "nowhere") == []


def test_the_limit_removes_the_oldest_and_nothing_of_the_last_hour(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    assert limit_cache(cache, 1100, now=20_000) == []
    assert [e.path.name for e in limit_cache(cache, 400, now=20_000)] == ["old", "run1"]
    assert not (cache / "build" / "old").exists()
    assert [e.path.name for e in limit_cache(cache, 0, now=10_000)] == ["app-2"]
    assert (cache / "captures" / "app-1" / "run2").exists()


def test_the_limit_leaves_the_libraries_that_sessions_compile_with(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    put(cache / "device-libs" / "gfx942-1", 50, 500)
    assert [e.path.name for e in limit_cache(cache, 500, now=20_000)] == ["old", "run1"]
    assert (cache / "device-libs" / "gfx942-1" / "file").is_file()


def test_clearing_leaves_nothing(tmp_path: Path) -> None:
    assert sum(e.size for e in clear_cache(filled(tmp_path))) == 1100
    assert list(tmp_path.iterdir()) == []
