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
from hipscope.formulas.recipes.arithmetic import kind_of
from hipscope.formulas.syntax import FileSyntax, KernelSyntax, arguments_of, called, parse, text_of, walk

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
    file = parse(source)
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
        elif _is_float_division(node, kernel, file):
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
            expected="A few instructions instead of ten and more for each function and division. Results lose their "
            "last digits, sine and cosine of large arguments more, and a quotient by more than 1e38 is 0.",
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
        "results lose their last digits; `optimize.fast_math = true` in hipscope.toml allows that",
    )


def _is_float_division(node: Node, kernel: KernelSyntax, file: FileSyntax) -> bool:
    if node.type != "binary_expression" or text_of(child_of(node, "operator")) != "/":
        return False
    kinds = [kind_of(child_of(node, side), kernel, file) for side in ("left", "right")]
    return None not in kinds and "float" in kinds


def _divided(node: Node) -> list[Splice]:
    """`rsqrtf(x)` for `1.0f / sqrtf(x)`, else the quotient by the device's own reciprocal.

    `__fdividef` would be the portable word, but ROCm's headers make a plain, accurate division of it.
    """
    left, right = child_of(node, "left"), child_of(node, "right")
    one = left.type == "number_literal" and text_of(left) in ("1.0f", "1.f", "1f")
    if one and called(right) == "sqrtf" and len(arguments_of(right)) == 1:
        return [Splice(node.start_byte, child_of(right, "arguments").start_byte, b"rsqrtf")]
    operator = child_of(node, "operator")
    grouped = right.type == "parenthesized_expression"
    head = "" if one else "* "
    start = node.start_byte if one else operator.start_byte
    splices = [
        Splice(start, right.start_byte, f"{head}__builtin_amdgcn_rcpf{'' if grouped else '('}".encode())
    ]
    return splices if grouped else [*splices, Splice(node.end_byte, node.end_byte, b")")]
