"""Finds what a kernel uses of the file around it: macros, constants, types and device functions, and what those use.

Takes the source and its project headers, gives the texts of the declarations in the order they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import text_of, walk
from hipscope.analysis.source.parse import attribute_macros, tree_of
from hipscope.analysis.source.syntax import KernelSyntax

_NAMES = frozenset({"identifier", "type_identifier", "namespace_identifier"})
_CONTAINERS = frozenset(
    {
        "translation_unit", "namespace_definition", "declaration_list", "linkage_specification",
        "preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif",
    }
)  # fmt: skip
_CONDITIONAL = frozenset({"preproc_ifdef", "preproc_if", "preproc_elif"})
_MACROS = frozenset({"preproc_def", "preproc_function_def"})
_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})
_DECLARED = (
    frozenset({"declaration", "type_definition", "alias_declaration", "template_declaration"}) | _TYPES
)


@dataclass(frozen=True)
class Declaration:
    """One declaration outside the kernel; `file` is empty for the kernel's own file.

    `conditions` are the words of the `#if` directives that it stands in.
    """

    names: frozenset[str]
    uses: frozenset[str]
    text: str
    file: str = ""
    conditions: frozenset[str] = frozenset()


def needed_declarations(
    source: bytes, kernel: KernelSyntax, headers: Mapping[str, bytes] | None = None
) -> tuple[Declaration, ...]:
    """The declarations that the kernel uses, directly or through others. `headers` are project headers by name."""
    texts = {**(headers or {}), "": source}
    macros = attribute_macros(texts.values())
    known = [d for name, text in texts.items() for d in _declarations(text, name, macros)]
    wanted = set(_names(kernel.body_node))
    for word in (kernel.template_head, *kernel.attributes, *(p.type for p in kernel.parameters)):
        wanted |= set(re.findall(r"\w+", word))
    taken: set[int] = set()
    changed = True
    while changed:
        changed = False
        for number, declaration in enumerate(known):
            if number not in taken and declaration.names & wanted:
                taken.add(number)
                wanted |= declaration.uses | declaration.conditions
                changed = True
    return tuple(known[number] for number in sorted(taken))


def _declarations(source: bytes, file: str, macros: Collection[bytes]) -> list[Declaration]:
    found = []
    for node in _outer(tree_of(source, macros)):
        start = _with_macros(source, node.start_byte, macros)
        # A function whose attributes a macro gives is taken for one that the device can call.
        known = start == node.start_byte and _is_host_or_kernel(node)
        if (names := _declared(node)) and not known:
            text = source[start : node.end_byte].decode("utf-8", "replace").strip()
            found.append(Declaration(names, _names(node), text, file, _conditions(node)))
    return found


def _conditions(node: Node) -> frozenset[str]:
    """The words of the conditions that a declaration is compiled under."""
    found: set[str] = set()
    around = node.parent
    while around is not None:
        if around.type in _CONDITIONAL:
            found |= set(re.findall(r"\w+", text_of(around).partition("\n")[0]))
        around = around.parent
    return frozenset(found)


def _with_macros(source: bytes, start: int, macros: Collection[bytes]) -> int:
    """Where a declaration begins with the attribute macros before it, which its node leaves out."""
    line = source.rfind(b"\n", 0, start) + 1
    before = source[line:start].split()
    return line if before and set(before) <= set(macros) else start


def _outer(node: Node) -> Iterator[Node]:
    """What stands outside of functions and types, in namespaces and conditional parts too."""
    for child in node.children:
        if child.type in _CONTAINERS:
            yield from _outer(child)
        elif child.type in _MACROS or child.type in _DECLARED or child.type == "function_definition":
            yield child


def _declared(node: Node) -> frozenset[str]:
    """The names that a declaration introduces."""
    if node.type in _MACROS or node.type == "alias_declaration" or node.type in _TYPES:
        name = node.child_by_field_name("name")
        enumerators = [n.child_by_field_name("name") for n in walk(node) if n.type == "enumerator"]
        return frozenset(text_of(n) for n in (name, *enumerators) if n is not None)
    if node.type == "template_declaration":
        return frozenset().union(
            *(_declared(c) for c in node.children if c.type in {*_DECLARED, "function_definition"})
        )
    names: set[str] = set()
    declarators = node.children_by_field_name("declarator")
    for declarator in declarators:
        inner = declarator
        while (deeper := inner.child_by_field_name("declarator")) is not None:
            inner = deeper
        names.add(text_of(inner))
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type in _TYPES:
        names |= _declared(kind)
    return frozenset(names)


def _is_host_or_kernel(node: Node) -> bool:
    """A function that only the host can call, or another kernel: the kernel cannot use it."""
    functions = [n for n in (node, *node.children) if n.type == "function_definition"]
    if not functions:
        return False
    words = {n.type for n in walk(functions[0])} | {text_of(c) for c in functions[0].children}
    if "__global__" in words:
        return True
    return "__device__" not in words and "constexpr" not in text_of(functions[0]).split("{", 1)[0]


def _names(node: Node) -> frozenset[str]:
    found = {text_of(n) for n in walk(node) if n.type in _NAMES}
    for n in walk(node):
        if n.type == "preproc_arg":
            found |= set(re.findall(r"\w+", text_of(n)))
    return frozenset(found)
