"""Sums over intervals, against a counter that looks at each nanosecond."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.timeline.intervals import Union, at_once, part_by_slot

SOME = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=12)


def columns(some: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array([start for start, _ in some], dtype=np.int64)
    return starts, starts + np.array([length for _, length in some], dtype=np.int64)


@given(SOME)
def test_the_union_is_what_a_counter_of_each_nanosecond_says(some: list[tuple[int, int]]) -> None:
    counts = np.zeros(100, dtype=int)
    for start, length in some:
        counts[start : start + length] += 1
    starts, ends = columns(some)
    union = Union.of(starts, ends)
    assert union.length == (counts > 0).sum()
    assert union.length <= (ends.max() - starts.min() if some else 0)
    assert union.gaps(0, 100).length == (counts == 0).sum()
    assert at_once(starts, ends) == (counts.max(), (counts > 1).sum())
    strip = part_by_slot(union, 0, 100, 10)
    assert np.allclose(strip, [(counts[i : i + 10] > 0).mean() for i in range(0, 100, 10)])


@given(SOME, SOME)
def test_the_time_in_a_union_is_what_a_counter_says(
    some: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    busy = np.zeros(100, dtype=bool)
    for start, length in some:
        busy[start : start + length] = True
    starts, ends = columns(others)
    found = Union.of(*columns(some)).time_in(starts, ends)
    assert found.tolist() == [busy[a:b].sum() for a, b in zip(starts, ends, strict=True)]
