"""A note: one thing that is wrong, or costs, with its place and perhaps a change of the text that mends it.

Data only: the modules beside it make notes, the editor and the command line show them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hipscope.emulator.sanitize import Defect

NoteCode = Literal["spills", "scratch", "launch-bounds", "lds", "wave-size"] | Defect
NoteSeverity = Literal["warning", "information"]


@dataclass(frozen=True)
class TextChange:
    """Bytes [start, end) of a file and what stands there then."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class NoteFix:
    """A change that mends what a note says: the same file, changes that do not overlap."""

    title: str
    changes: tuple[TextChange, ...]


@dataclass(frozen=True)
class SourceNote:
    """Lines and columns count from 1, columns in bytes; `end_column` is behind the last byte, 0: the whole line.

    `kernel` is the kernel or function that it is about. `related` are other places that belong to it: file, line, what
    is there.
    """

    code: NoteCode
    severity: NoteSeverity
    message: str
    kernel: str
    file: str
    line: int
    column: int = 0
    end_column: int = 0
    related: tuple[tuple[str, int, str], ...] = ()
    fix: NoteFix | None = None
