"""The functions, member functions and macros of some sources, by name: what a kernel may call.

Takes source texts, gives definitions as syntax nodes. Says nothing about what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, code_of, squeeze, text_of
from hipscope.analysis.source.parse import attribute_macros, constants_of, parameter_of, tree_of

_NOT_ENTERED = ("compound_statement", "parameter_list", "argument_list", "initializer_list")


@dataclass(frozen=True)
class Function:
    """One definition with a body. `returns` is its type as written, with `&` or `*`; `text` is the body's code."""

    name: str
    returns: str
    parameters: tuple[tuple[str, str], ...]
    body: Node = field(repr=False, compare=False)
    text: str = field(repr=False)


@dataclass(frozen=True)
class Macro:
    """`#define`; `parameters` is None for one without."""

    parameters: tuple[str, ...] | None
    text: str


@dataclass(frozen=True)
class Callables:
    """All definitions of a name, in the order they were found; `methods` by structure and name."""

    functions: Mapping[str, tuple[Function, ...]]
    methods: Mapping[tuple[str, str], tuple[Function, ...]]
    macros: Mapping[str, tuple[Macro, ...]]
    constants: Mapping[str, Node]

    def reaching(self, words: re.Pattern[str]) -> frozenset[str]:
        """The functions, methods and macros that reach one of these words."""
        listed = [
            *((f.name, f.text) for found in self.functions.values() for f in found),
            *((name, f.text) for (_, name), found in self.methods.items() for f in found),
            *((name, m.text) for name, found in self.macros.items() for m in found),
        ]
        return reaching(listed, words, self.macros.keys())


def callables_in(texts: Iterable[bytes]) -> Callables:
    """What the texts define outside of function bodies."""
    texts = tuple(dict.fromkeys(texts))
    functions: dict[str, list[Function]] = {}
    methods: dict[tuple[str, str], list[Function]] = {}
    macros: dict[str, list[Macro]] = {}
    constants: dict[str, Node] = {}
    blanked = attribute_macros(texts)
    for text in texts:
        root = tree_of(text, blanked)
        for name, value in constants_of(root).items():
            # Of an array of one dimension the value is the list.
            constants.setdefault(name.partition("[")[0] if name.count("[") == 1 else name, value)
        for node in _outer(root):
            if node.type == "function_definition":
                found = _function(node)
                if found is None:
                    continue
                structure, function = found
                if structure is None:
                    functions.setdefault(function.name, []).append(function)
                else:
                    methods.setdefault((structure, function.name), []).append(function)
            elif node.type in ("preproc_def", "preproc_function_def"):
                name = text_of(child_of(node, "name"))
                macros.setdefault(name, []).append(_macro(node))
    return Callables(
        {name: tuple(found) for name, found in functions.items()},
        {name: tuple(found) for name, found in methods.items()},
        {name: tuple(found) for name, found in macros.items()},
        constants,
    )


def reaching(texts: Iterable[tuple[str, str]], words: re.Pattern[str], macros: Set[str]) -> frozenset[str]:
    """The functions and macros that reach one of these words; `texts` are all: a name and what it stands for."""
    listed = [*texts]
    called = [_called_in(text, macros) for _, text in listed]
    found = {name for name, text in listed if words.search(text)}
    while more := {name for (name, _), said in zip(listed, called, strict=True) if said & found} - found:
        found |= more
    return frozenset(found)


def _called_in(text: str, macros: Set[str]) -> frozenset[str]:
    """The names that are called in a text, and those of macros."""
    named = set(re.findall(r"(\w+)\s*(?:<[^;{}()]*>\s*)?\(", text))
    return frozenset(named | (set(re.findall(r"\w+", text)) & macros))


def _outer(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(c for c in reversed(node.named_children) if c.type not in _NOT_ENTERED)


def _macro(node: Node) -> Macro:
    value = node.child_by_field_name("value")
    text = re.sub(r"\\\s*\n|/\*.*?\*/|//.*", " ", text_of(value)) if value is not None else ""
    listed = node.child_by_field_name("parameters")
    if listed is None:
        return Macro(None, squeeze(text))
    return Macro(tuple(text_of(p) for p in listed.children if p.type not in ("(", ",", ")")), squeeze(text))


def _function(node: Node) -> tuple[str | None, Function] | None:
    """(the structure that it belongs to, the function), or None for a kernel and what has no body or plain name."""
    body = node.child_by_field_name("body")
    declarator, suffix = node.child_by_field_name("declarator"), ""
    if body is None or body.type != "compound_statement" or node.has_error or _is_kernel(node, body):
        return None
    while declarator is not None and declarator.type in ("reference_declarator", "pointer_declarator"):
        suffix += "&" if declarator.type == "reference_declarator" else "*"
        declarator = declarator.named_children[-1] if declarator.named_children else None
    if declarator is None or declarator.type != "function_declarator":
        return None
    named = child_of(declarator, "declarator")
    structure = _structure_around(node)
    if named.type == "qualified_identifier":
        scope, inner = named.child_by_field_name("scope"), named.child_by_field_name("name")
        if scope is None or inner is None:
            return None
        structure, named = text_of(scope).partition("<")[0].strip(), inner
    name = re.sub(r"\s+", "", text_of(named))
    kind = node.child_by_field_name("type")
    constant = any(c.type == "type_qualifier" and text_of(c) == "const" for c in node.children)
    virtual = any(c.type == "virtual" for c in node.children)
    return structure, Function(
        name="" if virtual else name,
        returns=("const " if constant else "")
        + (squeeze(text_of(kind)) if kind is not None else "")
        + suffix,
        parameters=tuple(
            _parameter(p) for p in child_of(declarator, "parameters").named_children if p.type != "comment"
        ),
        body=body,
        text=squeeze(code_of(body)),
    )


def _is_kernel(function: Node, body: Node) -> bool:
    return b"__global__" in (function.text or b"")[: body.start_byte - function.start_byte]


def _structure_around(node: Node) -> str | None:
    outer = node.parent
    while outer is not None and outer.type in ("template_declaration", "access_specifier"):
        outer = outer.parent
    if outer is None or outer.type != "field_declaration_list" or outer.parent is None:
        return None
    name = outer.parent.child_by_field_name("name")
    return text_of(name).partition("<")[0].strip() if name is not None else ""


def _parameter(node: Node) -> tuple[str, str]:
    """(name, type as written) of a parameter; the name is empty where there is none or it has a default value."""
    read = parameter_of(node)
    plain = node.type == "parameter_declaration" and ")(" not in read.type
    return (read.name, read.type) if plain and read.name else ("", squeeze(text_of(node)))
