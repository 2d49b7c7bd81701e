"""What the steps of a loop hand to each other: nothing, sums, the best so far, or values that each step needs.

Takes a loop's syntax, says whether its steps could be shared among lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from tree_sitter import Node

from hipscope.analysis.builtins import is_a
from hipscope.analysis.kernel.loops import stepped_names
from hipscope.analysis.source.nodes import (
    ancestors,
    arguments_of,
    bare,
    called,
    child_of,
    declarations_in,
    joins,
    names_in,
    operator_of,
    text_of,
    walk,
)

PassedOn = Literal["nothing", "sums", "best", "chain", "unknown"]
_WORST_FIRST: tuple[PassedOn, ...] = ("chain", "unknown", "sums", "best")
_SUMMING = frozenset({"+", "-", "*", "&", "|", "^"})
_SOMEWHERE = ("call_expression", "pointer_expression")  # `at(i) = x`, `*p = x`
_CHANGES = ("assignment_expression", "update_expression")


def values_passed_on(loop: Node) -> PassedOn:
    """The most that one variable of the thread carries from step to step.

    `chain` where a step computes with what the one before it left, `unknown` where that cannot be told.
    """
    body = child_of(loop, "body")
    own = {name for name, _, _ in declarations_in(loop)}
    changes = [(n, _target(n)) for n in walk(body) if n.type in _CHANGES]
    carried = {
        text_of(t)
        for _, t in changes
        if t.type == "identifier" and text_of(t) not in own and not _set_first(body, text_of(t))
    }
    derived = carried | _derived(loop, carried)
    kinds = {_kind(n, text_of(t), carried, derived) for n, t in changes if text_of(t) in carried}
    arrays = {text_of(child_of(t, "argument")) for _, t in changes if t.type == "subscript_expression"}
    kinds |= {_of_elements(body, array, changes) for array in arrays}
    kinds |= {"unknown" for _, t in changes if t.type in _SOMEWHERE}
    return next((kind for kind in _WORST_FIRST if kind in kinds), "nothing")


def _target(change: Node) -> Node:
    """What an assignment or an increment changes, without brackets."""
    return bare(child_of(change, "argument" if change.type == "update_expression" else "left"))


def _set_first(body: Node, name: str) -> bool:
    """Each step begins by giving the variable another value: it is the step's own, wherever it was declared."""
    first = next((n for n in walk(body) if n.type == "identifier" and text_of(n) == name), None)
    assignment = first.parent if first is not None else None
    if first is None or assignment is None or assignment.type != "assignment_expression":
        return False
    statement = assignment.parent
    plain = operator_of(assignment) == "=" and child_of(assignment, "left").id == first.id
    return (
        plain
        and name not in names_in(child_of(assignment, "right"))
        and statement is not None
        and statement.parent is not None
        and (statement.id == body.id or statement.parent.id == body.id)
    )


def _derived(loop: Node, carried: Iterable[str]) -> set[str]:
    """Variables of a step that are computed from carried ones."""
    found: set[str] = set()
    for _ in range(_DEEP):
        for name, _, declaration in declarations_in(loop):
            values = [
                v for d in declaration.named_children if (v := d.child_by_field_name("value")) is not None
            ]
            if any(names_in(v) & (found | set(carried)) for v in values):
                found.add(name)
    return found


_DEEP = 3  # variables one after another


def _kind(change: Node, name: str, carried: set[str], derived: set[str]) -> PassedOn:
    """What one change of a carried variable hands on."""
    if change.type == "update_expression":
        return "sums" if not _asked(change, carried) else "unknown"
    value, operator = child_of(change, "right"), operator_of(change)
    if operator != "=":
        adds = operator.removesuffix("=") in _SUMMING and not names_in(value) & derived
        return "chain" if not adds else "unknown" if _asked(change, carried) else "sums"
    if not names_in(value) & derived:
        return _chosen(change, carried)
    if joins(value, *_SUMMING):
        return (
            "sums" if _once((child_of(value, "left"), child_of(value, "right")), name, derived) else "chain"
        )
    if is_a(called(value) or "", "extreme"):
        return "best" if _once(arguments_of(value), name, derived) else "chain"
    if value.type == "conditional_expression":
        sides = (child_of(value, "consequence"), child_of(value, "alternative"))
        return "best" if _once(sides, name, derived) else "unknown"
    return "chain"


def _once(parts: Iterable[Node], name: str, derived: set[str]) -> bool:
    """One of two parts is the variable itself, the other has nothing to do with what is carried."""
    listed = list(parts)
    others = [p for p in listed if text_of(p) != name]
    return len(listed) == 2 and len(others) == 1 and not names_in(others[0]) & derived


def _conditions(change: Node) -> Iterator[tuple[Node, Node]]:
    """The `if` statements of the step around a change, with their conditions."""
    for outer in ancestors(change, change):
        if outer.type in ("for_statement", "while_statement", "do_statement"):
            return
        if outer.type == "if_statement":
            yield outer, child_of(outer, "condition")


def _asked(change: Node, carried: set[str]) -> bool:
    """Whether a change is made depends on what is carried."""
    return any(names_in(condition) & carried for _, condition in _conditions(change))


def _chosen(change: Node, carried: set[str]) -> PassedOn:
    """A new value, which nothing carried goes into: the best so far, where a comparison with that lets it in."""
    for statement, condition in _conditions(change):
        if not names_in(condition) & carried:
            continue
        sides = [n for n in walk(condition) if n.type == "binary_expression"]
        pairs = [
            {text_of(child_of(n, "left")), text_of(child_of(n, "right"))}
            for n in sides
            if operator_of(n) in ("<", ">", "<=", ">=")
        ]
        kept = [
            {text_of(_target(n)), text_of(child_of(n, "right"))}
            for n in walk(statement)
            if n.type == "assignment_expression"
        ]
        return "best" if len(sides) == 1 and any(k in pairs for k in kept) else "unknown"
    return "unknown" if any(True for _ in _conditions(change)) else "nothing"


def _of_elements(body: Node, array: str, changes: Iterable[tuple[Node, Node]]) -> PassedOn:
    """What the elements of an array that a loop writes hand on."""
    elements = {
        text_of(n)
        for n in walk(body)
        if n.type == "subscript_expression" and text_of(child_of(n, "argument")) == array
    }
    mine = [n for n, t in changes if text_of(t) in elements]
    loop = body.parent
    counters = stepped_names(loop) if loop is not None else frozenset[str]()
    if len(elements) == 1:
        if any(names_in(_target(n)) & counters for n in mine):
            return "nothing"
        added = all(n.type == "update_expression" or operator_of(n) != "=" for n in mine)
        read = any(array in names_in(child_of(n, "right")) for n in mine if n.type != "update_expression")
        return "sums" if added else "unknown" if read else "nothing"
    return "unknown"
