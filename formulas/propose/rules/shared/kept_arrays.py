"""Which arrays a launch only reads, so that an element is the same whenever it is loaded.

Takes a kernel and its recorded launches, answers by the name of a pointer or by a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, operator_of, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.rules.shared.arithmetic_types import is_plain
from hipscope.formulas.propose.rules.shared.edit_helpers import used_otherwise


def is_kept(base: str, kernel: KernelSyntax, facts: LaunchFacts) -> bool:
    """Whether what the pointer leads to stays the same in the whole launch: nothing stores there."""
    parameter = kernel.parameter(base)
    if base not in pointers_of(kernel, facts) or (parameter is not None and "volatile" in parameter.type):
        return False
    uses = [s for s in kernel.subscripts if s.base == base]
    if any(s.use != "read" for s in uses) or not (base in facts.disjoint or is_promised(base, kernel, facts)):
        return False
    renamings = (n for n in walk(kernel.body_node) if n.id in kernel.through.names)
    known = [*(s.node for s in uses), *_moves(base, kernel), *renamings]
    return used_otherwise(base, known, kernel) is None


def is_promised(base: str, kernel: KernelSyntax, facts: LaunchFacts) -> bool:
    """Whether the program promises that nothing else leads to where the pointer does."""
    parameter = kernel.parameter(base)
    return base in facts.promised or (parameter is not None and "restrict" in parameter.type)


def reads_only(node: Node, kernel: KernelSyntax, facts: LaunchFacts) -> bool:
    """Whether an element has the same value in the whole launch."""
    known = [s for s in kernel.subscripts if s.node.id == node.id]
    return bool(known) and known[0].whole and is_kept(known[0].base, kernel, facts)


def _moves(base: str, kernel: KernelSyntax) -> Iterator[Node]:
    """Where the pointer itself goes on to other elements."""
    for node in walk(kernel.body_node):
        if node.type == "assignment_expression" and text_of(child_of(node, "left")) == base:
            value, operator = child_of(node, "right"), operator_of(node)
            if operator == "+=" and is_plain(value):
                yield node


def statement_around(node: Node, statements: Sequence[Node]) -> Node | None:
    """The statement that a load is a part of, if only branches stand around that one; None for others."""
    inner: Node | None = None
    current: Node | None = node
    while current is not None and all(current.id != s.id for s in statements):
        if inner is None and current.type in ("expression_statement", "declaration"):
            inner = current
        elif inner is not None and current.type not in ("compound_statement", "if_statement", "else_clause"):
            return None
        current = current.parent
    if current is None:
        return None
    if inner is None:
        return current if current.type in ("expression_statement", "declaration") else None
    return inner if current.type in ("compound_statement", "if_statement") else None
