"""What one request carries through every step: the event that stops it, where its progress goes, its texts.

A command, an editor's worker or a test makes one `Run`; each step hands it on and makes none of its own.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipscope.analysis.errors import Cancelled
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.process import Stop

Progress = Callable[[str, float | None], None]
"""Takes what is being done, and how much of it is done (0..1, None when that is not known)."""


class Count:
    """How often something was done, counted by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.number = 0

    def add(self, more: int = 1) -> None:
        """So many more."""
        with self._lock:
            self.number += more


def silent(_message: str, _share: float | None) -> None:
    """Where progress goes that is not shown."""


def unheard(_sentence: str) -> None:
    """Where sentences for the user go that nobody reads."""


@dataclass(frozen=True)
class Run:
    """One request on its way. `cancel` None is never set; `texts` are what is built, searched and edited.

    All its parts count together: `compiles` are texts of device code that were given to the compiler (what its cache
    had counts as well), `replays` recorded launches that were made again. `tell` takes sentences for the user.
    """

    cancel: threading.Event | None = None
    progress: Progress = silent
    texts: SourceTexts = field(default_factory=SourceTexts)
    compiles: Count = field(default_factory=Count, compare=False, repr=False)
    replays: Count = field(default_factory=Count, compare=False, repr=False)
    tell: Callable[[str], None] = unheard

    def say(self, message: str, share: float | None = None) -> None:
        """Report what is being done."""
        self.progress(message, share)

    def check(self) -> None:
        """Raises Cancelled when the request is to stop."""
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled

    @property
    def seconds_left(self) -> float:
        """Until the request is stopped by a time limit; infinite without one."""
        return self.cancel.seconds_left if isinstance(self.cancel, Stop) else math.inf

    def until(self, stop: threading.Event) -> Run:
        """The same for a part of the work that `stop` ends. The part ends with the request if `stop` is a `Stop`."""
        return replace(self, cancel=stop)

    def quietly(self) -> Run:
        """The same without progress: for work beside the one that is shown."""
        return replace(self, progress=silent, tell=unheard)

    def of(self, sources: Callable[[], tuple[Path, ...]]) -> Run:
        """The same on a program with these files."""
        return replace(self, texts=self.texts.of(sources))

    def replacing(self, path: Path, text: bytes) -> Run:
        """The same on a candidate: its text in place of that of the file."""
        return replace(self, texts=self.texts.replacing(path, text))

    def replacing_all(self, changed: Iterable[tuple[Path, bytes]]) -> Run:
        """The same on a candidate that changes several files."""
        run = self
        for path, text in changed:
            run = run.replacing(path, text)
        return run
