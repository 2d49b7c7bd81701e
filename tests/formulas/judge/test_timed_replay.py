"""Timed runs: speed-ups over the ranges of the model's constants, and what tells whether a run is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from hipscope.accordo.dispatch.captured import read_capture_set
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.reference.prepare import Reference
from hipscope.accordo.replay.replay import Replay
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import Stop
from hipscope.emulator.devices import constants_at_ends, constants_at_mixed_ends
from hipscope.formulas.judge import timed_replay
from hipscope.formulas.judge.bench import OnDemand
from hipscope.formulas.judge.judge import audit_of
from hipscope.formulas.judge.speed_gate import depends_on_assumption
from hipscope.formulas.judge.timed_replay import (
    SpeedupRange,
    TimesAt,
    longest_launch,
    speedup_range,
    told_range,
)
from tests.accordo.conftest import write_capture

Cost = Callable[[Mapping[str, float]], float]
FAST, SLOW = constants_at_ends("mi300x")


def found_by(
    monkeypatch: pytest.MonkeyPatch,
    after: Cost,
    before: Cost,
    run: Run | None = None,
    before_at: TimesAt | None = None,
) -> tuple[SpeedupRange | None, int]:
    """The range of a rewrite whose times are these of the constants that are changed, and how many runs it took."""
    old, new = Path("old"), Path("new")
    runs = []

    def timed(*given: Any) -> float:
        code, changes = given[2], given[5]
        runs.append(code)
        return (after if code == new else before)(changes)

    monkeypatch.setattr(timed_replay, "time_with_constants", timed)
    given = (Mock(), Mock(code_object=old), new, Path("work"), "mi300x", run or Run())
    found = speedup_range(*given, before_at=before_at)
    return found, len(runs)


def measured_at(*times_ns: float) -> Any:
    """What was measured of launches that take so long."""
    launches = [Mock(id=number, time_ns=time_ns) for number, time_ns in enumerate(times_ns, 1)]
    return Mock(profile=Mock(kernels=[Mock(dispatches=launches)]))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            (18686,),
            (13319,),
            "1.21x to 1.40x over",
        ),  # the corners alone: 1.21x to 1.30x, of a rewrite with 1.40x
        ((16354, 3268), (12499, 2831), "1.21x to 1.31x for its longest launch over"),
        ((100, 300), (50, 250), "1.20x to 1.30x for its longest launch over"),
        ((100,), None, "1.21x to 1.30x over"),
    ],
)
def test_the_range_that_is_told_holds_what_the_launch_shows(
    before: tuple[float, ...], after: tuple[float, ...] | None, told: str
) -> None:
    now = measured_at(*after) if after is not None else None
    said = told_range(SpeedupRange(1.21, 1.30), measured_at(*before), now)
    assert said.startswith(told)


def test_the_longest_launch_is_found_among_those_that_are_timed() -> None:
    measured = Mock()
    measured.profile.kernels = [
        Mock(dispatches=[Mock(id=1, time_ns=1.0)]),
        Mock(dispatches=[Mock(id=2, time_ns=3.0)]),
    ]
    first, variant, longest = Mock(variant=False), Mock(variant=True), Mock(variant=False)
    assert longest_launch(measured, [first, variant, longest]) is longest


def test_what_is_much_faster_at_both_ends_is_not_tried_at_mixed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_by(monkeypatch, lambda _: 1.0, lambda _: 2.0) == (SpeedupRange(2, 2), 4)


def test_the_launch_without_a_rewrite_is_timed_once_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    known: TimesAt = {}
    assert found_by(monkeypatch, lambda _: 1.0, lambda _: 2.0, before_at=known) == (SpeedupRange(2, 2), 4)
    assert found_by(monkeypatch, lambda _: 0.5, lambda _: 9.0, before_at=known) == (SpeedupRange(4, 4), 2)


def test_a_trade_of_memory_against_barriers_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faster with all constants fast and with all slow; slower where barriers take long and stores do not."""

    def barriers(changes: Mapping[str, float]) -> float:
        return changes.get("barrier_cycles", 24) / FAST["barrier_cycles"]

    def stores(changes: Mapping[str, float]) -> float:
        return 4 * changes.get("partial_write_factor", 1)

    found, _ = found_by(monkeypatch, barriers, stores)
    assert found is not None
    assert found.low == pytest.approx(4 / 7.5)
    assert found.constant == ("barrier_cycles", SLOW["barrier_cycles"])
    assert found.alone is not None
    assert found.alone < 1


def test_of_several_constants_the_one_that_counts_most_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def after(changes: Mapping[str, float]) -> float:
        slow = sum(changes.get(name) == SLOW[name] for name in ("mall_latency", "store_queue"))
        return 0.9 + 0.08 * slow + 0.005 * (changes.get("mall_latency") == SLOW["mall_latency"])

    found, _ = found_by(monkeypatch, after, lambda _: 1.0)
    assert found is not None
    assert found.constant == ("mall_latency", constants_at_mixed_ends("mi300x")[0]["mall_latency"])
    assert found.alone == pytest.approx(1 / 0.985)


@pytest.mark.parametrize(
    ("time", "each", "independent"),
    [(0.88, 0.0605, 1.034), (0.90, 0.06, 1.014), (0.97, 0.025, 0.994)],
)
def test_constants_that_are_at_their_worst_ends_one_by_one_err_independently(
    time: float, each: float, independent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slower only with slow memory and fast branches at once; one of both is faster when they err independently."""

    def after(changes: Mapping[str, float]) -> float:
        memory = changes.get("mall_latency") == SLOW["mall_latency"]
        branches = changes.get("branch_taken_cycles") == FAST["branch_taken_cycles"]
        return time + each * (memory + branches)

    found, _ = found_by(monkeypatch, after, lambda _: 1.0)
    assert found is not None
    assert found.low == pytest.approx(1 / (time + 2 * each))
    assert found.independent == pytest.approx(independent, abs=1e-3)
    assert (depends_on_assumption(found, 1.03) is None) == (independent >= 1.03)


def test_constants_that_lose_more_together_than_one_by_one_do_not_err_independently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def after(changes: Mapping[str, float]) -> float:
        memory = changes.get("mall_latency") == SLOW["mall_latency"]
        branches = changes.get("branch_taken_cycles") == FAST["branch_taken_cycles"]
        return 0.9 + 0.02 * (memory + branches) + 0.2 * (memory and branches)

    found, _ = found_by(monkeypatch, after, lambda _: 1.0)
    assert found is not None
    assert depends_on_assumption(found, 1.03) is not None


def test_which_constant_counts_is_not_asked_when_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def after(changes: Mapping[str, float]) -> float:
        return 1.1 if changes.get("mall_latency") == SLOW["mall_latency"] else 0.9

    asked, many = found_by(monkeypatch, after, lambda _: 1.0)
    assert asked is not None
    assert asked.constant is not None
    found, runs = found_by(monkeypatch, after, lambda _: 1.0, Run(Stop(None, 0.0)))
    assert found == SpeedupRange(1 / 1.1, 1 / 0.9)
    assert runs == 4 < many


def test_a_timed_run_that_leaves_what_the_program_left_needs_no_reference(tmp_path: Path) -> None:
    (dispatch,) = read_capture_set(write_capture(tmp_path / "capture"))
    for buffer in dispatch.buffers:
        (tmp_path / f"buffer_{buffer.index}.after").write_bytes(buffer.after())
    left = Replay("ok", "", 1.0, tmp_path)
    with ThreadPoolExecutor(max_workers=1) as pool:
        reference = OnDemand(pool, lambda: Reference(None, Signature(), ()))  # type: ignore[arg-type]
        bench = SimpleNamespace(dispatches=(dispatch,), ahead=SimpleNamespace(reference=reference))
        audit = audit_of(bench)  # type: ignore[arg-type]
        assert audit(dispatch, left) == ""
        (tmp_path / "buffer_1.after").write_bytes(bytes(dispatch.buffers[1].size))
        assert audit(dispatch, left) is None  # rounding may be right: only the reference can tell
        assert reference.seconds == 0.0
