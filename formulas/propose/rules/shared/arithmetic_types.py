"""The arithmetic type of an expression, from its text: `float`, an integer, or not known; and what stays the same.

Takes syntax nodes, gives words and names. What is not certainly a float or an integer counts as not known.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    arguments_of,
    built_in,
    called,
    child_of,
    operator_of,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.rules.shared.edit_helpers import declared_type

Kind = Literal["float", "integer"]

_INTEGERS = integers(8) | {"bool"}
_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!=", "&&", "||"})
_FLOAT_FUNCTIONS = frozenset(
    f"{name}f"
    for name in (
        "sqrt", "rsqrt", "fabs", "exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "pow", "fma",
        "fmin", "fmax", "floor", "ceil",
    )
)  # fmt: skip


def parse_with_types(source: bytes, facts: LaunchFacts) -> FileSyntax:
    """The file, with what the compiler says of the types in it."""
    types = facts.types
    return replace(parse(source), types=types.spans if source == types.text else {})


def kind_of(node: Node, kernel: KernelSyntax, file: FileSyntax) -> Kind | None:
    """`float` where the expression certainly has that type, `integer` for any integer type, else None.

    Where the compiler was asked about the file, its answer counts; else what the text of the kernel says.
    """
    kind = node.type
    if kind == "number_literal":
        return _literal(text_of(node))
    if (told := file.types.get((node.start_byte, node.end_byte))) is not None:
        return _type(told)
    if kind in ("identifier", "field_expression") and built_in(text_of(node)) is not None:
        return "integer"
    if kind == "identifier":
        return _name(text_of(node), kernel, file)
    if kind == "subscript_expression":
        base = child_of(node, "argument")
        return _type(declared_type(text_of(base), kernel)) if base.type == "identifier" else None
    if kind in ("parenthesized_expression", "condition_clause"):
        return kind_of(node.named_children[0], kernel, file)
    if kind == "unary_expression":
        return kind_of(child_of(node, "argument"), kernel, file)
    if kind == "cast_expression":
        return _type(text_of(child_of(node, "type")))
    if kind == "call_expression":
        return _call(node) or _overloaded(node, kernel, file)
    if kind == "binary_expression" and operator_of(node) in _COMPARISONS:
        return "integer"
    sides = {"binary_expression": ("left", "right"), "conditional_expression": ("consequence", "alternative")}
    if kind not in sides:
        return None
    found = [kind_of(child_of(node, side), kernel, file) for side in sides[kind]]
    if None in found:
        return None
    return "float" if "float" in found else "integer"


def number_type(node: Node, kernel: KernelSyntax, file: FileSyntax) -> Literal["float", "double"] | None:
    """`float` or `double` where the expression certainly has that type: by the compiler, else by the text."""
    told = file.types.get((node.start_byte, node.end_byte))
    if told is None:
        return "float" if kind_of(node, kernel, file) == "float" else None
    return "double" if told == "double" else "float" if told == "float" else None


def is_plain(expression: Node) -> bool:
    """Made of names, literals, built-in indices and operators only: no memory, no call, no side effect."""
    allowed = {
        "identifier",
        "number_literal",
        "binary_expression",
        "unary_expression",
        "parenthesized_expression",
    }
    return all(
        n.type in allowed or (n.type == "field_expression" and built_in(text_of(n)) is not None)
        for n in walk(expression)
        if n.is_named and n.type != "field_identifier"
    )


def roundings(kernel: KernelSyntax) -> int:
    """How many operations of the kernel's text are rounded, each of which may add to the error."""
    operators = ("+", "-", "*", "/", "+=", "-=", "*=", "/=")
    nodes = [n for n in walk(kernel.body_node) if n.type in ("binary_expression", "assignment_expression")]
    return max(1, sum(operator_of(n) in operators for n in nodes))


def _literal(text: str) -> Kind | None:
    text = text.lower().replace("'", "")
    if re.fullmatch(r"(\d+|0x[0-9a-f]+)[ul]*", text):
        return "integer"
    is_float = text.endswith("f") and (not text.startswith("0x") or "p" in text)
    return "float" if is_float else None


def _name(name: str, kernel: KernelSyntax, file: FileSyntax) -> Kind | None:
    parameter = kernel.parameter(name)
    if parameter is not None and parameter.pointer:
        return None
    declared = declared_type(name, kernel)
    if declared is not None:
        return _type(declared)
    value = file.constants.get(name)
    if value is None:
        return None
    declaration = value.parent.parent if value.parent is not None else None
    if declaration is None or declaration.type != "declaration" or declaration.start_byte == 0:
        return kind_of(value, kernel, file) if value.type == "number_literal" else None
    return _type(text_of(child_of(declaration, "type")))


def _type(text: str | None) -> Kind | None:
    text = " ".join((text or "").replace("const", " ").split())
    return "float" if text == "float" else "integer" if text in _INTEGERS else None


def _overloaded(node: Node, kernel: KernelSyntax, file: FileSyntax) -> Kind | None:
    """`sqrt(x)` and the like are float where all arguments are (HIP has C++'s overloads on the device)."""
    name, arguments = (called(node) or "").removeprefix("std::"), arguments_of(node)
    known = f"{name}f" in _FLOAT_FUNCTIONS and bool(arguments)
    return "float" if known and all(kind_of(a, kernel, file) == "float" for a in arguments) else None


def _call(node: Node) -> Kind | None:
    function = child_of(node, "function")
    if text_of(function).startswith("static_cast"):
        target = re.fullmatch(r"static_cast\s*<\s*(.*?)\s*>", text_of(function))
        return _type(target[1]) if target is not None and len(arguments_of(node)) == 1 else None
    name = (called(node) or "").removeprefix("std::")
    return "float" if name in _FLOAT_FUNCTIONS else _type(name) if name in ("float", "int") else None
