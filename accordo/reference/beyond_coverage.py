"""Which limits of a candidate's code no launch went beyond: so large, a proof says nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.trials.code_limits import CodeLimit
from hipscope.accordo.trials.scalar_arguments import numbers_of

_OF_DATA = 1 << 28  # larger numbers are masks and values rather than sizes


def never_beyond(
    limits: Sequence[CodeLimit], runs: Sequence[ReferenceRun], types: Sequence[str]
) -> list[str]:
    """A sentence for the smallest limit of each kind that no run passed."""
    found: dict[str, str] = {}
    sides, arguments = _longest_sides(runs), _largest_arguments(runs, types)
    for limit in limits:
        passing = [value > limit.size for value in arguments]
        # By a number one thing is compared; in fewer bits may be counted what any argument bounds.
        passed = all(side > limit.size for side in sides) and (
            not passing or (all(passing) if limit.width else any(passing))
        )
        if not passed and limit.size <= _OF_DATA:
            found.setdefault(limit.why, f"never with sizes beyond {limit.size:,}, {limit.why}")
    return list(found.values())


def _longest_sides(runs: Sequence[ReferenceRun]) -> list[int]:
    """The most work-items of any run along each side that has several in the first; along x where none has."""
    first = runs[0].dispatch.grid
    return [max(run.dispatch.grid[n] for run in runs) for n, count in enumerate(first) if count > 1 or n == 0]


def _largest_arguments(runs: Sequence[ReferenceRun], types: Sequence[str]) -> list[int]:
    """The largest value in any run of each integer argument that is above 1 in the first."""
    largest: dict[int, int] = {}
    for run in runs:
        for number in numbers_of(run.dispatch, types):
            known = largest.get(number.offset)
            if number.kind != "integer" or not number.declared or (known is None and run is not runs[0]):
                continue
            largest[number.offset] = max(known or 0, int(number.value))
    return [value for value in largest.values() if value > 1]
