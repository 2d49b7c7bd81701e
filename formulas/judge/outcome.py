"""What came of a candidate, and the numbers that the result shows: times measured on a GPU, and what became worse.

Data only.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Outcome(StrEnum):
    """What came of an attempt. The first ones say most about why there is no rewrite, the last ones say nothing."""

    PROGRAM_DIFFERS = "program_differs"
    DIFFERENT = "different"
    INCONCLUSIVE = "inconclusive"
    IMPLAUSIBLE = "implausible"
    REFUSED = "refused"
    NOT_COMPILED = "not_compiled"
    METRIC_NOT_MOVED = "metric_not_moved"
    OCCUPANCY_CLIFF = "occupancy_cliff"
    CANNOT_JUDGE = "cannot_judge"
    NOT_FASTER = "not_faster"
    NOT_MEASURED = "not_measured"
    ADVICE = "advice"
    NO_RECIPE = "no_recipe"
    NOT_TRIED = "not_tried"
    TRIED_BEFORE = "tried_before"
    ENDED = "ended"
    MODEL_FAILED = "model_failed"
    UNUSABLE = "unusable"
    ACCEPTED = "accepted"

    @property
    def rank(self) -> int:
        """How much it says about why there is no rewrite: less is more, and what says nothing ranks alike."""
        return min(_RANKED.index(self), _RANKED.index(Outcome.NOT_TRIED))

    @property
    def wrong(self) -> bool:
        """Something was wrong with a rewrite, however fast it was."""
        return self.rank <= _RANKED.index(Outcome.NOT_COMPILED)


_RANKED = tuple(Outcome)


class FrozenRecord(BaseModel):
    """A record of a result: frozen, and refuses keys that it does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class PairedRatio(FrozenRecord):
    """How many times as fast the rewrite was on the GPU: the estimate over all pairs of runs, and its 95 % interval."""

    estimate: float
    low: float
    high: float
    pairs: int


class MeasuredTimes(FrozenRecord):
    """A rewrite and the original, timed in turn on the GPU.

    Nanoseconds of all launches of the kernel in one run (the median over the runs), and a ratio for each state of the
    caches (`cold`: the first launch of a run, `warm`: the later ones).
    """

    before_ns: float
    after_ns: float
    ratios: dict[str, PairedRatio]


class ProgramTimes(FrozenRecord):
    """Nanoseconds of all launches of the rewritten kernels in a run of the whole program, without the rewrite and with
    it; modelled.
    """

    before_ns: float
    after_ns: float

    @property
    def times_as_fast(self) -> float:
        """How many times as fast the kernels are."""
        return self.before_ns / self.after_ns


class Trade(FrozenRecord):
    """What a rewrite makes worse while it makes the kernel faster.

    `formula` is the bottleneck that the metric belongs to, "" for the occupancy; `share` is the part of the kernel's
    time that is at stake there afterwards, None when that is too little to be a finding.
    """

    formula: str
    metric: str
    before: float | None = None
    after: float
    share: float | None = None
