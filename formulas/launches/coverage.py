"""Does a launch with another number in its host code still reach all of the work, at every size of the problem?

Takes how the program computes grid and workgroup, gives the sizes with other numbers in place, and whether the grid
follows them upwards. Replays see the recorded sizes and smaller ones only, so this is decided from the expression.
"""

from __future__ import annotations

import random

from hipscope.analysis.semantics.records import HostExpression
from hipscope.formulas.facts.host_values import Names, NotKnown, Numbers, depends_on, value_of

_SAMPLES = 400


def reaches_all(grid: HostExpression, size: int, other: int, numbers: Numbers) -> bool:
    """Whether workgroups of `other` work-items, with these numbers, reach all that those of `size` reach.

    True at every value of what only a run says: a grid that is rounded up may grow in steps of another size, one that
    is rounded down only in parts of the old step. False also where the expression does not tell.
    """
    if size % other == 0 and not _capped(grid, numbers):
        return True  # a division by a part of the divisor covers as much, however it is rounded
    dice = random.Random(0)
    try:
        if value_of(grid, {}, Names(made=lambda: 1)) < 1:
            return False  # rounded down
        for number in range(_SAMPLES):
            largest = (4 * max(size, other), 1 << 20)[number % 2]
            names = Names(made=lambda most=largest: dice.randint(1, most))  # type: ignore[misc]
            before = value_of(grid, {}, names) * size
            after = value_of(grid, numbers, names) * other
            if after < before - size + 1:
                return False
    except NotKnown:
        return False
    return True


def _capped(grid: HostExpression, numbers: Numbers) -> bool:
    """Whether the grid is more than quotients of these numbers: bounded, or one of two."""
    return any(
        (e.operator in ("?", "%", "&") or (e.operator == "call" and not e.name.startswith("ceil")))
        and depends_on(e, numbers)
        for e in grid.walk()
    )
