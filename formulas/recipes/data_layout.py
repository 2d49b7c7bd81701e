"""memoryAccess: what only the host could mend, as advice: threads that each walk along a row, arrays of structures.

The lane model says how far apart the elements of neighbouring lanes lie, and those of one lane in its next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tree_sitter import Node

from hipscope.formulas.candidate import Advice, LaunchFacts, Proposal, Refusal, pointers_of
from hipscope.formulas.lanes import NotStatic, Wave, element_bytes, evaluate, wave_values
from hipscope.formulas.nodes import ancestors
from hipscope.formulas.syntax import KernelSyntax, Subscript, parse, text_of

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "data_layout"
_LOAD_BYTES = 16  # the most that a lane loads at once: structures up to it are read whole


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """Advice for the first access at the finding's lines, or anywhere, whose lanes are spread for a known reason."""
    if not facts.launches:
        return Refusal(NAME, "no captured launch tells the shape of the workgroups")
    elements = pointers_of(kernel, facts)
    accesses = [s for s in kernel.subscripts if s.base in elements and len(s.indices) == 1]
    if finding is not None:
        lines = range(finding.line, finding.end_line + 1)
        accesses.sort(key=lambda s: s.node.start_point.row + 1 not in lines)
    constants = parse(source).constants
    for access in accesses:
        size = element_bytes(elements[access.base], facts)
        try:
            wave = wave_values(
                kernel, facts.launches[0], constants, at=access.node, wave_size=facts.wave_size
            )
            apart = _apart(evaluate(access.indices[0], wave))
        except NotStatic:
            continue
        if apart is None:
            continue
        if apart == 1 and size is not None and size > _LOAD_BYTES and (field := _field(access)) is not None:
            return Advice(
                "structure_of_arrays",
                f"Keep `{field}` of all elements of `{access.base}` side by side (a structure of arrays): as it is, "
                f"the next lane reads {size} bytes further on",
                "how data lie in memory is decided in host code, which is never edited",
            )
        if apart > 1 and (counter := _unit_step(access, kernel, wave)) is not None:
            return Advice(
                "row_per_wave",
                f"Give each row of `{access.base}` to a wave, whose lanes take consecutive `{counter}`: as it is, each "
                f"thread walks along a row of its own, {apart:,} elements from its neighbour's",
                "it takes a launch with a wave for each row, launches stand in host code, which is never edited, and "
                "sums would be added up in another order",
            )
    return Refusal(NAME, "no access has lanes that walk along rows or that use one member of a structure")


def _apart(index: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int | None:
    """Elements from one lane to the next, if it is the same for most lanes."""
    if len(index) < 2:
        return None
    values, counts = np.unique(np.abs(np.diff(index)), return_counts=True)
    most = int(np.argmax(counts))
    return int(values[most]) if 2 * counts[most] > len(index) else None


def _field(access: Subscript) -> str | None:
    """The member that is used of the element, as in `p[i].x`."""
    outer = access.node.parent
    if outer is None or outer.type != "field_expression":
        return None
    member = outer.child_by_field_name("field")
    return text_of(member) if member is not None else None


def _unit_step(access: Subscript, kernel: KernelSyntax, wave: Wave) -> str | None:
    """The counter of a loop around the access that goes to the next element in each step."""
    for outer in ancestors(access.node, kernel.body_node):
        counter = _counter(outer) if outer.type == "for_statement" else None
        if counter is None or counter not in wave.values:
            continue
        later = Wave({**wave.values, counter: wave.values[counter] + 1}, wave.lanes)
        try:
            steps = evaluate(access.indices[0], later) - evaluate(access.indices[0], wave)
        except NotStatic:
            continue
        if (steps == 1).all():
            return counter
    return None


def _counter(loop: Node) -> str | None:
    """`i` of a loop that ends each step with `++i`, `i++` or `i += 1`."""
    update = loop.child_by_field_name("update")
    if update is None:
        return None
    if update.type == "update_expression" and "++" in text_of(update):
        target = update.child_by_field_name("argument")
    elif update.type == "assignment_expression" and text_of(update).replace(" ", "").endswith("+=1"):
        target = update.child_by_field_name("left")
    else:
        return None
    return text_of(target) if target is not None and target.type == "identifier" else None
