"""How many workgroups a launch would need for its sizes."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from hipscope.accordo.dispatch.access_map import WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.proof.checks.enough_workgroups import as_far_as, enough_workgroups
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.trials.other_launch import Sides
from tests.accordo.trials.test_scalar_variants import launch

TYPES = ["int", "int"]


@pytest.mark.parametrize(
    ("numbers", "groups", "workgroup", "enough"),
    [
        ((1500, 7), (12, 1), (128, 1), None),  # as recorded
        ((1500, 7), (11, 1), (128, 1), (12, 1, 1)),
        ((1500, 7), (12, 1), (64, 1), (24, 1, 1)),
        ((100, 7), (1, 1), (128, 1), None),  # it has less to do
        ((1537, 7), (12, 1), (128, 1), (13, 1, 1)),
        ((1500, 7), (13, 1), (128, 1), None),
        ((1500, 9), (6, 1), (128, 2), (12, 5, 1)),
    ],
)
def test_a_launch_has_enough_workgroups_if_integers_that_bound_the_recorded_one_are_reached(
    numbers: tuple[int, int],
    groups: tuple[int, int],
    workgroup: tuple[int, int],
    enough: Sides | None,
    tmp_path: Path,
) -> None:
    recorded = replace(
        launch(tmp_path, struct.pack("<ii", 1500, 7), 4, 4), grid=(1536, 8, 1), workgroup=(128, 8, 1)
    )
    if workgroup[1] == 1 and groups[1] == 1:
        recorded = replace(recorded, grid=(1536, 1, 1), workgroup=(128, 1, 1))
    other = tmp_path / "other"
    other.mkdir()
    sides = (groups[0] * workgroup[0], groups[1] * workgroup[1], 1)
    trial = replace(launch(other, struct.pack("<ii", *numbers), 4, 4), grid=sides, workgroup=(*workgroup, 1))
    assert enough_workgroups(recorded, trial, TYPES) == enough


def test_where_no_integer_bounds_a_side_there_are_as_many_work_items_as_recorded_and_more_for_larger_integers(
    tmp_path: Path,
) -> None:
    def launched(name: str, count: int, width: int, groups: int) -> CapturedDispatch:
        (folder := tmp_path / name).mkdir()
        made = launch(folder, struct.pack("<ii", count, width), 4, 4)
        return replace(made, grid=(256 * groups, 1, 1), workgroup=(256, 1, 1))

    recorded = launched("recorded", 50, 24, 5)
    assert enough_workgroups(recorded, launched("fewer", 50, 24, 4), TYPES) == (5, 1, 1)
    assert enough_workgroups(recorded, launched("larger", 100, 24, 5), TYPES) == (10, 1, 1)


def test_what_a_rewrite_does_beyond_few_workgroups_is_held_against_what_enough_of_them_do(
    tmp_path: Path,
) -> None:
    before = np.zeros(4, dtype="<f4").tobytes()
    buffer = Mock(index=0, before=lambda: before)
    few, enough = (
        ReferenceRun(name, Mock(buffers=(buffer,)), None, {}, Mock(), {0: AccessMap.of(bits)}, {})
        for name, bits in (
            ("few", np.repeat([WRITTEN, 0, 0, 0], 4).astype(np.uint8)),
            ("enough", np.full(16, WRITTEN, dtype=np.uint8)),
        )
    )
    left = Mock(image=lambda _: np.array([1, 2, 0, 0], dtype="<f4").tobytes())
    written = as_far_as(left, few, enough).access[0].whole.reshape(4, 4) & WRITTEN
    assert written.any(axis=1).tolist() == [True, True, False, False]
