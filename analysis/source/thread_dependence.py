"""Which values may differ between the threads of a workgroup, and which code not all of them reach.

Takes the body of a kernel, gives names and reasons. Cautious: what may differ counts as different.
"""

from __future__ import annotations

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    BARRIERS,
    LOOPS,
    ancestors,
    called,
    child_of,
    declared_name,
    squeeze,
    text_of,
    walk,
)

_THREAD_SOURCES = frozenset(
    {
        "threadIdx",
        "hipThreadIdx_x",
        "hipThreadIdx_y",
        "hipThreadIdx_z",
        "__lane_id",
        "__builtin_amdgcn_mbcnt_lo",
    }
)
_UNIFORM_CALLS = BARRIERS | frozenset(
    {"min", "max", "abs", "fabsf", "fabs", "sqrtf", "sqrt", "int", "float", "double", "unsigned", "size_t"}
)


def thread_dependent_names(body: Node, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Variables whose value may differ between threads of one workgroup (flow-insensitive, so rather too many).

    `known` are names that do so to begin with.
    """
    dependent: set[str] = set(known)
    changed = True
    while changed:
        changed = False
        for node in walk(body):
            target, value = _definition(node)
            if target is None or text_of(target) in dependent:
                continue
            reasons = value is not None and thread_dependent(value, frozenset(dependent))
            if reasons or _condition_around(node, body, frozenset(dependent)) is not None:
                dependent.add(text_of(target))
                changed = True
    return frozenset(dependent)


def thread_dependent(expression: Node, dependent: frozenset[str]) -> bool:
    """True when the expression's value may differ between threads of one workgroup."""
    for node in walk(expression):
        if node.type == "identifier" and (text_of(node) in dependent or text_of(node) in _THREAD_SOURCES):
            return True
        if node.type == "call_expression":
            function = called(node)
            if function is None or (function not in _UNIFORM_CALLS and not function.startswith("hipBlock")):
                return True
    return False


def _definition(node: Node) -> tuple[Node | None, Node | None]:
    """(variable, value) for a declaration with a value, an assignment, or an increment; else (None, None)."""
    if node.type == "init_declarator":
        return declared_name(child_of(node, "declarator")), node.child_by_field_name("value")
    if node.type == "assignment_expression":
        left = child_of(node, "left")
        return next((n for n in walk(left) if n.type == "identifier"), None), node.child_by_field_name(
            "right"
        )
    if node.type == "update_expression":
        return declared_name(node), None
    return None, None


def _condition_around(node: Node, body: Node, dependent: frozenset[str]) -> Node | None:
    """The innermost thread-dependent condition that decides whether `node` runs."""
    child = node
    for outer in ancestors(node, body):
        condition = outer.child_by_field_name("condition")
        if condition is not None and condition.id != child.id and outer.type not in ("do_statement",):
            initialises = outer.type == "for_statement" and child_of(outer, "initializer").id == child.id
            if not initialises and thread_dependent(condition, dependent):
                return condition
        child = outer
    return None


def divergence(barrier: Node, body: Node, dependent: frozenset[str]) -> str | None:
    """Why not every thread of the workgroup may reach this barrier equally often, or None."""
    if (condition := _condition_around(barrier, body, dependent)) is not None:
        return f"it stands under the thread-dependent condition `{squeeze(text_of(condition))}`"
    enclosing = {n.id for n in ancestors(barrier, body) if n.type in LOOPS}
    for node in walk(body):
        leaves = node.type == "return_statement" and node.start_byte < barrier.start_byte
        if node.type in ("break_statement", "continue_statement"):
            loop = next((a for a in ancestors(node, body) if a.type in LOOPS), None)
            leaves = loop is not None and loop.id in enclosing
        if leaves and (condition := _condition_around(node, body, dependent)) is not None:
            word = text_of(node).rstrip(";").split()[0]
            return f"threads may have left by the `{word}` on line {node.start_point.row + 1}"
    return None
