"""Edits of the numbers in host code that a kernel's launches come from: the workgroup's sides, how many workgroups.

Takes what the compiler says of the launches, the texts and the recorded shapes, gives LaunchEdits. A number is edited
where it is written once for all of its uses (a macro, a constant, a variable); a literal that stands for the same size
in the grid's expression is edited with it. Whatever does not follow the problem's size is left alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tree_sitter import Node

from hipscope.analysis.semantics.records import HostExpression, KernelLaunch, Place
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.nodes import text_of
from hipscope.analysis.source.parse import parse
from hipscope.formulas.detect.launch_gain import strides
from hipscope.formulas.facts.host_values import NotKnown, Numbers, depends_on, value_of
from hipscope.formulas.launches.coverage import reaches_all
from hipscope.formulas.propose.splice import Splice, apply_splices

Sides = tuple[int, int, int]
RECIPE = "launch_shape"

_BLOCKS: Mapping[int, tuple[Sides, ...]] = {
    1: ((64, 1, 1), (128, 1, 1), (256, 1, 1), (512, 1, 1), (1024, 1, 1)),
    2: (
        (8, 8, 1), (16, 4, 1), (32, 2, 1), (64, 1, 1), (16, 8, 1), (32, 4, 1), (64, 2, 1), (16, 16, 1), (32, 8, 1),
        (64, 4, 1), (32, 16, 1), (32, 32, 1),
    ),
}  # fmt: skip
_FACTORS = (2, 4, 8, 16, 0.5, 0.25)  # of the number of workgroups
_MOST_GROUPS = 65536
_OF_DEVICE = (
    "__global__", "__device__", "preproc_def", "preproc_function_def", "template_declaration", "lambda_expression",
)  # fmt: skip
_LEAST = 8  # a literal below is a factor, not a size


@dataclass(frozen=True)
class LaunchEdit:
    """One edit: `text` is the whole new `file`, `also` are further files that change with it, `shapes` what becomes of
    each recorded (workgroups, workgroup).

    `host_only`: its numbers stand in functions of the host, so only a template's argument can carry them to a kernel.
    `own` does the same at the kernel's own launches, where the number is one that other kernels have, too.
    `recipe`, `assumes` and `expected` are those of its candidate. `confined`: a model wrote the kernel.
    `becomes`: how many workgroups do exactly what so many did, None where none do; where that is known beforehand.
    """

    file: Path
    text: bytes
    title: str
    shapes: Mapping[tuple[Sides, Sides], tuple[Sides, Sides]]
    host_only: bool = False
    own: LaunchEdit | None = None
    recipe: str = RECIPE
    assumes: tuple[str, ...] = ()
    expected: str = "fewer idle compute units, or less work that is repeated in each workgroup"
    also: tuple[tuple[Path, bytes], ...] = ()
    confined: bool = False
    becomes: Callable[[Sides], Sides | None] | None = None

    @property
    def texts(self) -> tuple[tuple[Path, bytes], ...]:
        """All files that change, with their new texts."""
        return ((self.file, self.text), *self.also)


@dataclass(frozen=True)
class Shapes:
    """The recorded launches of one kernel: (workgroups, workgroup), and what its code allows.

    `code` is the text of the kernel and of what it calls; `largest` the most work-items of a workgroup.
    """

    seen: tuple[tuple[Sides, Sides], ...]
    code: bytes
    largest: int


def launch_edits(
    name: str, launches: Sequence[KernelLaunch], texts: Mapping[Path, bytes], shapes: Shapes
) -> list[LaunchEdit] | str:
    """The edits, or why there are none."""
    if not launches:
        return f"no launch of `{name}` is known to the compiler"
    sites = [s for s in launches if s.grid_sizes is not None and s.block_sizes is not None]
    if len(sites) < len(launches):
        return f"the sizes of a launch of `{name}` are not said in one expression"
    found: dict[tuple[Path, bytes], LaunchEdit] = {}
    for edit in (*_of_blocks(name, sites, texts, shapes), *_of_grids(name, sites, texts, shapes)):
        found.setdefault((edit.file, edit.text), edit)
    if not found:
        return f"no number in the program's text decides the launch of `{name}` at every size of its problem"
    return list(found.values())


def _of_blocks(
    name: str, sites: Sequence[KernelLaunch], texts: Mapping[Path, bytes], shapes: Shapes
) -> Iterator[LaunchEdit]:
    """Other workgroups; the grids that are computed from them follow."""
    for workgroup in dict.fromkeys(w for _, w in shapes.seen):
        mine = [s for s in sites if block_of(s, {}) == workgroup]
        dimensions = 1 if workgroup[1:] == (1, 1) else 2
        for block in _BLOCKS[dimensions] if workgroup[2] == 1 else ():
            if block == workgroup or math.prod(block) > shapes.largest:
                continue
            numbers = _numbers_for(mine, workgroup, block)
            if numbers is None or any(block_of(s, numbers) != block for s in mine):
                continue
            if all(_safe(s, workgroup, block, numbers, shapes.code) for s in mine):
                title = f"Launch `{name}` with workgroups of {_shown(block)} work-items instead of {_shown(workgroup)}"
                for edit in _edit(
                    title, numbers, texts, _after_block(mine, workgroup, block, numbers, shapes)
                ):
                    apart = not any(depends_on(side, numbers) for s in mine for side in s.grid_sizes or ())
                    yield (
                        replace(edit, own=_at_own_launches(name, edit, numbers, texts, shapes))
                        if apart
                        else edit
                    )


def _of_grids(
    name: str, sites: Sequence[KernelLaunch], texts: Mapping[Path, bytes], shapes: Shapes
) -> Iterator[LaunchEdit]:
    """Another number of workgroups, where it is written as a number: only for kernels that loop over their data."""
    if not any(True for _ in strides(shapes.code, "grid")):
        return
    for groups, workgroup in shapes.seen:
        mine = [s for s in sites if block_of(s, {}) in (workgroup, None) and _written(s) == groups[0]]
        for factor in _FACTORS if mine and groups[1:] == (1, 1) else ():
            count = int(groups[0] * factor)
            if not 1 <= count <= _MOST_GROUPS or count == groups[0]:
                continue
            numbers = {s.grid_sizes[0].place: count for s in mine if s.grid_sizes and s.grid_sizes[0].place}
            if any(depends_on(side, numbers) for s in mine for side in s.block_sizes or ()):
                continue
            after = {(g, w): (((count, 1, 1), w) if g == groups else (g, w)) for g, w in shapes.seen}
            title = f"Launch `{name}` with {count:,} workgroups instead of {groups[0]:,}"
            yield from _edit(title, numbers, texts, after)


def block_of(site: KernelLaunch, numbers: Numbers) -> Sides | None:
    """The workgroup of a launch; None where only a run says."""
    try:
        x, y, z = (int(value_of(side, numbers)) for side in site.block_sizes or ())
    except (NotKnown, ValueError):
        return None
    return x, y, z


def _written(site: KernelLaunch) -> int | None:
    """The number of workgroups, where it stands there as a number."""
    side = site.grid_sizes[0] if site.grid_sizes is not None else None
    return int(side.value) if side is not None and side.place is not None and side.value is not None else None


def _numbers_for(sites: Sequence[KernelLaunch], was: Sides, now: Sides) -> dict[Place, int] | None:
    """What is written for the workgroup's sides, with the new sizes; None where they do not come from numbers."""
    found: dict[Place, int] = {}
    for site in sites:
        assert site.grid_sizes is not None
        assert site.block_sizes is not None
        for axis in range(3):
            side = site.block_sizes[axis]
            if was[axis] == now[axis] and side.place is None:
                continue
            if side.operator != "number" or side.place is None:
                return None
            if found.setdefault(side.place, now[axis]) != now[axis]:
                return None
            for place, value in same_size(site.grid_sizes[axis], was[axis], now[axis]):
                if found.setdefault(place, value) != value:
                    return None
    changed = {place: value for place, value in found.items() if value is not None}
    return changed or None


def same_size(grid: HostExpression, was: int, now: int) -> Iterator[tuple[Place, int]]:
    """The literals of a grid's expression that stand for the size of the workgroup, or for one less.

    A problem that happens to be as large as a workgroup is none of them: they divide, or round a division up.
    """
    sizes = [e for e in _step_sizes(grid) if e.value == was] if was >= _LEAST else []
    places = {e.place for e in sizes}
    for e in grid.walk() if sizes else ():
        if e.operator == "number" and e.place is not None:
            if e.value == was and e.place in places:
                yield e.place, now
            elif e.value == was - 1:
                yield e.place, now - 1


def _step_sizes(grid: HostExpression) -> Iterator[HostExpression]:
    """The numbers that others are divided by, and the `b` of `a + b - 1` and of `b - 1 + a`."""
    for e in grid.walk():
        if e.operator in ("/", "%"):
            yield from (n for n in e.operands[1].walk() if n.operator == "number")
        for less in (e, *e.operands) if e.operator == "+" else (e,):
            if less.operator == "-" and len(less.operands) == 2 and less.operands[1].value == 1:
                first = less.operands[0]
                if first.operator == "+":
                    yield first.operands[1]
                elif less is not e:
                    yield first


def _safe(site: KernelLaunch, was: Sides, now: Sides, numbers: Numbers, code: bytes) -> bool:
    """Whether the launch does all of the work at every size of the problem."""
    assert site.grid_sizes is not None
    for grid, size, other in zip(site.grid_sizes, was, now, strict=True):
        if size == other:
            continue
        if depends_on(grid, numbers):
            if not reaches_all(grid, size, other, numbers) and not any(True for _ in strides(code, "grid")):
                return False
        elif other < size and not any(True for _ in strides(code, "launch")):
            return False  # the same number of smaller workgroups
    return True


def _after_block(
    sites: Sequence[KernelLaunch], was: Sides, now: Sides, numbers: Numbers, shapes: Shapes
) -> dict[tuple[Sides, Sides], tuple[Sides, Sides]]:
    """The shapes with the new workgroup, as well as they can be told before the program runs."""
    follows = [
        any(depends_on(s.grid_sizes[axis], numbers) for s in sites if s.grid_sizes) for axis in range(3)
    ]
    found = {}
    for groups, workgroup in shapes.seen:
        if workgroup != was:
            found[groups, workgroup] = (groups, workgroup)
            continue
        x, y, z = (-(-g * a // b) if f else g for g, a, b, f in zip(groups, was, now, follows, strict=True))
        found[groups, workgroup] = ((x, y, z), now)
    return found


def _edit(
    title: str,
    numbers: Mapping[Place, int],
    texts: Mapping[Path, bytes],
    shapes: Mapping[tuple[Sides, Sides], tuple[Sides, Sides]],
) -> Iterable[LaunchEdit]:
    """The edit, when all of its numbers stand in one file that may be edited."""
    files = {place.file for place in numbers}
    if len(files) != 1 or not files <= set(texts):
        return ()
    (file,) = files
    text = renumbered(texts[file], {place.span: value for place, value in numbers.items()})
    if text == texts[file]:
        return ()
    root = parse(texts[file]).root
    return (LaunchEdit(file, text, title, shapes, all(in_host_function(root, p) for p in numbers)),)


def _at_own_launches(
    name: str, edit: LaunchEdit, numbers: Mapping[Place, int], texts: Mapping[Path, bytes], shapes: Shapes
) -> LaunchEdit | None:
    """The number written at the kernel's launches, in place of the macro or constant that all of them name; None where
    that is not so, or the kernel's code names it, too.
    """
    if len(numbers) != 1:
        return None
    (place, value), *_ = numbers.items()
    constant = _constant_at(parse(texts[place.file]).root, place)
    word = re.compile(rb"\b%s\b" % re.escape(constant)) if constant else None
    files = [file for file, text in texts.items() if re.search(rb"\b%s\b" % name.encode(), text)]
    if word is None or word.search(shapes.code) is not None or len(files) != 1:
        return None
    text = texts[files[0]]
    file = parse(text)
    launches = [launch for launch in file.launches if base_name(launch.kernel) == name]
    if not launches or any(launch.block.encode() != constant for launch in launches):
        return None
    splices = []
    for launch in launches:
        found = list(word.finditer(text, launch.span.start, launch.span.end))
        if len(found) != 1:
            return None
        splices.append(Splice(found[0].start(), found[0].end(), str(value).encode()))
    places = [Place(files[0], (s.start, s.end)) for s in splices]
    host = all(in_host_function(file.root, p) for p in places)
    title = f"{edit.title}, at its own launches"
    return LaunchEdit(files[0], apply_splices(text, splices), title, edit.shapes, host)


def _constant_at(root: Node, place: Place) -> bytes:
    """The name of the macro or constant that is defined as the number at that place; empty for another number."""
    node = root.descendant_for_byte_range(*place.span)
    outer = node.parent if node is not None else None
    if outer is None or outer.type not in ("preproc_def", "init_declarator"):
        return b""
    named = outer.child_by_field_name("name" if outer.type == "preproc_def" else "declarator")
    return (named.text or b"") if named is not None and named.type == "identifier" else b""


# What stands before a number that makes it idle: behind an operand, not the sign of the number itself.
_IDLE = {1: re.compile(rb"(?<=[\w)])\s*/\s*$"), 0: re.compile(rb"(?<=[\w)])\s*[+-]\s*$")}


def renumbered(text: bytes, numbers: Mapping[tuple[int, int], int]) -> bytes:
    """Other numbers at these spans; a quotient by one and a sum with nothing become what they are equal to."""
    splices = []
    for (start, end), value in numbers.items():
        plain = text[start:end].isdigit()
        idle = _IDLE[value].search(text, max(0, start - 32), start) if plain and value in _IDLE else None
        new = str(value).encode() if idle is None else b""
        splices.append(Splice(start if idle is None else idle.start(), end, new))
    return apply_splices(text, splices)


def in_host_function(root: Node, place: Place) -> bool:
    """Whether a number stands in code that runs on the host only: in no macro, no kernel and no template."""
    node = root.descendant_for_byte_range(*place.span)
    around: list[str] = []
    while node is not None:
        if node.type == "function_definition":
            around += [text_of(child) for child in node.children if child.type != "compound_statement"]
        around.append(node.type)
        node = node.parent
    return "function_definition" in around and not any(word in part for part in around for word in _OF_DEVICE)


def _shown(sides: Sides) -> str:
    wanted = sides[: 1 if sides[1:] == (1, 1) else 2 if sides[2] == 1 else 3]
    return " x ".join(f"{n:,}" for n in wanted)
