"""Which recorded launches tell the time of a kernel, where the launches of one shape do different work.

Takes recorded dispatches and the profiled time of each, gives the dispatches with those marked that are to be timed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hipscope.accordo.dispatch.captured import CapturedDispatch

_HEAVIER = 1.25  # times what the first launch of a shape takes: below it that one tells the time as well


def with_heaviest(
    dispatches: Sequence[CapturedDispatch], times_ns: Mapping[int, float]
) -> tuple[CapturedDispatch, ...]:
    """The dispatches; of each shape the one that takes longest is no `variant` of the first one but timed as well.

    The recorder knows no times: what it meets first stands for its shape. Where a loop of the host grows its launches,
    that is the smallest, and a gain is that of launches which take no time.
    """
    shapes: dict[tuple[object, ...], list[CapturedDispatch]] = defaultdict(list)
    for d in dispatches:
        shapes[d.kernel, d.grid, d.workgroup, d.dynamic_lds].append(d)
    heavy: set[int] = set()
    for alike in shapes.values():
        told = max((times_ns.get(d.id, 0.0) for d in alike if not d.variant), default=0.0)
        longest = max(
            (d for d in alike if d.variant and d.complete),
            key=lambda d: times_ns.get(d.id, 0.0),
            default=None,
        )
        if longest is not None and told and times_ns.get(longest.id, 0.0) >= _HEAVIER * told:
            heavy.add(id(longest))
    return tuple(replace(d, variant=False) if id(d) in heavy else d for d in dispatches)
