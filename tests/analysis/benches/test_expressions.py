"""Arithmetic in bench lines against Python's own."""

import math
from fractions import Fraction

import pytest

from hipscope.analysis.benches.expressions import NotAnExpression, parse_expression

SIZES = {"n": Fraction(1000), "rows": Fraction(3)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil(n/256)", 4),
        ("n/256*256", 1000),
        ("floor(n/256)", 3),
        ("2+3*4-6/2", 11),
        ("-n + -(-2)", -998),
        ("n%7", 6),
        ("min(n, rows)*max(1, 2)", 6),
        ("sqrt(1024)", 32),
        ("log2(4096)", 12),
        ("0x10", 16),
        ("1e3", 1000),
        (".5", Fraction(1, 2)),
        ("true", 1),
        ("-inf", -math.inf),
    ],
)
def test_an_expression_has_the_value_that_arithmetic_gives_it(text: str, value: float) -> None:
    assert parse_expression(text).value(SIZES) == value


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("n/0", 1, "division by zero"),
        ("m+1", 0, "`m` has no value"),
        ("sqrt(-1)", 0, "`sqrt` has no value"),
        ("ceil(inf)", 0, "`ceil` has no value"),
        ("1e999999", 0, "out of range"),
        ("(" * 100 + "1" + ")" * 100, 61, "nested too deeply"),
        ("1 2", 2, "unexpected `2`"),
    ],
)
def test_what_has_no_value_is_told_with_its_place(text: str, at: int, said: str) -> None:
    with pytest.raises(NotAnExpression) as caught:
        parse_expression(text).value(SIZES)

    assert said in caught.value.message
    assert caught.value.at == at
