"""Functions and constants that a candidate adds beside its kernel: which of them are harmless.

Takes the parsed candidate and the bytes that replace the kernel, gives what stands there besides it, and sentences that
say why something of it is refused. Only a helper that nothing else can see or be changed by is allowed: `static`, for
the device (or `constexpr`), under a name that the file has never used, without state and without barriers.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tree_sitter import Node

from hipscope.analysis.source.nodes import BARRIERS, called, declared_name, text_of, walk
from hipscope.analysis.source.syntax import Span

_RESERVED = re.compile(r"__|_[A-Z]")


def added_nodes(root: Node, start: int, end: int, kernel: Span) -> tuple[Node, ...] | str:
    """What stands in the bytes [start, end) besides the kernel and comments; a str: it reaches beyond them."""
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.end_byte <= start or node.start_byte >= end or node.type == "comment":
            continue
        if kernel.start <= node.start_byte and node.end_byte <= kernel.end:
            continue
        if start <= node.start_byte and node.end_byte <= end:
            found.append(node)
        elif node.children:
            stack.extend(node.children)
        else:
            return f"it adds `{text_of(node)}` beside the kernel"
    return tuple(found)


def helper_reasons(original: bytes, added: Collection[Node]) -> list[str]:
    """Why what was added beside the kernel is refused; empty when all of it is harmless."""
    reasons = []
    for node in added:
        inner = node
        while inner.type == "template_declaration" and inner.named_children:
            inner = inner.named_children[-1]
        reason = _function(inner) if inner.type == "function_definition" else _constant(inner)
        if reason is None and (name := _name(inner)) is not None:
            reason = _name_reason(original, name)
        if reason is not None:
            reasons.append(f"it adds something beside the kernel: {reason}")
    return reasons


def _function(definition: Node) -> str | None:
    declarator, body = definition.child_by_field_name("declarator"), definition.child_by_field_name("body")
    if declarator is None or body is None or _name(definition) is None:
        return "a function that could not be read"
    words = {text_of(c) for c in definition.children if c.id not in (declarator.id, body.id)}
    name = _name(definition)
    if "__global__" in words:
        return f"another kernel, `{name}`"
    if not {"static", "__device__"} <= words and "constexpr" not in words:
        return f"the function `{name}` is not `static __device__`"
    barrier = next((n for n in walk(body) if called(n) in BARRIERS), None)
    if barrier is not None:
        return f"the function `{name}` has a barrier, and who calls it cannot be seen"
    if any(n.type == "static" or text_of(n) == "__shared__" for n in walk(body) if not n.children):
        return f"the function `{name}` keeps state"
    return None


def _constant(node: Node) -> str | None:
    words = text_of(node).split("=")[0].split()
    single = len(node.children_by_field_name("declarator")) == 1
    if node.type == "declaration" and "constexpr" in words and "__device__" not in words and single:
        return None
    first = " ".join(text_of(node).split())
    return f"`{first[:40]}{'...' if len(first) > 40 else ''}`"


def _name(node: Node) -> str | None:
    """The plain name that a function or constant gets; None for operators and qualified names."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "identifier":
        if declarator.type in ("qualified_identifier", "operator_name", "destructor_name"):
            return None
        deeper = declarator.child_by_field_name("declarator")
        declarator = deeper if deeper is not None else declared_name(declarator)
    return text_of(declarator) if declarator is not None else None


def _name_reason(original: bytes, name: str) -> str | None:
    if _RESERVED.match(name):
        return f"`{name}` is a name of the implementation"
    if re.search(rb"\b" + re.escape(name.encode()) + rb"\b", original):
        return f"the name `{name}` is used in the file already"
    return None
