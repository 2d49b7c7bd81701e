"""precision and any hot kernel: a dear function in the place of a cheap one that is as accurate.

`powf(x, 2.0f)` is 190 instructions on an MI300X, as the device library knows nothing of its exponent: `x * x` is one,
and nearer to the true value. `1.0f / sqrtf(x)` rounds twice what `rsqrtf(x)` rounds once, in 25 instructions more;
`powf(2.0f, x)` is `exp2f(x)`. Results differ in the last place, so that they are held to the tolerances.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from hipscope.analysis.source.nodes import arguments_of, bare, called, child_of, squeeze, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import (
    kind_of,
    number_type,
    parse_with_types,
    roundings,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import helper_above, indentation, style_of
from hipscope.formulas.propose.splice import Splice

_Type = Literal["float", "double"]
_AS_ACCURATE = 3  # roundings


@dataclass(frozen=True)
class _Power:
    """How a power with a known exponent is written: a helper `name` with this `body`, or a function that there is."""

    name: str
    body: str = ""
    signed: bool = True  # also for arguments below 0
    square: bool = False  # whether the body also uses `y`, the square of `x`
    roundings: int = _AS_ACCURATE  # of the true value at most, by half a unit in the last place each


# By exponent. pow itself is wrong by up to 1 unit in the last place (HIP's table of its math API), each product by
# half of one: what has three roundings at most counts as accurate as that.
_POWERS: Mapping[float, _Power] = {
    2.0: _Power("squared", "x * x"),
    3.0: _Power("cubed", "x * x * x"),
    4.0: _Power("to_the_fourth", "(x * x) * (x * x)"),
    5.0: _Power("to_the_fifth", "y * y * x", square=True, roundings=4),
    6.0: _Power("to_the_sixth", "y * y * y", square=True, roundings=5),
    7.0: _Power("to_the_seventh", "y * y * y * x", square=True, roundings=6),
    8.0: _Power("to_the_eighth", "(y * y) * (y * y)", square=True, roundings=7),
    12.0: _Power("to_the_twelfth", "(y * y * y) * (y * y * y)", square=True, roundings=11),
    -1.0: _Power("inverse", "ONE / x"),
    -2.0: _Power("inverse_squared", "ONE / (x * x)"),
    0.5: _Power("sqrt", signed=False),
    -0.5: _Power("rsqrt", signed=False),
    1.5: _Power("to_three_halves", "x * SQRT(x)", signed=False),
    0.25: _Power("fourth_root", "SQRT(SQRT(x))", signed=False),
}
_BASES: Mapping[float, str] = {2.0: "exp2", 10.0: "exp10"}


@dataclass(frozen=True)
class _Cheaper:
    """One change: where, what is there then, the helper that it calls, and what must never be below 0."""

    node: Node
    splices: tuple[Splice, ...]
    helper: str = ""  # its definition
    positive: str | None = None
    roundings: int = _AS_ACCURATE


@rewrite("cheaper_calls", "Arithmetic", "precision", function=True, device=True, rank=53)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """`x * x` for `pow(x, 2)`, `exp2(x)` for `pow(2, x)`, and the like.

    Needs: the exponent or base is a literal.
    Assumes: no base below 0 where the exponent is no integer.
    Results: within tolerance.
    For: HeCBench flame, henry.
    """
    found = list(_cheaper(source, kernel, parse_with_types(source, facts)))
    if not found:
        return "the kernel itself calls no `pow` with a known exponent and divides by no square root"
    accurate = [f for f in found if f.roundings <= _AS_ACCURATE]
    chosen = [found, accurate] if 0 < len(accurate) < len(found) else [found]
    return [_candidate(source, kernel, some) for some in chosen]


def _candidate(source: bytes, kernel: KernelSyntax, found: Sequence[_Cheaper]) -> Candidate:
    helpers = "".join(dict.fromkeys(f.helper for f in found))
    splices = [s for f in found for s in f.splices]
    if helpers:
        splices.append(Splice(kernel.span.start, kernel.span.start, helpers.encode()))
    lines = ", ".join(str(n) for n in dict.fromkeys(f.node.start_point.row + 1 for f in found))
    positive = dict.fromkeys(f.positive for f in found if f.positive is not None)
    return edited(
        source,
        splices,
        title=f"{_titled(max(f.roundings for f in found))} (line {lines})",
        expected="A few instructions instead of dozens; results are not the same bit for bit.",
        exact=False,
        terms=roundings(kernel),
        assumes=tuple(f"`{name}` is never below 0" for name in positive),
    )


def _titled(roundings: int) -> str:
    if roundings <= _AS_ACCURATE:
        return "Cheaper functions that are as accurate"
    return f"Products for powers, off by at most {roundings / 2:g} units in the last place instead of 1"


def _cheaper(source: bytes, kernel: KernelSyntax, file: FileSyntax) -> Iterator[_Cheaper]:
    """What can be replaced, none within another."""
    end = 0
    for node in walk(kernel.body_node):
        if node.start_byte < end:
            continue
        change = _of_power(source, node, kernel, file) or _of_root(node, kernel, file)
        if change is not None:
            end = max(s.end for s in change.splices)
            yield change


def _of_power(source: bytes, node: Node, kernel: KernelSyntax, file: FileSyntax) -> _Cheaper | None:
    """`pow(x, 2)` and the like as a helper's call, `pow(2, x)` as `exp2(x)`."""
    name, given = (called(node) or "").removeprefix("std::"), arguments_of(node)
    kind = number_type(node, kernel, file)
    if name not in ("pow", "powf", "powi", "powif") or len(given) != 2 or kind is None:
        return None
    (base, exponent), function = given, child_of(node, "function")
    power, exponential = _POWERS.get(_value(exponent) or 0.0), _BASES.get(_value(base) or 0.0)
    # A helper's parameter converts what it is given; a function of the library has an overload for it.
    if power is not None and (power.body or number_type(base, kernel, file) == kind):
        helper, called_name = _helper(source, kernel, power, kind)
        own = _parentheses(base)
        splices = (
            Splice(function.start_byte, function.end_byte, called_name.encode()),
            Splice(base.start_byte, base.start_byte + own, b""),
            Splice(base.end_byte - own, exponent.end_byte, b""),
        )
        positive = None if power.signed else squeeze(text_of(base))
        return _Cheaper(node, splices, helper, positive, power.roundings)
    if exponential is not None and (
        number_type(exponent, kernel, file) == kind or kind_of(exponent, kernel, file) == "integer"
    ):
        renamed = Splice(function.start_byte, function.end_byte, f"{exponential}{_suffix(kind)}".encode())
        return _Cheaper(node, (renamed, Splice(base.start_byte, exponent.start_byte, b"")))
    return None


def _parentheses(argument: Node) -> int:
    """How many parentheses of its own an argument has on either side that the call's make superfluous."""
    plain = argument.type == "parenthesized_expression" and len(argument.named_children) == 1
    return int(plain and argument.named_children[0].type != "comma_expression")


def _of_root(node: Node, kernel: KernelSyntax, file: FileSyntax) -> _Cheaper | None:
    """`a / sqrt(x)` as `a * rsqrt(x)`."""
    wanted = {"binary_expression": "/", "assignment_expression": "/="}.get(node.type)
    if wanted is None or text_of(child_of(node, "operator")) != wanted:
        return None
    left, right, operator = (child_of(node, part) for part in ("left", "right", "operator"))
    root = bare(right)
    name = (called(root) or "").removeprefix("std::")
    kind = number_type(root, kernel, file)
    quotient = number_type(node if wanted == "/" else left, kernel, file)
    if name not in ("sqrt", "sqrtf") or kind is None or quotient != kind:
        return None
    function = child_of(root, "function")
    reciprocal = Splice(function.start_byte, function.end_byte, f"rsqrt{_suffix(kind)}".encode())
    if wanted == "/" and _value(left) == 1.0:
        return _Cheaper(node, (Splice(left.start_byte, right.start_byte, b""), reciprocal))
    times = Splice(operator.start_byte, operator.end_byte, wanted.replace("/", "*").encode())
    return _Cheaper(node, (times, reciprocal))


def _helper(source: bytes, kernel: KernelSyntax, power: _Power, kind: _Type) -> tuple[str, str]:
    """The helper's definition and what is called; no definition of a function that there is, or that stands above."""
    if not power.body:
        return "", f"{power.name}{_suffix(kind)}"
    style = style_of(source, kernel)
    head, *rest = power.name.split("_")
    name = head + "".join(part.capitalize() for part in rest) if style.camel_case else power.name
    body = power.body.replace("ONE", "1.0f" if kind == "float" else "1.0").replace(
        "SQRT", f"sqrt{_suffix(kind)}"
    )
    square = f"const {kind} y = x * x; " if power.square else ""
    indent = indentation(source, kernel.span.start)

    def define(name: str) -> str:
        line = f"static __device__ {kind} {name}({kind} x) {{ {square}return {body}; }}"
        return f"{line}{style.newline}{style.newline}{indent}"

    name, definition = helper_above(source, kernel, name, define)
    return definition, name


def _suffix(kind: _Type) -> str:
    return "f" if kind == "float" else ""


def _value(node: Node) -> float | None:
    """The value of a literal with its sign and casts; None of anything else."""
    text = re.sub(r"[\s()]|static_cast<(?:float|double)>|float\b|double\b", "", text_of(node))
    try:
        return float(text.rstrip("fFlL")) if re.fullmatch(r"-?[\d.]+(?:[eE][+-]?\d+)?[fFlL]?", text) else None
    except ValueError:
        return None
