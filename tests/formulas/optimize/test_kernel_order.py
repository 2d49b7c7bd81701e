"""The order in which the kernels of a program are searched."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize import loop
from hipscope.formulas.optimize.earlier_rounds import Earlier, after_rounds
from hipscope.formulas.optimize.loop import own_first
from tests.formulas.optimize.test_rounds import attempt, verified


def test_kernels_of_libraries_come_after_the_programs_own(tmp_path: Path) -> None:
    """Three of them, hotter than any other, would end the search before a kernel that can be edited."""
    header = tmp_path / "rocm" / "include" / "library.hpp"
    header.parent.mkdir(parents=True)
    header.write_text("LIBRARY_KERNEL void sort_kernel(int* p);\n")
    named = [
        ("library::sort_kernel(int*)", header),
        ("mine(int*)", tmp_path / "main.hip"),
        ("other(int*)", None),
    ]
    hot: list[Any] = [(SimpleNamespace(name=n, file=f and str(f)), []) for n, f in named]
    ordered = [kernel.name for kernel, _ in own_first(hot, SourceTexts())]
    assert ordered == ["mine(int*)", "other(int*)", "library::sort_kernel(int*)"]


FILE = Path("/project/main.hip")


def in_turn(times: dict[str, float], earlier: Earlier | None) -> list[str]:
    """The kernels, given with their times and hottest first, in the order in which a round searches them."""
    kernels: list[Any] = [
        SimpleNamespace(name=name, file=str(FILE), time_ns=time) for name, time in times.items()
    ]
    work: Any = SimpleNamespace(earlier=earlier, profile=SimpleNamespace(kernels=kernels))
    return [kernel.name for kernel, _ in loop._in_turn(work, [(kernel, []) for kernel in kernels])]


def test_the_first_round_searches_as_it_was_found() -> None:
    assert in_turn({"a": 1.0, "b": 5.0}, None) == ["a", "b"]


@pytest.mark.parametrize(
    ("gains", "order"),
    [
        ((2.0,), ["a", "b", "c"]),  # much was gained, and more of the time is still there
        ((1.04,), ["a", "b", "c"]),  # the second edit may gain more than the first
        ((2.0, 1.04), ["b", "c", "a"]),
        ((3.0, 2.0), ["b", "c", "a"]),  # a third edit gains little, however much the others did
    ],
)
def test_a_later_round_begins_with_what_is_expected_to_save_most(
    gains: tuple[float, ...], order: list[str]
) -> None:
    assert in_turn({"a": 50.0, "b": 30.0, "c": 20.0}, Earlier(FILE, {"a": gains}, frozenset())) == order


def test_a_kernel_that_was_made_fast_comes_after_one_that_now_takes_the_time() -> None:
    assert in_turn({"a": 30.0, "b": 70.0}, Earlier(FILE, {"a": (9.0,)}, frozenset())) == ["b", "a"]


def test_only_what_gained_is_searched_again_however_little_time_it_takes() -> None:
    times = {"a": 5.0, "b": 5.0, "c": 90.0}
    assert in_turn(times, Earlier(FILE, {"a": (1.5,)}, frozenset({"c"}))) == ["a"]


def test_a_kernel_that_gained_as_often_as_it_may_is_done_and_so_is_one_that_gained_nothing() -> None:
    tried = (attempt("r", Outcome.NOT_FASTER, "b"), attempt("r", Outcome.ACCEPTED, "a"))
    rounds = [
        verified(FILE, 0, 1.5, "a(int)").model_copy(update={"attempts": tried}),
        verified(FILE, 1, 1.2, "c"),
        verified(FILE, 0, 1.1, "a(int)"),
    ]
    earlier = after_rounds(FILE, rounds, 2)
    assert (dict(earlier.gained), sorted(earlier.done)) == ({"c": (1.2,)}, ["a", "b"])
    assert dict(after_rounds(FILE, rounds, None).gained) == {"a": (1.5, 1.1), "c": (1.2,)}
