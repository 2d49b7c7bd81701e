"""Floats of programs that multiply what they round: as far apart as other roundings bring them, and no further."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hipscope.accordo.compare.other_rounding import explained_by_rounding, rounded_texts

ROUNDING = 1e-5
RANDOM = np.random.default_rng(7)
RESULT = RANDOM.normal(size=4096)
GROWTH = np.where(np.arange(4096) < 300, 1e-3, 1e-7)  # few elements multiply what they round


def nudged(times: float = 1.0) -> NDArray[np.float64]:
    return RESULT + times * GROWTH * RANDOM.normal(size=4096)


OTHERWISE = [nudged(), nudged(), nudged()]


def explained(now: NDArray[np.float64], otherwise: list[NDArray[np.float64]] | None = None) -> bool:
    return explained_by_rounding(RESULT, now, OTHERWISE if otherwise is None else otherwise, 1.0, ROUNDING)


def test_a_difference_of_the_size_that_other_roundings_make_is_rounding() -> None:
    assert explained(nudged())
    assert explained(nudged(2))
    assert not explained(nudged(), [])


@pytest.mark.parametrize("element", [0, 2000])
def test_a_term_that_is_wrong_by_a_thousandth_is_none(element: int) -> None:
    """In all numbers, in one that hardly rounds, or in those alone that do: then these differ further."""
    assert not explained(RESULT * 1.001)
    alone = nudged()
    alone[element] += 0.5
    assert not explained(alone)


def test_a_rounding_like_the_others_in_numbers_that_they_leave_alone_is_none() -> None:
    assert not explained(RESULT + np.roll(nudged() - RESULT, 2048))


def test_nothing_is_claimed_where_other_roundings_change_most_of_the_result() -> None:
    chaos = [RESULT + RANDOM.normal(size=4096) for _ in range(3)]
    assert not explained(chaos[0], chaos)


def test_what_is_no_number_has_to_stay_so() -> None:
    was, now = RESULT.copy(), nudged()
    was[5] = now[5] = np.nan
    others = [*OTHERWISE]
    assert explained_by_rounding(was, now, others, 1.0, ROUNDING)
    now[6] = np.inf
    assert not explained_by_rounding(was, now, others, 1.0, ROUNDING)
    zeros = np.zeros(8)
    assert explained_by_rounding(zeros, zeros, [zeros], 0.0, ROUNDING)


def test_device_code_alone_is_rounded_otherwise() -> None:
    texts = rounded_texts(b"\xef\xbb\xbfint main() {}\n")
    assert len(set(texts)) == 3
    for text in texts:
        assert text.startswith(b"\xef\xbb\xbf#ifdef __HIP_DEVICE_COMPILE__\n#pragma clang fp contract(o")
        assert text.endswith(b"\n#endif\nint main() {}\n")
