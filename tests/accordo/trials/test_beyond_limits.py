"""Launches that are larger than a limit of a rewrite's code."""

from __future__ import annotations

import struct
from pathlib import Path

from hipscope.accordo.trials.beyond_limits import Base, Beyond, beyond_limits
from hipscope.accordo.trials.code_limits import CodeLimit
from tests.accordo.trials.test_launch_variants import TYPES, launch

LIMIT = CodeLimit(20_000, "with which the rewrite compares")


def made(folder: Path, *numbers: int) -> list[Beyond]:
    return beyond_limits(Base(launch(folder, *numbers), TYPES, 1000), [LIMIT], folder / "made")


def test_smaller_integers_are_the_last_place_of_the_larger_size(tmp_path: Path) -> None:
    """A step that does something else where its place is the last one, of many."""
    found = [struct.unpack("<3i", one.dispatch.kernarg()[:12]) for one in made(tmp_path, 16384, 30, 0)]
    assert any(size > LIMIT.size and place == last == size - 1 for size, place, last in found)


def test_a_launch_without_smaller_integers_has_no_last_place(tmp_path: Path) -> None:
    found = made(tmp_path, 16384, 16384, 16384)
    assert found
    assert not any("last place" in one.label for one in found)
