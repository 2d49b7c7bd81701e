"""`hipscope.doctor/1`: the tools of a machine, what works with them, and how to get what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

DOCTOR_SCHEMA = "hipscope.doctor/1"


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool; `optional` when it is missing and the main job works without it. `fix` is empty when it is there."""

    name: str
    status: Literal["ok", "missing", "optional"]
    path: str
    version: str
    enables: str
    fix: str


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All tools; `program` is a sentence about a program's libraries, None when none was named."""

    TAG: ClassVar = ("schema", DOCTOR_SCHEMA)
    works: bool
    tools: tuple[ToolRow, ...]
    program: str | None
