"""`hipscope.resources/1`: what each kernel needs of the GPU, and what is noted at its source, without a run.

Paths are absolute, lines and columns count from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.profile import NextStep
from hipscope.server.reports.schema.programs import ProgramError

RESOURCES_SCHEMA = "hipscope.resources/1"


@dataclass(frozen=True, slots=True)
class KernelResources:
    """One kernel or instance of a template. Sizes are bytes, scratch that of a work-item, LDS without dynamic LDS.

    `granted` is what a wave takes of the register file, both kinds together. `threads` is the workgroup that `waves`
    (those that fit on a SIMD) are counted for; `threads_from` says whether a launch in the text, the launch bounds or
    nobody named it. `bounded`: the source limits the size of a workgroup.
    """

    name: str
    mangled: str
    file: str | None
    line: int | None
    vgprs: int
    agprs: int
    granted: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch: int
    lds: int
    dynamic_stack: bool
    max_threads: int
    bounded: bool
    threads: int
    threads_from: Literal["launch", "launch bounds", "assumed"]
    waves: float
    max_waves: int
    limiter: str
    next_step: NextStep | None

    @property
    def spills(self) -> int:
        """Registers of both kinds that do not fit."""
        return self.vgpr_spills + self.sgpr_spills


@dataclass(frozen=True, slots=True)
class SourceResources:
    """One program of the command line; without kernels where there is an `error`. `left_out` is what was not asked."""

    source: str
    kernels: tuple[KernelResources, ...]
    notes: tuple[CompileNote, ...]
    left_out: str | None
    error: ProgramError | None


@dataclass(frozen=True, slots=True)
class ResourcesReport:
    """All programs in the order of the command line; `exceeded` names the limits of `--fail-on` that were passed."""

    TAG: ClassVar = ("schema", RESOURCES_SCHEMA)
    device: str
    arch: str
    sources: tuple[SourceResources, ...]
    exceeded: tuple[str, ...]
