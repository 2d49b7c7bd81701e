"""Turns for heavy jobs among all editors of this user on this machine: so many at once, the newest asked first.

A job holds a lock on a ticket, a file in a folder that all share. The lock ends with its process, so nobody waits for
one that was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO

LOOK_SECONDS = 0.1
_WAITS, _RUNS = ".waits", ".runs"
_IDLE = ".idle"  # nobody waits for it, whether it runs or waits
_NUMBERS = itertools.count()


@contextlib.asynccontextmanager
async def turn(
    folder: Path, at_once: int, waiting: Callable[[int], None], *, idle: bool = False
) -> AsyncIterator[None]:
    """Wait until it is this job's turn, and hold it while the block runs.

    `waiting` hears how many jobs come before this one whenever that changes. An `idle` job starts when no other runs
    or waits, and is nobody's reason to wait. Where no tickets can be kept, every job runs at once.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ticket = _Ticket(folder, _IDLE if idle else _WAITS)
    except OSError:
        yield
        return
    try:
        told = 0
        while before := ticket.before(at_once, idle=idle):
            if before != told:
                told = before
                waiting(before)
            await asyncio.sleep(LOOK_SECONDS)
        yield
    finally:
        ticket.give_back()


class _Ticket:
    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind = folder, kind
        self._name = f"{time.time_ns():020}-{os.getpid()}-{next(_NUMBERS)}"
        self._path, self._file = self._make()

    def before(self, at_once: int, *, idle: bool) -> int:
        """How many jobs come before this one; with 0 it is its turn."""
        with (self._folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return 1  # somebody looks just now
            if not self._path.exists():  # the folder was cleared
                self.give_back()
                self._folder.mkdir(parents=True, exist_ok=True)
                self._path, self._file = self._make()
            others = [t for t in self._folder.glob("[0-9]*") if t != self._path and _is_held(t)]
            if idle:
                before = sum(t.suffix != _IDLE or t.stem < self._name for t in others)
            else:
                running = sum(t.suffix == _RUNS for t in others)
                newer = sum(t.suffix == _WAITS and t.stem > self._name for t in others)
                before = newer + running if newer or running >= at_once else 0
            if not before and not idle:
                self._path = self._path.rename(self._path.with_suffix(_RUNS))
            return before

    def give_back(self) -> None:
        self._path.unlink(missing_ok=True)
        self._file.close()

    def _make(self) -> tuple[Path, IO[str]]:
        path = self._folder / f"{self._name}{self._kind}"
        file = path.open("w")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return path, file


def _is_held(ticket: Path) -> bool:
    """Whether the job of a ticket is alive. The ticket of one that is not is removed."""
    with contextlib.suppress(OSError), ticket.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        ticket.unlink()
    return False
