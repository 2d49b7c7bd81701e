"""How far the preparation of a reference is, and what is left of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.accordo.dispatch.access_map import READ, WRITTEN
from hipscope.accordo.reference import prepare
from hipscope.accordo.reference.trials import Reason


def test_each_launch_tells_its_part_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepared(*arguments: Any) -> Any:
        arguments[-1](0.25)
        return SimpleNamespace(dropped=(), runs=(None,))

    monkeypatch.setattr(prepare, "_prepare", prepared)
    monkeypatch.setattr(prepare, "_not_a_number", lambda *_: ())
    monkeypatch.setattr(prepare, "_writes", lambda _run: True)
    launches: Any = [SimpleNamespace(id=n, complete=True, note=None) for n in (1, 2)]
    settings: Any = SimpleNamespace(without=frozenset(), finite_only=False)
    told: list[float] = []
    reference = prepare.prepare_reference(launches, settings, progress=told.append)
    assert reference.broken is None
    assert told == [0.125, 0.5, 0.625, 1.0]


def test_trials_in_full_are_expected_to_take_as_long_as_the_recorded_launch() -> None:
    recorded, few = object(), object()
    captured: Any = SimpleNamespace(dispatch=recorded, result=SimpleNamespace(seconds=4.0))
    part: Any = SimpleNamespace(dispatch=few, result=SimpleNamespace(seconds=0.5))
    planned: Any = [
        SimpleNamespace(dispatch=d) for d in (recorded, few, few, object())
    ]  # the last another shape
    assert prepare.seconds_of(planned, captured, part) == pytest.approx(3 * (4.0 + 3 * 0.5))
    assert prepare.seconds_of([], captured, part) == 0.0


def ran(label: str, read: int, written: int) -> Any:
    """A run that accesses so many bytes."""
    access = SimpleNamespace(
        count=Counter({READ: read, WRITTEN: written}).__getitem__, any=lambda _: written > 0
    )
    result = SimpleNamespace(instructions=0)
    return SimpleNamespace(label=label, dispatch=object(), access={0: access}, result=result)


ALL, FEW = ran("all", 4000, 1000), ran("few", 40, 10)
STRIDED, SHORTER = ran("strided", 4000, 1000), ran("shorter", 80, 10)
IDLE, NOWHERE = ran("idle", 80, 0), Reason("", "it races")


@pytest.mark.parametrize(
    ("runs", "taken"),
    [
        ([FEW], [FEW]),
        ([NOWHERE], []),
        ([STRIDED, SHORTER], [SHORTER, STRIDED]),
        ([STRIDED, NOWHERE], [STRIDED]),
        ([STRIDED, IDLE], [STRIDED]),
        ([STRIDED, STRIDED], [STRIDED]),
    ],
)
def test_few_workgroups_that_do_the_work_of_all_are_given_less(
    runs: list[Any], taken: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "shorter_launch", lambda *_: object())
    monkeypatch.setattr(prepare, "_writes", lambda run: run.access[0].any(WRITTEN))
    left = list(runs)
    trials: Any = SimpleNamespace(run=lambda *_: [left.pop(0)])
    few = prepare._few_workgroups(ALL, FEW.dispatch, [], trials, Path("work"))
    assert list(few) == taken
    assert not left
