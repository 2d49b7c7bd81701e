"""Locals that are another name for what a kernel was given: `auto g = grid;`, `const float* row = in + i * n;`.

Takes a kernel, gives each local that is declared once and holds the same wherever it can be seen, with its value. What
the value is, a view or a pointer, is for the caller to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    ancestors,
    child_of,
    declarations_in,
    is_in,
    names_in,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax


@dataclass(frozen=True)
class Alias:
    """A local and its value; `declaration` declares nothing else. `pointer`: it is declared as one."""

    name: str
    value: Node
    declaration: Node
    pointer: bool


def aliases_in(kernel: KernelSyntax) -> dict[str, Alias]:
    """Those whose names, and the names in whose values, mean one thing in the whole kernel and never change."""
    body = kernel.body_node
    if any(n.type == "lambda_expression" for n in walk(body)):
        return {}
    declared = Counter(p.name for p in kernel.parameters)
    declared.update(name for name, _, _ in declarations_in(body))
    changes = list(_changes(body))
    found: dict[str, Alias] = {}
    for node in walk(body):
        alias = _alias(node) if node.type == "declaration" else None
        if alias is None or declared[alias.name] != 1 or any(name == alias.name for name, _ in changes):
            continue
        used = names_in(alias.value)
        loops = [o for o in ancestors(node, body) if o.type == "for_statement"]
        if all(declared[n] <= 1 for n in used) and not any(
            name in used and not any(is_in(place, loop.child_by_field_name("update")) for loop in loops)
            for name, place in changes
        ):
            found[alias.name] = alias
    return found


def _alias(declaration: Node) -> Alias | None:
    declarators = declaration.children_by_field_name("declarator")
    if len(declarators) != 1 or declarators[0].type != "init_declarator":
        return None
    if any(c.type == "storage_class_specifier" for c in declaration.children):
        return None
    target, value = child_of(declarators[0], "declarator"), declarators[0].child_by_field_name("value")
    pointer = target.type == "pointer_declarator"
    names = [name for name, _, _ in declarations_in(declaration)]
    if value is None or value.type in ("initializer_list", "argument_list") or len(names) != 1:
        return None
    if pointer and any(c.type == "pointer_declarator" for c in target.named_children):
        return None
    return Alias(names[0], value, declaration, pointer)


def _changes(body: Node) -> Iterator[tuple[str, Node]]:
    """Each name that is assigned, stepped or whose address is taken (also as `g.n`), and where."""
    for node in walk(body):
        if node.type in ("assignment_expression", "update_expression"):
            target = node.child_by_field_name("left") or child_of(node, "argument")
        elif node.type == "pointer_expression" and text_of(child_of(node, "operator")) == "&":
            target = child_of(node, "argument")
        else:
            continue
        while target.type in ("field_expression", "parenthesized_expression") and target.named_children:
            if target.type == "field_expression" and text_of(child_of(target, "operator")) != ".":
                break
            target = target.named_children[0]
        if target.type == "identifier":
            yield text_of(target), node
