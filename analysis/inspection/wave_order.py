"""Whether the source keeps the order of two accesses to LDS by which lanes of one wave exchange a value.

Takes the two places with their inline chains and the texts. The machine code shows the exchange; only the source has
what keeps compilers from changing its order: a barrier, a wave barrier, a fence, an atomic operation, volatile. When in
doubt the order counts as kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tree_sitter import Node

from hipscope.analysis.source.functions import Callables, callables_in
from hipscope.analysis.source.nodes import LOOPS, code_of, walk
from hipscope.analysis.source.parse import tree_of
from hipscope.analysis.source.texts import SourceTexts

_KEEPS = re.compile(
    r"\b(?:__syncthreads\w*|__syncwarp|__threadfence\w*|__builtin_amdgcn_(?:s_barrier|fence|wave_barrier|s_waitcnt)"
    r"|__(?:c11_|hip_)?atomic_\w+|__scoped_atomic_\w+|atomic_\w*fence|atomic[A-Z]\w*|asm|__asm__|barrier\w*|\w*_barrier"
    r"|__ockl_\w+|__work_group_barrier)\b|(?:\.|->)\s*(?:sync|arrive|wait|load|store|exchange|fetch_\w+)\s*\("
)
_DEPTH = 3  # of calls of the program's own that are followed
_MOST_TEXTS = 60  # files that are searched for what is called


class PlaceInChain(Protocol):
    """One level of an inline chain; lines count from 1."""

    @property
    def file(self) -> str: ...  # noqa: D102
    @property
    def line(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class _Level:
    """The function around a place."""

    file: str
    function: Node
    line: int

    def same_function(self, other: _Level) -> bool:
        """Whether both are in one function."""
        return (self.file, self.function.start_byte) == (other.file, other.function.start_byte)


def order_is_kept(first: Sequence[PlaceInChain], second: Sequence[PlaceInChain], texts: SourceTexts) -> bool:
    """Whether something between the accesses keeps their order, or the source does not show it. Innermost first."""
    if not first or not second:
        return True
    levels = [_levels(chain, texts) for chain in (first, second)]
    if any(not found for found in levels):
        return True
    if any("volatile" in code_of(level.function) for found in levels for level in found):
        return True
    one, other = _where_they_part(*levels)
    if one is None or other is None or not one.same_function(other):
        return True
    callables = callables_in(_texts_of(first, second, texts))
    inner = [*levels[0][: levels[0].index(one)], *levels[1][: levels[1].index(other)]]
    if any(_keeps(level.function, callables, _DEPTH) for level in inner):
        return True
    return _kept_between(one, other, callables)


def _levels(chain: Sequence[PlaceInChain], texts: SourceTexts) -> list[_Level]:
    """The function around each level, innermost first; empty where one is not in the program's text."""
    found: list[_Level] = []
    trees: dict[str, Node] = {}
    for place in chain:
        data = texts.read(place.file)
        if data is None:
            return []
        root = trees.setdefault(place.file, tree_of(data))
        around = next((n for n in _functions(root) if _holds(n, place.line)), None)
        if around is None:
            return []
        found.append(_Level(place.file, around, place.line))
    return found


def _functions(root: Node) -> Iterator[Node]:
    """Definitions, innermost first."""
    yield from reversed([n for n in walk(root) if n.type in ("function_definition", "lambda_expression")])


def _holds(node: Node, line: int) -> bool:
    return node.start_point[0] < line <= node.end_point[0] + 1


def _where_they_part(
    first: Sequence[_Level], second: Sequence[_Level]
) -> tuple[_Level | None, _Level | None]:
    """The level at which the two are in one function on different lines, from the kernel inwards."""
    last: tuple[_Level | None, _Level | None] = (None, None)
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if not one.same_function(other):
            return last
        last = (one, other)
        if one.line != other.line:
            return last
    return last


def _texts_of(
    first: Sequence[PlaceInChain], second: Sequence[PlaceInChain], texts: SourceTexts
) -> list[bytes]:
    names = dict.fromkeys(
        [*(place.file for place in (*first, *second)), *map(str, texts.sources[:_MOST_TEXTS])]
    )
    return [data for name in names if (data := texts.read(name)) is not None]


def _kept_between(one: _Level, other: _Level, callables: Callables) -> bool:
    """Whether what stands between, or in a loop around both, keeps the order."""
    low, high = sorted((one.line, other.line))
    loops = [n for n in walk(one.function) if n.type in LOOPS and _holds(n, low) and _holds(n, high)]
    if any(_keeps(loop, callables, _DEPTH) for loop in loops):
        return True
    if low == high:  # what one statement loads and stores has its order from that; its next turn has not
        return not loops
    between = [
        n for n in walk(one.function) if low <= n.start_point[0] + 1 <= high and n.end_point[0] + 1 <= high
    ]
    if any(_keeps(node, callables, _DEPTH) for node in between):
        return True
    # Conditional compilation and macros without parentheses may hide anything.
    hidden = {"preproc_if", "preproc_ifdef", "preproc_call"}
    return any(n.type in hidden for n in between)


def _keeps(node: Node, callables: Callables, depth: int) -> bool:
    """Whether code has something that keeps the order of memory accesses, itself or in what it calls."""
    return _text_keeps(code_of(node), callables, depth, frozenset())


def _text_keeps(text: str, callables: Callables, depth: int, seen: frozenset[str]) -> bool:
    bare = _without(text, callables.macros)
    if _KEEPS.search(bare):
        return True
    if depth == 0:
        return False
    words = set(re.findall(r"[A-Za-z_]\w*", text)) - seen
    macros = [m.text for word in words for m in callables.macros.get(word, ())]
    functions = [f.text for word in words for f in callables.functions.get(word, ())]
    functions += [f.text for (_, name), all_ in callables.methods.items() if name in words for f in all_]
    return any(_text_keeps(inner, callables, depth - 1, seen | words) for inner in (*macros, *functions))


def _without(text: str, macros: Mapping[str, object]) -> str:
    """The text without the names that the program has made macros of: `__syncwarp()` may be nothing there."""
    return re.sub(r"[A-Za-z_]\w*", lambda word: "" if word[0] in macros else word[0], text)
