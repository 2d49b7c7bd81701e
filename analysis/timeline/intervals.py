"""Intervals of time in columns: their union, what lies in it, how many run at once.

Takes arrays of starts and ends in whole nanoseconds, each end after its start, gives arrays or sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Union:
    """Intervals that do not touch, in order."""

    starts: Times
    ends: Times

    @classmethod
    def of(cls, starts: Times, ends: Times) -> Union:
        """The union of any intervals."""
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        reached = np.maximum.accumulate(ends) if len(ends) else ends
        first = np.ones(len(starts), dtype=bool)
        first[1:] = starts[1:] > reached[:-1]
        last = np.append(first[1:], True) if len(first) else first
        return cls(starts[first], reached[last])

    @property
    def length(self) -> int:
        """The time in it."""
        return int((self.ends - self.starts).sum())

    def joined(self, other: Union) -> Union:
        """What is in one or the other."""
        return Union.of(np.append(self.starts, other.starts), np.append(self.ends, other.ends))

    def gaps(self, begin: int, end: int) -> Union:
        """What of the time from `begin` to `end` is not in it."""
        starts, ends = np.append(begin, self.ends), np.append(self.starts, end)
        real = ends > starts
        return Union(starts[real], ends[real])

    def time_in(self, starts: Times, ends: Times) -> Times:
        """How much of each interval is in it."""
        return self._time_before(ends) - self._time_before(starts)

    def _time_before(self, times: Times) -> Times:
        if not len(self.starts):
            return np.zeros(len(times), dtype=np.int64)
        place = np.searchsorted(self.starts, times, side="right")
        whole = self._sums[place]
        beyond = np.where(place > 0, self.ends[place - 1] - times, 0)
        return whole - np.maximum(beyond, 0)

    @cached_property
    def _sums(self) -> Times:
        return np.append(0, np.cumsum(self.ends - self.starts))


def at_once(starts: Times, ends: Times) -> tuple[int, int]:
    """The most intervals that hold one point of time, and for how long two or more do."""
    if not len(starts):
        return 0, 0
    begin = int(starts.min())
    # Ends come before starts of the same time: intervals that only touch do not overlap.
    marks = np.append((starts - begin) * 2 + 1, (ends - begin) * 2)
    marks.sort()
    running = np.cumsum((marks & 1) * 2 - 1)
    times = marks >> 1
    several = running[:-1] >= 2
    return int(running.max()), int(np.diff(times)[several].sum())


def part_by_slot(busy: Union, begin: int, end: int, slots: int) -> tuple[float, ...]:
    """Of each of `slots` equal parts of the time from `begin` to `end`, the share that is in `busy`."""
    edges = np.linspace(begin, end, slots + 1).astype(np.int64)
    widths = np.maximum(np.diff(edges), 1)
    return tuple((busy.time_in(edges[:-1], edges[1:]) / widths).tolist())
