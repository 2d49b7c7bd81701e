"""precision, only with `optimize.fast_math`: the device's own approximations instead of the accurate functions.

They are a few instructions each, but wrong in the last digits, and sine and cosine for large arguments in all of them.
What the program's own data make of that is held against the tolerance; never proposed unless the user asks for it:
without the setting `advise` only says that they exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.formulas.candidate import (
    Advice,
    Candidate,
    LaunchFacts,
    Proposal,
    Refusal,
    Splice,
    apply_splices,
)
from hipscope.formulas.nodes import child_of
from hipscope.formulas.recipes.code import declared_type
from hipscope.formulas.syntax import KernelSyntax, arguments_of, called, names_in, text_of, walk

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "fast_math"

_FAST = {
    name: f"__{name}"
    for name in ("expf", "logf", "log2f", "log10f", "sinf", "cosf", "tanf", "powf", "exp10f")
}


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate with every function and float division replaced."""
    del finding, facts
    splices: list[Splice] = []
    for node in walk(kernel.body_node):
        if any(s.start <= node.start_byte < s.end for s in splices):
            continue
        name = called(node)
        if name is not None and name.removeprefix("std::") in _FAST:
            function = child_of(node, "function")
            splices.append(
                Splice(function.start_byte, function.end_byte, _FAST[name.removeprefix("std::")].encode())
            )
        elif _is_float_division(node, kernel):
            splices += _divided(node)
    if not splices:
        return Refusal(
            NAME, "the kernel calls no float function and divides no floats that could be approximated"
        )
    return [
        Candidate(
            recipe=NAME,
            title="Use the device's fast approximations",
            text=apply_splices(source, splices),
            expected="A few instructions instead of tens for each function and division. Results lose their last "
            "digits, and sine and cosine of large arguments more.",
            exact=False,
            assumes=("results within the tolerance are good enough for all inputs",),
        )
    ]


def advise(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """What `propose` would do, as advice: giving up precision is the user's choice."""
    answer = propose(source, kernel, finding, facts)
    if isinstance(answer, Refusal):
        return answer
    return Advice(
        NAME,
        "Multiply by `__builtin_amdgcn_rcpf(x)` instead of dividing by x, and use the fast forms of functions",
        # Not more of divisions: the headers' own `__fdividef` is often compiled to the accurate division.
        "results lose their last digits; with `optimize.fast_math = true` in hipscope.toml functions are tried",
    )


def _is_float_division(node: Node, kernel: KernelSyntax) -> bool:
    if node.type != "binary_expression" or text_of(child_of(node, "operator")) != "/":
        return False
    sides = [child_of(node, side) for side in ("left", "right")]
    types = {declared_type(name, kernel) for side in sides for name in names_in(side)}
    return "float" in types and "double" not in types and _is_float(sides[1], kernel)


def _is_float(node: Node, kernel: KernelSyntax) -> bool:
    """A float for sure: a float literal, a name of that type, or an expression with one outside of subscripts."""
    if node.type == "number_literal":
        return text_of(node).lower().endswith("f")
    inside = {n.id for listed in walk(node) if listed.type == "subscript_argument_list" for n in walk(listed)}
    return any(
        n.type == "identifier" and n.id not in inside and declared_type(text_of(n), kernel) == "float"
        for n in walk(node)
    )


def _divided(node: Node) -> list[Splice]:
    """`rsqrtf(x)` for `1.0f / sqrtf(x)`, else `__fdividef(a, b)` around the operands as they stand."""
    left, right = child_of(node, "left"), child_of(node, "right")
    one = left.type == "number_literal" and text_of(left) in ("1.0f", "1.f", "1f")
    if one and called(right) == "sqrtf" and len(arguments_of(right)) == 1:
        return [Splice(node.start_byte, child_of(right, "arguments").start_byte, b"rsqrtf")]
    operator = child_of(node, "operator")
    return [
        Splice(node.start_byte, node.start_byte, b"__fdividef("),
        Splice(left.end_byte, operator.end_byte, b","),
        Splice(node.end_byte, node.end_byte, b")"),
    ]
