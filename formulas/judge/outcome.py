"""Numbers of a decided candidate that the result shows: times measured on a GPU, and what became worse.

Data only.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


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
