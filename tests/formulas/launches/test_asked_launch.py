"""How the launch that a rewrite asks for is read."""

from __future__ import annotations

import pytest

from hipscope.formulas.launches.asked_launch import AskedLaunch, read_launch


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("workgroup 128", AskedLaunch((128, 1, 1))),
        ("Workgroup 32x8", AskedLaunch((32, 8, 1))),
        ("`workgroup 8 x 8 x 4`", AskedLaunch((8, 8, 4))),
        ("workgroups x4", AskedLaunch(times=4)),
        ("workgroups * 16", AskedLaunch(times=16)),
        ("workgroups /4", AskedLaunch(parts=4)),
    ],
)
def test_a_launch_is_read(said: str, asked: AskedLaunch) -> None:
    assert read_launch(said) == asked


@pytest.mark.parametrize("said", ["<<<1, 64>>>", "workgroups x1", "workgroups /4096", "workgroup n", "x4"])
def test_what_is_no_launch_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match=r"launch|times"):
        read_launch(said)


def test_a_part_of_the_workgroups_is_rounded_up() -> None:
    assert read_launch("workgroups /4").groups((5, 2, 1)) == (2, 2, 1)
    assert read_launch("workgroups x4").groups((5, 2, 1)) == (20, 2, 1)


def test_where_the_last_workgroup_does_a_part_no_launch_does_exactly_the_same() -> None:
    assert read_launch("workgroups /4").exactly((5, 2, 1)) is None
    assert read_launch("workgroups /4").exactly((8, 2, 1)) == (2, 2, 1)
