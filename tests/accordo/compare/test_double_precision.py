"""Sums in another order are right by the size of their summands; what is off by more than that is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hipscope.accordo.compare.double_precision import as_good

EPSILON = 2.0**-23
ROWS, TERMS = 2000, 64


def rows(cancelling: bool) -> NDArray[np.float64]:
    """Summands; those of row 7 cancel but for a millionth."""
    made = np.random.default_rng(5).uniform(0.5, 1.5, (ROWS, TERMS)).astype(np.float32).astype(np.float64)
    if cancelling:
        made[7, 1::2] = -made[7, ::2]
        made[7, 0] += 2.0**-20
    return made


def summed(terms: NDArray[np.float64], order: list[int]) -> NDArray[np.float64]:
    """As a kernel adds them up in single precision."""
    total = np.zeros(len(terms), dtype=np.float32)
    for i in order:
        total += terms[:, i].astype(np.float32)
    return total.astype(np.float64)


def judged(terms: NDArray[np.float64], got: NDArray[np.float64]) -> NDArray[np.bool_]:
    expected, exact = summed(terms, list(range(TERMS))), terms.sum(axis=1)
    rounding = EPSILON / 2 * np.sqrt(np.square(terms).sum(axis=1))
    return as_good(expected, got, exact, EPSILON, 0.0, 0.0, rounding)


@pytest.mark.parametrize("cancelling", [False, True])
@pytest.mark.parametrize("step", [3, 5, 33], ids=lambda step: f"every {step}th")
def test_another_order_of_the_same_summands_is_right(step: int, *, cancelling: bool) -> None:
    order = [i * step % TERMS for i in range(TERMS)]
    assert judged(rows(cancelling), summed(rows(cancelling), order)).all()


@pytest.mark.parametrize("off", [2e-3, -2e-3])
def test_what_is_off_by_more_than_the_summands_explain_is_wrong(off: float) -> None:
    terms = rows(cancelling=True)
    got = summed(terms, list(range(TERMS)))
    got[[3, 1999]] += off
    fine = judged(terms, got)
    assert np.flatnonzero(~fine).tolist() == [3, 1999]


def test_a_summand_that_is_left_out_is_wrong_where_the_others_cancel() -> None:
    terms = rows(cancelling=True)
    got = summed(terms, list(range(TERMS)))
    got[7] += 1e-3  # small beside the other rows, and large beside nothing
    assert np.flatnonzero(~judged(terms, got)).tolist() == [7]
