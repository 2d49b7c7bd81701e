"""Which launches tell the time, where those of one shape do different work."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.heaviest_launches import with_heaviest


def launch(number: int, *, variant: bool, grid: int = 64, complete: bool = True) -> CapturedDispatch:
    return CapturedDispatch(
        id=number, directory=Path(), kernel="k", code_object=Path(), grid=(grid, 1, 1), workgroup=(64, 1, 1),
        dynamic_lds=0, arguments=(), buffers=(), variables=(), complete=complete, reason=None, variant=variant,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("times", "timed"),
    [
        ({1: 100.0, 2: 110.0, 3: 500.0, 4: 50.0}, [1, 3, 4]),
        ({1: 100.0, 2: 110.0, 3: 120.0, 4: 50.0}, [1, 4]),  # the first one tells it as well
        ({}, [1, 4]),
    ],
)
def test_of_each_shape_the_heaviest_launch_is_timed_beside_the_first(
    times: dict[int, float], timed: list[int]
) -> None:
    launches = [
        launch(1, variant=False), launch(2, variant=True), launch(3, variant=True), launch(4, variant=False, grid=128),
    ]  # fmt: skip
    found = with_heaviest(launches, times)
    assert [d.id for d in found] == [1, 2, 3, 4]
    assert [d.id for d in found if not d.variant] == timed


def test_a_launch_that_was_not_recorded_in_full_is_not_timed() -> None:
    launches = [launch(1, variant=False), launch(2, variant=True, complete=False), launch(3, variant=True)]
    found = with_heaviest(launches, {1: 10.0, 2: 900.0, 3: 100.0})
    assert [d.id for d in found if not d.variant] == [1, 3]
