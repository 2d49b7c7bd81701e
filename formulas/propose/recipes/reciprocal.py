"""precision: float divisions by something that stays the same, so that multiplying with its reciprocal does.

A divisor that no step of a loop changes is inverted once, before the loop; the reciprocal of a constant is computed by
the compiler. A quotient is then rounded twice, which makes it wrong by up to 1.5 units in the last place instead of
0.5: results are held to the tolerances, not to equal bits. A divisor whose reciprocal is no normal float (below 1e-38
or above 1e38 in size) would lose more; that none is, is assumed, and shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, names_in, squeeze, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.arithmetic_types import (
    changed_within,
    is_plain,
    kind_of,
    loops_around,
    other_names,
    parse_with_types,
    roundings,
)
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
    before_directives,
    fresh_name,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "reciprocal"


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """A candidate in which the divisions on the finding's lines are multiplications, then one in which all are."""
    everywhere = _without_divisions(source, kernel, facts, None)
    if finding is None or isinstance(everywhere, Refusal):
        return everywhere if isinstance(everywhere, Refusal) else [everywhere]
    own = _without_divisions(
        source, kernel, facts, range(finding.line, max(finding.line, finding.end_line) + 1)
    )
    if isinstance(own, Refusal) or own.text == everywhere.text:
        return [everywhere]
    return [own, everywhere]


def _without_divisions(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, lines: range | None
) -> Candidate | Refusal:
    """The candidate for the divisions that begin on these lines, None for all."""
    file = parse_with_types(source, facts)
    style = style_of(source, kernel)
    splices: list[Splice] = []
    hoisted: dict[tuple[int, str], str] = {}
    reasons: list[str] = []
    covered: list[tuple[int, int]] = []
    for node in walk(kernel.body_node):
        if lines is not None and node.start_point.row + 1 not in lines:
            continue
        if not _is_float_division(node, kernel, file) or _within(node, covered):
            continue
        right, operator = child_of(node, "right"), child_of(node, "operator")
        sign = "*=" if text_of(operator) == "/=" else "*"
        divisor = squeeze(text_of(right))
        where = f"`{divisor}` on line {node.start_point.row + 1}"
        if _is_constant(right, kernel, file):
            if _is_power_of_two(right, file):
                reasons.append(f"{where} is a power of two, which the compiler inverts itself")
                continue
            factor = f"(1.0f / {divisor})"
        else:
            anchor = _anchor(source, right, node, kernel)
            if isinstance(anchor, str):
                reasons.append(f"{where} {anchor}")
                continue
            key = anchor[0], divisor
            if key not in hoisted:
                name = fresh_name("inverse", style, hoisted.values())
                start, indent = anchor
                line = f"{indent}const float {name} = 1.0f / {divisor};{style.newline}"
                splices.append(Splice(start, start, line.encode()))
                hoisted[key] = name
            factor = hoisted[key]
        splices.append(Splice(operator.start_byte, right.end_byte, f"{sign} {factor}".encode()))
        covered.append((right.start_byte, right.end_byte))
    if not covered:
        return Refusal(NAME, "; ".join(reasons) if reasons else "the kernel divides no floats")
    divisors = ", ".join(f"`{divisor}`" for divisor in dict.fromkeys(d for _, d in hoisted))
    return Candidate(
        recipe=NAME,
        title="Multiply with the reciprocal of what stays the same",
        text=apply_splices(source, splices),
        expected="One division per thread, or none, instead of one in every step; a quotient is rounded twice, so "
        "results are not the same bit for bit.",
        exact=False,
        terms=roundings(kernel),
        assumes=(f"{divisors} is never below 1e-38 or above 1e38 in size",) if divisors else (),
    )


def _is_float_division(node: Node, kernel: KernelSyntax, file: FileSyntax) -> bool:
    """`a / b` or `a /= b` in float: one side is a float for sure, the other a float or an integer."""
    wanted = {"binary_expression": "/", "assignment_expression": "/="}.get(node.type)
    if wanted is None or text_of(child_of(node, "operator")) != wanted:
        return False
    left, right = (kind_of(child_of(node, side), kernel, file) for side in ("left", "right"))
    return None not in (left, right) and left == "float"


def _is_constant(node: Node, kernel: KernelSyntax, file: FileSyntax) -> bool:
    inside = {p.name for p in kernel.parameters} | changed_within(kernel.body_node)
    return is_plain(node) and not _built_in(node) and names_in(node) <= set(file.constants) - inside


def _built_in(node: Node) -> bool:
    return any(n.type == "field_expression" for n in walk(node))


def _is_power_of_two(node: Node, file: FileSyntax) -> bool:
    value = file.constants.get(text_of(node), node)
    try:
        number = abs(float(text_of(value).lower().rstrip("ful")))
    except ValueError:
        return False
    return number > 0 and float.hex(number).startswith("0x1.0000000000000p")


def _anchor(source: bytes, divisor: Node, division: Node, kernel: KernelSyntax) -> tuple[int, str] | str:
    """Where the reciprocal can be computed: before the outermost loop that does not change the divisor.

    Gives the start of a line and its indentation; a str says why there is no such place.
    """
    if not is_plain(divisor):
        return "is read from memory or comes from a call"
    if names_in(divisor) & other_names(kernel):
        return "is another name of something that a store may change"
    loops = loops_around(division, kernel)
    if not loops:
        return "is divided by only once per thread"
    steady: Node | None = None
    for loop in loops:
        if changed_within(loop) & names_in(divisor):
            break
        steady = loop
    if steady is None:
        return "changes in every step"
    start = line_start(source, steady.start_byte)
    at_line = not source[start : steady.start_byte].strip()
    if steady.parent is None or steady.parent.type != "compound_statement" or not at_line:
        return "stays the same in a loop that stands on a line with other code"
    return before_directives(source, steady.start_byte), indentation(source, start)


def _within(node: Node, covered: list[tuple[int, int]]) -> bool:
    return any(start <= node.start_byte and node.end_byte <= end for start, end in covered)
