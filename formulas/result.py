"""What an optimization gives: the `hipscope.optimize/1` object and its parts. Data only."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.system.sandbox import Isolation
from hipscope.formulas.base import Finding
from hipscope.formulas.edit import VerifiedEdit


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Side(_Record):
    """One kernel's numbers before or after: its time in nanoseconds, and what it needs.

    A modelled time is that of the recorded launches, a measured one that of all launches of a run. The metrics always
    come from the emulator.
    """

    time_ns: float
    provenance: Literal["modelled", "measured"] = "modelled"
    metrics: dict[str, float] = {}
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    occupancy: float | None = Field(None, description="waves per SIMD that the resources allow")


class PairedRatio(_Record):
    """How many times as fast the rewrite was on the GPU: the estimate over all pairs of runs, and its 95 % interval."""

    estimate: float
    low: float
    high: float
    pairs: int


class MeasuredTimes(_Record):
    """A rewrite and the original, timed in turn on the GPU.

    Nanoseconds of all launches of the kernel in one run (the median over the runs), and a ratio for each state of the
    caches (`cold`: the first launch of a run, `warm`: the later ones).
    """

    before_ns: float
    after_ns: float
    ratios: dict[str, PairedRatio]


class Trade(_Record):
    """What a rewrite makes worse while it makes the kernel faster.

    `formula` is the bottleneck that the metric belongs to, "" for the occupancy; `share` is the part of the kernel's
    time that is at stake there afterwards, None when that is too little to be a finding.
    """

    formula: str
    metric: str
    before: float | None = None
    after: float
    share: float | None = None


class Attempt(_Record):
    """One candidate, or a recipe's refusal, and what came of it."""

    formula: str
    kernel: str
    recipe: str
    title: str
    outcome: str
    reason: str
    expected: str = ""
    speedup: float | None = None
    after: Side | None = None
    measured: MeasuredTimes | None = Field(None, description="on a GPU only")
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()
    trades: tuple[Trade, ...] = ()
    diff: str = ""


class OptimizeResult(_Record):
    """The `hipscope.optimize/1` object."""

    schema_name: Literal["hipscope.optimize/1"] = Field("hipscope.optimize/1", alias="schema")
    status: Literal["verified", "nothing_to_do", "no_improvement", "rejected"]
    message: str
    formula: str | None = None
    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    diff: str | None = None
    speedup: float | None = None
    before: Side | None = None
    after: Side | None = None
    measured: MeasuredTimes | None = Field(None, description="on a GPU only")
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()
    trades: tuple[Trade, ...] = ()
    findings: tuple[Finding, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    isolation: Isolation | None = Field(None, description="the borders around what was compiled and run")
    edit: VerifiedEdit | None = None
