"""precision, only with `optimize.fast_math`: the device's own approximations instead of the accurate functions.

They are a few instructions each, but wrong in the last digits, and sine and cosine for large arguments in all of them.
What the program's own data make of that is held against the tolerance; never proposed unless the user asks for it.
"""

from __future__ import annotations

from tree_sitter import Node

from hipscope.analysis.source.nodes import arguments_of, called, child_of, joins, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import kind_of, parse_with_types
from hipscope.formulas.propose.splice import Splice

_FAST = {
    name: f"__{name}"
    for name in ("expf", "logf", "log2f", "log10f", "sinf", "cosf", "tanf", "powf", "exp10f")
}


@rewrite("fast_math", "Arithmetic", "precision", function=True, device=True, approximate=True, rank=90)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """`__expf`, `__sinf`, `rsqrtf`, ...; only with `optimize.fast_math = true`.

    Needs: float functions and divisions.
    Results: within tolerance only.
    """
    found = _replacements(source, kernel, facts)
    if not found:
        return "the kernel itself calls no float function and divides no floats that could be approximated"
    return edited(
        source,
        found,
        title="Use the device's fast approximations",
        expected=(
            "A few instructions instead of ten and more for each function and division. Results lose their "
            "last digits, sine and cosine of large arguments more, and a quotient by more than 1e38 is 0."
        ),
        exact=False,
        assumes=("results within the tolerance are good enough for all inputs",),
    )


def _replacements(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> list[Splice]:
    file = parse_with_types(source, facts)
    found: list[Splice] = []
    for node in walk(kernel.body_node):
        if any(s.start <= node.start_byte < s.end for s in found):
            continue
        fast = _fast_form(node, kernel, file)
        if fast is not None:
            function = child_of(node, "function")
            found.append(Splice(function.start_byte, function.end_byte, fast.encode()))
        elif _is_float_division(node, kernel, file):
            found += _divided(node, kernel, file)
    return found


def _fast_form(node: Node, kernel: KernelSyntax, file: FileSyntax) -> str | None:
    """What is called instead of `expf`, and of `exp` where it is C++'s overload for floats; None of anything else."""
    name = (called(node) or "").removeprefix("std::")
    if name in _FAST:
        return _FAST[name]
    kinds = [kind_of(argument, kernel, file) for argument in arguments_of(node)]
    return _FAST.get(f"{name}f") if kinds and set(kinds) == {"float"} else None


def _is_float_division(node: Node, kernel: KernelSyntax, file: FileSyntax) -> bool:
    if not joins(node, "/"):
        return False
    kinds = [kind_of(child_of(node, side), kernel, file) for side in ("left", "right")]
    return None not in kinds and "float" in kinds


def _divided(node: Node, kernel: KernelSyntax, file: FileSyntax) -> list[Splice]:
    """`rsqrtf(x)` for `1.0f / sqrtf(x)`, else the quotient by the device's own reciprocal.

    `__fdividef` would be the portable word, but ROCm's headers make a plain, accurate division of it.
    """
    left, right = child_of(node, "left"), child_of(node, "right")
    one = left.type == "number_literal" and text_of(left) in ("1.0f", "1.f", "1f", "1")
    if one and _is_float_root(right, kernel, file):
        return [Splice(node.start_byte, child_of(right, "arguments").start_byte, b"rsqrtf")]
    operator = child_of(node, "operator")
    grouped = right.type == "parenthesized_expression"
    head = "" if one else "* "
    start = node.start_byte if one else operator.start_byte
    splices = [
        Splice(start, right.start_byte, f"{head}__builtin_amdgcn_rcpf{'' if grouped else '('}".encode())
    ]
    return splices if grouped else [*splices, Splice(node.end_byte, node.end_byte, b")")]


def _is_float_root(node: Node, kernel: KernelSyntax, file: FileSyntax) -> bool:
    name, arguments = (called(node) or "").removeprefix("std::"), arguments_of(node)
    if len(arguments) != 1:
        return False
    return name == "sqrtf" or (name == "sqrt" and kind_of(node, kernel, file) == "float")
