"""precision and any hot kernel: `sin` and `cos` of one argument by one `sincos`, which reduces the argument once.

Both functions begin by bringing their argument into an eighth of the circle, which is most of their work, and end with
the same two polynomials. The compiler does not join two calls, as they branch for large arguments. The device library
makes all three functions of the same steps, so that results stay the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import arguments_of, called, squeeze, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import (
    number_type,
    parse_with_types,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    fresh_name,
    helper_above,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.rules.shared.steady_values import same_value, statement_of, steady_names
from hipscope.formulas.propose.splice import Splice

_FUNCTIONS = {
    f"{name}{suffix}": (name, f"{both}{suffix}")
    for name, both in (("sin", "sincos"), ("cos", "sincos"), ("sinpi", "sincospi"), ("cospi", "sincospi"))
    for suffix in ("", "f")
}
# In a template the type is not known: overloads choose the function.
_HELPER = (
    "[[maybe_unused]] static __device__ void NAME(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }",
    "[[maybe_unused]] static __device__ void NAME(double x, double* sine, double* cosine) { sincos(x, sine, cosine); }",
)


@dataclass(frozen=True)
class _Call:
    """One `sin` or `cos`: which, of what, the function that gives both, and the statement that it is in.

    `type` is that of the value; None in a template, for which there are overloads of a helper.
    """

    node: Node
    family: str
    sine: bool
    argument: Node
    type: str | None
    statement: Node

    @property
    def key(self) -> tuple[str, str | None, str]:
        return self.family, self.type, squeeze(text_of(self.argument))


@rewrite("sincos", "Arithmetic", "precision", function=True, rank=52)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """One `sincos` for `sin` and `cos` of one value.

    Needs: statements of one list, between which the argument does not change; not in `__host__` functions.
    For: HeCBench geodesic.
    """
    file = parse_with_types(source, facts)
    groups = list(_groups(list(_calls(kernel, file)), steady_names(kernel, file)))
    if not groups:
        return "the kernel itself computes no sine and cosine of the same value side by side"
    style = style_of(source, kernel)
    splices: list[Splice] = []
    given: list[str] = []
    helper = ""
    if any(group[0].type is None for group in groups):
        helper, definition = _helper(source, kernel, style)
        splices.append(Splice(kernel.span.start, kernel.span.start, definition.encode()))
    for group in groups:
        names = tuple(fresh_name(name, style, given) for name in _names(group[0].argument))
        given += names
        splices += _joined(source, group, names, style, helper)
    lines = ", ".join(str(n) for n in dict.fromkeys(g[0].node.start_point.row + 1 for g in groups))
    return edited(
        source,
        splices,
        title=f"Compute sine and cosine together (line {lines})",
        expected=(
            "The argument is reduced once for both, which is most of their work. Both values are those that "
            "`sin` and `cos` give, so results stay the same bit for bit."
        ),
    )


def _calls(kernel: KernelSyntax, file: FileSyntax) -> Iterator[_Call]:
    for node in walk(kernel.body_node):
        name = (called(node) or "").removeprefix("std::")
        if name not in _FUNCTIONS or len(arguments_of(node)) != 1:
            continue
        which, both = _FUNCTIONS[name]
        kind, statement = number_type(node, kernel, file), statement_of(node, kernel)
        if statement is None or (kind is None and name not in ("sin", "cos")):
            continue
        family = both.removesuffix("f") + ("f" if kind == "float" else "")
        yield _Call(node, family, which.startswith("sin"), arguments_of(node)[0], kind, statement)


def _groups(calls: list[_Call], steady: frozenset[str]) -> Iterator[list[_Call]]:
    """Calls with one argument in one list of statements that have the same value of it; sine and cosine are there."""
    left = list(calls)
    while left:
        first = left.pop(0)
        group = [first, *(c for c in left if c.key == first.key and _same(first, c, steady))]
        if len({c.sine for c in group}) == 2:
            left = [c for c in left if c not in group]
            yield group


def _same(first: _Call, other: _Call, steady: frozenset[str]) -> bool:
    return same_value(first.argument, other.argument, (first.statement, other.statement), steady)


def _names(argument: Node) -> tuple[str, str]:
    if argument.type == "identifier":
        return f"sin_{text_of(argument)}", f"cos_{text_of(argument)}"
    return "sine", "cosine"


def _helper(source: bytes, kernel: KernelSyntax, style: Style) -> tuple[str, str]:
    """The name of the helper and its definition; no definition where it stands above."""
    indent = indentation(source, kernel.span.start)

    def define(name: str) -> str:
        lines = (line.replace("NAME", name) for line in _HELPER)
        return "".join(f"{line}{style.newline}{indent}" for line in lines) + f"{style.newline}{indent}"

    return helper_above(source, kernel, "sineAndCosine" if style.camel_case else "sine_and_cosine", define)


def _joined(
    source: bytes, group: list[_Call], names: tuple[str, ...], style: Style, helper: str
) -> Iterator[Splice]:
    """The call of both before the first statement, and the variables in the place of the calls."""
    first = group[0]
    start = first.statement.start_byte
    indent = indentation(source, line_start(source, start))
    sine, cosine = names
    kind = first.type or f"decltype({text_of(first.node)})"
    function = first.family if first.type is not None else helper
    lines = (f"{kind} {sine}, {cosine};", f"{function}({text_of(first.argument)}, &{sine}, &{cosine});")
    yield Splice(start, start, "".join(f"{line}{style.newline}{indent}" for line in lines).encode())
    for call in group:
        yield Splice(call.node.start_byte, call.node.end_byte, (sine if call.sine else cosine).encode())
