"""precision: float divisions by something that stays the same, so that multiplying with its reciprocal does.

A divisor that no step of a loop changes is inverted once, before the loop, one by which statements after one another
divide (the length of a vector) before the first of them; the reciprocal of a constant is computed by the compiler.

A quotient is then rounded twice, which makes it wrong by up to 1.5 units in the last place instead of 0.5: results are
held to the tolerances, not to equal bits. A divisor whose reciprocal is no normal number (in float below 1e-38 or above
1e38 in size) would lose more; that none is, is assumed, and shown.
"""

from __future__ import annotations

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, changes, unsteady_names
from hipscope.analysis.source.nodes import child_of, loops_around, names_in, squeeze, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import (
    is_plain,
    kind_of,
    number_type,
    parse_with_types,
    roundings,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    before_directives,
    fresh_name,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.rules.shared.steady_values import same_value, statement_of, steady_names
from hipscope.formulas.propose.splice import Splice

_WITH_MEMBERS = {
    "field_expression", "field_identifier", "identifier", "number_literal", "binary_expression",
    "parenthesized_expression",
}  # fmt: skip
_ONE = {"float": "1.0f", "double": "1.0"}
_TOO_SMALL_OR_LARGE = {"float": "below 1e-38 or above 1e38", "double": "below 1e-308 or above 1e308"}


@rewrite("reciprocal", "Arithmetic", "precision", function=True, rank=55)
def propose(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, finding: Finding | None = None
) -> Answer:
    """Multiplies with a reciprocal that is computed once.

    Needs: divisions in float or double.
    Assumes: divisors between 1e-38 and 1e38 in size (double: 1e-308, 1e308).
    Results: within tolerance.
    """
    everywhere = _without_divisions(source, kernel, facts, None)
    if finding is None or isinstance(everywhere, str):
        return everywhere
    lines = range(finding.line, max(finding.line, finding.end_line) + 1)
    own = _without_divisions(source, kernel, facts, lines)
    if isinstance(own, str) or own.text == everywhere.text:
        return everywhere
    return [own, everywhere]


def _without_divisions(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, lines: range | None
) -> Candidate | str:
    """The candidate for the divisions that begin on these lines, None for all."""
    file = parse_with_types(source, facts)
    style = style_of(source, kernel)
    splices: list[Splice] = []
    hoisted: dict[tuple[int, str, str], str] = {}
    reasons: list[str] = []
    covered: list[tuple[int, int]] = []
    divisions = {
        node: kind
        for node in walk(kernel.body_node)
        if (lines is None or node.start_point.row + 1 in lines)
        and (kind := _type_of_division(node, kernel, file)) is not None
    }
    shared = _shared(source, list(divisions), kernel, file)
    given = facts.types.steady if source == facts.types.text else frozenset[str]()
    steady = given - {change.name for change in changes(kernel.body_node) if change.declared}
    for node, kind in divisions.items():
        if any(start <= node.start_byte and node.end_byte <= end for start, end in covered):
            continue
        right, operator = child_of(node, "right"), child_of(node, "operator")
        sign = "*=" if text_of(operator) == "/=" else "*"
        divisor = squeeze(text_of(right))
        where = f"`{divisor}` on line {node.start_point.row + 1}"
        if _is_constant(right, kernel, file):
            if _is_power_of_two(right, file):
                reasons.append(f"{where} is a power of two, which the compiler inverts itself")
                continue
            factor = f"({_ONE[kind]} / {divisor})"
        else:
            anchor = _anchor(source, right, node, kernel, steady)
            if isinstance(anchor, str):
                anchor = shared.get(node.id, anchor)
            if isinstance(anchor, str):
                reasons.append(f"{where} {anchor}")
                continue
            key = *anchor[:1], divisor, kind
            if key not in hoisted:
                name = fresh_name("inverse", style, hoisted.values())
                start, indent = anchor
                line = f"{indent}const {kind} {name} = {_ONE[kind]} / {divisor};{style.newline}"
                splices.append(Splice(start, start, line.encode()))
                hoisted[key] = name
            factor = hoisted[key]
        splices.append(Splice(operator.start_byte, right.end_byte, f"{sign} {factor}".encode()))
        covered.append((right.start_byte, right.end_byte))
    if not covered:
        return "; ".join(reasons) if reasons else "the kernel itself divides no floats"
    return edited(
        source,
        splices,
        title="Multiply with the reciprocal of what stays the same",
        expected=(
            "One division per thread, or none, instead of one in every step; a quotient is rounded twice, so "
            "results are not the same bit for bit."
        ),
        exact=False,
        terms=roundings(kernel),
        assumes=(
            tuple(
                dict.fromkeys(
                    f"`{divisor}` is never {_TOO_SMALL_OR_LARGE[kind]} in size"
                    for _, divisor, kind in hoisted
                )
            )
        ),
    )


def _type_of_division(node: Node, kernel: KernelSyntax, file: FileSyntax) -> str | None:
    """`float` or `double` of `a / b` and `a /= b`: that of the quotient, where both sides are certainly numbers."""
    wanted = {"binary_expression": "/", "assignment_expression": "/="}.get(node.type)
    if wanted is None or text_of(child_of(node, "operator")) != wanted:
        return None
    left, right = child_of(node, "left"), child_of(node, "right")
    if number_type(node if wanted == "/" else left, kernel, file) == "double":
        return "double" if _is_number(left, kernel, file) and _is_number(right, kernel, file) else None
    kinds = [kind_of(side, kernel, file) for side in (left, right)]
    return "float" if None not in kinds and kinds[0] == "float" else None


def _is_number(node: Node, kernel: KernelSyntax, file: FileSyntax) -> bool:
    return number_type(node, kernel, file) is not None or kind_of(node, kernel, file) is not None


def _is_constant(node: Node, kernel: KernelSyntax, file: FileSyntax) -> bool:
    inside = {p.name for p in kernel.parameters} | changed_names(kernel.body_node)
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


def _anchor(
    source: bytes, divisor: Node, division: Node, kernel: KernelSyntax, steady_arguments: frozenset[str]
) -> tuple[int, str] | str:
    """Where the reciprocal can be computed: before the outermost loop that does not change the divisor.

    Gives the start of a line and its indentation; a str says why there is no such place.
    """
    members = _members(divisor)
    if not is_plain(divisor) and not (members and members <= steady_arguments):
        return "may change" if members else "is read from memory or comes from a call"
    names = names_in(divisor) - members
    if names & unsteady_names(kernel):
        return "is another name of something that a store may change"
    loops = loops_around(division, kernel.body_node)
    if not loops:
        return "is divided by only once per thread"
    steady: Node | None = None
    for loop in loops:
        if changed_names(loop) & names:
            break
        steady = loop
    if steady is None:
        return "changes in every step"
    start = line_start(source, steady.start_byte)
    at_line = not source[start : steady.start_byte].strip()
    if steady.parent is None or steady.parent.type != "compound_statement" or not at_line:
        return "stays the same in a loop that stands on a line with other code"
    return before_directives(source, steady.start_byte), indentation(source, start)


def _members(divisor: Node) -> frozenset[str]:
    """Of which structures it takes members, as in `grid.cell.dx`; none where it is made of anything else."""
    nodes = [n for n in walk(divisor) if n.is_named]
    if {n.type for n in nodes} - _WITH_MEMBERS or "->" in text_of(divisor):
        return frozenset()
    objects = (child_of(n, "argument") for n in nodes if n.type == "field_expression")
    return frozenset(text_of(o) for o in objects if o.type == "identifier")


def _shared(
    source: bytes, divisions: list[Node], kernel: KernelSyntax, file: FileSyntax
) -> dict[int, tuple[int, str]]:
    """Where the reciprocal of a divisor can be computed by which several divisions of one list of statements divide.

    By division, by its id: the start of the first statement's line and its indentation.
    """
    steady = steady_names(kernel, file)
    left = [(node, statement) for node in divisions if (statement := statement_of(node, kernel)) is not None]
    found: dict[int, tuple[int, str]] = {}
    while left:
        (first, statement), *left = left
        divisor, start = child_of(first, "right"), line_start(source, statement.start_byte)
        group = [
            node
            for node, other in left
            if squeeze(text_of(child_of(node, "right"))) == squeeze(text_of(divisor))
            and same_value(divisor, child_of(node, "right"), (statement, other), steady)
        ]
        in_body = statement.parent is not None and statement.parent.type == "compound_statement"
        if not group or not in_body or source[start : statement.start_byte].strip():
            continue
        place = before_directives(source, statement.start_byte), indentation(source, start)
        found |= {node.id: place for node in (first, *group)}
        left = [(node, other) for node, other in left if node not in group]
    return found
