"""Launches of few workgroups that also do less, in kernels whose loops have the grid as their step."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.trials.launch_variants import (
    grown_launch,
    launch_variants,
    longer_rows,
    shorter_launch,
    smaller_launch,
)
from hipscope.emulator.captures import seal
from tests.accordo.conftest import write_capture

TYPES = ["int", "int", "int", "float"]


def launch(folder: Path, *numbers: int) -> CapturedDispatch:
    """One of 512 x 25 workgroups of 32 work-items with these arguments and a float."""
    (dispatch,) = read_capture_set(write_capture(folder / "capture"))
    (dispatch.directory / "kernarg.bin").write_bytes(struct.pack("<3if", *numbers, 512.0))
    seal(dispatch.directory)
    arguments = tuple(
        replace(dispatch.arguments[0], offset=4 * k, size=4, value_kind="by_value") for k in range(4)
    )
    return replace(dispatch, grid=(16384, 25, 1), workgroup=(32, 1, 1), arguments=arguments, buffers=())


@pytest.mark.parametrize(
    ("numbers", "shorter"),
    [
        ((512, 25, 20), (32, 2, 20)),  # workgroups along the sides
        ((16384, 7, 1), (1024, 7, 1)),  # work-items
        ((1 << 20, 7, 1), (5243, 7, 1)),  # more than there are work-items
    ],
)
def test_numbers_of_the_grid_become_less_as_it_does(
    numbers: tuple[int, ...], shorter: tuple[int, ...], tmp_path: Path
) -> None:
    made = shorter_launch(launch(tmp_path, *numbers), TYPES, tmp_path / "shorter")
    assert made is not None
    assert struct.unpack("<3if", made.kernarg()[:16]) == (*shorter, 512.0)
    assert math.prod(made.grid) // 32 == 64


def test_where_no_number_is_of_the_grid_there_is_none(tmp_path: Path) -> None:
    assert shorter_launch(launch(tmp_path, 1000, 7, 1), TYPES, tmp_path / "shorter") is None


@pytest.mark.parametrize(
    ("groups", "instructions", "left"),
    [
        ((512, 25), 0, 64),  # not counted
        ((512, 25), 1_000_000_000, 64),
        ((512, 25), 100_000_000_000, 16),
        ((512, 1), 200_000_000, 32),
        ((200, 1), 10_000_000, None),
        ((200, 1), 50_000_000, 50),
        ((128, 1), 1_000_000_000, 16),
        ((12, 1), 1_000_000_000, None),
    ],
)
def test_of_launches_that_take_long_fewer_workgroups_are_left(
    groups: tuple[int, int], instructions: int, left: int | None, tmp_path: Path
) -> None:
    all_ = replace(launch(tmp_path, 1, 1, 1), grid=(32 * groups[0], groups[1], 1))
    made = smaller_launch(all_, tmp_path / "smaller", instructions)
    assert (None if made is None else math.prod(made.grid) // 32) == left


def test_a_grown_launch_is_beyond_16_bits_and_so_are_what_bounds_it_and_its_buffers(tmp_path: Path) -> None:
    (recorded,) = read_capture_set(write_capture(tmp_path / "capture"))
    (recorded.directory / "kernarg.bin").write_bytes(struct.pack("<3if", 300, 7, 320, 512.0))
    seal(recorded.directory)
    arguments = tuple(
        replace(recorded.arguments[0], offset=4 * k, size=4, value_kind="by_value") for k in range(4)
    )
    five = replace(recorded, grid=(320, 1, 1), workgroup=(64, 1, 1), arguments=arguments)
    grown = grown_launch(five, TYPES, tmp_path / "grown", instructions=100)
    assert grown is not None
    assert grown.dispatch.work_items > 1 << 16
    added = grown.dispatch.work_items - 320
    assert struct.unpack("<3if", grown.dispatch.kernarg()) == (300 + added, 7, 320 + added, 512.0)
    sizes = zip(grown.dispatch.buffers, five.buffers, strict=True)
    assert all(long.size >= short.size * (300 + added) / 300 for long, short in sizes)
    assert grown_launch(five, TYPES, tmp_path / "slow", instructions=1_000_000) is None


@pytest.mark.parametrize(
    ("numbers", "grown_numbers"),
    [
        ((50, 6, 12), (50 * 207, 6, 12)),  # elements of a table with rows of six
        ((120, 190, 12), (120 * 207, 190 * 207, 12)),  # two lists
        ((77, 1000, 12), (77, 1000, 12)),  # a workgroup for each row of the buffers
        ((77, 9, 5), (77, 9, 5 * 207)),  # a workgroup for each of five parts
    ],
)
def test_a_launch_also_grows_where_no_integer_alone_bounds_it(
    numbers: tuple[int, int, int], grown_numbers: tuple[int, int, int], tmp_path: Path
) -> None:
    dispatch = launch(tmp_path, *numbers)
    buffers = read_capture_set(tmp_path / "capture")[0].buffers
    five = replace(dispatch, grid=(320, 1, 1), workgroup=(64, 1, 1), buffers=buffers)
    grown = grown_launch(five, TYPES, tmp_path / "grown", instructions=100)
    assert grown is not None
    assert struct.unpack("<3if", grown.dispatch.kernarg())[:3] == grown_numbers
    assert grown.dispatch.grid == (320 * 207, 1, 1)
    sizes = zip(grown.dispatch.buffers, buffers, strict=True)
    assert all(long.size >= 207 * short.size for long, short in sizes)


def test_a_launch_grows_of_which_each_work_item_has_several_elements(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, 47, 2, 12)
    buffers = read_capture_set(tmp_path / "capture")[0].buffers
    twenty = replace(dispatch, grid=(20, 1, 1), workgroup=(4, 1, 1), buffers=buffers)
    grown = grown_launch(twenty, TYPES, tmp_path / "grown", instructions=100)
    assert grown is not None
    assert struct.unpack("<3if", grown.dispatch.kernarg())[:3] == (47 * 3300, 2, 12)


def test_rows_become_longer_for_as_many_work_items(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, 310, 90, 5)
    buffers = read_capture_set(tmp_path / "capture")[0].buffers
    five = replace(dispatch, grid=(320, 1, 1), workgroup=(64, 1, 1), buffers=buffers)
    (longer,) = longer_rows(five, TYPES, tmp_path / "longer", instructions=100)
    assert struct.unpack("<3if", longer.dispatch.kernarg())[:3] == (310, 541, 5)
    assert longer.dispatch.grid == five.grid
    sizes = zip(longer.dispatch.buffers, buffers, strict=True)
    assert all(long.size >= 6 * short.size for long, short in sizes)
    assert not longer_rows(five, TYPES, tmp_path / "slow", instructions=2_000_000)


def test_each_side_of_a_workgroup_is_halved(tmp_path: Path) -> None:
    (recorded,) = read_capture_set(write_capture(tmp_path / "capture"))
    cube = replace(recorded, grid=(16, 8, 8), workgroup=(8, 4, 4))
    shapes = {v.dispatch.workgroup for v in launch_variants(cube, [], tmp_path / "variants", larger=False)}
    assert {(4, 4, 4), (8, 2, 4), (8, 4, 2)} <= shapes
