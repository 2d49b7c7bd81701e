"""Whether a grid reaches all of the work at every size, from the expression that it is computed by."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.semantics.records import HostExpression, Place
from hipscope.formulas.facts.host_values import Names, NotKnown, value_of
from hipscope.formulas.launches.coverage import reaches_all
from hipscope.formulas.launches.numbers import same_size

BLOCK = Place(Path("/main.hip"), (8, 11))
PROBLEM, UPPER, DIVISOR = (Place(Path("/main.hip"), (at, at + 3)) for at in (40, 80, 90))


def number(value: int, place: Place | None = None) -> HostExpression:
    return HostExpression("number", value=value, place=place)


def of(operator: str, *operands: HostExpression, name: str = "", integer: bool = True) -> HostExpression:
    return HostExpression(operator, operands, name=name, integer=integer)


N = HostExpression("name", name="n")
B = number(256, BLOCK)
UP = of("/", of("-", of("+", N, B), number(1)), B)
DOWN = of("/", N, B)
FLOATS = of(
    "cast", of("call", of("/", N, of("cast", B, integer=False), integer=False), name="ceil", integer=False)
)
CAPPED = of("call", UP, number(64), name="min")
OPAQUE = of("call", N, B, name="pick")
ONE_MORE = of("+", DOWN, number(1))


@pytest.mark.parametrize(
    ("grid", "other", "reaches"),
    [
        (UP, 64, True), (UP, 1024, True), (UP, 192, True),
        (DOWN, 64, True), (DOWN, 512, False), (DOWN, 192, False),
        (FLOATS, 64, True), (FLOATS, 1024, True),
        (ONE_MORE, 1024, True), (ONE_MORE, 64, True),
        (CAPPED, 64, False), (OPAQUE, 64, False), (OPAQUE, 512, False),
    ],
)  # fmt: skip
def test_a_grid_reaches_all_of_the_work_with_other_workgroups(
    grid: HostExpression, other: int, reaches: bool
) -> None:
    assert reaches_all(grid, 256, other, {BLOCK: other}) is reaches


@pytest.mark.parametrize(
    ("grid", "follow"),
    [
        (of("/", of("+", number(256, PROBLEM), number(255, UPPER)), number(256, DIVISOR)), {UPPER: 63, DIVISOR: 64}),
        (
            of("/", of("-", of("+", number(256, PROBLEM), number(256, UPPER)), number(1)), number(256, DIVISOR)),
            {UPPER: 64, DIVISOR: 64},
        ),
        (
            of("/", of("+", of("-", number(256, UPPER), number(1)), number(256, PROBLEM)), number(256, DIVISOR)),
            {UPPER: 64, DIVISOR: 64},
        ),
        (of("+", of("/", of("-", number(256, PROBLEM), number(1)), number(256, DIVISOR)), number(1)), {DIVISOR: 64}),
        (of("/", of("-", of("+", number(256, PROBLEM), B), number(1)), B), {BLOCK: 64}),
        (number(256, PROBLEM), {}),  # as many workgroups as a workgroup has work-items
    ],
)  # fmt: skip
def test_a_problem_that_is_as_large_as_a_workgroup_does_not_follow_it(
    grid: HostExpression, follow: dict[Place, int]
) -> None:
    assert dict(same_size(grid, 256, 64)) == follow


def test_an_expression_is_computed_as_the_program_computes_it() -> None:
    assert value_of(UP, {}, Names({"n": 1000})) == 4
    assert value_of(UP, {BLOCK: 64}, Names({"n": 1000})) == 16
    assert value_of(of("%", of("-", number(0), number(7)), number(4)), {}) == -3
    assert value_of(of("?", of("<", N, number(5)), number(1), number(2)), {}, Names({"n": 9})) == 2


@pytest.mark.parametrize("unknown", [N, OPAQUE, of("/", number(1), number(0)), of("~", number(1))])
def test_what_only_a_run_says_has_no_value(unknown: HostExpression) -> None:
    with pytest.raises(NotKnown):
        value_of(unknown, {})
