"""`hipscope.doctor/1`: the tools of a machine, what works with them, and how to get what is missing.

`hipscope.gpu_check/1`: each step of a measured profile, tried on the GPU of this machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

DOCTOR_SCHEMA = "hipscope.doctor/1"
GPU_CHECK_SCHEMA = "hipscope.gpu_check/1"


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


@dataclass(frozen=True, slots=True)
class RecordedFileRow:
    """A file of a step. `columns` are those of a table, the views of a database, the keys of JSON; no values."""

    path: str
    bytes: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GpuStepRow:
    """One step; `skipped` where a part for it is not installed. `said` is what is wrong, with the fix in brackets."""

    name: str
    status: Literal["ok", "failed", "skipped"]
    said: str
    command: str
    exit_code: int | None
    seconds: float
    files: tuple[RecordedFileRow, ...]


@dataclass(frozen=True, slots=True)
class ComparedCounterRow:
    """A counter of one kernel on the GPU and on the emulator."""

    name: str
    measured: float
    modelled: float


@dataclass(frozen=True, slots=True)
class ComparedKernelRow:
    """The median launch of a kernel on the GPU and on the emulator; None where there is none."""

    kernel: str
    measured_ns: float | None
    modelled_ns: float | None
    counters: tuple[ComparedCounterRow, ...]


@dataclass(frozen=True, slots=True)
class GpuCheckReport:
    """All steps; `text` is the same for people. It has no variable, no name of the user and none of the machine."""

    TAG: ClassVar = ("schema", GPU_CHECK_SCHEMA)
    works: bool
    hipscope: str
    gpus: tuple[str, ...]
    tool: str
    modelled: str
    seconds: float
    steps: tuple[GpuStepRow, ...]
    kernels: tuple[ComparedKernelRow, ...]
    text: tuple[str, ...]
