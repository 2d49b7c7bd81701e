"""A note about the source that needs no run: a part of several objects. Lines and columns count from 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.source.texts import ByteColumn


@dataclass(frozen=True, slots=True)
class NoteChange:
    """Bytes [start, end) of the note's file, and what stands there then."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class NoteRepair:
    """A change that mends what a note says; the changes do not overlap."""

    title: str
    changes: tuple[NoteChange, ...]


@dataclass(frozen=True, slots=True)
class NotePlace:
    """Another place that belongs to a note, and what is there."""

    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class CompileNote:
    """One thing at a place of the source; `column` and `end_column` 0: the whole line. `kernel` may be a function.

    `sha256` is the text of the file that lines and bytes are of.
    """

    code: str
    severity: Literal["warning", "information"]
    message: str
    kernel: str
    file: str
    line: int
    column: ByteColumn
    end_column: ByteColumn
    related: tuple[NotePlace, ...]
    fix: NoteRepair | None
    sha256: str
