"""The text of each file of a program: the editor's buffer first, then the disk. The only module here that reads files.

Takes the unsaved texts, gives bytes, lines and digests. Each file is read once: a later question gets the same text,
so that a build, its findings and its edits speak of one version of the program.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NewType

from hipscope.analysis.errors import UsageError

ByteColumn = NewType("ByteColumn", int)
"""A column as compilers count it: bytes of UTF-8 from 1; 0 is unknown. Only `hipscope.server.edit` converts it."""

UNKNOWN_COLUMN = ByteColumn(0)

_LINE_END = re.compile(rb"\r\n|\n|\r")  # what ends a line for clang and for LSP


class SourceTexts:
    """The texts of one run; safe to ask from several threads. `sources` lists the files of the program."""

    def __init__(
        self,
        unsaved: Mapping[Path, bytes] | None = None,
        sources: Callable[[], tuple[Path, ...]] = tuple,
        *,
        disk: _Disk | None = None,
    ) -> None:
        self._unsaved = {path.absolute(): text for path, text in (unsaved or {}).items()}
        self._resolved = {os.path.realpath(path): text for path, text in self._unsaved.items()}
        self._sources = sources
        self._disk = disk or _Disk()

    @property
    def unsaved(self) -> Mapping[Path, bytes]:
        """The editor's texts by absolute path, also by the path without links where that is another one.

        A compiler must see them in place of the files, by whatever name it reads these.
        """
        return {**{Path(name): text for name, text in self._resolved.items()}, **self._unsaved}

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files of the program, to search through; empty when they are not known."""
        return self._sources()

    def of(self, sources: Callable[[], tuple[Path, ...]]) -> SourceTexts:
        """The same texts for a program with these files."""
        return SourceTexts(self._unsaved, sources, disk=self._disk)

    def replacing(self, path: Path, text: bytes) -> SourceTexts:
        """The same texts but for one file: a candidate in place of the original."""
        return SourceTexts({**self._unsaved, path: text}, self._sources, disk=self._disk)

    def same(self, other: SourceTexts) -> bool:
        """Whether these are the texts of the same run, with the same ones unsaved: every question has one answer."""
        return self._disk is other._disk and self._resolved == other._resolved

    def read(self, path: Path | str) -> bytes | None:
        """The bytes of a file, None when it cannot be read."""
        found = self._found(path)
        return None if isinstance(found, OSError) else found

    def needed(self, path: Path | str) -> bytes:
        """The bytes of a file that there must be. Raises UsageError when it cannot be read."""
        found = self._found(path)
        if isinstance(found, OSError):
            raise UsageError(f"{path}: {found.strerror}") from found
        return found

    def text(self, path: Path | str) -> str | None:
        """The file decoded for display: what is not UTF-8 becomes U+FFFD. Its columns are not those of the bytes."""
        data = self.read(path)
        return None if data is None else data.decode("utf-8", "replace")

    def lines(self, path: Path | str) -> tuple[bytes, ...]:
        """The lines without their ends, empty when the file cannot be read. Line n of a compiler is `lines[n - 1]`."""
        data = self.read(path)
        return () if data is None else self._disk.lines(data)

    def line(self, path: Path | str, number: int) -> bytes | None:
        """Line `number`, counted from 1; None when there is none."""
        lines = self.lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else None

    def shown(self, path: Path | str, number: int) -> str:
        """Line `number` to be looked at, without the white space around it; "" when there is none."""
        return (self.line(path, number) or b"").decode("utf-8", "replace").strip()

    def digest(self, path: Path | str) -> str | None:
        """SHA-256 of the bytes, as reports and edits name a version; None when the file cannot be read."""
        data = self.read(path)
        return None if data is None else hashlib.sha256(data).hexdigest()

    def _found(self, path: Path | str) -> bytes | OSError:
        name = self._disk.name(path)
        return self._resolved[name] if name in self._resolved else self._disk.read(name)


class _Disk:
    """What was read, once per file, for all texts of a run."""

    def __init__(self) -> None:
        self._names: dict[Path | str, str] = {}
        self._read: dict[str, bytes | OSError] = {}
        self._lines: dict[bytes, tuple[bytes, ...]] = {}
        self._lock = threading.Lock()

    def name(self, path: Path | str) -> str:
        with self._lock:
            if path not in self._names:
                self._names[path] = os.path.realpath(path)
            return self._names[path]

    def read(self, name: str) -> bytes | OSError:
        with self._lock:
            if name not in self._read:
                try:
                    self._read[name] = Path(name).read_bytes()
                except OSError as error:
                    self._read[name] = error
            return self._read[name]

    def lines(self, data: bytes) -> tuple[bytes, ...]:
        with self._lock:
            if data not in self._lines:
                self._lines[data] = tuple(_LINE_END.split(data))
            return self._lines[data]
