"""Whether an access has its index from memory: the lanes are then scattered by data, and no stride describes them.

Takes the text and where an access stands in it. `a[b[i]]` says so itself; of `a[id]` the definitions of `id` in the
function do, one step back.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from hipscope.analysis.source.nodes import called, names_in, text_of, walk
from hipscope.analysis.source.parse import tree_of
from hipscope.analysis.source.text_queries import column_range
from hipscope.analysis.source.texts import ByteColumn, SourceTexts

_LOADS = ("__ldg", "__builtin_nontemporal_load")


def has_loaded_index(texts: SourceTexts, file: str, line: int, column: ByteColumn) -> bool:
    """Whether the expression at a place (both from 1) has a subscript that was loaded; False without the text."""
    start, end = column_range(texts, file, line, column)
    text = texts.read(file) if start else None
    if text is None:
        return False
    first = (line - 1, max(0, start - 1))
    node = tree_of(text).descendant_for_point_range(first, (line - 1, max(0, end - 2, start - 1)))
    if node is not None and node.type == "assignment_expression" and column != start:
        node = node.child_by_field_name("left")  # what is stored to, where the place is the operator
    while node is not None and node.parent is not None and node.parent.child_by_field_name("field") == node:
        node = node.parent
    return node is not None and any(_is_loaded(index) for index in _indices(node, first))


def _indices(node: Node, start: tuple[int, int]) -> Iterator[Node]:
    """The indices of the subscripts in an expression, or of the one whose array the place names."""
    outer = node.parent
    while outer is not None and tuple(outer.start_point) == start and outer.type == "subscript_expression":
        node, outer = outer, outer.parent
    for below in walk(node):
        if (
            below.type == "subscript_expression"
            and (index := below.child_by_field_name("indices")) is not None
        ):
            yield index


def _is_loaded(index: Node) -> bool:
    names = names_in(index)
    return _loads(index) or any(_loads(value) for name, value in _definitions(index) if name in names)


def _loads(value: Node) -> bool:
    """Whether an expression reads an element that is not always the same one."""
    for node in walk(value):
        if node.type == "subscript_expression":
            index = node.child_by_field_name("indices")
            if index is not None and any(n.type != "number_literal" for n in index.named_children):
                return True
        if called(node) in _LOADS:
            return True
    return False


def _definitions(node: Node) -> Iterator[tuple[str, Node]]:
    """The values that variables of the function around a node are set to, by their names."""
    function: Node | None = node
    while function is not None and function.type != "function_definition":
        function = function.parent
    for one in walk(function) if function is not None else ():
        sides = {"init_declarator": ("declarator", "value"), "assignment_expression": ("left", "right")}
        if one.type in sides:
            left, right = (one.child_by_field_name(side) for side in sides[one.type])
            if left is not None and right is not None and left.type == "identifier":
                yield text_of(left), right
