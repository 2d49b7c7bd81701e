"""`hipscope.optimize/1`: what an optimization found, tried and proved, with the verified edit if there is one.

Times are nanoseconds. Metrics are modelled, `provenance` says what the times are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.profile import Finding, Provenance
from hipscope.server.reports.schema.verdict import Isolation, Verdict

OPTIMIZE_SCHEMA = "hipscope.optimize/1"


@dataclass(frozen=True, slots=True)
class EditPart:
    """A replacement of bytes of one file, valid for exactly the text of that hash."""

    file: str
    original_sha256: str
    start_byte: int
    end_byte: int
    new_text: str


@dataclass(frozen=True, slots=True)
class Edit(EditPart):
    """A verified replacement of bytes of one file, valid for exactly the text of that hash.

    `also` are those of other files that belong to it: all are applied, or none.
    """

    also: tuple[EditPart, ...]

    @property
    def parts(self) -> tuple[EditPart, ...]:
        """The edit of each file, this one first."""
        return (self, *self.also)


@dataclass(frozen=True, slots=True)
class Side:
    """The kernel before or after: its time, the metrics of the formula, its resources. `occupancy`: waves per SIMD."""

    time_ns: float
    provenance: Provenance
    metrics: Mapping[str, float | None]
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    lds_bytes: int | None
    scratch_bytes: int | None
    occupancy: float | None


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """How many times as fast the rewrite was on the GPU, with its 95 % interval over pairs of runs."""

    estimate: float | None
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """A rewrite and the original, timed in turn on a GPU; a ratio for cold and for warm caches."""

    before_ns: float
    after_ns: float
    ratios: Mapping[str, PairedRatio]


@dataclass(frozen=True, slots=True)
class Trade:
    """What a rewrite makes worse; `share` is the part of the kernel's time at stake there afterwards."""

    formula: str
    metric: str
    before: float | None
    after: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate and what became of it; `title` is empty for a recipe that did not apply.

    `search`: of a search that found nothing, a digest of all that it was made on.
    """

    formula: str
    kernel: str
    recipe: str
    title: str
    outcome: str
    reason: str
    expected: str
    speedup: float | None
    after: Side | None
    measured: MeasuredTimes | None
    verdict: Verdict | None
    notes: tuple[str, ...]
    trades: tuple[Trade, ...]
    diff: str
    search: str = ""


@dataclass(frozen=True, slots=True)
class KernelGain:
    """A kernel that the edit makes faster: the time of all its launches in a run before, and how many times as fast."""

    kernel: str
    line: int
    time_ns: float
    speedup: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Optimization:
    """The outcome of one optimization; `edit` is there only when it was verified."""

    TAG: ClassVar = ("schema", OPTIMIZE_SCHEMA)
    status: Literal["verified", "nothing_to_do", "no_improvement", "rejected"]
    message: str
    formula: str | None
    kernel: str | None
    file: str | None
    line: int | None
    diff: str | None
    speedup: float | None
    before: Side | None
    after: Side | None
    measured: MeasuredTimes | None
    verdict: Verdict | None
    notes: tuple[str, ...]
    trades: tuple[Trade, ...]
    findings: tuple[Finding, ...]
    attempts: tuple[Attempt, ...]
    isolation: Isolation | None
    edit: Edit | None
    kernels: tuple[KernelGain, ...]
    gpu_speedup: float | None
    program_speedup: float | None
    """Of the run with its host, at most; None without a GPU's record of it, and in older reports."""
    ended: str | None
    compiles: int
    replays: int
    defects: tuple[CompileNote, ...]
    """What is wrong with the kernel as it is: what the sanitizers report, and code that takes a wave for 32 lanes."""

    @property
    def provenance(self) -> Provenance | None:
        """Whether the times before and after are measured or modelled; None without times."""
        return self.before.provenance if self.before is not None else None
