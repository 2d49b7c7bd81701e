"""What a kernel's calls of the program's own helpers stand for: `grid.at(i, j)`, `idx(i, j, ld)`, `IDX(i, j, ld)`.

Takes a kernel and what its program defines, gives the kernel with the accesses behind such calls among its subscripts.
A call that cannot be seen through and may touch memory is `Opaque`, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tree_sitter import Node

from hipscope.analysis.source.aliases import aliases_in
from hipscope.analysis.source.array_accesses import accesses, chains
from hipscope.analysis.source.expansion import KERNEL, WHOLE, CannotSee, Scope, expand, scope_of, structure_at
from hipscope.analysis.source.functions import Callables
from hipscope.analysis.source.nodes import (
    PUBLISHING_CALLS,
    TOGETHER,
    VOLATILE,
    called,
    child_of,
    code_of,
    declarations_in,
    is_within,
    names_in,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.parse import parse_expression, span_of
from hipscope.analysis.source.structures import Definitions, holds_numbers
from hipscope.analysis.source.syntax import KernelSyntax, Opaque, Subscript, Through
from hipscope.analysis.source.thread_dependence import thread_variables

_BUILT_INS = re.compile(r"\b(threadIdx|blockIdx|hipThreadIdx|hipBlockIdx|__lane_id)")
_WORDS = sorted({word for name in NUMBER_TYPES for word in name.split()} | {"auto", "signed", "ptrdiff_t"})
_NUMBER = re.compile(
    rf"(?:const )?(?:(?:{'|'.join(map(re.escape, _WORDS))}|u?(?:char|short|int|long|float|double)[1-4]|uint) ?)+"
)
_REACHES = (
    "subscript_expression",
    "pointer_expression",
    "gnu_asm_expression",
    "lambda_expression",
    "this",
    "new_expression",
)


def see_through(
    kernel: KernelSyntax,
    callables: Callables,
    definitions: Definitions,
    types: Mapping[str, str] | None = None,
) -> KernelSyntax:
    """The kernel with what its calls stand for. `types` are the values of its template parameters, where known."""
    scope = scope_of(kernel, callables, definitions, types or {})
    own = {name for _, name in callables.methods}
    meanings: dict[int, Node] = {}
    opaque: list[Opaque] = []
    found: list[Subscript] = []
    known = {
        s.node.id
        for s in kernel.subscripts
        if structure_at(scope, s.base) is None and s.base.partition(".")[0] not in scope.aliases
    }
    for node in chains(kernel.body_node):
        if kernel.member and called(node) in own:
            opaque.append(Opaque(span_of(node), squeeze(text_of(node)), "it may change its object"))
            continue
        try:
            text = expand(scope, node, KERNEL, 0)
        except CannotSee as reason:
            if _may_access(scope, node):
                opaque.append(Opaque(span_of(node), squeeze(text_of(node)), str(reason)))
            continue
        if text == text_of(node) and node.type != "pointer_expression":
            continue
        meaning = parse_expression(text)
        if meaning is None:
            opaque.append(Opaque(span_of(node), squeeze(text_of(node)), "it is no plain expression"))
            continue
        if _is_whole_number(scope, node):
            meanings[node.id] = meaning
        if node.id not in known:
            found += accesses(meaning, node)
    found += (s for s in kernel.subscripts if s.node.id in known)
    named = [a.declaration for name, a in aliases_in(kernel).items() if name in scope.aliases]
    found = [s for s in found if s.use != "address" or not any(is_within(s.node, d) for d in named)]
    varying = frozenset(
        name for name, listed in callables.macros.items() if any(_BUILT_INS.search(m.text) for m in listed)
    )
    variables = thread_variables(kernel.body_node, varying)
    return replace(
        kernel,
        subscripts=tuple(sorted(found, key=lambda s: s.span.start)),
        thread_dependent=kernel.thread_dependent | variables.names,
        uniform_uses=kernel.uniform_uses & variables.uniform,
        through=Through(
            meanings,
            tuple(opaque),
            _built_ins(scope),
            callables.constants,
            frozenset(declaration.id for declaration in named),
            callables.reaching(TOGETHER),
            callables.reaching(PUBLISHING_CALLS),
            callables.reaching(VOLATILE),
        ),
        state=kernel.state - _numbers(callables.constants),
    )


def _numbers(constants: Mapping[str, Node]) -> frozenset[str]:
    """The constants that are made of nothing but constants."""
    return frozenset(name for name, value in constants.items() if names_in(value) <= constants.keys())


def _is_whole_number(scope: Scope, node: Node) -> bool:
    """Whether the call's value is what its expression says: no conversion cuts it."""
    if node.type != "call_expression":
        return True
    function = child_of(node, "function")
    name = (called(node) or "").rpartition("::")[2]
    listed = [*scope.callables.functions.get(name, ())]
    if function.type == "field_expression":
        field = re.sub(r"<.*", "", text_of(child_of(function, "field")))
        listed = [f for (_, n), found in scope.callables.methods.items() if n == field for f in found]
    elif structure_at(scope, name) is not None:
        listed = [f for (_, n), found in scope.callables.methods.items() if n == "operator()" for f in found]
    return all(WHOLE.fullmatch(f.returns) or f.returns.endswith(("&", "*")) for f in listed)


def _may_access(scope: Scope, node: Node) -> bool:
    """Whether a call that cannot be seen through may touch memory. What the program does not define may not."""
    if node.type != "call_expression":
        return (
            node.type != "subscript_expression"
            or any(mark in text_of(child_of(node, "argument")) for mark in ("(", "->"))
            or (structure_at(scope, text_of(child_of(node, "argument"))) is not None)
        )
    function = child_of(node, "function")
    if function.type == "field_expression":
        return True
    name = (called(node) or "").rpartition("::")[2]
    if structure_at(scope, name) is not None or name in scope.callables.macros or not name:
        return True
    return not _harmless(scope, name, frozenset())


def _harmless(scope: Scope, name: str, seen: frozenset[str]) -> bool:
    """Computes with numbers only, as do the functions that it calls."""
    for function in scope.callables.functions.get(name, ()):
        if not all(_is_value(scope, kind) for _, kind in function.parameters):
            return False
        arrays = _arrays_in(scope, function.body)
        for node in walk(function.body):
            if node.type == "identifier" and _BUILT_INS.match(text_of(node)):
                return False
            if node.type in _REACHES and _root(node) not in arrays:
                return False
            if node.type == "call_expression":
                inner = called(node)
                if inner is None or inner in scope.callables.macros:
                    return False
                if inner not in seen and not _harmless(scope, inner, seen | {name}):
                    return False
    return True


def _is_value(scope: Scope, kind: str) -> bool:
    """Whether what is given is a number, or a structure of nothing but numbers: by value, or not to be changed."""
    if _NUMBER.fullmatch(kind):
        return True
    if "&" in kind and not kind.startswith("const "):
        return False
    return holds_numbers(scope.definitions, kind.removesuffix("&"))


def _arrays_in(scope: Scope, body: Node) -> frozenset[str]:
    """The arrays of values that a function declares for itself."""
    found: set[str] = set()
    for name, declarator, declaration in declarations_in(body):
        target = (
            declarator.child_by_field_name("declarator")
            if declarator.type == "init_declarator"
            else declarator
        )
        kinds = {n.type for n in walk(target)} if target is not None else set()
        indirect = kinds & {"pointer_declarator", "reference_declarator", "function_declarator"}
        if (
            "array_declarator" in kinds
            and not indirect
            and _is_value(scope, text_of(child_of(declaration, "type")))
        ):
            found.add(name)
    return frozenset(found)


def _root(node: Node) -> str:
    """`a` of `a[i][j]`; nothing of what is no subscript."""
    while node.type == "subscript_expression":
        node = child_of(node, "argument")
        if node.type == "identifier":
            return text_of(node)
    return ""


def _built_ins(scope: Scope) -> dict[str, str]:
    """`threadIdx` and the like, with a callee of the kernel that asks for it by itself."""
    texts: dict[str, list[str]] = {}
    for name, functions in scope.callables.functions.items():
        texts.setdefault(name, []).extend(f.text for f in functions)
    for (_, name), functions in scope.callables.methods.items():
        texts.setdefault(name, []).extend(f.text for f in functions)
    for name, macros in scope.callables.macros.items():
        texts.setdefault(name, []).extend(m.text for m in macros)
    left, seen, found = [code_of(scope.kernel.body_node)], set[str](), dict[str, str]()
    if any(structure_at(scope, p.name) is not None for p in scope.kernel.parameters):
        left += [text for name in ("operator()", "operator[]") for text in texts.get(name, ())]
    while left:
        for word in sorted(set(re.findall(r"\w+", left.pop())) - seen):
            seen.add(word)
            for text in texts.get(word, ()):
                left.append(text)
                for match in _BUILT_INS.finditer(text):
                    found.setdefault(match[1], word)
    return found
