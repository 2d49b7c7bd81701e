"""The text of each file of a program: the editor's buffer first, then the disk. The only module here that reads files.

Takes the unsaved texts, gives bytes, lines and digests. Each file is read once: whoever asks later gets the same text,
so that a build, its findings and its edits speak of one version of the program.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NewType

ByteColumn = NewType("ByteColumn", int)
"""A column as compilers count it: bytes of UTF-8 from 1; 0 is unknown. Only `hipscope.server.edit` converts it."""


class SourceTexts:
    """The texts of one run; safe to ask from several threads."""

    def __init__(self, unsaved: Mapping[Path, bytes] | None = None) -> None:
        self._unsaved = {_resolved(path): text for path, text in (unsaved or {}).items()}
        self._read: dict[Path, bytes | None] = dict(self._unsaved)
        self._lock = threading.Lock()

    @property
    def unsaved(self) -> Mapping[Path, bytes]:
        """The editor's texts by resolved path: what a compiler must see in place of the files."""
        return self._unsaved

    def read(self, path: Path | str) -> bytes | None:
        """The bytes of a file, None when it cannot be read."""
        resolved = _resolved(path)
        with self._lock:
            if resolved not in self._read:
                try:
                    self._read[resolved] = resolved.read_bytes()
                except OSError:
                    self._read[resolved] = None
            return self._read[resolved]

    def text(self, path: Path | str) -> str | None:
        """The file decoded for display: what is not UTF-8 becomes U+FFFD. Its columns are not those of the bytes."""
        data = self.read(path)
        return None if data is None else data.decode("utf-8", "replace")

    def lines(self, path: Path | str) -> tuple[bytes, ...]:
        """The lines without their ends, empty when the file cannot be read. Line n of a compiler is `lines[n - 1]`."""
        data = self.read(path)
        return () if data is None else tuple(line.removesuffix(b"\r") for line in data.split(b"\n"))

    def line(self, path: Path | str, number: int) -> bytes | None:
        """Line `number`, counted from 1; None when there is none."""
        lines = self.lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else None

    def digest(self, path: Path | str) -> str | None:
        """SHA-256 of the bytes, as reports and edits name a version; None when the file cannot be read."""
        data = self.read(path)
        return None if data is None else hashlib.sha256(data).hexdigest()


def _resolved(path: Path | str) -> Path:
    return Path(os.path.realpath(path))
