"""The longest path over recorded dependences, and how late each launch could have ended without a longer one.

Takes launches and copies with their lanes, and calls of the host where they were recorded. A dependence is taken only
where the capture has it: the order within a stream, a call and what it launched (correlation), the order of calls in a
thread, and a call that waits for the GPU. That two launches follow each other closely is no dependence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.timeline.host_calls import Events
from hipscope.analysis.timeline.intervals import Times


class Wait(IntEnum):
    """What of the GPU a call waits for: the work that ended last before it returned, or all of its process."""

    NONE = 0
    LAST = 1
    ALL = 2


class PathStep(IntEnum):
    """What time on the path is spent with."""

    NOTHING = 0
    LAUNCH = 1
    COPY = 2
    CALL = 3
    OWN_CODE = 4
    LATENCY = 5


@dataclass(frozen=True, eq=False)
class OrderedWork:
    """Launches and copies by start. Those of one lane ran in order. `call` is a place among the calls, -1 for none.

    `group` is the process: a call waits for work of its own.
    """

    start: Times
    end: Times
    lane: Times
    call: Times
    group: Times
    is_copy: NDArray[Any]

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False)
class PathFound:
    """The longest path in nanoseconds, by what it is spent with; the slack of each piece of work, and what is on it."""

    length: int
    steps: dict[PathStep, int]
    slack: Times
    on_path: NDArray[np.bool_]


def longest_path(work: OrderedWork, calls: Events, waits: Sequence[Wait], call_group: Times) -> PathFound:
    """The longest path. `waits` and `call_group`: what each call waits for, and its process."""
    if not len(calls) and (simple := _independent_lanes(work)) is not None:
        return simple
    graph = _graph(work, calls, waits, call_group)
    return graph.solved(work)


def _independent_lanes(work: OrderedWork) -> PathFound | None:
    """The answer where lanes are all that is known, and work of a lane does not overlap."""
    order = np.lexsort((work.start, work.lane))
    lane, start, end = work.lane[order], work.start[order], work.end[order]
    same = lane[1:] == lane[:-1]
    if (same & (start[1:] < end[:-1])).any():
        return None
    lanes, place = np.unique(work.lane, return_inverse=True)
    sums = np.zeros(len(lanes), dtype=np.int64)
    np.add.at(sums, place, work.end - work.start)
    longest = int(sums.max()) if len(sums) else 0
    on_path = place == int(sums.argmax()) if len(sums) else np.zeros(0, dtype=bool)
    times = work.end - work.start
    steps = {
        PathStep.LAUNCH: int(times[on_path & ~work.is_copy].sum()),
        PathStep.COPY: int(times[on_path & work.is_copy].sum()),
    }
    return PathFound(longest, steps, longest - sums[place], on_path)


_WORK_END, _CALL_END, _CALL_BEGIN, _WORK_START = range(4)  # the order of what happens at one time


def _graph(work: OrderedWork, calls: Events, waits: Sequence[Wait], call_group: Times) -> _Graph:
    """Points of time with the dependences between them, in an order in which each comes after what it depends on."""
    number, count = len(work), len(calls)
    times = np.concatenate([work.end, calls.end, calls.start, work.start])
    kinds = np.repeat(np.arange(4), [number, count, count, number])
    order = np.lexsort((kinds, times))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    points = _Points(
        work_end=place[:number].tolist(),
        call_end=place[number : number + count].tolist(),
        call_begin=place[number + count : number + 2 * count].tolist(),
        work_start=place[number + 2 * count :].tolist(),
    )
    index = np.concatenate([np.arange(number), np.arange(count), np.arange(count), np.arange(number)])[order]
    graph = _Graph(len(order), points)
    _connect(
        graph,
        work,
        calls,
        waits,
        call_group.tolist(),
        zip(kinds[order].tolist(), index.tolist(), strict=True),
    )
    return graph


@dataclass(frozen=True)
class _Points:
    work_end: list[int]
    call_end: list[int]
    call_begin: list[int]
    work_start: list[int]


@dataclass
class _Graph:
    size: int
    points: _Points
    tails: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    steps: list[PathStep] = field(default_factory=list)

    def add(self, tail: int, head: int, weight: int, step: PathStep) -> None:
        """`head` is at least `weight` after `tail`."""
        self.tails.append(tail)
        self.heads.append(head)
        self.weights.append(weight)
        self.steps.append(step)

    def solved(self, work: OrderedWork) -> PathFound:
        """The longest path; edges stand in the order of their heads."""
        before, after = [0] * self.size, [0] * self.size
        came: list[int] = [-1] * self.size
        for edge, (tail, head, weight) in enumerate(zip(self.tails, self.heads, self.weights, strict=True)):
            if before[tail] + weight >= before[head]:
                before[head], came[head] = before[tail] + weight, edge
        for tail, head, weight in zip(
            reversed(self.tails), reversed(self.heads), reversed(self.weights), strict=True
        ):
            if after[head] + weight > after[tail]:
                after[tail] = after[head] + weight
        length = max(before, default=0)
        starts, ends = self.points.work_start, self.points.work_end
        through = np.array([before[s] for s in starts], dtype=np.int64)
        through = through + (work.end - work.start) + np.array([after[e] for e in ends], dtype=np.int64)
        steps, seen = self._walked(before.index(length) if before else -1, came)
        on_path = np.array([s in seen and e in seen for s, e in zip(starts, ends, strict=True)], dtype=bool)
        return PathFound(length, steps, length - through, on_path)

    def _walked(self, point: int, came: Sequence[int]) -> tuple[dict[PathStep, int], set[int]]:
        """What the path that ends at a point is spent with, and its points."""
        steps: dict[PathStep, int] = {}
        seen = {point}
        while point >= 0 and (edge := came[point]) >= 0:
            step = self.steps[edge]
            steps[step] = steps.get(step, 0) + self.weights[edge]
            point = self.tails[edge]
            seen.add(point)
        return {step: time for step, time in steps.items() if step is not PathStep.NOTHING}, seen


def _connect(
    graph: _Graph,
    work: OrderedWork,
    calls: Events,
    waits: Sequence[Wait],
    call_group: list[int],
    happenings: Any,
) -> None:
    """Add every dependence, in the order of time."""
    points = graph.points
    begun, ended = work.start.tolist(), work.end.tolist()
    lanes, groups, launched_by = work.lane.tolist(), work.group.tolist(), work.call.tolist()
    copies = work.is_copy.tolist()
    entered, left, threads = calls.start.tolist(), calls.end.tolist(), calls.thread.tolist()
    lane_end: dict[int, int] = {}
    group_lanes: dict[int, dict[int, int]] = {}
    thread_end: dict[int, int] = {}
    for kind, i in happenings:
        if kind == _WORK_START:
            before = lane_end.get(lanes[i])
            if before is not None:
                graph.add(points.work_end[before], points.work_start[i], 0, PathStep.NOTHING)
            if (call := launched_by[i]) >= 0:
                idle = before is None or ended[before] <= entered[call]
                latency = begun[i] - entered[call] if idle else 0
                graph.add(points.call_begin[call], points.work_start[i], latency, PathStep.LATENCY)
        elif kind == _WORK_END:
            step = PathStep.COPY if copies[i] else PathStep.LAUNCH
            before = lane_end.get(lanes[i])
            if before is not None:
                graph.add(points.work_end[before], points.work_end[i], 0, PathStep.NOTHING)
            graph.add(points.work_start[i], points.work_end[i], ended[i] - begun[i], step)
            lane_end[lanes[i]] = i
            of_group = group_lanes.setdefault(groups[i], {})
            of_group.pop(lanes[i], None)  # the lane that ended last stands last
            of_group[lanes[i]] = i
        elif kind == _CALL_BEGIN:
            before = thread_end.get(threads[i])
            if before is not None:
                own = entered[i] - left[before]
                graph.add(points.call_end[before], points.call_begin[i], own, PathStep.OWN_CODE)
        else:
            of_group = group_lanes.get(call_group[i], {}) if waits[i] else {}
            last = next(reversed(of_group.values()), None)
            if last is not None and ended[last] > entered[i]:
                graph.add(points.call_begin[i], points.call_end[i], 0, PathStep.NOTHING)
                for done in of_group.values() if waits[i] is Wait.ALL else (last,):
                    graph.add(points.work_end[done], points.call_end[i], left[i] - ended[last], PathStep.CALL)
            else:
                graph.add(points.call_begin[i], points.call_end[i], left[i] - entered[i], PathStep.CALL)
            thread_end[threads[i]] = i
