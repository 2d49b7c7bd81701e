"""Lists with an order get other contents that still have it."""

from __future__ import annotations

import numpy as np

from hipscope.accordo.trials.structured_contents import renumbered, resorted, rises, with_ends


def test_a_rising_list_rises_otherwise_between_the_same_ends_in_part_by_nothing() -> None:
    offsets = np.arange(0.0, 3500.0, 5.0)
    made = resorted(offsets, np.random.default_rng(1), whole=True)
    assert made is not None
    steps = np.diff(made)
    assert (made[0], made[-1]) == (0, 3495)
    assert (made == np.floor(made)).all()
    assert (steps >= 0).all()
    assert 100 < (steps == 0).sum() < 600  # rows of nothing
    assert steps.max() > 15  # and long ones


def test_what_does_not_rise_is_no_such_list() -> None:
    generator = np.random.default_rng(1)
    for numbers in ([3.0, 1, 2, 4, 5, 6, 7, 8, 9], [7.0] * 20, [1.0, 2, 3], [0.0, np.nan, *range(20)]):
        assert resorted(np.array(numbers), generator, whole=False) is None


def test_parents_become_long_chains_numbered_from_the_other_end() -> None:
    parents = np.array([0, 1, 0, 1, 2, 3, 4, 0, 5, 6, 7, 8], dtype="<u4")
    made = renumbered(parents)
    assert made is not None
    # 0 and 1 are the roots; each other one leads to the one before it.
    assert made.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11]


def test_numbers_that_lead_out_of_the_list_are_no_numbers_of_elements() -> None:
    assert renumbered(np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], dtype="<u4")) is None
    assert renumbered(np.zeros(100, dtype="<u4")) is None


def test_a_list_with_other_ends_is_still_in_order() -> None:
    raw = np.arange(10, dtype="<f4")
    low, high = np.float32(-np.inf), np.float32(np.inf)
    made = with_ends(raw, low, high)
    assert made.tolist() == [-np.inf, -np.inf, *range(2, 8), np.inf, np.inf]
    assert rises(raw.astype(np.float64))
    assert not rises(raw[::-1].astype(np.float64))
