"""The gate for times that were measured on hardware: paired runs and a confidence interval.

Takes timings in the order they were taken, gives a decision in words. The emulator needs none of it: its times do not
vary. The interval is the percentile bootstrap of the mean log ratio (Efron and Tibshirani, An Introduction to the
Bootstrap, chapter 13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hipscope.formulas.judge.outcome import Outcome

Side = Literal["before", "after"]
Cache = Literal["warm", "cold"]

LEAST_PAIRS = 20
LEAST_GAIN = 0.03
_NOISES = 2.0
_RESAMPLES = 4000
_SEED = 20240229
_OTHERS_SLOWER = 1.03


@dataclass(frozen=True)
class Timing:
    """One timed launch, or several of one run together, in nanoseconds.

    `cold`: the kernel found nothing in the caches that it had left there itself: they were flushed, or it is its first
    launch in the process.
    """

    side: Side
    cache: Cache
    ns: float


@dataclass(frozen=True)
class Ratio:
    """How many times as fast `after` is: the estimate and its 95 % interval, and the noise of one side (0 to 1)."""

    estimate: float
    low: float
    high: float
    noise: float
    pairs: int


@dataclass(frozen=True)
class MeasuredDecision:
    """Whether the gate opens, why, and the ratios that it went by."""

    stage: Outcome
    reason: str
    ratios: Mapping[Cache, Ratio]

    @property
    def accepted(self) -> bool:
        """Faster beyond noise, at no other kernel's cost."""
        return self.stage is Outcome.ACCEPTED

    @property
    def speedup(self) -> float | None:
        """The smaller estimate of those with warm and with cold caches."""
        return min((r.estimate for r in self.ratios.values()), default=None)


def decide_measured(
    timings: Sequence[Timing],
    *,
    caches: Sequence[Cache] = ("warm", "cold"),
    others: Mapping[str, Sequence[Timing]] | None = None,
    least_gain: float = LEAST_GAIN,
) -> MeasuredDecision:
    """Is it faster beyond noise, in every state of the caches that is asked for, at no other kernel's cost?

    `timings` stand in the order they were taken: sides must alternate, so that drift of the clock hits both.
    """
    ratios: dict[Cache, Ratio] = {}

    def closed(stage: Outcome, reason: str) -> MeasuredDecision:
        return MeasuredDecision(stage, reason, ratios)

    for cache in caches:
        series = [t for t in timings if t.cache == cache]
        if (wrong := _unpaired(series)) is not None:
            return closed(Outcome.NOT_MEASURED, f"with {cache} caches {wrong}")
        ratios[cache] = ratio_of(series)
    for cache, ratio in ratios.items():
        said = (
            f"{ratio.estimate:.3f}x with {cache} caches (95 % between {ratio.low:.3f} and {ratio.high:.3f})"
        )
        if ratio.low <= 1.0:
            return closed(Outcome.NOT_FASTER, f"not faster beyond noise: {said}")
        needed = 1 + max(least_gain, _NOISES * ratio.noise)
        if ratio.estimate < needed:
            return closed(
                Outcome.NOT_FASTER,
                f"not fast enough: {said}, {needed:.3f}x is asked for at a noise of {ratio.noise:.1%}",
            )
    for name, told in (others or {}).items():
        if _unpaired(told) is None and (other := ratio_of(told)).high < 1 / _OTHERS_SLOWER:
            return closed(
                Outcome.PROGRAM_DIFFERS, f"another kernel, {name}, becomes slower: {other.estimate:.3f}x"
            )
    said = " and ".join(
        f"{r.estimate:.3f}x as fast with {cache} caches (95 % between {r.low:.3f} and {r.high:.3f})"
        for cache, r in ratios.items()
    )
    pairs = min(r.pairs for r in ratios.values())
    return MeasuredDecision(Outcome.ACCEPTED, f"{said} over {pairs} pairs (measured)", ratios)


def ratio_of(timings: Sequence[Timing]) -> Ratio:
    """The ratio of alternating timings; deterministic. Raises ValueError when there is no pair."""
    before, after = (np.array([t.ns for t in timings if t.side == side]) for side in ("before", "after"))
    count = min(len(before), len(after))
    if count == 0:
        raise ValueError("no pair of timings")
    logs = np.log(before[:count]) - np.log(after[:count])
    chosen = np.random.default_rng(_SEED).integers(0, count, (_RESAMPLES, count))
    low, high = np.quantile(logs[chosen].mean(axis=1), [0.025, 0.975])
    noise = max(_spread(before), _spread(after))
    return Ratio(float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high)), noise, count)


def _unpaired(series: Sequence[Timing]) -> str | None:
    """Why the timings do not make enough pairs, in words, or None."""
    if any(not t.ns > 0 for t in series):
        return "a launch has no time"
    if any(a.side == b.side for a, b in pairwise(series)):
        return "the two versions were not timed in turn"
    pairs = len(series) // 2
    return None if pairs >= LEAST_PAIRS else f"only {pairs} pairs were timed, {LEAST_PAIRS} are needed"


def _spread(values: NDArray[np.float64]) -> float:
    """Standard deviation relative to the median, from the median deviation, so that a few outliers do not count."""
    middle = float(np.median(values))
    return 1.4826 * float(np.median(np.abs(values - middle))) / middle
