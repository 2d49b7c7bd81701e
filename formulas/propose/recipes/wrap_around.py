"""Any hot kernel: the remainder of an index next to another one, tens of instructions, becomes a comparison.

At a periodic boundary `(x + 1) % width` is `x + 1` but for the last x. `x + 1 < width ? x + 1 : (x + 1) % width` is
the same for every value that is not negative, and a wave divides only if one of its lanes is at the boundary. Where x
is a remainder of that width itself, no division is left: `x + 1 < width ? x + 1 : 0`, `x > 0 ? x - 1 : width - 1`.
Needs an index that is unsigned, or not negative as recorded. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.division import is_division, operand_types
from hipscope.formulas.propose.recipes.shared.edit_helpers import changed_names, declared_type
from hipscope.formulas.propose.recipes.shared.integer_ranges import Ranges
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "wrap_around"

_LIMIT = 2**31
_UNSIGNED = frozenset({"unsigned", "unsigned int", "uint32_t", "unsigned long", "size_t", "uint64_t"})
_NAME = r"[A-Za-z_]\w*"


@dataclass(frozen=True)
class _Neighbour:
    """`sum % size`: the text of the sum, `place` and whether it is the place before it (`size + place - 1`)."""

    node: Node
    sum: str
    size: str
    place: str
    before: bool


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate in which every remainder of a neighbour's index is a comparison."""
    del finding
    file = parse(source)
    nodes = [node for node in walk(kernel.body_node) if is_division(node, kernel, file, facts)]
    found = [n for node in nodes if (n := _neighbour(node)) is not None]
    if not found:
        return Refusal(NAME, "the kernel takes no remainder of an index next to another one")
    ranges = Ranges(kernel, file, facts)
    texts = {n: _text(n, kernel, ranges, facts) for n in found}
    splices = [Splice(n.node.start_byte, n.node.end_byte, text.encode()) for n, text in texts.items() if text]
    if not splices:
        said = ", ".join(f"`{text_of(n.node)}`" for n in found)
        return Refusal(NAME, f"what {said} divide is not known to be non-negative and below 2^31")
    used = ", ".join(f"`{name}`" for name in sorted(ranges.used))
    return [
        Candidate(
            recipe=NAME,
            title="Compare instead of dividing for an index that wraps around",
            text=apply_splices(source, splices),
            expected="Tens of instructions fewer for each index but those at the boundary. Results stay the same bit "
            "for bit.",
            assumes=(f"{used} and the indices stay below 2^31 and are never negative, as recorded",)
            if used
            else (),
        )
    ]


def _neighbour(node: Node) -> _Neighbour | None:
    """A remainder of a name and a step, or of the size, a name and -1."""
    if text_of(child_of(node, "operator")) != "%" or child_of(node, "right").type != "identifier":
        return None
    left, size = child_of(node, "left"), text_of(child_of(node, "right"))
    if left.type != "parenthesized_expression":
        return None
    inner = text_of(left)[1:-1].strip()
    tight = re.sub(r"\s", "", inner)
    step = re.fullmatch(rf"({_NAME})\+(?:{_NAME}|\d+)[uU]?|\d+[uU]?\+({_NAME})", tight)
    if step is not None and not re.search(rf"\b{size}\b", tight):
        return _Neighbour(node, inner, size, step[1] or step[2], before=False)
    before = re.fullmatch(rf"{size}\+({_NAME})-1|({_NAME})\+{size}-1|({_NAME})-1\+{size}", tight)
    if before is None:
        return None
    return _Neighbour(node, inner, size, before[1] or before[2] or before[3], before=True)


def _text(neighbour: _Neighbour, kernel: KernelSyntax, ranges: Ranges, facts: LaunchFacts) -> str | None:
    """The comparison; None where the index may be negative or too large for it."""
    left = child_of(neighbour.node, "left")
    types = operand_types(left, kernel, facts) | {declared_type(neighbour.size, kernel) or ""}
    unsigned = bool(types & _UNSIGNED) and types <= _UNSIGNED | {"int"}
    known = ranges.of(left)
    bounded = known is not None and known[0] >= 0 and known[1] < _LIMIT
    total, size, place = neighbour.sum, neighbour.size, neighbour.place
    within = bounded and _is_remainder(place, size, kernel)
    if not bounded and (neighbour.before or not unsigned):
        return None
    if neighbour.before:
        text = f"{place} > 0 ? {place} - 1 : {size} - 1"
        if not within:
            text = f"{place} > 0 && {place} <= {size} ? {place} - 1 : ({total}) % {size}"
    elif within and re.sub(r"[\suU]", "", total) in (f"{place}+1", f"1+{place}"):
        text = f"{total} < {size} ? {total} : 0"
    else:
        text = f"{total} < {size} ? {total} : ({total}) % {size}"
    return text if _stands_alone(neighbour.node) else f"({text})"


def _is_remainder(place: str, size: str, kernel: KernelSyntax) -> bool:
    """Whether a name that never changes was declared as something `% size`, and the size stays, too."""
    changed = changed_names(kernel)
    values = [
        child_of(node, "value")
        for node in walk(kernel.body_node)
        if node.type == "init_declarator" and text_of(child_of(node, "declarator")) == place
    ]
    if len(values) != 1 or {place, size} & changed or values[0].type != "binary_expression":
        return False
    return text_of(child_of(values[0], "operator")) == "%" and text_of(child_of(values[0], "right")) == size


def _stands_alone(node: Node) -> bool:
    """Whether the expression is a whole value, so that a `?` needs no brackets."""
    parent = node.parent
    if parent is None or parent.type in ("init_declarator", "argument_list", "parenthesized_expression"):
        return True
    return parent.type == "assignment_expression" and child_of(parent, "right") == node
