"""Small questions about tree-sitter nodes: texts, names, calls, what is around and below.

Takes nodes, gives nodes and strings. Knows C++ syntax, nothing about kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from tree_sitter import Node

from hipscope.analysis.builtins import classes, words

BARRIERS = frozenset(classes()["barrier"].names)
# Where lanes or waves wait for each other, or one uses what another has in its registers.
TOGETHER = words("barrier", "other_barrier", "lanes", "fence")
# What makes memory visible to other work-items as it is written, or waits for theirs.
PUBLISHING = words("fence", "ordered_atomic", "sleep", "grid_group", "assembly", "volatile")
# The same in a function that is called: what is volatile there may be LDS, which its caller knows.
PUBLISHING_CALLS = words("fence", "ordered_atomic", "sleep", "grid_group", "assembly")
VOLATILE = words("volatile")
LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})

_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")
_OLDER_BUILT_IN = re.compile(r"hip(Thread|Block|Grid)(Idx|Dim)_([xyz])")
_NAMES = ("identifier", "qualified_identifier")


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def walk_outside(node: Node, gone: Set[int]) -> Iterator[Node]:
    """The node and all below it, without nodes of these ids and what is below them."""
    if node.id not in gone:
        yield node
        for child in node.children:
            yield from walk_outside(child, gone)


def text_of(node: Node) -> str:
    """The node's source text."""
    return (node.text or b"").decode("utf-8", "replace")


def code_of(node: Node, until: int | None = None) -> str:
    """The text of a node, up to a byte of the file, with a space for each comment in it."""
    whole = bytearray((node.text or b"")[: None if until is None else max(0, until - node.start_byte)])
    comments = [(c.start_byte, c.end_byte) for c in walk(node) if c.type == "comment"]
    for start, end in sorted(comments, reverse=True):
        whole[start - node.start_byte : end - node.start_byte] = b" "
    return whole.decode("utf-8", "replace")


def ancestors(node: Node, top: Node) -> Iterator[Node]:
    """The nodes around `node`, innermost first, `top` excluded."""
    current = node.parent
    while current is not None and current.id != top.id:
        yield current
        current = current.parent


def names_in(node: Node) -> frozenset[str]:
    """All plain identifiers below the node (fields as in `threadIdx.x` only by their object)."""
    return frozenset(text_of(n) for n in walk(node) if n.type == "identifier")


def first_name(node: Node) -> str:
    """The leftmost plain identifier: `out` of `out[i].x`, `*(out + i)` and `&out[i]`; "" without one."""
    return next((text_of(n) for n in walk(node) if n.type == "identifier"), "")


def called(node: Node) -> str | None:
    """The function name when the node is a call of a named function, template arguments dropped."""
    if node.type != "call_expression":
        return None
    function = node.child_by_field_name("function")
    if function is not None and function.type == "template_function":
        function = function.child_by_field_name("name")
    return text_of(function) if function is not None and function.type in _NAMES else None


def built_in(text: str) -> str | None:
    """`blockDim.x` of that text and of HIP's older spelling `hipBlockDim_x`; None of any other."""
    if (older := _OLDER_BUILT_IN.fullmatch(text)) is not None:
        text = f"{older[1].lower()}{older[2]}.{older[3]}"
    return text if _BUILT_IN.fullmatch(text) is not None else None


def arguments_of(call: Node) -> tuple[Node, ...]:
    """The argument expressions of a call."""
    arguments = call.child_by_field_name("arguments")
    return tuple(c for c in arguments.named_children if c.type != "comment") if arguments is not None else ()


def child_of(node: Node, name: str) -> Node:
    """The child of that field, or the node itself when it has none."""
    child = node.child_by_field_name(name)
    return child if child is not None else node


def operator_of(node: Node) -> str:
    """The operator of an expression or an assignment; "" where it has none."""
    operator = node.child_by_field_name("operator")
    return text_of(operator) if operator is not None else ""


def joins(node: Node, *operators: str) -> bool:
    """Whether the node is an operation of two sides by one of these operators."""
    return node.type == "binary_expression" and operator_of(node) in operators


def sets(node: Node) -> bool:
    """Whether the node is an assignment by `=`."""
    return node.type == "assignment_expression" and operator_of(node) == "="


def bare(node: Node) -> Node:
    """The expression without the parentheses around it."""
    while node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def condition_of(statement: Node) -> Node | None:
    """The expression that an `if` or a loop asks; None where it declares something, or has none."""
    condition = statement.child_by_field_name("condition")
    if condition is not None and condition.type == "condition_clause":
        declares = condition.child_by_field_name("initializer") is not None
        condition = None if declares else condition.child_by_field_name("value")
    return None if condition is None or condition.type == "declaration" else condition


def statements_of(body: Node) -> list[Node]:
    """The statements in a block, or the one that stands without; no comments."""
    inside = body.named_children if body.type == "compound_statement" else [body]
    return [n for n in inside if n.type != "comment"]


def loops_around(node: Node, top: Node) -> list[Node]:
    """The loops whose body or head a node is in, below `top`, innermost first."""
    return [outer for outer in ancestors(node, top) if outer.type in LOOPS]


def is_in(node: Node, part: Node | None) -> bool:
    """Whether a node begins in a part of a statement, as in `loop.child_by_field_name("update")`."""
    return part is not None and part.start_byte <= node.start_byte < part.end_byte


def takes_address(node: Node) -> bool:
    """Whether the node is `&x`."""
    return node.type == "pointer_expression" and operator_of(node) == "&"


def is_within(node: Node, outer: Node) -> bool:
    """Whether a node lies in another one, or is it."""
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def squeeze(text: str) -> str:
    """The text with every run of blanks made one."""
    return " ".join(text.split())


def declared_name(declarator: Node) -> Node | None:
    """The identifier inside `*const p`, `a[3]`, `&r`, `x = 1`."""
    return next((n for n in walk(declarator) if n.type in ("identifier", "field_identifier")), None)


def without_value(declarator: Node) -> Node:
    """`*p` of `*p = x`; a declarator without a value as it is."""
    return child_of(declarator, "declarator") if declarator.type == "init_declarator" else declarator


def initialized(name: str, node: Node) -> list[Node]:
    """The declarators at or below a node that give a plain variable of that name its first value."""
    found = (n for n in walk(node) if n.type == "init_declarator")
    return [n for n in found if text_of(child_of(n, "declarator")) == name]


def declarations_in(node: Node) -> Iterator[tuple[str, Node, Node]]:
    """Name, declarator and declaration of what is declared at or below a node."""
    for inner in walk(node):
        if inner.type != "declaration":
            continue
        for declarator in inner.children_by_field_name("declarator"):
            if (name := declared_name(declarator)) is not None:
                yield text_of(name), declarator, inner
