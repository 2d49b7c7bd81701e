"""`hipscope.compare/1`: two profiles of the same programs, kernel by kernel, and the limits that were passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

COMPARE_SCHEMA = "hipscope.compare/1"


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """A kernel in one of the two profiles. `time_ns` is the sum over `dispatches`; `findings` are names of formulas."""

    time_ns: float | None
    dispatches: int
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    spills: int | None
    scratch_bytes: int | None
    lds_bytes: int | None
    occupancy: float | None
    bound: str
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """The 95 % interval of a change over pairs of runs that were made in turn on a GPU."""

    low: float
    high: float
    pairs: int


@dataclass(frozen=True, slots=True)
class MovedLine:
    """A line of a kernel's definition with its time in both, in nanoseconds of all launches; None: not there."""

    base_line: int | None
    head_line: int | None
    base_ns: float
    head_ns: float


@dataclass(frozen=True, slots=True)
class ComparedKernel:
    """A kernel of both profiles, or of one: the other side is None then.

    `change` is the change of the time of all its launches, 0.11 for 11 % more; None where the times are not of the
    same kind (`not_comparable` says why). `renamed`: its name in the base, where it was found by its identifier.
    `measured`: how sure `change` is, where both versions were run again in turn; None for modelled times, and for
    profiles that were only read. `moved_lines`: those whose time changed most; empty where the texts are not there.
    """

    name: str
    mangled: str
    base: ComparedSide | None
    head: ComparedSide | None
    change: float | None
    not_comparable: str | None
    renamed: str | None
    measured: MeasuredChange | None
    moved_lines: tuple[MovedLine, ...]


@dataclass(frozen=True, slots=True)
class ComparedProgram:
    """A program of both sides; `failed` is why it could not be compared."""

    program: str
    kernels: tuple[ComparedKernel, ...]
    failed: str | None


@dataclass(frozen=True, slots=True)
class PassedLimit:
    """A limit of `--fail-on` that a kernel passed, in words."""

    limit: str
    program: str
    kernel: str
    message: str


@dataclass(frozen=True, slots=True)
class CompareReport:
    """The whole comparison. `provenance` is that of the times, None where the two differ."""

    TAG: ClassVar = ("schema", COMPARE_SCHEMA)
    base: str
    head: str
    provenance: Literal["measured", "modelled"] | None
    programs: tuple[ComparedProgram, ...]
    limits: tuple[str, ...]
    passed_limits: tuple[PassedLimit, ...]

    def counts(self) -> Mapping[str, int]:
        """How many kernels are in both, only in the head, only in the base."""
        kernels = [kernel for program in self.programs for kernel in program.kernels]
        return {
            "both": sum(k.base is not None and k.head is not None for k in kernels),
            "new": sum(k.base is None for k in kernels),
            "gone": sum(k.head is None for k in kernels),
        }
