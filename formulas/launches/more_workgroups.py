"""Launches of a kernel with a multiple or a part of their workgroups along x, as their owner would write it.

`kernel<<<n / 256, 256>>>` becomes `kernel<<<n / 256 * lanes, 256>>>`, a `dim3 grid` becomes
`dim3(grid.x * lanes, grid.y, grid.z)`; a fourth of them, rounded up, is `(n / 256 + 3) / 4`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.nodes import arguments_of, bare, called, child_of, declared_name, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, LaunchExpression
from hipscope.formulas.propose.splice import Splice

_NUMBERS = re.compile(
    r"(const )?(unsigned|int|unsigned int|size_t|uint32_t|int32_t|uint64_t|int64_t|long|auto|uint)"
)
_PRODUCTS = ("*", "/")

Scale = Callable[[str, bool], str]
"""What an expression of workgroups becomes; the second argument: whether it may be multiplied as it is."""


def times(factor: str) -> Scale:
    """As many times the workgroups."""
    return lambda groups, product: f"{groups if product else f'({groups})'} * {factor}"


def part(count: int) -> Scale:
    """One of so many parts of the workgroups, rounded up."""
    return lambda groups, _product: f"({groups} + {count - 1}) / {count}"


def more_workgroups(
    source: bytes, file: FileSyntax, kernel: str, launches: int, scale: Scale
) -> list[Splice] | str:
    """The edits, or why there are none; `launches` is how many launches of the kernel the compiler knows."""
    found = [one for one in file.launches if base_name(one.kernel) == kernel]
    if len(found) != launches:
        return f"`{kernel}` is launched in another file, or by a macro or a template"
    splices = []
    for launch in found:
        splice = _scaled(source, file.root, launch, scale)
        if isinstance(splice, str):
            return splice
        splices.append(splice)
    return splices


def _scaled(source: bytes, root: Node, launch: LaunchExpression, scale: Scale) -> Splice | str:
    """The grid of one launch with other workgroups."""
    refusal = (
        f"the workgroups of the launch on line {launch.span.line} are not written in a way that is understood"
    )
    text = source[launch.span.start : launch.span.end]
    head = text.find(b"<<<")
    begin = head + 3 if head >= 0 else text.find(b",") + 1
    at = text.find(launch.grid.encode(), begin)
    if at < 0 or text[begin:at].strip():
        return refusal
    start = launch.span.start + at
    node = root.descendant_for_byte_range(start, start + len(launch.grid.encode()))
    if node is None or text_of(node) != launch.grid:
        return refusal
    node = bare(node)
    if called(node) == "dim3":
        arguments = arguments_of(node)
        if not arguments:
            return refusal
        node = arguments[0]
        if node.type == "identifier" and _declared(node) == "dim3":  # a copy of another one
            return refusal
    grid = text_of(node)
    if node.type == "identifier":
        kind = _declared(node)
        if kind == "dim3":
            new = f"dim3({scale(f'{grid}.x', True)}, {grid}.y, {grid}.z)"
            return Splice(node.start_byte, node.end_byte, new.encode())
        if kind is not None and _NUMBERS.fullmatch(kind) is None:
            return refusal
        if kind is None and not _is_number(grid, source):
            return refusal
        return Splice(node.start_byte, node.end_byte, scale(grid, True).encode())
    if node.type not in ("binary_expression", "number_literal", "call_expression", "cast_expression"):
        return refusal
    product = node.type != "binary_expression" or text_of(child_of(node, "operator")) in _PRODUCTS
    return Splice(node.start_byte, node.end_byte, scale(grid, product).encode("utf-8", "surrogateescape"))


def _declared(use: Node) -> str | None:
    """The type that a name was declared with above its use; None where it was not."""
    name = text_of(use)
    root = use
    while root.parent is not None:
        root = root.parent
    found = None
    for node in walk(root):
        if node.start_byte >= use.start_byte:
            break
        if node.type not in ("declaration", "parameter_declaration"):
            continue
        for declarator in node.children_by_field_name("declarator"):
            named = declared_name(declarator)
            if named is not None and text_of(named) == name:
                pointer = any(n.type in ("pointer_declarator", "array_declarator") for n in walk(declarator))
                found = "*" if pointer else " ".join(text_of(child_of(node, "type")).split())
    return found


def _is_number(name: str, source: bytes) -> bool:
    """A macro that is a number, or in parentheses."""
    return (
        re.search(rb"#\s*define\s+%s\s+(\d+|\(.*\))\s*$" % re.escape(name).encode(), source, re.MULTILINE)
        is not None
    )
