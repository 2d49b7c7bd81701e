"""memoryAccess: what only the host could mend, as advice: threads that each walk along a row, arrays of structures.

The lane model says how far apart the elements of neighbouring lanes lie, and those of one lane in its next step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tree_sitter import Node

from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import ancestors, child_of, declared_name, text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.facts.passed_on import values_passed_on
from hipscope.formulas.propose.candidate import Advice, Answer
from hipscope.formulas.propose.rule import rewrite

_NAMES = ("identifier", "field_expression")
_ROW_REASON = "it takes a launch with more threads for each row, which is more than another block size"
_SUMS = ", and sums would be added up in another order"
_CHAIN_REASON = "it takes wider types than the elements have, and rows that begin where such a load may"
_LOAD_BYTES = 16  # the most that a lane loads at once: structures up to it are read whole


@rewrite("data_layout", "Advice", "memoryAccess", advice=True, rank=40)
def propose(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, finding: Finding | None = None
) -> Answer:
    """Says which structures could be arrays, and which rows could be shared by more threads.

    Needs: recorded launches, and accesses that the lane model follows.
    """
    if not facts.launches:
        return "no captured launch shows the shape of the workgroups"
    given = pointers_of(kernel, facts)
    elements = _local_pointers(kernel, given) | {name: _Pointer(kind, name) for name, kind in given.items()}
    accesses = [s for s in kernel.subscripts if s.base in elements and len(s.indices) == 1]
    if finding is not None:
        lines = range(finding.line, finding.end_line + 1)
        accesses.sort(key=lambda s: s.node.start_point.row + 1 not in lines)
    constants = parse(source).constants
    for access in accesses:
        element = elements[access.base]
        size = facts.bytes_of(element.type)
        try:
            wave = wave_values(
                kernel, facts.launches[0], constants, at=access.node, wave_size=facts.wave_size
            )
            advice = _sparse_row(access, element, kernel, set(given), wave, size) or _spread(
                access, element, kernel, wave, size
            )
        except NotStatic:
            continue
        if advice is not None:
            return advice
    return "no access has lanes that walk along rows or that use one member of a structure"


def _spread(
    access: Subscript, element: _Pointer, kernel: KernelSyntax, wave: Wave, size: int | None
) -> Advice | None:
    """Lanes that are a row, or a large structure, apart. `size` is that of an element. Raises NotStatic."""
    apart = _apart(evaluate(access.indices[0], wave) + element.start(wave))
    if apart is None:
        return None
    if apart == 1 and size is not None and size > _LOAD_BYTES and (field := _field(access)) is not None:
        return Advice(
            "structure_of_arrays",
            f"Keep `{field}` of all elements of `{element.array}` side by side (a structure of arrays): as it is, "
            f"the next lane reads {size} bytes further on",
            "how data lie in memory is decided in host code, where only launches are edited",
        )
    if apart > 1 and (loop := _unit_step(access, kernel, wave)) is not None:
        return _row_advice(
            loop,
            element.array,
            "a wave, whose lanes",
            f"each thread walks along a row of its own, {apart:,} elements from its neighbour's",
            size,
        )
    return None


def _row_advice(loop: Node, array: str, lanes: str, why: str, size: int | None) -> Advice | None:
    """What helps threads that walk along rows: lanes that share a row, or wide loads where the steps are a chain."""
    passed_on = values_passed_on(loop)
    if passed_on == "unknown" or (passed_on == "chain" and (size is None or size >= _LOAD_BYTES)):
        return None
    if passed_on == "chain" and size is not None:
        return Advice(
            "wide_loads",
            f"Load {_LOAD_BYTES // size} elements of a row of `{array}` at once ({_LOAD_BYTES} bytes) and take them "
            f"apart in registers, or stage the rows in LDS: as it is, {why}; each step needs what the one before it "
            "made, so lanes cannot share a row",
            _CHAIN_REASON,
        )
    return Advice(
        "row_per_wave",
        f"Give each row of `{array}` to {lanes} take consecutive `{_counter(loop)}`: as it is, {why}",
        f"{_ROW_REASON}{_SUMS if passed_on == 'sums' else ''}",
    )


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


def _unit_step(access: Subscript, kernel: KernelSyntax, wave: Wave) -> Node | None:
    """A loop around the access that goes to the next element in each step."""
    for outer in ancestors(access.node, kernel.body_node):
        counter = _counter(outer) if outer.type == "for_statement" else None
        if counter is None or counter not in wave.values:
            continue
        later = Wave({**wave.values, counter: wave.values[counter] + 1}, wave.lanes)
        try:
            steps = evaluate(access.indices[0], later) - evaluate(access.indices[0], wave)
        except NotStatic:
            continue
        if (steps == 1).all() and _length(outer, wave) >= _LONG:
            return outer
    return None


_LONG = 16  # steps: a shorter row is no work for a wave


def _length(loop: Node, wave: Wave) -> float:
    """The steps of a loop that counts up by one; without end where that is not known."""
    counted = counted_loop(loop)
    if isinstance(counted, str) or counted.first is None or counted.bound is None:
        return math.inf
    try:
        return float((evaluate(counted.bound, wave) - evaluate(counted.first, wave)).max())
    except NotStatic:
        return math.inf


def _sparse_row(
    access: Subscript, element: _Pointer, kernel: KernelSyntax, arrays: set[str], wave: Wave, size: int | None
) -> Advice | None:
    """Lanes that go along rows of a sparse matrix: `for (k = row[r]; ...; ++k) ... val[k]`. `size` is that of an
    element. Raises NotStatic.
    """
    for outer in ancestors(access.node, kernel.body_node):
        loop = counted_loop(outer) if outer.type == "for_statement" else ""
        if isinstance(loop, str) or loop.by != 1 or text_of(access.indices[0]) != loop.variable:
            continue
        first = loop.first
        if first is not None and first.type == "identifier":
            first = _value_of(kernel.body_node, text_of(first))
        where = next((s for s in kernel.subscripts if first is not None and s.node.id == first.id), None)
        if where is None or where.base not in arrays or _apart(evaluate(where.indices[0], wave)) != 1:
            return None
        why = f"each thread walks along a row of its own, from `{text_of(where.node)}` on"
        return _row_advice(outer, element.array, "a wave or to a few of its lanes, which", why, size)
    return None


def _value_of(around: Node, name: str) -> Node | None:
    """What a declaration or an assignment in there gives the name first."""
    for node in walk(around):
        if node.type == "init_declarator" and text_of(child_of(node, "declarator")) == name:
            return node.child_by_field_name("value")
        if node.type == "assignment_expression" and text_of(child_of(node, "left")) == name:
            return node.child_by_field_name("right")
    return None


def _counter(loop: Node) -> str | None:
    """`i` of a loop that ends each step with `++i`, `i++` or `i += 1`."""
    counted = counted_loop(loop)
    return counted.variable if not isinstance(counted, str) and counted.by == 1 else None
