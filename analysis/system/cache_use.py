"""Who uses the cache: as long as one command does, another one that clears it waits for the next chance.

Takes the cache directory. Users hold a shared lock on it; clearing needs it alone. A clearing that finds users leaves a
mark, and the first command that later finds the cache unused does it before it begins. Locks end with their process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from hipscope.analysis.system.cache_size import CLEAR_ASKED, CacheEntry, clear_cache


@contextlib.contextmanager
def cache_in_use(directory: Path) -> Iterator[None]:
    """As long as this lasts nobody clears the cache. On a disk without locks it is without effect."""
    with _opened(directory) as descriptor:
        if descriptor is not None:
            if (directory / CLEAR_ASKED).exists() and _locked(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
                clear_cache(directory)
            _locked(descriptor, fcntl.LOCK_SH)
        yield


def clear_unused_cache(directory: Path) -> Sequence[CacheEntry] | None:
    """Remove everything; what was there. None: a command uses it, so that it will be cleared when none does."""
    with _opened(directory) as descriptor:
        if descriptor is None or _locked(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return clear_cache(directory)
        (directory / CLEAR_ASKED).touch()
        return None


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int | None]:
    descriptor = None
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(descriptor: int, how: int) -> bool:
    """Take a lock; False when others hold it. A disk that has no locks has no users that could be seen."""
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
