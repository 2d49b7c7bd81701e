"""The cache of compiler results: a directory per result, found again by the content of everything that went in.

Like ccache's direct mode: the first key is made of the compiler, its flags and the texts that we hand it; under it lie
results, each with the list of the other files that the compiler read and what they held then.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.system.directories import (
    cache_directory,
    draft_directory,
    locked,
    prune,
    settle,
)

_KEPT_RESULTS = 400
# Files here belong to the system: size and time are enough to see that they changed.
SYSTEM_PREFIXES = ("/usr/", "/opt/", "/lib/")
_RECORD = "record.json"


@dataclass(frozen=True)
class Entry:
    """A result: its directory, what it took to make (seconds) and what the compiler printed.

    `files` are the other files that the compiler read; `read` are these and the texts that it was handed and used.
    """

    directory: Path
    seconds: float
    output: str
    cached: bool
    files: frozenset[Path]
    read: tuple[Path, ...] = ()


class BuildCache:
    """The results for one compiler call on given texts. Of a `home` below the cache, the newest `kept` are."""

    def __init__(
        self,
        kind: str,
        identity: Sequence[str],
        texts: Mapping[Path, bytes],
        *,
        home: str = "build",
        kept: int = _KEPT_RESULTS,
    ) -> None:
        self._texts = {path: hashlib.sha256(data).hexdigest() for path, data in texts.items()}
        parts = [*identity, *(f"{path}={digest}" for path, digest in sorted(self._texts.items()))]
        self._home, self._kept = cache_directory() / home, kept
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
        self.directory = self._home / f"{kind}-{digest[:24]}"
        self._started_ns = time.time_ns()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else, in this process or another, makes the same result meanwhile."""
        with locked(self._home / ".locks" / self.directory.name[-2:]):
            yield

    def find(self) -> Entry | None:
        """The result whose every input is as it was, or None."""
        with contextlib.suppress(FileNotFoundError):
            for directory in sorted(self.directory.iterdir()):
                with contextlib.suppress(OSError, ValueError, KeyError):
                    record = json.loads((directory / _RECORD).read_text())
                    inputs = {Path(path): value for path, value in record["inputs"].items()}
                    if all(_fingerprint(path) == value for path, value in inputs.items()):
                        os.utime(self.directory)
                        read = tuple(Path(path) for path in record["read"])
                        seconds, output = record["seconds"], record["output"]
                        return Entry(
                            directory, seconds, output, cached=True, files=frozenset(inputs), read=read
                        )
        return None

    @contextlib.contextmanager
    def draft(self) -> Iterator[Path]:
        """A directory for the compiler to write into."""
        with draft_directory(self._home / ".drafts") as draft:
            yield draft

    def store(
        self, draft: Path, files: Sequence[Path], *, seconds: float, output: str, alone: bool = False
    ) -> Entry:
        """Keep what is in `draft` as the result for the `files` that the compiler read; `alone`: and no other one."""
        inputs = {
            str(path): self._recorded(path)
            for path in files
            if path not in self._texts and draft not in path.parents
        }
        read = [str(path) for path in files if draft not in path.parents]
        record = json.dumps({"inputs": inputs, "read": read, "seconds": seconds, "output": output})
        for leftover in draft.glob("overlay*"):
            leftover.unlink()
        (draft / _RECORD).write_text(record)
        self.directory.mkdir(parents=True, exist_ok=True)
        final = self.directory / hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]
        settle(draft, final)
        for other in self.directory.iterdir() if alone else ():
            if other.is_dir() and other != final:
                shutil.rmtree(other, ignore_errors=True)
        prune(self._home, self._kept)
        others, used = frozenset(Path(path) for path in inputs), tuple(Path(path) for path in read)
        return Entry(final, seconds, output, cached=False, files=others, read=used)

    def _recorded(self, path: Path) -> str:
        # A file that was saved while the compiler ran may not be what the compiler read: never found again.
        # Nor does one that is not there: the compiler may write a name in another way than it was given.
        with contextlib.suppress(FileNotFoundError):
            return _fingerprint(path) if path.stat().st_mtime_ns < self._started_ns else "changed"
        return "changed"


def _fingerprint(path: Path) -> str:
    if str(path).startswith(SYSTEM_PREFIXES):
        status = path.stat()
        return f"{status.st_size}:{status.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()
