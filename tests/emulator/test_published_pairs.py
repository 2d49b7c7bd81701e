"""The benchmark of published pairs: its data names launches that its programs make, and what counts as agreement."""

from __future__ import annotations

import re

import pytest

from benchmarks.published_pairs import HERE, Result, direction, published_pairs, table
from hipscope.emulator.devices import device_constants


@pytest.mark.parametrize("name", published_pairs())
def test_a_pair_names_two_launches_of_its_program(name: str) -> None:
    row = published_pairs()[name]
    program = (HERE / f"{row['program']}.hip").read_text(encoding="utf-8")
    launches = re.findall(r'launch\("(\w+)"', program)
    assert {row["before"], row["after"]} <= set(launches)
    assert row["device"] in device_constants()


def test_three_percent_are_neither_faster_nor_slower() -> None:
    assert [direction(f) for f in (1.04, 1.02, 0.98, 0.9)] == [1, 0, 0, -1]


def test_the_table_counts_directions_and_factors() -> None:
    near = Result("near", "mi300a", "x", "s", 120.0, 100.0, 1.4)
    turned = Result("turned", "mi300a", "x", "s", 90.0, 100.0, 1.3)
    assert table([near, turned]).startswith(
        "1 of 2 pairs have the published direction, 1 a factor within 25 %."
    )
