"""How much the cache holds, and the one limit for all of it: what was used longest ago goes first.

Takes the cache directory, gives entries; removes whole entries only, and none that was used in the last hour. What is
removed is made again when it is needed. The device libraries stay: a session keeps their path and compiles with it as
long as it lives, and they are small.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_RECENT_SECONDS = 3600.0
_CHECK_SECONDS = 600.0  # between two looks at the size of everything
_CHECKED = ".size-checked"
CLEAR_ASKED = ".clear-asked"  # somebody wants it empty, and a command uses it
_BY_PROGRAM = ("captures", "prepared")  # an entry is a directory in that of its program
_HELD = ("device-libs",)  # paths that a running session keeps


@dataclass(frozen=True)
class CacheEntry:
    """One result: what kind it is, its size in bytes and when it was last used (seconds since the epoch)."""

    kind: str
    path: Path
    size: int
    used: float


def cache_entries(directory: Path) -> list[CacheEntry]:
    """Everything in the cache, what was used longest ago first."""
    found = []
    for kind in _children(directory):
        for child in _children(kind):
            entries = _children(child) if kind.name in _BY_PROGRAM and child.is_dir() else [child]
            found += [_entry(kind.name, path) for path in entries]
    return sorted(found, key=lambda entry: entry.used)


def limit_cache(directory: Path, most: int, *, now: float | None = None) -> list[CacheEntry]:
    """Remove entries until the cache holds at most `most` bytes; those that were removed."""
    entries = cache_entries(directory)
    total = sum(entry.size for entry in entries)
    recent = (time.time() if now is None else now) - _RECENT_SECONDS
    removed = []
    for entry in entries:
        if total <= most or entry.used > recent:
            break
        if entry.kind in _HELD:
            continue
        _remove(entry.path)
        removed.append(entry)
        total -= entry.size
    return removed


def limit_cache_sometimes(directory: Path, most: int) -> None:
    """`limit_cache`, unless somebody has looked at the size in the last ten minutes: that takes a while."""
    stamp = directory / _CHECKED
    with contextlib.suppress(OSError):
        if time.time() - stamp.stat().st_mtime < _CHECK_SECONDS:
            return
    with contextlib.suppress(OSError):
        stamp.touch()
        limit_cache(directory, most)


def clear_cache(directory: Path) -> Sequence[CacheEntry]:
    """Remove everything, whenever it was used; what was there."""
    entries = cache_entries(directory)
    for kind in _children(directory):
        _remove(kind)
    with contextlib.suppress(OSError):
        (directory / CLEAR_ASKED).unlink()
    return entries


def _children(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.name not in (_CHECKED, CLEAR_ASKED))
    except (NotADirectoryError, FileNotFoundError):
        return []


def _entry(kind: str, path: Path) -> CacheEntry:
    size, used = 0, 0.0
    with contextlib.suppress(OSError):
        used = path.lstat().st_mtime
        size = 0 if path.is_dir() else path.lstat().st_size
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(folder, name))
                size += status.st_size
                used = max(used, status.st_mtime)
    return CacheEntry(kind, path, size, used)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
