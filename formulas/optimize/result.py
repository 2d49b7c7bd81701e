"""What an optimization gives: the `hipscope.optimize/1` object and its parts. Data only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.system.sandbox import Isolation
from hipscope.formulas.base import Finding
from hipscope.formulas.judge.outcome import FrozenRecord, MeasuredTimes, Outcome, Trade
from hipscope.formulas.optimize.verified_edit import VerifiedEdit


class Side(FrozenRecord):
    """One kernel's numbers before or after: its time in nanoseconds, and what it needs.

    A modelled time is that of the recorded launches, a measured one that of all launches of a run. The metrics always
    come from the emulator.
    """

    time_ns: float
    provenance: Literal["modelled", "measured"] = "modelled"
    metrics: dict[str, float] = Field(default_factory=dict)
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    occupancy: float | None = Field(None, description="waves per SIMD that the resources allow")


class Attempt(FrozenRecord):
    """One candidate, or a recipe's refusal, and what came of it."""

    formula: str
    kernel: str
    recipe: str
    title: str
    outcome: Outcome
    reason: str
    expected: str = ""
    speedup: float | None = None
    after: Side | None = None
    measured: MeasuredTimes | None = Field(None, description="on a GPU only")
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()
    trades: tuple[Trade, ...] = ()
    diff: str = ""
    search: str = Field("", description="of a search that found nothing: a digest of all that it was made on")


class KernelGain(FrozenRecord):
    """What the verified edit brings to one kernel: `time_ns` of all its launches in a run before, and how many times as
    fast they are after `rounds` rewrites.
    """

    kernel: str
    line: int
    time_ns: float
    speedup: float
    rounds: int = 1


class OptimizeResult(FrozenRecord):
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
    kernels: tuple[KernelGain, ...] = Field((), description="those that the edit makes faster")
    gpu_speedup: float | None = Field(
        None, description="all kernels of a run together: the sum of their times before, by that after"
    )
    program_speedup: float | None = Field(
        None,
        description="at most: the run with its host, by the longest path of launches, copies and calls that a GPU's "
        "profile recorded, before and after; None without calls",
    )
    ended: str | None = Field(
        None, description="why the search ended before all was tried, and what is left; None when all was"
    )
    compiles: int = Field(0, description="texts of device code that were compiled for all attempts")
    replays: int = Field(
        0, description="recorded launches that were made again, of the original and of all attempts"
    )
