"""Other launches of a captured dispatch: smaller workgroups, one more workgroup, other numbers as arguments and in
device variables.

Takes a captured dispatch, gives dispatches with the same memory (or longer, or elsewhere) and a changed launch. They
show a candidate that is only right for the shape it was recorded with. Whether the reference itself is well defined
there, the caller must see.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.code_properties import asked_dimensions, largest_workgroup
from hipscope.accordo.dispatch.writer import Contents, write_dispatch
from hipscope.accordo.model.defences import Defence
from hipscope.accordo.trials.code_constants import Named
from hipscope.accordo.trials.device_variables import other_value
from hipscope.accordo.trials.moved_buffers import relocated
from hipscope.accordo.trials.scalar_arguments import Number, numbers_of, with_changes
from hipscope.accordo.trials.scalar_variants import named_arguments, other_arguments
from hipscope.accordo.trials.unaliased_pointers import Copy, pointers_apart

Shape = tuple[int, int, int]

_FEW_GROUPS = 64
_FEWEST_GROUPS = 16  # of a launch that takes long: with their waves, still many work-items
_MANY_GROUPS = 256
_LONG = 20_000_000  # instructions of waves: a second or so
_WAVE = 64
_LARGEST_WORKGROUP = 1024
_MOST_NAMED = 12
_GROWN = (66_000, 264, 44)  # work-items along each side of one, two and three: more than 65,536 in all
_FEW_FACTORS = 6
_MOST_GROWN = 6_000_000  # instructions of waves: some tenths of a second
_LARGEST_GROWN = 96 << 20  # bytes
LONGER_ROWS, AS_SQUARES = "as many work-items, longer buffers", " of rows and columns"
_ROUNDS, _FEW_ROWS_LONGER = 6, 2
_LARGEST_ELEMENT = 16  # bytes
_FEW_ROWS = 16  # workgroups along the recorded dimensions, when more are added


@dataclass(frozen=True)
class Variant:
    """A launch that the program did not make; `defence` is what it is there for."""

    defence: Defence
    label: str
    dispatch: CapturedDispatch


def smaller_launch(
    dispatch: CapturedDispatch, folder: Path, instructions: int = 0
) -> CapturedDispatch | None:
    """The launch cut to few workgroups, for trials that need no more; None when it has few already.

    `instructions` of all its waves: where those of few workgroups still take long, fewer are left.
    """
    groups = _groups(dispatch)
    few = _few(groups, instructions)
    many = _MANY_GROUPS if instructions <= _LONG else few
    if math.prod(groups) <= many:
        return None
    return _write(dispatch, folder, dispatch.workgroup, _bounded(groups, few))


def _few(groups: Shape, instructions: int) -> int:
    few, count = _FEW_GROUPS, math.prod(groups)
    while few > _FEWEST_GROUPS and instructions * min(few, count) > _LONG * count:
        few //= 2
    return few


def shorter_launch(
    dispatch: CapturedDispatch, types: Sequence[str], folder: Path, instructions: int = 0
) -> CapturedDispatch | None:
    """The launch of `smaller_launch` with less to do for each of its workgroups; None where no argument says how much.

    In loops with the grid as their step, few workgroups do what all did. Integers count that are a side of the grid, in
    workgroups or work-items, or at least all its work-items: they become less as the side does, or as all do.
    """
    groups, kernarg = _groups(dispatch), dispatch.kernarg()
    few = _bounded(groups, _few(groups, instructions))
    cut: dict[float, float] = {}
    for side, (count, left) in enumerate(zip(groups, few, strict=True)):
        if left < count:
            cut |= {count: left / count, count * dispatch.workgroup[side]: left / count}
    items, part = math.prod(groups) * math.prod(dispatch.workgroup), math.prod(few) / math.prod(groups)

    def less(value: float) -> float:
        return max(1, math.ceil(value * (part if value >= items else cut.get(value, 1.0))))

    counts = [n for n in numbers_of(dispatch, types) if n.kind == "integer" and n.declared]
    shorter = with_changes(kernarg, [n for n in counts if n.value > 1], less)
    return None if shorter == kernarg else _write(dispatch, folder, dispatch.workgroup, few, shorter)


def launch_variants(
    dispatch: CapturedDispatch,
    types: Sequence[str],
    folder: Path,
    *,
    odd: bool = False,
    larger: bool = True,
) -> list[Variant]:
    """The variants. `types` are the parameter types, to know the integers among the arguments.

    `larger` asks for larger workgroups, which a kernel for one program need not be made for. `odd` also asks for very
    small workgroups and for some that are no power of two: only for kernels whose threads do not work together.
    """
    found = [Variant("relocation", "buffers at other addresses", relocated(dispatch, folder / "moved"))]
    found += _other_arguments(dispatch, types, folder)
    found += _other_shapes(dispatch, folder, odd)
    kernarg, copies = pointers_apart(dispatch, types)
    if copies:
        at = folder / "apart"
        varied = _write(dispatch, at, dispatch.workgroup, _groups(dispatch), kernarg, _Memory(copies=copies))
        found.append(Variant("pointers_apart", "pointers that share no memory", varied))
    found += _more_dimensions(dispatch, folder)
    others = {v.index: other_value(v, dispatch.buffers) for v in dispatch.variables}
    if any(others[v.index] != v.before() for v in dispatch.variables):
        at = folder / "variables"
        varied = _write(dispatch, at, dispatch.workgroup, _groups(dispatch), memory=_Memory(others))
        found.append(Variant("other_variables", "device variables with other values", varied))
    # The last, as it ends the trials of a candidate whose launch bounds do not allow it.
    return found + (_larger_workgroups(dispatch, folder) if larger else [])


def named_variants(
    dispatch: CapturedDispatch, types: Sequence[str], named: Named, folder: Path
) -> list[Variant]:
    """Launches with arguments that a candidate names and the reference does not."""
    listed = itertools.islice(named_arguments(dispatch, types, named), _MOST_NAMED)
    return [
        Variant(
            one.defence, one.label, relocated(dispatch, folder / f"{n}", longer=True, kernarg=one.kernarg)
        )
        for n, one in enumerate(listed)
    ]


def grown_launch(
    dispatch: CapturedDispatch, types: Sequence[str], folder: Path, instructions: int
) -> Variant | None:
    """The launch with so many work-items that 16 bits do not count them (of several dimensions, their product).

    Integers that bound a side of the grid grow with it, and buffers with all sides. Where none does, two or three may
    bound all work-items by their product or sum, or each workgroup has a part of the buffers. None where that would
    take long, or where memory would be large.
    """
    groups, shape = _groups(dispatch), dispatch.workgroup
    sides = [n for n, (count, size) in enumerate(zip(groups, shape, strict=True)) if count * size > 1]
    if not sides:
        return None
    wanted = _GROWN[len(sides) - 1]
    more = [
        max(count, -(-wanted // size)) if n in sides else count
        for n, (count, size) in enumerate(zip(groups, shape, strict=True))
    ]
    kernarg = longer = dispatch.kernarg()
    numbers = [n for n in numbers_of(dispatch, types) if n.kind == "integer" and n.declared]
    factor, growth, together = math.prod(more) / math.prod(groups), 1.0, 1.0
    for side in sides:
        least, most = (groups[side] - 1) * shape[side], groups[side] * shape[side]
        bounds = [n for n in numbers if least < n.value <= most]
        added = (more[side] - groups[side]) * shape[side]
        longer = with_changes(longer, bounds, functools.partial(operator.add, added))
        growth *= max((1 + added / n.value for n in bounds), default=1.0)
        together *= math.prod(1 + added / n.value for n in bounds)
    if longer == kernarg:
        times = math.ceil(factor)
        longer = _with_more_items(dispatch, numbers, times)
        factor = growth = together = times
        more = [groups[0] * times, groups[1], groups[2]]
    size = sum(b.size for b in dispatch.buffers)
    # A matrix of two integers that both grow with one side is as much longer as both.
    repeats = math.ceil(together if size * math.ceil(together) <= _LARGEST_GROWN else growth)
    if repeats < 2 or instructions * factor > _MOST_GROWN or size * repeats > _LARGEST_GROWN:
        return None
    grown = replace(dispatch, workgroup=shape, grid=_grid((more[0], more[1], more[2]), shape))
    made = relocated(grown, folder, repeats=repeats, kernarg=longer)
    return Variant("grown", f"{math.prod(made.grid):,} work-items, all buffers as much longer", made)


def longer_rows(
    dispatch: CapturedDispatch,
    types: Sequence[str],
    folder: Path,
    instructions: int,
    *,
    squared: bool = False,
) -> list[Variant]:
    """The launch with as many work-items and one integer several times as large that does not bound them, for a few:
    work-items have more rounds to go than code that holds some number of them for granted. Buffers are as much longer;
    `squared`: as those of a matrix are of which it is the rows and the columns.
    """
    groups, shape = _groups(dispatch), dispatch.workgroup
    repeats = _ROUNDS**2 + _ROUNDS if squared else _ROUNDS
    size = sum(b.size for b in dispatch.buffers) * (repeats + 1)
    if instructions * repeats > _MOST_GROWN or size > _LARGEST_GROWN:
        return []
    bounded = [((g - 1) * w, g * w) for g, w in zip(groups, shape, strict=True) if g * w > 1]
    chosen = [
        n
        for n in numbers_of(dispatch, types)
        if n.kind == "integer" and n.declared and n.value > _WAVE // 4
        if not any(least < n.value <= most for least, most in bounded) and n.value != math.prod(groups)
    ]
    found = []
    for one in chosen[:_FEW_ROWS_LONGER]:
        kernarg = with_changes(dispatch.kernarg(), [one], lambda n: n * _ROUNDS + 1)
        at = folder / f"{one.offset}"
        made = relocated(dispatch, at, longer=True, repeats=repeats, turned=True, kernarg=kernarg)
        label = f"{one.label} {one.value * _ROUNDS + 1:,.0f}, {LONGER_ROWS}{AS_SQUARES if squared else ''}"
        found.append(Variant("grown", label, made))
    return found


def _with_more_items(dispatch: CapturedDispatch, numbers: Sequence[Number], times: int) -> bytes:
    """The arguments for so many times the work-items: integers larger whose product or sum needs all workgroups, else
    those that each are at least as many as all work-items, or as many as the workgroups.
    """
    most = math.prod(_groups(dispatch)) * math.prod(dispatch.workgroup)
    least = most - math.prod(dispatch.workgroup)
    large = [n for n in numbers if n.value > 1][:_FEW_FACTORS]
    for chosen in (c for count in (2, 3) for c in itertools.combinations(large, count)):
        if least < math.prod(n.value for n in chosen) <= most:
            return with_changes(dispatch.kernarg(), chosen[:1], lambda n: n * times)
        if least < sum(n.value for n in chosen) <= most:
            return with_changes(dispatch.kernarg(), chosen, lambda n: n * times)
    groups = math.prod(_groups(dispatch))
    # Work-items with several elements each, of which buffers have no more, or workgroups with one part each.
    held = max((b.size for b in dispatch.buffers), default=0)
    counts = [
        n
        for n in large
        if n.value == groups or (n.value >= most and n.value <= held <= n.value * _LARGEST_ELEMENT)
    ]
    return with_changes(dispatch.kernarg(), counts, lambda n: n * times)


def _other_arguments(dispatch: CapturedDispatch, types: Sequence[str], folder: Path) -> list[Variant]:
    found = []
    for number, other in enumerate(other_arguments(dispatch, types)):
        at = folder / f"arguments_{number}"
        if other.longer:
            made = relocated(dispatch, at, longer=True, kernarg=other.kernarg)
        else:
            made = _write(dispatch, at, dispatch.workgroup, _groups(dispatch), other.kernarg)
        found.append(Variant(other.defence, other.label, made))
    return found


def _other_shapes(dispatch: CapturedDispatch, folder: Path, odd: bool) -> list[Variant]:
    groups = _groups(dispatch)
    launches: list[tuple[str, Shape, Shape]] = []
    shapes = {_shortened(dispatch.workgroup, eighths) for eighths in ((1, 4, 5) if odd else (4,))}
    shapes |= _other_sides_halved(dispatch)
    launches += [(f"workgroups of {_shown(s)}", s, groups) for s in sorted(shapes - {dispatch.workgroup})]
    if groups[0] > 1:
        launches.append(("one workgroup less", dispatch.workgroup, (groups[0] - 1, *groups[1:])))
    launches.append(("one more workgroup", dispatch.workgroup, (groups[0] + 1, *groups[1:])))
    for side in (1, 2):
        if groups[side] > 1:
            fewer = [count - (n == side) for n, count in enumerate(groups)]
            label = f"one workgroup less along {'xyz'[side]}"
            launches.append((label, dispatch.workgroup, (fewer[0], fewer[1], fewer[2])))
    return [
        Variant(
            "other_workgroups",
            label,
            _write(dispatch, folder / f"shape_{number}", workgroup, count),
        )
        for number, (label, workgroup, count) in enumerate(launches)
    ]


def _other_sides_halved(dispatch: CapturedDispatch) -> set[Shape]:
    """The workgroup with each side but its longest halved: code may hold that side for granted alone."""
    sides = dispatch.workgroup
    longest = sides.index(max(sides))
    halved = (
        tuple(size // 2 if n == side else size for n, size in enumerate(sides))
        for side, size in enumerate(sides)
        if side != longest and size > 1
    )
    return {(x, y, z) for x, y, z in halved}


def _larger_workgroups(dispatch: CapturedDispatch, folder: Path) -> list[Variant]:
    """Workgroups of twice as many work-items, and of four waves: there, barriers begin to matter.

    None that the kernel's launch bounds forbid: no launch can have those.
    """
    found = []
    most = min(_LARGEST_WORKGROUP, largest_workgroup(dispatch.code_object, dispatch.kernel))
    for least in (2 * math.prod(dispatch.workgroup), 4 * _WAVE):
        sides = list(dispatch.workgroup)
        longest = sides.index(max(sides))
        while math.prod(sides) < least:
            sides[longest] *= 2
        shape = (sides[0], sides[1], sides[2])
        if math.prod(dispatch.workgroup) < math.prod(shape) <= most:
            found.append(shape)
    few = _bounded(_groups(dispatch))
    return [
        Variant(
            "larger_workgroups",
            f"workgroups of {_shown(shape)}",
            _write(dispatch, folder / f"larger_{number}", shape, few),
        )
        for number, shape in enumerate(dict.fromkeys(found))
    ]


def _more_dimensions(dispatch: CapturedDispatch, folder: Path) -> list[Variant]:
    """Workgroups of as many work-items with one dimension more, and two workgroups along each side that has one.

    Only for a kernel that asks where it is along them: any other does the same work more than once, and what that means
    for a sum by atomics or by shuffles, it need not be prepared for.
    """
    (x, y, z), groups = dispatch.workgroup, _groups(dispatch)
    asked = asked_dimensions(dispatch.code_object, dispatch.kernel)
    launches: list[tuple[str, Shape, Shape]] = []
    few = _bounded(groups, _FEW_ROWS)
    if (x if y == 1 else y) > 1 and z == 1 and asked.workgroup >= (2 if y == 1 else 3):
        shape = (x // 2, 2, 1) if y == 1 else (x, y // 2, 2)
        launches.append((f"workgroups of {_shown(shape)}", shape, few))
    sides = [2 if count == 1 and used else count for count, used in zip(few, asked.grid, strict=True)]
    if (more := (few[0], sides[1], sides[2])) != few:
        launches.append((f"a grid of {_shown(more)} workgroups", dispatch.workgroup, more))
    return [
        Variant(
            "more_dimensions",
            label,
            _write(dispatch, folder / f"dimensions_{number}", workgroup, count),
        )
        for number, (label, workgroup, count) in enumerate(launches)
    ]


def _groups(dispatch: CapturedDispatch) -> Shape:
    x, y, z = (-(-n // size) for n, size in zip(dispatch.grid, dispatch.workgroup, strict=True))
    return x, y, z


def _bounded(groups: Shape, most: int = _FEW_GROUPS) -> Shape:
    """As many workgroups as in the launch, halved along each side until there are few enough to be quick."""
    x, y, z = groups
    while x * y * z > most and max(x, y, z) > 1:
        x, y, z = (max(1, -(-side // 2)) for side in (x, y, z))
    return x, y, z


def _shortened(workgroup: Shape, eighths: int) -> Shape:
    """The workgroup with its longest side cut to so many eighths."""
    sides = list(workgroup)
    at = sides.index(max(sides))
    sides[at] = max(1, sides[at] * eighths // 8)
    return sides[0], sides[1], sides[2]


@dataclass(frozen=True)
class _Memory:
    """What memory holds other than the captured: device variables by index, and buffers that are added."""

    variables: Mapping[int, bytes] = field(default_factory=dict)
    copies: Sequence[Copy] = ()


def _write(
    dispatch: CapturedDispatch,
    folder: Path,
    workgroup: Shape,
    groups: Shape,
    kernarg: bytes | None = None,
    memory: _Memory | None = None,
) -> CapturedDispatch:
    """The dispatch with so many workgroups of that shape, and with the captured arguments and memory unless given."""
    memory = memory or _Memory()
    x, y, z = (n * size for n, size in zip(groups, workgroup, strict=True))
    added = [replace(c.buffer, before_file=folder / f"buffer_{c.buffer.index}.before") for c in memory.copies]
    contents: dict[str, Contents] = {
        f"global_{index}.before": value for index, value in memory.variables.items()
    }
    contents |= {f"buffer_{copy.buffer.index}.before": copy.contents for copy in memory.copies}
    derived = replace(dispatch, grid=(x, y, z), workgroup=workgroup, buffers=(*dispatch.buffers, *added))
    return write_dispatch(derived, folder, dispatch.kernarg() if kernarg is None else kernarg, contents)


def _grid(groups: Shape, workgroup: Shape) -> Shape:
    x, y, z = (n * size for n, size in zip(groups, workgroup, strict=True))
    return x, y, z


def _shown(shape: Shape) -> str:
    return " x ".join(str(n) for n in shape)
