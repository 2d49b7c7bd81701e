"""Launches that are larger than a limit of a rewrite's code: arguments at it and beyond, longer sides of the grid.

Takes a captured dispatch, a limit, and what the program compares its integers with; gives dispatches whose buffers
are as much longer, in part with contents that are the same everywhere, so that long comparisons come to their end.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.replaced_buffers import (
    replaced_contents,
    replacement,
    write_replacement,
)
from hipscope.accordo.dispatch.writer import Contents, write_dispatch
from hipscope.accordo.model.defences import Defence
from hipscope.accordo.trials.code_constants import NONE, Named
from hipscope.accordo.trials.code_limits import CodeLimit
from hipscope.accordo.trials.mixed_contents import write_mixed
from hipscope.accordo.trials.moved_buffers import relocated
from hipscope.accordo.trials.scalar_arguments import Number, numbers_of, with_changes
from hipscope.analysis.source.number_types import BYTES, Element

_MOST_BYTES = 96 << 20  # of all buffers
_MOST_INSTRUCTIONS = 2_000_000  # of waves: some tenths of a second
_FEW_SIZES, _FEW_LIMITS = 4, 4
_FEW_GROUPS = 2
_MOST_LAUNCHES = 24
_LEAST_SIZE = 8  # of what is no flag
_BEYOND = 3  # past twice the limit: no multiple of anything

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Beyond:
    """A launch beyond a limit."""

    defence: Defence
    label: str
    dispatch: CapturedDispatch
    limit: CodeLimit
    inputs: Path | None = None


@dataclass(frozen=True)
class Base:
    """What the launches are made of: a recorded one, what its parameters are, and what all its waves execute.

    `same` holds its inputs with all elements of each the same; None where there are none. `elements` are those of
    each buffer whose contents may change, `named` what only one of the codes compares with, `wide` the buffers
    of integers that may have any value.
    """

    dispatch: CapturedDispatch
    types: Sequence[str]
    instructions: int
    same: Path | None = None
    elements: Mapping[int, Element] = field(default_factory=dict)
    named: Named = NONE
    wide: frozenset[int] = frozenset()


def beyond_limits(base: Base, limits: Sequence[CodeLimit], folder: Path) -> list[Beyond]:
    """Those that can be made, up to a number: of widths all, of numbers that are compared with the largest."""
    numbers = [limit for limit in limits if not limit.width][-_FEW_LIMITS:]
    chosen = [*(limit for limit in limits if limit.width), *reversed(numbers)]
    made = (
        beyond
        for n, limit in enumerate(chosen)
        for beyond in (
            *_longer_sides(base, limit, folder / f"sides_{n}"),
            *_larger_sizes(base, limit, folder / f"sizes_{n}"),
        )
    )
    return list(itertools.islice(made, _MOST_LAUNCHES))


def _integers(dispatch: CapturedDispatch, types: Sequence[str]) -> list[Number]:
    return [n for n in numbers_of(dispatch, types) if n.kind == "integer" and n.declared]


def _larger_sizes(base: Base, limit: CodeLimit, folder: Path) -> Iterator[Beyond]:
    """Each integer argument at the limit and beyond, and all at it; with few workgroups, which have more to do each."""
    sizes = [n for n in _integers(base.dispatch, base.types) if n.value > 1][:_FEW_SIZES]
    all_at_it = [(sizes, limit.size)] if len(sizes) > 1 and not limit.width else []
    for k, number in enumerate(sizes):
        for value in (2 * limit.size + _BEYOND, limit.size + _BEYOND):
            found = list(_with_value(base, [number], value, limit, folder / f"{k}"))
            yield from found
            if found:
                break
    at_it = [] if limit.width else [*(([n], limit.size) for n in sizes), *all_at_it]
    for k, (chosen, value) in enumerate(at_it):
        yield from _with_value(base, chosen, value, limit, folder / f"at_{k}")


def _with_value(
    base: Base, chosen: Sequence[Number], value: int, limit: CodeLimit, folder: Path
) -> Iterator[Beyond]:
    """The launch with that value of integers, and beyond the limit once more with contents that are the same."""
    arguments = with_changes(base.dispatch.kernarg(), chosen, lambda _: value)
    times = [max(1, math.ceil(value / n.value)) for n in chosen]
    repeats = math.prod(times)
    if len(times) > 1 and sum(b.size for b in base.dispatch.buffers) * repeats > _MOST_BYTES:
        repeats = (
            max(times) * _FEW_GROUPS
        )  # enough where one is a row's length and the other the number of rows
    made = _longer(base, repeats, folder / "made", arguments)
    if made is None:
        return
    label = f"{chosen[0].label if len(chosen) == 1 else 'integer arguments'} {value:,}"
    told = f"{label}, all buffers {repeats:,} times as long"
    yield Beyond(
        "larger_sizes",
        told,
        made,
        limit,
        write_mixed(
            made.buffers,
            base.elements,
            folder / "mixed",
            base.named,
            wide=base.wide,
            draw=int(value == limit.size),
            row=value,
        ),
    )
    if value == limit.size or base.same is None:
        return
    same = replace(base, dispatch=_with_contents(base.dispatch, base.same, folder / "contents"))
    other = _longer(same, repeats, folder / "same", arguments)
    if other is not None:
        _other_element(base, other, value - 1, folder / "last")
        told = f"{label}, all elements of each input the same but one"
        yield Beyond("larger_sizes", told, other, limit, folder / "last")


def _longer(base: Base, repeats: int, folder: Path, kernarg: bytes) -> CapturedDispatch | None:
    """The launch with other arguments and longer buffers; None where that takes too long or too much memory."""
    dispatch = base.dispatch
    if sum(b.size for b in dispatch.buffers) * (repeats + 1) > _MOST_BYTES:
        return None
    groups = [-(-n // size) for n, size in zip(dispatch.grid, dispatch.workgroup, strict=True)]
    if base.instructions * repeats > _MOST_INSTRUCTIONS or repeats > _FEW_GROUPS:
        few = _few(groups)
        if base.instructions * repeats * math.prod(few) > _MOST_INSTRUCTIONS * math.prod(groups):
            return None
        dispatch = replace(dispatch, grid=_grid(few, dispatch.workgroup))
    return relocated(dispatch, folder, longer=True, repeats=repeats, turned=True, kernarg=kernarg)


def _few(groups: Sequence[int]) -> Shape:
    """Two workgroups along the first side that has them."""
    sides = [1, 1, 1]
    first = next((n for n, count in enumerate(groups) if count > 1), 0)
    sides[first] = min(groups[first], _FEW_GROUPS)
    return sides[0], sides[1], sides[2]


def _longer_sides(base: Base, limit: CodeLimit, folder: Path) -> Iterator[Beyond]:
    """Each side of the grid with more work-items than the limit, the others with few workgroups.

    Integers that bound that side grow with it.
    """
    dispatch, shape = base.dispatch, base.dispatch.workgroup
    groups = [-(-n // size) for n, size in zip(dispatch.grid, shape, strict=True)]
    integers = _integers(dispatch, base.types)
    for side, (count, size) in enumerate(zip(groups, shape, strict=True)):
        more = limit.size // size + 2
        if (count == 1 and side > 0) or more <= count:
            continue
        least, most = (count - 1) * size, count * size
        bounds = [n for n in integers if least < n.value <= most]
        added = (more - count) * size
        kernarg = with_changes(dispatch.kernarg(), bounds, functools.partial(operator.add, added))
        repeats = math.ceil(max((1 + added / n.value for n in bounds), default=1.0))
        sides = list(_few([c if n != side else 1 for n, c in enumerate(groups)]))
        sides[side] = more
        rounds = base.instructions * math.prod(sides) / math.prod(groups)
        if rounds > _MOST_INSTRUCTIONS or sum(b.size for b in dispatch.buffers) * (repeats + 1) > _MOST_BYTES:
            continue
        grown = replace(dispatch, grid=_grid((sides[0], sides[1], sides[2]), shape))
        made = relocated(
            grown, folder / f"{side}", longer=True, repeats=repeats, turned=True, kernarg=kernarg
        )
        label = f"{more * size:,} work-items along {'xyz'[side]}"
        yield Beyond("larger_sizes", label, made, limit)
        if bounds:  # as odd as what was recorded is even
            less = with_changes(made.kernarg(), bounds, functools.partial(operator.add, added - 1))
            other = write_dispatch(made, folder / f"less_{side}", less, {})
            yield Beyond("larger_sizes", f"{label}, sizes one less", other, limit)
        times = {n.offset: 1 + added / n.value for n in bounds}
        larger = _all_larger(base, grown, kernarg, times, limit, folder / f"all_{side}")
        if larger is not None:
            yield Beyond("larger_sizes", f"{label}, all sizes beyond {limit.size:,}", larger, limit)
        last = _at_the_last(base, grown, kernarg, bounds, added, folder / f"last_{side}")
        if last is not None and not limit.width:
            yield Beyond("larger_sizes", f"{label}, smaller integers as large as the last place", last, limit)


def _all_larger(
    base: Base,
    grown: CapturedDispatch,
    kernarg: bytes,
    bounds: Mapping[int, float],
    limit: CodeLimit,
    folder: Path,
) -> CapturedDispatch | None:
    """The grown launch with all other sizes beyond the limit, too: what is as wide as its result is reached as a whole.

    `bounds` are the arguments that grow with the side, by their place: how many times as large.
    """
    value = limit.size + _BEYOND
    sizes = [n for n in _integers(base.dispatch, base.types) if n.offset not in bounds]
    others = [n for n in sizes if _LEAST_SIZE < n.value <= limit.size][:_FEW_SIZES]
    if not others or limit.width:
        return None
    times = sorted([*(value / n.value for n in others), *bounds.values()])
    repeats = math.ceil(math.prod(times[-2:]))  # of rows and columns
    if sum(b.size for b in base.dispatch.buffers) * (repeats + 1) > _MOST_BYTES:
        return None
    for more, one in enumerate(others, 1):  # no two the same
        kernarg = with_changes(kernarg, [one], functools.partial(lambda n, _: n, value + more))
    return relocated(grown, folder, longer=True, repeats=repeats, turned=True, kernarg=kernarg)


def _at_the_last(
    base: Base,
    grown: CapturedDispatch,
    kernarg: bytes,
    bounds: Sequence[Number],
    added: int,
    folder: Path,
) -> CapturedDispatch | None:
    """The grown launch with all integers that may be places, as they were below its size, at the last one.

    Buffers are as much longer as those of which the size is the rows and the columns.
    """
    least = min((n.value for n in bounds), default=0.0)
    places = [n for n in _integers(base.dispatch, base.types) if n not in bounds and 0 <= n.value < least]
    repeats = math.ceil((1 + added / least) ** 2) if least else 1
    if not places or sum(b.size for b in base.dispatch.buffers) * (repeats + 1) > _MOST_BYTES:
        return None
    kernarg = with_changes(kernarg, places, lambda _: least + added - 1)
    return relocated(grown, folder, longer=True, repeats=repeats, turned=True, kernarg=kernarg)


def _with_contents(dispatch: CapturedDispatch, inputs: Path, folder: Path) -> CapturedDispatch:
    """The dispatch with the contents of a directory of inputs."""
    contents: dict[str, Contents] = {}
    for buffer in dispatch.buffers:
        path = replacement(inputs, buffer.index)
        if path is not None:
            contents[buffer.before_file.name] = replaced_contents(path, buffer.before)
    return write_dispatch(dispatch, folder, dispatch.kernarg(), contents)


def _other_element(base: Base, longer: CapturedDispatch, number: int, inputs: Path) -> None:
    """Give one element of each input of a longer launch another value, such as the last one that is compared."""
    inputs.mkdir(parents=True, exist_ok=True)
    for buffer, captured in zip(longer.buffers, base.dispatch.buffers, strict=True):
        size = base.elements.get(buffer.index, BYTES).size
        place, old, was = slice(number * size, (number + 1) * size), buffer.mapped(), captured.mapped()
        if replacement(base.same, buffer.index) is None or place.stop > len(old):
            continue
        elements = was[: len(was) // size * size].reshape(-1, size)
        others = np.flatnonzero((elements != old[place]).any(axis=1))
        fresh = elements[others[0]] if len(others) else old[place] ^ np.uint8(1)
        write_replacement(inputs, buffer.index, old, [(place.start, fresh)])


def _grid(groups: Shape, workgroup: Shape) -> Shape:
    x, y, z = (n * size for n, size in zip(groups, workgroup, strict=True))
    return x, y, z
