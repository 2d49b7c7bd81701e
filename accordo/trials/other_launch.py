"""The launch that a changed program makes in place of a recorded one, over the memory of the reference's trials.

Takes recorded launches of both programs, gives for any trial of the reference the same trial with the other grid,
workgroup, dynamic LDS and numbers. None where the other program says nothing of such a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.writer import write_dispatch

Relaunch = Callable[[CapturedDispatch], CapturedDispatch | None]
Sides = tuple[int, int, int]

NO_SUCH_LAUNCH = "no launch of the new shape does the same part of the work"


def as_it_is(dispatch: CapturedDispatch) -> CapturedDispatch | None:
    """The launch of a program that launches as the reference does."""
    return dispatch


def groups_of(dispatch: CapturedDispatch) -> Sides:
    """Workgroups along each side."""
    x, y, z = (-(-n // size) for n, size in zip(dispatch.grid, dispatch.workgroup, strict=True))
    return x, y, z


def relaunching(
    was: Sequence[CapturedDispatch],
    now: Mapping[int, CapturedDispatch],
    folder: Path,
    becomes: Callable[[Sides], Sides | None] | None = None,
) -> Relaunch:
    """What makes the launches of the other program: `now` has its record of each launch that `was` has, by number.

    Derived launches are written below `folder`, each once. `becomes` says how many workgroups do exactly what so many
    of the old ones do, and None where none do; without it that follows from the records.
    """
    known = {one.id: one for one in was}
    made: dict[Path, CapturedDispatch | None] = {}

    def relaunch(dispatch: CapturedDispatch) -> CapturedDispatch | None:
        if dispatch.directory not in made:
            old, new = known.get(dispatch.id), now.get(dispatch.id)
            at = folder / f"relaunch_{len(made)}"
            made[dispatch.directory] = (
                None if old is None or new is None else _relaunched(dispatch, old, new, at, becomes)
            )
        return made[dispatch.directory]

    return relaunch


def reshaped(
    dispatch: CapturedDispatch, groups: Sides, workgroup: Sides, folder: Path, kernel: str | None = None
) -> CapturedDispatch:
    """A launch with so many workgroups of that shape, and the same memory and arguments."""
    x, y, z = (n * size for n, size in zip(groups, workgroup, strict=True))
    derived = replace(dispatch, grid=(x, y, z), workgroup=workgroup, kernel=kernel or dispatch.kernel)
    return write_dispatch(derived, folder, dispatch.kernarg(), {})


def _relaunched(
    dispatch: CapturedDispatch,
    was: CapturedDispatch,
    now: CapturedDispatch,
    folder: Path,
    becomes: Callable[[Sides], Sides | None] | None,
) -> CapturedDispatch | None:
    if dispatch.workgroup != was.workgroup or len(was.arguments) != len(now.arguments):
        return None  # a trial of how the code takes another shape: the code is not what is judged
    sides: Sequence[int | None] | None
    if becomes is not None:
        sides = groups_of(now) if groups_of(dispatch) == groups_of(was) else becomes(groups_of(dispatch))
    else:
        sides = [
            _count(g, old, new, size, other)
            for g, old, new, size, other in zip(
                groups_of(dispatch), groups_of(was), groups_of(now), was.workgroup, now.workgroup, strict=True
            )
        ]
    kernarg = _numbers(dispatch, was, now)
    if kernarg is None or sides is None or any(side is None for side in sides):
        return None
    x, y, z = ((side or 0) * size for side, size in zip(sides, now.workgroup, strict=True))
    dynamic = now.dynamic_lds if dispatch.dynamic_lds == was.dynamic_lds else dispatch.dynamic_lds
    derived = replace(
        dispatch, grid=(x, y, z), workgroup=now.workgroup, dynamic_lds=dynamic, kernel=now.kernel
    )
    return write_dispatch(derived, folder, kernarg, {})


def _count(groups: int, was: int, now: int, size: int, other: int) -> int | None:
    """Workgroups along one side that do what `groups` of the old ones do; None where none do exactly that."""
    if size == other:  # another number of workgroups for the same work: each does more or less of it
        return max(1, round(groups * now / was))
    # As many work-items, if both programs have as many but for what fills up the last workgroup.
    alike = abs(was * size - now * other) < max(size, other) and groups != was
    count, rest = divmod(groups * size, other) if alike else divmod(groups * now, was)
    return count if count and not rest else None


def _numbers(dispatch: CapturedDispatch, was: CapturedDispatch, now: CapturedDispatch) -> bytes | None:
    """The arguments, with those numbers that the other program passes otherwise."""
    old, new, mine = was.kernarg(), now.kernarg(), bytearray(dispatch.kernarg())
    for one, other in zip(was.explicit_arguments, now.explicit_arguments, strict=False):
        if (one.offset, one.size, one.value_kind) != (other.offset, other.size, other.value_kind):
            return None
        part = slice(one.offset, one.offset + one.size)
        if one.value_kind != "by_value" or old[part] == new[part]:
            continue
        if mine[part] != old[part]:
            return None  # the trial has a number of its own there
        mine[part] = new[part]
    return bytes(mine)
