"""Watches files on disk for a client that cannot: tells, 200 ms after the last change, which of them changed.

Takes the files, there or not; watches the folders that hold them, or that would.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, ObservedWatch

QUIET_SECONDS = 0.2
_LOOK_SECONDS = 0.5  # between two looks at a folder where the system does not tell
_QUIET_EVENTS = frozenset({"opened", "closed_no_write"})


class FolderWatch:
    """One observer of folders. `changed` is called in the event loop with the files and folders that changed."""

    def __init__(self, changed: Callable[[Set[str]], None]) -> None:
        self._changed = changed
        self._files: frozenset[str] = frozenset()
        self._watches: dict[str, ObservedWatch] = {}
        self._observer: BaseObserver | None = None
        self._seen: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, files: Iterable[str]) -> None:
        """Watch these files from now on, and no others."""
        self._files = frozenset(files)
        loop = asyncio.get_running_loop()
        folders = {_folder_of(Path(file)) for file in self._files}
        if folders and self._observer is None:
            self._observer = self._started(folders, loop)
        for folder in self._watches.keys() - folders:
            assert self._observer is not None
            with contextlib.suppress(KeyError, OSError):  # the folder may be gone
                self._observer.unschedule(self._watches[folder])
            del self._watches[folder]
        for folder in folders - self._watches.keys():
            with contextlib.suppress(
                OSError
            ):  # the folder has just gone: its parent is watched the next time
                self._schedule(folder, loop)

    def close(self) -> None:
        """Stop watching."""
        if self._observer is not None:
            self._observer.stop()
            self._observer = None

    def _started(self, folders: Set[str], loop: asyncio.AbstractEventLoop) -> BaseObserver:
        from watchdog.observers import Observer
        from watchdog.observers.polling import PollingObserver

        self._observer = Observer()
        try:
            self._observer.start()
            for folder in folders:
                self._schedule(folder, loop)
        except OSError:  # no more watches for this user: look at the folders now and then
            self._observer.stop()
            self._watches.clear()
            self._observer = PollingObserver(timeout=_LOOK_SECONDS)
            self._observer.start()
        return self._observer

    def _schedule(self, folder: str, loop: asyncio.AbstractEventLoop) -> None:
        from watchdog.events import FileSystemEventHandler

        def saw(event: FileSystemEvent) -> None:
            if event.event_type not in _QUIET_EVENTS:
                paths = {os.fsdecode(p) for p in (event.src_path, event.dest_path) if p}
                with contextlib.suppress(RuntimeError):  # the session has ended
                    loop.call_soon_threadsafe(self._saw, paths)

        handler = FileSystemEventHandler()
        handler.on_any_event = saw  # type: ignore[method-assign]
        assert self._observer is not None
        self._watches[folder] = self._observer.schedule(handler, folder)

    def _saw(self, paths: Set[str]) -> None:
        mine = {p for p in paths if p in self._files or any(f.startswith(p + os.sep) for f in self._files)}
        if not mine:
            return
        self._seen |= mine
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._tell)

    def _tell(self) -> None:
        seen, self._seen, self._timer = self._seen, set(), None
        self.watch(self._files)  # folders may have come or gone
        # What came with its folder was there before anybody watched that.
        below = {f for f in self._files if any(f.startswith(p + os.sep) for p in seen) and Path(f).exists()}
        self._changed(seen | below)


def _folder_of(file: Path) -> str:
    """The folder that holds it; where there is none, the nearest one above, in which it would appear."""
    return str(next((folder for folder in file.parents if folder.is_dir()), file.anchor))
