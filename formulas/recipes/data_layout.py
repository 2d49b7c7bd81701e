"""memoryAccess: what only the host could mend, as advice: threads that each walk along a row, arrays of structures.

The lane model says how far apart the elements of neighbouring lanes lie, and those of one lane in its next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tree_sitter import Node

from hipscope.formulas.candidate import Advice, LaunchFacts, Proposal, Refusal, pointers_of
from hipscope.formulas.lanes import NotStatic, Wave, element_bytes, evaluate, wave_values
from hipscope.formulas.nodes import ancestors, declared_name
from hipscope.formulas.syntax import KernelSyntax, Subscript, parse, text_of, walk

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "data_layout"
_NAMES = ("identifier", "field_expression")
_LOAD_BYTES = 16  # the most that a lane loads at once: structures up to it are read whole


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """Advice for the first access at the finding's lines, or anywhere, whose lanes are spread for a known reason."""
    if not facts.launches:
        return Refusal(NAME, "no captured launch tells the shape of the workgroups")
    given = pointers_of(kernel, facts)
    elements = _local_pointers(kernel, given) | {name: _Pointer(kind, name) for name, kind in given.items()}
    accesses = [s for s in kernel.subscripts if s.base in elements and len(s.indices) == 1]
    if finding is not None:
        lines = range(finding.line, finding.end_line + 1)
        accesses.sort(key=lambda s: s.node.start_point.row + 1 not in lines)
    constants = parse(source).constants
    for access in accesses:
        element = elements[access.base]
        size = element_bytes(element.type, facts)
        try:
            wave = wave_values(
                kernel, facts.launches[0], constants, at=access.node, wave_size=facts.wave_size
            )
            apart = _apart(evaluate(access.indices[0], wave) + element.start(wave))
        except NotStatic:
            continue
        if apart is None:
            continue
        if apart == 1 and size is not None and size > _LOAD_BYTES and (field := _field(access)) is not None:
            return Advice(
                "structure_of_arrays",
                f"Keep `{field}` of all elements of `{element.array}` side by side (a structure of arrays): as it is, "
                f"the next lane reads {size} bytes further on",
                "how data lie in memory is decided in host code, which is never edited",
            )
        if apart > 1 and (counter := _unit_step(access, kernel, wave)) is not None:
            return Advice(
                "row_per_wave",
                f"Give each row of `{element.array}` to a wave, whose lanes take consecutive `{counter}`: as it is, "
                f"each thread walks along a row of its own, {apart:,} elements from its neighbour's",
                "it takes a launch with a wave for each row, launches stand in host code, which is never edited, and "
                "sums would be added up in another order",
            )
    return Refusal(NAME, "no access has lanes that walk along rows or that use one member of a structure")


@dataclass(frozen=True)
class _Pointer:
    """What a name points to: elements of `type`, from an offset in elements into the array `array` on."""

    type: str
    array: str
    offset: Node | None = None

    def start(self, wave: Wave) -> NDArray[np.int64] | int:
        """The offset in each lane. Raises NotStatic."""
        if self.offset is None:
            return 0
        zero = np.zeros(wave.lanes, dtype=np.int64)
        return evaluate(self.offset, Wave({**wave.values, self.array: zero}, wave.lanes))


def _local_pointers(kernel: KernelSyntax, given: Mapping[str, str]) -> dict[str, _Pointer]:
    """`const float* row = in + i * n;`: local names for a place in one of the arrays that the kernel is given."""
    found: dict[str, _Pointer] = {}
    for node in walk(kernel.body_node):
        declarator = node.child_by_field_name("declarator") if node.type == "init_declarator" else None
        value = node.child_by_field_name("value")
        name = declared_name(declarator) if declarator is not None else None
        if declarator is None or declarator.type != "pointer_declarator" or value is None or name is None:
            continue
        arrays = [text_of(n) for n in walk(value) if n.type in _NAMES and text_of(n) in given]
        if value.type == "binary_expression" and len(arrays) == 1:
            found[text_of(name)] = _Pointer(given[arrays[0]], arrays[0], value)
    return found


def _apart(index: NDArray[np.int64]) -> int | None:
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
