"""Times of launches that ran without the timing model, from those of the launches that were timed.

Takes launches in the order in which they ended, gives them with start and end in modelled ns. A launch takes as long as
timed launches of its shape that executed about as many instructions, scaled by the instructions; the runtime chooses
what is timed, and estimates for the program's own events, by the same rule (native/hip/sampling.cpp).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hipscope.emulator.raw import RawDispatch

_ALIKE = 1.25  # instructions of launches that stand for each other differ by less than this


@dataclass(frozen=True)
class Estimates:
    """Launches with times, and how many of them no timed launch did about as much work as.

    `least` and `most` are those launches' instructions as multiples of the timed one's that stands for them.
    """

    launches: list[RawDispatch]
    unlike: int
    least: float
    most: float


def with_times(launches: Sequence[RawDispatch], untimed_ns: float | None) -> Estimates:
    """Give launches that ran without the model a time; they follow each other on the timeline.

    A launch of a shape of which none was timed gets `untimed_ns`, or none.
    """
    timed_of: dict[tuple[Any, ...], list[RawDispatch]] = defaultdict(list)
    for d in launches:
        if _duration(d) is not None:
            timed_of[_shape(d)].append(d)
    scalars_of = {shape: {t.scalars for t in timed} for shape, timed in timed_of.items()}
    known: dict[tuple[Any, ...], tuple[float, float]] = {}
    now = 0.0
    found: list[RawDispatch] = []
    factors = []
    for d in launches:
        if d.start_ns is not None and d.end_ns is not None:
            now = max(now, d.end_ns)
            found.append(d)
            continue
        duration, factor = untimed_ns, 1.0
        shape = _shape(d)
        if timed := timed_of.get(shape):
            # Programs make many launches with numbers that no timed one has: they differ in nothing else.
            key = (shape, d.scalars if d.scalars in scalars_of[shape] else None, d.instructions)
            estimate = known.get(key)
            if estimate is None:
                estimate = known[key] = _estimate(d, timed)
            duration, factor = estimate
        if duration is None:
            found.append(_at(d, None, None))
            continue
        if not 1 / _ALIKE <= factor <= _ALIKE:
            factors.append(factor)
        found.append(_at(d, now, now + duration))
        now += duration
    return Estimates(found, len(factors), min(factors, default=1.0), max(factors, default=1.0))


def _at(d: RawDispatch, start_ns: float | None, end_ns: float | None) -> RawDispatch:
    """As `dataclasses.replace`, which takes ten times as long: programs make launches by the hundred thousand."""
    moved = object.__new__(RawDispatch)
    vars(moved).update(vars(d), start_ns=start_ns, end_ns=end_ns)
    return moved


def _estimate(d: RawDispatch, timed: Sequence[RawDispatch]) -> tuple[float, float]:
    """Nanoseconds, and the launch's instructions as a multiple of what those have that it was estimated from."""
    nearest = min(_ratio(_work(t), _work(d)) for t in timed)
    alike = [t for t in timed if _ratio(_work(t), _work(d)) <= max(nearest, _ALIKE)]
    alike = [t for t in alike if t.scalars == d.scalars] or alike
    factor = _work(d) * len(alike) / sum(map(_work, alike))
    return sum(_durations(alike)) / len(alike) * factor, factor


def _work(d: RawDispatch) -> int:
    return max(d.instructions, 1)


def _durations(launches: Iterable[RawDispatch]) -> list[float]:
    return [duration for d in launches if (duration := _duration(d)) is not None]


def _duration(d: RawDispatch) -> float | None:
    return d.end_ns - d.start_ns if d.start_ns is not None and d.end_ns is not None else None


def _ratio(a: float, b: float) -> float:
    return max(a / b, b / a)


def _shape(d: RawDispatch) -> tuple[Any, ...]:
    return d.kernel, d.grid, d.workgroup, d.dynamic_lds
