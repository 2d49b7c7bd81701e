"""any hot kernel: what several branches load into LDS is stored right before the barrier, so that all loads overlap.

`if (x == 0) tile[0][y] = in[...]; if (x == 15) tile[17][y] = in[...]; __syncthreads();` waits for memory in each
branch, as the store there needs what was loaded. Kept in a variable it is stored behind the last branch, under the same
condition: one trip to memory in place of one for each. Nobody may look at these elements in between, and conditions and
indices have to stay the same. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, publishes, unsteady_names, waits_together
from hipscope.analysis.source.nodes import (
    ancestors,
    child_of,
    declarations_in,
    names_in,
    sets,
    squeeze,
    text_of,
    walk,
    without_value,
)
from hipscope.analysis.source.syntax import KernelSyntax, SharedArray, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.backward_slice import merged, top_level_barriers
from hipscope.formulas.propose.rules.shared.constant_filling import element_of
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    before_directives,
    indentation,
    is_pure,
    line_start,
    negated,
    numbered_name,
    style_of,
)
from hipscope.formulas.propose.rules.shared.preconditions import no_macro_hides
from hipscope.formulas.propose.splice import Splice

_MOST = 12  # registers that live up to the barrier
_WHY = "// Stored only here: the loads above are all on their way before the first is waited for."
_LEAVES = ("return_statement", "goto_statement", "break_statement", "continue_statement", "labeled_statement")


@dataclass(frozen=True)
class _Reader:
    """A kernel with its LDS arrays, the `uses` of these, the `calls` that are seen through, by their ids, its `own`
    arrays of any kind, and the names that may change out of sight.
    """

    kernel: KernelSyntax
    arrays: Mapping[str, SharedArray]
    uses: tuple[Subscript, ...]
    calls: frozenset[int]
    own: frozenset[str]
    unsteady: frozenset[str]


@dataclass(frozen=True)
class _Way:
    """Below which conditions of the statement number `top` of a phase something stands, and in which `branch`."""

    top: int
    asked: tuple[str, ...] = ()
    conditions: tuple[Node, ...] = ()
    branch: int | None = None

    def into(self, branch: Node, asked: str, condition: Node) -> _Way:
        """The way on, into a branch where that is true."""
        text = squeeze(asked)
        closed = f"({text})" if re.search(r"\|\||\?|,", text) else text
        return _Way(self.top, (*self.asked, closed), (*self.conditions, condition), branch.id)


@dataclass(frozen=True)
class _Store:
    """`array[i][j] = value;`"""

    array: SharedArray
    left: Node
    indices: tuple[Node, ...]
    value: Node
    way: _Way


@dataclass(frozen=True)
class _Phase:
    """The statements of a block before a barrier, from the last barrier before it on."""

    statements: tuple[Node, ...]
    barrier: Node


@dataclass(frozen=True)
class _Sunk:
    """The stores of a phase that move, each with its variable."""

    phase: _Phase
    stores: tuple[_Store, ...]
    names: tuple[str, ...]


@rewrite("sink_stores", "Memory", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Branches that load a tile's edges wait for memory once.

    Needs: two loads in different branches; static LDS arrays that the phase only stores to, by their elements;
    conditions and indices that nothing changes up to the barrier, without a look at memory; no way out, shuffle or
    fence in between.
    For: HeCBench eikonal.
    """
    arrays = {array.name: array for array in kernel.shared if _is_plain(array, kernel)}
    if not arrays:
        return "the kernel has no LDS array that is used by its elements only"
    if (hidden := no_macro_hides(kernel, _seen(kernel))) is not None:
        return hidden
    style, reader, given = style_of(source, kernel), _reader(kernel, arrays), list[str]()
    found = [s for p in _phases(kernel) if (s := _sunk(p, reader, style, given)) is not None]
    if not found:
        return "no two branches before a barrier load what they only store to LDS"
    lines = dict.fromkeys(str(store.left.start_point.row + 1) for sunk in found for store in sunk.stores)
    return edited(
        source,
        [s for sunk in found for s in _splices(source, sunk, style)],
        title=f"Store to LDS behind all loads of the phase (line {', '.join(lines)})",
        expected="Loads of several branches are under way together; results stay the same bit for bit.",
    )


def _reader(kernel: KernelSyntax, arrays: Mapping[str, SharedArray]) -> _Reader:
    own = {name for name, declarator, _ in declarations_in(kernel.body_node) if _is_array(declarator)}
    shared = {array.name for array in kernel.shared}
    unsteady = unsteady_names(kernel) | shared | _of_the_file(kernel.body_node)
    uses = tuple(s for s in kernel.subscripts if s.base in arrays)
    return _Reader(kernel, arrays, uses, _seen(kernel), frozenset(own), unsteady)


def _of_the_file(node: Node) -> frozenset[str]:
    """The variables that the file declares outside of functions: other workgroups may change those of the device."""
    while node.parent is not None:
        node = node.parent
    found, left = set[str](), [node]
    while left:
        inner = left.pop()
        if inner.type == "declaration" and re.search(r"\bconst(expr)?\b", text_of(inner)) is None:
            found |= {name for name, _, _ in declarations_in(inner)}
        elif inner.type not in ("function_definition", "declaration"):
            left += inner.named_children
    return frozenset(found)


def _seen(kernel: KernelSyntax) -> frozenset[int]:
    """The calls that are another spelling of an element or of an expression."""
    return frozenset({s.node.id for s in kernel.subscripts} | kernel.through.meanings.keys())


def _is_plain(array: SharedArray, kernel: KernelSyntax) -> bool:
    """Whether all uses of a static array are elements of which nobody takes the address."""
    mentions = [n for n in walk(kernel.body_node) if n.type == "identifier" and text_of(n) == array.name]
    uses = [s for s in kernel.subscripts if s.base == array.name]
    full = all(
        (s.whole or s.use == "read") and s.use != "address" and len(s.indices) == len(array.dimensions)
        for s in uses
    )
    direct = sum(s.whole and array.name in names_in(s.node) for s in uses)
    declared = text_of(kernel.body_node).encode()[array.span.start - kernel.body_node.start_byte :]
    head = declared.partition(b";")[0] + array.element_type.encode()
    return (
        not array.dynamic
        and bool(array.dimensions)
        and full
        and len(mentions) == 1 + direct
        and b"volatile" not in head
    )


def _phases(kernel: KernelSyntax) -> Iterator[_Phase]:
    for block in walk(kernel.body_node):
        if block.type != "compound_statement" or any(
            outer.type == "lambda_expression" for outer in ancestors(block, kernel.body_node)
        ):
            continue
        statements = tuple(n for n in block.named_children if n.type != "comment")
        begin = 0
        for number in top_level_barriers(statements):
            yield _Phase(statements[begin:number], statements[number])
            begin = number + 1


def _sunk(phase: _Phase, reader: _Reader, style: Style, given: list[str]) -> _Sunk | None:
    """The stores of a phase that can move to its end, where that lets loads overlap."""
    listed = [s for top, node in enumerate(phase.statements) for s in _stores(node, _Way(top), reader)]
    known = dict[str, list[_Store]]()
    for store in listed:
        known.setdefault(store.array.name, []).append(store)
    moved = {
        name
        for name, stores in known.items()
        if _only_stores(name, stores, phase, reader)
        and all(_can_move(store, phase, reader) for store in stores)
    }
    stores = [store for store in listed if store.array.name in moved]
    while stores and not _loads(stores[0].value, reader):
        stores = stores[1:]
    if not 0 < len(stores) <= _MOST or not _overlap(stores, phase, reader):
        return None
    if _disturbs(phase.statements[stores[0].way.top :], reader.kernel):
        return None
    names = []
    for store in stores:
        names.append(numbered_name(f"{store.array.name.strip('_').lower()}_value", style, given))
        given.append(names[-1])
    return _Sunk(phase, tuple(stores), tuple(names))


def _stores(statement: Node, way: _Way, reader: _Reader) -> Iterator[_Store]:
    """The stores to elements in a statement and its branches."""
    if statement.type == "compound_statement":
        for inner in statement.named_children:
            yield from _stores(inner, way, reader)
    elif statement.type == "if_statement":
        yield from _branches(statement, way, reader)
    elif statement.type == "expression_statement" and len(statement.named_children) == 1:
        change = statement.named_children[0]
        plain = sets(change)
        left, value = child_of(change, "left"), child_of(change, "right")
        for use in (u for u in reader.uses if plain and u.node.id == left.id and u.use == "write"):
            yield _Store(reader.arrays[use.base], left, use.indices, value, way)


def _branches(statement: Node, way: _Way, reader: _Reader) -> Iterator[_Store]:
    clause, otherwise = child_of(statement, "condition"), statement.child_by_field_name("alternative")
    condition = child_of(clause, "value")
    if clause.child_by_field_name("initializer") is not None or condition.type == "declaration":
        return
    consequence = child_of(statement, "consequence")
    yield from _stores(consequence, way.into(consequence, text_of(condition), condition), reader)
    if otherwise is not None:
        opposite = way.into(otherwise, negated(condition, reader.kernel), condition)
        for inner in otherwise.named_children:
            yield from _stores(inner, opposite, reader)


def _branch_of(node: Node, phase: _Phase) -> int | None:
    """The innermost branch of a phase that a node stands in."""
    child, block = node, phase.barrier.parent
    for outer in ancestors(node, block) if block is not None else ():
        if outer.type == "if_statement" and child.id != child_of(outer, "condition").id:
            return child.id
        child = outer
    return None


def _only_stores(array: str, stores: Sequence[_Store], phase: _Phase, reader: _Reader) -> bool:
    """Whether the phase does nothing with an array but these stores."""
    start, end = phase.statements[0].start_byte, phase.barrier.start_byte
    uses = [use for use in reader.uses if use.base == array and start <= use.span.start < end]
    return len(uses) == len(stores)


def _can_move(store: _Store, phase: _Phase, reader: _Reader) -> bool:
    """Whether conditions and indices are the same before the barrier, without a look at memory."""
    looked_at = (*store.way.conditions, *store.indices)
    needed = frozenset[str]().union(*(_names(node, reader.kernel) for node in looked_at))
    behind = phase.statements[store.way.top :]
    if needed & reader.unsteady or any(needed & changed_names(s, known=reader.calls) for s in behind):
        return False
    return all(
        is_pure(node, reader.kernel)
        and "->" not in text_of(node)
        and not any(n.type in ("subscript_expression", "pointer_expression") for n in walk(node))
        for node in looked_at
    )


def _names(node: Node, kernel: KernelSyntax) -> frozenset[str]:
    """What an expression names, also by the macros and functions that it calls."""
    meanings = [kernel.through.meanings[n.id] for n in walk(node) if n.id in kernel.through.meanings]
    return names_in(node).union(*(names_in(meaning) for meaning in meanings))


def _overlap(stores: Sequence[_Store], phase: _Phase, reader: _Reader) -> bool:
    """Whether a load stands in another branch than a store before it that waits for memory."""
    loads = [n for s in phase.statements for n in walk(s) if _is_load(n, reader)]
    waiting = [store for store in stores if _loads(store.value, reader)]
    return any(
        load.start_byte > store.value.end_byte and _branch_of(load, phase) != store.way.branch
        for store in waiting
        for load in loads
    )


def _loads(value: Node, reader: _Reader) -> bool:
    return any(_is_load(node, reader) for node in walk(value))


def _is_load(node: Node, reader: _Reader) -> bool:
    """Whether a node may load from memory: an element of no array that the kernel declares itself."""
    if node.type == "pointer_expression":
        return text_of(node).startswith("*")
    place = element_of(node) if node.type == "subscript_expression" else None
    change = node.parent
    target = (
        change is not None
        and change.type == "assignment_expression"
        and child_of(change, "left").id == node.id
    )
    return place is not None and not target and place[0] not in reader.own


def _is_array(declarator: Node) -> bool:
    inner = without_value(declarator)
    return inner.type == "array_declarator"


def _disturbs(statements: Sequence[Node], kernel: KernelSyntax) -> bool:
    """Whether other threads may look at LDS before the barrier, or a thread may not come to it."""
    start, end = statements[0].start_byte, statements[-1].end_byte
    return (
        any(waits_together(s, kernel) or publishes(s, kernel) for s in statements)
        or any(n.type in _LEAVES for s in statements for n in walk(s))
        or any(start <= opaque.span.start < end for opaque in kernel.through.opaque)
    )


def _splices(source: bytes, sunk: _Sunk, style: Style) -> Iterator[Splice]:
    """Variables before the first statement, values into them where they are loaded, stores before the barrier."""
    phase, apart = sunk.phase, dict[str, list[str]]()
    lines = [_WHY]
    for store, name in zip(sunk.stores, sunk.names, strict=True):
        kind, asked = store.array.element_type, " && ".join(store.way.asked)
        stands = store.left.start_byte == phase.statements[store.way.top].start_byte
        if not stands:
            apart.setdefault(kind, []).append(name)
        text = f"const {kind} {name}" if stands else name
        yield Splice(store.left.start_byte, store.left.end_byte, text.encode())
        lines.append(f"{f'if ({asked}) ' if asked else ''}{squeeze(text_of(store.left))} = {name};")
    first = phase.statements[sunk.stores[0].way.top]
    yield _before(source, first, [f"{kind} {', '.join(names)};" for kind, names in apart.items()], style)
    yield _before(source, phase.barrier, merged(lines, style.step), style)


def _before(source: bytes, statement: Node, lines: Sequence[str], style: Style) -> Splice:
    """Lines right before a statement, on its own line where it does not begin that."""
    start = statement.start_byte
    if source[line_start(source, start) : start].strip():
        code = (line.strip() for line in lines if line != _WHY)  # a comment would end the line
        return Splice(start, start, "".join(f"{line} " for line in code).encode())
    at, outer = before_directives(source, start), indentation(source, start)
    return Splice(at, at, "".join(outer + line + style.newline for line in lines).encode())
