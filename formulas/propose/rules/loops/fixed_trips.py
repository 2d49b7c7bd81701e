"""Loops whose length is an argument that is the same in all recorded launches are written out for that length.

`for (int q = 0; q < K; ++q)` does one load after the other where nobody knows that K is 5. Behind `if (K == 5)` the
compiler does, and starts all loads at once; other lengths go through the loop as it was. The order of all operations
stays: same bits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, unsteady_names
from hipscope.analysis.kernel.loops import CountedLoop, counted_loop
from hipscope.analysis.source.nodes import BARRIERS, LOOPS, ancestors, bare, called, child_of, text_of, walk
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.ranges.integer_ranges import Ranges
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    fresh_name,
    indentation,
    line_start,
    renamed,
    step_before,
    style_of,
)
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_before
from hipscope.formulas.propose.splice import Splice, apply_splices

_MOST_TRIPS = 16  # steps of one loop: of longer ones a part at a time is enough
_MOST_COPIES = 128  # of a body, in all loops of a nest together
_ONE = ""  # stands for the numbers in a sum
_SIGNED = integers(16, signed=True)
_MOST_LINES = 60  # of a nest: its text stands there twice afterwards


@dataclass(frozen=True)
class _Known:
    """A loop of a known length, and the arguments from which it is known; none where it is the same in any launch.

    `moves`: it begins at a place of its own in each thread, as `for (int y = top; y < top + K; ++y)`.
    """

    node: Node
    trips: int
    used: frozenset[str]
    moves: bool = False


@rewrite(
    "fixed_trips",
    "Loops and branches",
    "latencyHiding",
    anywhere=True,
    function=True,
    any_caller=True,
    rank=24,
)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """A copy of the loops in which the compiler knows their length.

    Needs: a length of 2 to 16, at most 128 copies of a body in all loops of a nest, known from integer arguments that
    all recorded launches have in common, also from `x - K` to `x + K`; no barrier.
    """
    if not facts.launches:
        return "no launch was recorded"
    ranges = Ranges(kernel, parse(source), facts)
    found = list(_nests(kernel, ranges))
    if not found:
        return "no loop has a length that is a small argument"
    values = {name: facts.launches[0].scalars[name] for nest in found for loop in nest for name in loop.used}
    style = style_of(source, kernel)
    told = ", ".join(f"`{name} == {value}`" for name, value in sorted(values.items()))
    told = f" for {told}" if told else ""
    lines = ", ".join(str(nest[0].node.start_point.row + 1) for nest in found)
    texts = {
        apply_splices(
            source, [_splice(source, style, nest, _unrolled(nest, inner=inner), values) for nest in found]
        ): inner
        for inner in (True, False)
    }
    return [
        edited(
            text,
            title=f"Write the {'innermost ' if inner else ''}loops out{told} (line {lines})",
            expected=(
                "The loads of all steps are started before the first one is waited for; other lengths go "
                "through the loops as before. Results stay the same bit for bit."
            ),
        )
        for text, inner in texts.items()
    ]


def _nests(kernel: KernelSyntax, ranges: Ranges) -> Iterator[list[_Known]]:
    """The largest nests of loops that are not too long to be written out, each with its outermost loop first."""
    end = 0
    for node in walk(kernel.body_node):
        if node.type != "for_statement" or node.start_byte < end:
            continue
        inside = [n for n in walk(node) if n.type in LOOPS]
        nest = [known for n in inside if (known := _known(n, ranges, kernel)) is not None]
        new = any(loop.used or loop.moves for loop in nest)  # the compiler sees the other lengths itself
        if len(nest) < len(inside) or not new or not _is_small(node, nest):
            continue
        end = node.end_byte
        yield nest


def _is_small(outer: Node, nest: list[_Known]) -> bool:
    if outer.end_point.row - outer.start_point.row > _MOST_LINES:
        return False
    trips = {loop.node.id: loop.trips for loop in nest}
    for loop in nest:
        copies = loop.trips
        for around in ancestors(loop.node, outer.parent or outer):
            copies *= trips.get(around.id, 1)
        if copies > _MOST_COPIES:
            return False
    return True


def _known(loop: Node, ranges: Ranges, kernel: KernelSyntax) -> _Known | None:
    """The loop's length, where it counts by a number, and from its begin to its end it is as far in all launches."""
    if loop.type != "for_statement" or any(
        called(n) in BARRIERS or n.type in ("goto_statement", "labeled_statement", "lambda_expression")
        for n in walk(loop)
    ):
        return None
    read = counted_loop(loop)
    if isinstance(read, str) or read.by is None or read.first is None or read.bound is None:
        return None
    ranges.used.clear()
    ranges.shapes.clear()
    begin, limit = _terms(read.first, ranges), _terms(read.bound, ranges)
    if begin is None or limit is None:
        return None
    apart = {name for name in begin.keys() | limit.keys() if limit[name] != begin[name]}
    moves = bool(begin.keys() - {_ONE})
    if apart - {_ONE} or (moves and not _can_move(read, begin)):
        return None
    if begin.keys() & unsteady_names(kernel) or (moves and ranges.shapes):
        return None  # a number of steps would be written down that other launches do not have
    passed = frozenset(n for n in ranges.used if kernel.parameter(n.partition(".")[0]) is not None)
    if passed and _told_apart(loop, passed, kernel):
        return None
    trips = read.between(begin[_ONE], limit[_ONE])
    return _Known(loop, trips, passed, moves) if trips is not None and 1 < trips <= _MOST_TRIPS else None


def _told_apart(loop: Node, names: frozenset[str], kernel: KernelSyntax) -> bool:
    """Whether an `if` around the loop tells these numbers from all others, as this recipe writes it."""
    for around in ancestors(loop, kernel.body_node):
        if around.type == "if_statement":
            words = re.sub(r"\s", "", text_of(child_of(around, "condition")))[1:-1].split("&&")
            told = {found[1] for word in words if (found := re.fullmatch(r"([\w.]+)==\d+", word))}
            if names <= told:
                return True
    return False


def _terms(node: Node, ranges: Ranges) -> Counter[str] | None:
    """A sum as what it adds up, and how often; `_ONE` counts the numbers. None for anything else."""
    node = bare(node)
    shapes = set(ranges.shapes)
    known = ranges.of(node)
    if known is not None and known[0] == known[1]:
        return Counter({_ONE: known[0]})
    ranges.shapes = shapes  # those of a number that is none
    operator = text_of(child_of(node, "operator")) if node.type == "binary_expression" else ""
    if operator in ("+", "-"):
        left, right = (_terms(child_of(node, side), ranges) for side in ("left", "right"))
        if left is None or right is None:
            return None
        found = Counter(left)
        (found.update if operator == "+" else found.subtract)(right)
        return found
    return Counter({text_of(node): 1}) if node.type == "identifier" else None


def _can_move(loop: CountedLoop, begin: Counter[str]) -> bool:
    """Whether the loop does the same when its steps are counted beside what it counts."""
    names = begin.keys() - {_ONE}
    # An unsigned counter may wrap where it begins: then the loop has no step at all.
    return loop.type in _SIGNED and not names & changed_names(child_of(loop.node, "body"))


def _unrolled(nest: list[_Known], *, inner: bool) -> list[_Known]:
    """The loops of the nest that are written out: all, or those without another loop inside."""
    if not inner:
        return nest
    return [
        loop for loop in nest if not any(n.type in LOOPS for n in walk(loop.node) if n.id != loop.node.id)
    ]


def _splice(
    source: bytes, style: Style, nest: list[_Known], unrolled: list[_Known], values: dict[str, int]
) -> Splice:
    """The nest twice, for the usual lengths and for any others; once where these are always the same."""
    outermost = nest[0].node
    pragma = pragma_before(outermost)
    start = outermost.start_byte if pragma is None else line_start(source, pragma.start_byte)
    outer = indentation(source, line_start(source, outermost.start_byte))
    names = sorted(frozenset[str]().union(*(loop.used for loop in nest)))
    fixed = {name: str(values[name]) for name in names}
    as_it_was = source[start : outermost.end_byte].decode("utf-8", "surrogateescape")
    opening = "" if pragma is None else outer
    told = _told(outermost, unrolled, fixed, outer, style)
    why = "the usual length" if len(fixed) == 1 else "the usual lengths"
    lines = [
        f"{opening}if ({' && '.join(f'{name} == {value}' for name, value in fixed.items())}) {{  // {why}",
        *_deeper(outer + told, style),
        f"{outer}}} else {{",
        *_deeper(outer.removeprefix(opening) + as_it_was, style),
        f"{outer}}}",
    ]
    text = style.newline.join(lines) if fixed else opening + told
    return Splice(start, outermost.end_byte, text.encode("utf-8", "surrogateescape"))


def _told(outermost: Node, unrolled: list[_Known], fixed: dict[str, str], outer: str, style: Style) -> str:
    """The nest's text with a pragma before each loop that is written out, and the numbers in the loops' heads."""
    base, text = outermost.start_byte, outermost.text or b""
    splices = []
    given: list[str] = []
    for loop in unrolled:
        parts = [child_of(loop.node, name) for name in ("initializer", "condition", "update")]
        texts = [renamed(part, fixed) for part in parts[:2]] + [text_of(parts[2])]
        if loop.moves:
            step = fresh_name("step", style, given)
            given.append(step)
            texts = [
                f"{texts[0].rstrip('; ')}, {step} = 0;",
                f"{step} < {loop.trips}",
                f"{texts[2]}, ++{step}",
            ]
        splices += [
            Splice(part.start_byte - base, part.end_byte - base, new.encode())
            for part, new in zip(parts, texts, strict=True)
        ]
        before, at = pragma_before(loop.node), loop.node.start_byte - base
        if before is not None and before.start_byte >= base:
            end = before.start_byte - base + len(text_of(before).rstrip("\r\n").encode())
            splices.append(Splice(before.start_byte - base, end, b"#pragma unroll"))
            continue
        own = text[line_start(text, at) : at]
        blanks = outer if at == 0 else own.decode() if not own.strip() else outer + style.step
        above = "" if at == 0 or not own.strip() else style.newline + blanks
        splices.append(Splice(at, at, f"{above}#pragma unroll{style.newline}{blanks}".encode()))
    return apply_splices(text, splices).decode("utf-8", "surrogateescape")


def _deeper(text: str, style: Style) -> Iterator[str]:
    """The lines one step further in."""
    for line in text.splitlines():
        yield step_before(line, style) + line
