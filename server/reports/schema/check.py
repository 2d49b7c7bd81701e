"""`hipscope.check/1`: what the sanitizers found in a run. Paths are absolute, lines and columns count from 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from hipscope.server.reports.schema.fields import JSON_KEY
from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.profile import Program

CHECK_SCHEMA = "hipscope.check/1"
Coordinates = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CodePosition:
    """One level of an inline chain; `column` 0 means that the compiler gave none."""

    file: str
    line: int
    column: int
    function: str


@dataclass(frozen=True, slots=True)
class DefectSite:
    """One side of a defect: an instruction with its inline chain (innermost first), and who executed it.

    `lane` and `thread` are None when the whole wave is meant; `file`, `line` and `column` without debug lines.
    """

    file: str | None
    line: int | None
    column: int | None
    instruction: str
    address: int
    workgroup: Coordinates
    wave: int
    lane: int | None
    thread: Coordinates | None
    chain: tuple[CodePosition, ...]


@dataclass(frozen=True, slots=True)
class AccessedBytes:
    """The bytes an access touched. `address` is an offset for LDS and scratch."""

    space: Literal["global", "lds", "scratch"]
    address: int
    bytes: int
    write: bool


@dataclass(frozen=True, slots=True)
class AllocatedBlock:
    """A block of device memory and the host's calls that made and freed it, innermost first; empty when not known."""

    id: int
    address: int
    bytes: int
    freed: bool
    allocated_at: tuple[CodePosition, ...]
    freed_at: tuple[CodePosition, ...]


@dataclass(frozen=True, slots=True)
class DefectReport:
    """One defect. `count` is how often it was seen with this pair of lines; the rest describes the first case."""

    defect: str = field(metadata={JSON_KEY: "class"})
    message: str
    kernel: str
    mangled: str
    dispatch: int
    count: int
    at: DefectSite
    other: DefectSite | None
    memory: AccessedBytes | None
    allocation: AllocatedBlock | None


@dataclass(frozen=True, slots=True)
class KernelStop:
    """Something that stopped a dispatch and is no sanitizer's report. `refused`: the launch did not begin."""

    kernel: str
    message: str
    refused: bool
    position: CodePosition | None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a checked run found. `left_out` counts reports beyond those kept; `failure` is how the program failed."""

    TAG: ClassVar = ("schema", CHECK_SCHEMA)
    checks: tuple[str, ...]
    dispatches: int
    reports: tuple[DefectReport, ...]
    left_out: int
    faults: tuple[KernelStop, ...]
    program: Program
    failure: str | None
    notes: tuple[CompileNote, ...]
    """What the text itself says is wrong: code that takes a wave for 32 lanes."""
