"""The longest path, against a search through all paths."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.timeline.host_calls import Events
from hipscope.analysis.timeline.longest_path import OrderedWork, PathFound, PathStep, longest_path

NO_CALLS = Events(*(np.zeros(0, dtype=np.int64),) * 8, *(np.zeros(0, dtype=object),) * 3)


def found(items: list[tuple[int, int, int]]) -> PathFound:
    """The path of (lane, start, end)."""
    ordered = sorted(items, key=lambda item: item[1])
    lane, start, end = (np.array(column, dtype=np.int64) for column in zip(*ordered, strict=True))
    none = np.zeros(len(ordered), dtype=np.int64)
    work = OrderedWork(start, end, lane, none - 1, none, none.astype(bool))
    return longest_path(work, NO_CALLS, (), none[:0])


def slowly(items: list[tuple[int, int, int]]) -> list[int]:
    """For each item by start, the longest chain through it, of items that end before the next one of their lane."""
    ordered = sorted(items, key=lambda item: item[1])

    def after(item: tuple[int, int, int]) -> int:
        follow = [after(o) for o in ordered if o[0] == item[0] and o[1] >= item[2]]
        return item[2] - item[1] + max(follow, default=0)

    def before(item: tuple[int, int, int]) -> int:
        lead = [before(o) for o in ordered if o[0] == item[0] and o[2] <= item[1]]
        return item[2] - item[1] + max(lead, default=0)

    return [before(item) + after(item) - (item[2] - item[1]) for item in ordered]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 9)), min_size=1, max_size=8))
def test_path_and_slack_are_those_of_a_search_through_all_paths(some: list[tuple[int, int, int]]) -> None:
    items = [(lane, start, start + length) for lane, start, length in some]
    through = slowly(items)
    path = found(items)
    assert path.length == max(through)
    # OrderedWork that overlaps within a lane may be taken for what its end waited for: never more slack than there is.
    assert all(
        0 <= slack <= path.length - way for slack, way in zip(path.slack.tolist(), through, strict=True)
    )
    assert sum(path.steps.values()) == path.length


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_slack_is_exact_where_no_work_of_a_lane_overlaps(some: list[tuple[int, int, int]]) -> None:
    ends: dict[int, int] = {}
    items = []
    for lane, length, gap in some:
        start = ends.get(lane, 0) + gap
        ends[lane] = start + length
        items.append((lane, start, start + length))
    path = found(items)
    assert path.slack.tolist() == [path.length - way for way in slowly(items)]
    assert path.steps == {PathStep.LAUNCH: path.length, PathStep.COPY: 0} or path.steps == {
        PathStep.LAUNCH: path.length
    }
