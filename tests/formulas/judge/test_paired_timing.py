"""The gate for measured times: on series made by hand and by simulation, and on pairs recorded on a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.formulas.judge.paired_timing import MeasuredDecision, Timing, decide_measured, ratio_of

# Made by hand to look like a copy kernel of 24 launches, in nanoseconds: drift, ticks of 10 ns, an outlier.
MADE = [
    8610, 8590, 8620, 8600, 8640, 8610, 8630, 8600, 8650, 8620, 12480, 8640, 8650, 8630, 8660, 8640, 8670, 8650, 8680,
    8640, 8690, 8660, 8670, 8650,
]  # fmt: skip


def series(
    gain: float, noise: float = 0.0, pairs: int = 24, cache: str = "warm", seed: int = 0
) -> list[Timing]:
    wobble = np.random.default_rng(seed).normal(1, noise, (pairs, 2)) if noise else np.ones((pairs, 2))
    base = np.resize(MADE, pairs)
    found = []
    for i in range(pairs):
        found.append(Timing("before", cache, float(base[i] * wobble[i, 0])))  # type: ignore[arg-type]
        found.append(Timing("after", cache, float(base[(i + 7) % pairs] / gain * wobble[i, 1])))  # type: ignore[arg-type]
    return found


def recorded(case: str) -> MeasuredDecision:
    """The decision on 30 pairs, warm and cold, taken in turn on an NVIDIA H100 (data/timings/record_pairs.cu)."""
    text = (Path(__file__).parents[2] / "data" / "timings" / "h100_pairs.json").read_text()
    timings = [Timing(side, cache, ns) for side, cache, ns in json.loads(text)[case]]
    return decide_measured(timings)


def test_a_tiled_transposition_on_a_gpu_is_accepted() -> None:
    decision = recorded("faster")
    assert decision.accepted, decision.reason
    assert decision.ratios["warm"].estimate == pytest.approx(322.4 / 51.8, rel=0.01)
    assert decision.ratios["warm"].pairs == decision.ratios["cold"].pairs == 30


@pytest.mark.parametrize("case", ["slower", "same", "hardly different"])
def test_what_is_not_faster_on_a_gpu_is_refused(case: str) -> None:
    """The same kernel twice, the slower one, and one that gains 2 % with warm caches and nothing with cold ones."""
    assert not recorded(case).accepted


def decided(warm: list[Timing], cold: list[Timing] | None = None, **more: object) -> MeasuredDecision:
    cold = cold if cold is not None else [Timing(t.side, "cold", t.ns * 2) for t in warm]
    return decide_measured([*warm, *cold], **more)  # type: ignore[arg-type]


def test_a_clear_gain_is_accepted_with_its_interval() -> None:
    decision = decided(series(1.2))
    assert decision.accepted, decision.reason
    assert decision.ratios["warm"].low > 1.1
    assert decision.ratios["warm"].low <= 1.2 <= decision.ratios["warm"].high
    assert "24 pairs (measured)" in decision.reason


@pytest.mark.parametrize(
    ("warm", "reason"),
    [
        (series(1.0), "not faster beyond noise"),
        (series(0.8), "not faster beyond noise"),
        ([Timing(t.side, t.cache, min(t.ns, 8690)) for t in series(1.02)], "1.030x is asked for"),
        (series(1.12, noise=0.10, pairs=80), "not fast enough"),
        (series(1.5, pairs=19), "only 19 pairs"),
        (sorted(series(1.5), key=lambda t: t.side), "not timed in turn"),
        ([Timing(t.side, t.cache, 0.0) for t in series(1.5)], "has no time"),
    ],
)
def test_what_is_not_shown_is_not_accepted(warm: list[Timing], reason: str) -> None:
    decision = decided(warm)
    assert not decision.accepted
    assert reason in decision.reason


def test_both_states_of_the_caches_count() -> None:
    cold = [Timing(t.side, "cold", t.ns) for t in series(0.9)]
    assert "with cold caches" in decided(series(1.5), cold).reason
    assert "only 0 pairs" in decided(series(1.5), []).reason


def test_no_other_kernel_may_pay_for_it() -> None:
    assert (
        "another kernel, other, becomes slower" in decided(series(1.5), others={"other": series(0.9)}).reason
    )
    assert decided(series(1.5), others={"other": series(1.0)}).accepted


def test_only_the_states_that_are_asked_for_are_needed() -> None:
    cold = [Timing(t.side, "cold", t.ns) for t in series(1.5)]
    assert decide_measured(cold, caches=("cold",)).accepted
    assert decide_measured(cold).stage == "not_measured"


@given(st.floats(0.5, 2.0), st.integers(0, 50))
def test_the_interval_holds_the_estimate_and_turns_round_with_the_sides(gain: float, seed: int) -> None:
    timings = series(gain, noise=0.02, seed=seed)
    ratio = ratio_of(timings)
    assert ratio.low <= ratio.estimate <= ratio.high
    turned = ratio_of([Timing("after" if t.side == "before" else "before", t.cache, t.ns) for t in timings])
    assert turned.estimate == pytest.approx(1 / ratio.estimate)
    assert ratio_of(timings) == ratio
