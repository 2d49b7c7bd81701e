"""Whether two expressions of one text have one value: nothing between them changes what they are made of.

Takes syntax nodes and the names that can be followed, gives yes or no. What may be changed by another name, by another
thread or by code that is not seen counts as changed.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, unsteady_names
from hipscope.analysis.source.nodes import ancestors, declarations_in, names_in, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax

_STATEMENTS = ("expression_statement", "declaration", "return_statement")
_LISTS = ("compound_statement", "case_statement")
# What an expression may be made of: nothing that acts.
_VALUES = frozenset(
    {"identifier", "number_literal", "binary_expression", "unary_expression", "parenthesized_expression"}
)
_MEMBERS = frozenset({"field_expression", "field_identifier"})
_READS = _MEMBERS | {"subscript_expression", "subscript_argument_list"}
_MATH_CONSTANT = re.compile(r"M_[A-Z0-9_]+")


def statement_of(node: Node, kernel: KernelSyntax) -> Node | None:
    """The statement of a list of statements that computes the expression; None within a header or a lambda."""
    for outer in ancestors(node, kernel.body_node):
        if outer.type == "lambda_expression":
            return None
        if outer.type in _STATEMENTS:
            return outer if outer.parent is not None and outer.parent.type in _LISTS else None
    return None


def steady_names(kernel: KernelSyntax, file: FileSyntax) -> frozenset[str]:
    """Names whose changes all show in the kernel's text: parameters, what it declares for each thread, constants."""
    shared = frozenset(
        name
        for node in walk(kernel.body_node)
        if node.type == "declaration" and "__shared__" in text_of(node)
        for name in names_in(node)
    )
    own = frozenset(p.name for p in kernel.parameters) | {n for n, _, _ in declarations_in(kernel.body_node)}
    return (own | frozenset(file.constants)) - shared - unsteady_names(kernel)


def same_value(first: Node, other: Node, statements: tuple[Node, Node], steady: frozenset[str]) -> bool:
    """Whether two expressions with one text have one value: made of `steady` names, which nothing between changes, or
    within one statement also of what it reads from memory. `statements` are those that they are in, in order.
    """
    alone = statements[0].id == statements[1].id
    kinds = {n.type for n in walk(first) if n.is_named}
    names = frozenset(n for n in names_in(first) if not _MATH_CONSTANT.fullmatch(n))
    if names_in(first) != names_in(other) or not kinds <= (_VALUES | (_READS if alone else _MEMBERS)):
        return False
    if not alone and (not names <= steady or "->" in text_of(first)):
        return False
    between = _between(*statements)
    return between is not None and not any(
        changed_names(node) & names or any(n.type == "labeled_statement" for n in walk(node))
        for node in between
    )


def _between(first: Node, last: Node) -> list[Node] | None:
    """The statements from the first to the last; None when they are not in one list."""
    if first.parent is None or last.parent is None or first.parent.id != last.parent.id:
        return None
    nodes = first.parent.named_children
    places = [n for n, node in enumerate(nodes) if node.id in (first.id, last.id)]
    return list(nodes[places[0] : places[-1] + 1])
