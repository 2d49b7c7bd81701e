"""The statements of a kernel that only one of the lanes of a work-item may make: those that store something.

Takes a kernel and the loops whose steps its lanes share, gives runs of statements that stand side by side. All lanes
have the same values, so that every other statement may be made by each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tree_sitter import Node

from hipscope.analysis.kernel.effects import variables_set
from hipscope.analysis.source.nodes import declarations_in, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.rules.shared.loop_elements import loops_around
from hipscope.formulas.propose.rules.shared.loop_memory import LoopMemory, memory_of

_LEAVES = ("return_statement", "break_statement", "continue_statement", "goto_statement")


class CannotSeparate(Exception):
    """Why what is stored cannot be left to one lane, as the end of a sentence."""


def one_lane_stores(kernel: KernelSyntax, shared: Sequence[Node], facts: LaunchFacts) -> list[list[Node]]:
    """Runs of statements, outside of the shared loops, that one lane makes. Raises CannotSeparate."""
    runs: list[list[Node]] = []
    _collect(kernel.body_node.named_children, {loop.id for loop in shared}, kernel, facts, runs)
    if runs:
        _check_reads(runs, kernel, facts)
    return runs


def written_by(runs: Sequence[Sequence[Node]], kernel: KernelSyntax, facts: LaunchFacts) -> set[str]:
    """What these statements store to."""
    return {base for run in runs for s in run for base in _memory(s, kernel, facts).stored or ()}


def _memory(statement: Node, kernel: KernelSyntax, facts: LaunchFacts) -> LoopMemory:
    return memory_of(kernel, facts, (statement,))


def _check_reads(runs: Sequence[Sequence[Node]], kernel: KernelSyntax, facts: LaunchFacts) -> None:
    """Raises CannotSeparate where another lane may read what one has stored, in a later step of a loop, too."""
    written = written_by(runs, kernel, facts)
    inside = {n.id for run in runs for s in run for n in walk(s)}
    first = [run[0] for run in runs]
    begin = min(n.start_byte for run in first for n in (run, *loops_around(run, kernel)))
    later = [n for n in walk(kernel.body_node) if n.start_byte >= begin and n.id not in inside]
    places = {s.node.id for s in kernel.subscripts}
    apart = written <= _memory(kernel.body_node, kernel, facts).alone
    for node in later:
        named = node.type in ("identifier", "field_expression") and text_of(node) in written
        if named or (node.id in places and not apart):
            raise CannotSeparate(f"line {node.start_point.row + 1} may read what one lane has stored")


def _collect(
    statements: Sequence[Node],
    shared: Collection[int],
    kernel: KernelSyntax,
    facts: LaunchFacts,
    runs: list[list[Node]],
) -> None:
    """Add the storing ones of these statements, those side by side as one run. Raises CannotSeparate."""
    run: list[Node] = []
    for statement in statements:
        if statement.id in shared or statement.type == "comment":
            continue
        line = statement.start_point.row + 1
        stored = _memory(statement, kernel, facts).stored
        if stored is None:
            raise CannotSeparate(f"line {line} may store something in a way that is not seen")
        holds = any(n.id in shared for n in walk(statement))
        if stored and not holds and not _is_for_all(statement):
            if not run:
                runs.append(run)
            run.append(statement)
            continue
        run = []
        if stored:
            if not (inner := _inner(statement)):
                raise CannotSeparate(f"line {line} stores, and sets what all lanes need")
            for part in inner:
                _collect(part, shared, kernel, facts, runs)


def _inner(statement: Node) -> list[Sequence[Node]]:
    """The statements in a block, in the branches of an `if`, or in a loop."""
    if statement.type == "compound_statement":
        return [statement.named_children]
    parts = [statement.child_by_field_name(name) for name in ("consequence", "alternative", "body")]
    found = [
        n for p in parts if p is not None for n in (p.named_children if p.type == "else_clause" else [p])
    ]
    return [n.named_children if n.type == "compound_statement" else [n] for n in found]


def _is_for_all(statement: Node) -> bool:
    """Whether all lanes need what it does beside storing: it leaves, declares something for what follows, or sets
    variables that it does not declare itself.
    """
    if statement.type == "declaration" or any(n.type in _LEAVES for n in walk(statement)):
        return True
    return bool(variables_set(statement) - {name for name, _, _ in declarations_in(statement)})
