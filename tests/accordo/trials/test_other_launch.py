"""Launches of another program over the reference's trials: shapes and numbers that follow, and trials that do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.dispatch.writer import write_dispatch
from hipscope.accordo.trials.other_launch import groups_of, relaunching, reshaped
from tests.accordo.conftest import KERNEL, write_capture

Sides = tuple[int, int, int]


@pytest.fixture
def captured(tmp_path: Path) -> CapturedDispatch:
    return read_capture_set(write_capture(tmp_path / "capture", KERNEL))[0]


def shaped(of: CapturedDispatch, groups: Sides, workgroup: Sides, folder: Path) -> CapturedDispatch:
    return reshaped(of, groups, workgroup, folder)


@pytest.mark.parametrize(
    ("was", "now", "trial", "groups"),
    [
        ((96, 256), (384, 64), 96, 384),  # the launch itself
        ((1001, 256), (501, 512), 64, 32),  # as many work-items in a part of the launch
        ((1000, 256), (4000, 64), 63, 252),
        ((100, 256), (25, 1024), 50, None),  # no whole workgroups do as much
        ((76, 256), (304, 256), 38, 152),  # more workgroups for the same work
        ((300, 256), (300, 64), 64, 64),  # a workgroup for each row
    ],
)
def test_a_trial_is_launched_as_the_other_program_would(
    captured: CapturedDispatch,
    tmp_path: Path,
    was: tuple[int, int],
    now: tuple[int, int],
    trial: int,
    groups: int | None,
) -> None:
    old = shaped(captured, (was[0], 1, 1), (was[1], 1, 1), tmp_path / "old")
    new = shaped(captured, (now[0], 1, 1), (now[1], 1, 1), tmp_path / "new")
    part = shaped(captured, (trial, 1, 1), (was[1], 1, 1), tmp_path / "part")
    made = relaunching([old], {old.id: new}, tmp_path / "made")(part)
    if groups is None:
        assert made is None
    else:
        assert made is not None
        assert (groups_of(made), made.workgroup) == ((groups, 1, 1), (now[1], 1, 1))
        assert made.buffers[0].before() == part.buffers[0].before()


def test_numbers_that_the_other_program_passes_otherwise_are_passed(
    captured: CapturedDispatch, tmp_path: Path
) -> None:
    at = next(a for a in captured.explicit_arguments if a.value_kind == "by_value")

    def passing(value: int, name: str) -> CapturedDispatch:
        raw = bytearray(captured.kernarg())
        raw[at.offset : at.offset + at.size] = value.to_bytes(at.size, "little")
        return write_dispatch(captured, tmp_path / name, bytes(raw), {})

    old, new, other = passing(5, "five"), passing(9, "nine"), passing(7, "seven")
    relaunch = relaunching([old], {old.id: new}, tmp_path / "made")
    made = relaunch(old)
    assert made is not None
    assert made.kernarg()[at.offset : at.offset + at.size] == (9).to_bytes(at.size, "little")
    assert relaunch(other) is None  # a trial of another number there


def test_trials_of_other_workgroups_are_left_out(captured: CapturedDispatch, tmp_path: Path) -> None:
    new = shaped(captured, (8, 1, 1), (64, 1, 1), tmp_path / "new")
    odd = shaped(captured, (8, 1, 1), (32, 1, 1), tmp_path / "odd")
    relaunch = relaunching(
        [shaped(captured, (2, 1, 1), (256, 1, 1), tmp_path / "old")], {new.id: new}, tmp_path / "m"
    )
    assert relaunch(odd) is None
    assert relaunch(replace(odd, id=odd.id + 1)) is None
