"""Which elements of arrays an expression of C++ names: `p[i]`, `(p + r)[i]`, `*(p + i)`, `(&p[r])[i]`."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from hipscope.analysis.source.nodes import bare, child_of, joins, operator_of, text_of, walk
from hipscope.analysis.source.parse import parse_expression, span_of, use_of
from hipscope.analysis.source.syntax import Subscript


def chains(body: Node) -> Iterator[Node]:
    """Calls, subscripts and dereferences, seen from the outermost of `g.row(i)[j]` and `*g.pointer(i)`."""
    for node in walk(body):
        if node.type not in ("call_expression", "subscript_expression", "pointer_expression"):
            continue
        if node.type == "pointer_expression" and operator_of(node) == "&":
            continue
        if not _goes_on(node):
            yield node


def _goes_on(node: Node) -> bool:
    child, parent = node, node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        child, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type == "subscript_expression":
        return child_of(parent, "argument").id == child.id
    if parent.type == "pointer_expression":
        return operator_of(parent) == "*"
    if parent.type == "field_expression":
        outer = parent.parent
        called_on = outer is not None and outer.type == "call_expression"
        return called_on and outer is not None and child_of(outer, "function").id == parent.id
    return False


def accesses(meaning: Node, node: Node) -> Iterator[Subscript]:
    """The elements that an expression reads or writes, as subscripts of `node`."""
    for part in walk(inner := bare(meaning)):
        element = _element(part)
        if element is None or _address_taken(part) or _row_of_an_element(part):
            continue
        whole = part.id == inner.id
        base, *indices = element
        at = tuple(n for index in indices if (n := parse_expression(index)) is not None)
        if len(at) == len(indices):
            yield Subscript(base, at, use_of(node) if whole else "read", node, span_of(node), whole)


def _row_of_an_element(node: Node) -> bool:
    """`a[i]` of `a[i][j]`: the brackets behind it belong to the same access."""
    outer = node.parent
    return (
        outer is not None
        and outer.type == "subscript_expression"
        and child_of(outer, "argument").id == node.id
    )


def _address_taken(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        outer = outer.parent
    return outer is not None and outer.type == "pointer_expression" and operator_of(outer) == "&"


def _element(node: Node) -> tuple[str, ...] | None:
    """(pointer, index) of `p[i]`, `(p + r)[i]`, `*(p + i)`, `(&p[r])[i]`; (array, index, index) of `a[i][j]`."""
    if node.type == "subscript_expression":
        listed = [c for c in child_of(node, "indices").named_children if c.type != "comment"]
        argument = child_of(node, "argument")
        if len(listed) != 1:
            return None
        if argument.type == "subscript_expression":
            row = _element(argument)
            return None if row is None else (*row, text_of(listed[0]))
        pointer = pointer_of(argument)
        return None if pointer is None else (pointer[0], _sum(pointer[1], text_of(listed[0])))
    if node.type == "pointer_expression" and operator_of(node) == "*":
        return pointer_of(child_of(node, "argument"))
    return None


def pointer_of(node: Node) -> tuple[str, str] | None:
    """(name or member, offset in elements) of a pointer expression."""
    if node.type == "parenthesized_expression" and node.named_children:
        return pointer_of(node.named_children[0])
    if node.type == "identifier" or (node.type == "field_expression" and "->" not in text_of(node)):
        return text_of(node), "0"
    if joins(node, "+"):
        left = pointer_of(child_of(node, "left"))
        return None if left is None else (left[0], _sum(left[1], text_of(child_of(node, "right"))))
    if node.type == "pointer_expression" and operator_of(node) == "&":
        element = _element(child_of(node, "argument"))
        return (element[0], element[1]) if element is not None and len(element) == 2 else None
    return None


def _sum(first: str, second: str) -> str:
    return second if first == "0" else f"({first}) + ({second})"
