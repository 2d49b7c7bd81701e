"""What one thread of a workgroup does alone, right behind a barrier, and whether the first wave could do it instead.

Takes statements under `if (threadIdx.x == 0)`, gives their loops as a rule reads them, or why the wave cannot stand in
for the thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.kernel.loops import CountedLoop, counted_loop, number_of
from hipscope.analysis.source.nodes import (
    BARRIERS,
    ancestors,
    called,
    child_of,
    names_in,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.source.thread_dependence import thread_dependent
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    indentation,
    is_pure,
    line_start,
    stands_for,
    ways_out,
)
from hipscope.formulas.propose.splice import Splice

T = TypeVar("T")
FLOATS = frozenset({"float", "double"})
COUNTERS = integers(32)
_AXES = {
    "x": ("threadIdx.x", "hipThreadIdx_x"),
    "y": ("threadIdx.y", "hipThreadIdx_y"),
    "z": ("threadIdx.z", "hipThreadIdx_z"),
}


@dataclass(frozen=True)
class LoneLoop:
    """A loop that one thread makes: the statement around it, what that has before the loop, and the name of the
    thread's place in the workgroup.
    """

    guard: Node
    thread: str
    node: Node
    before: Sequence[Node]

    @property
    def where(self) -> str:
        """The loop in a sentence."""
        return f"the loop on line {self.node.start_point.row + 1}"


def loops_of_one_thread(
    kernel: KernelSyntax, facts: LaunchFacts, read: Callable[[LoneLoop, KernelSyntax], T | str]
) -> list[T] | str:
    """What `read` makes of the loops of one thread, where each first wave is full; or why there are none."""
    named = [(node, first_thread(node, kernel)) for node in kernel.body_node.named_children]
    guards = [(node, thread) for node, thread in named if thread is not None]
    if not guards:
        return "the kernel itself does nothing in one thread of the workgroup alone"
    if (why := _why_not_full(facts)) is not None:
        return why
    found = [answer for guard, thread in guards for answer in _read(guard, thread, kernel, read)]
    return [one for one in found if not isinstance(one, str)] or "; ".join(map(str, found))


def _read(
    guard: Node, thread: str, kernel: KernelSyntax, read: Callable[[LoneLoop, KernelSyntax], T | str]
) -> Iterator[T | str]:
    if (reason := why_not_at(guard, kernel)) is not None:
        yield reason
        return
    inside = [node for node in child_of(guard, "consequence").named_children if node.type != "comment"]
    loops = [(node, inside[:i]) for i, node in enumerate(inside) if node.type == "for_statement"]
    if not loops:
        yield f"the one thread of line {guard.start_point.row + 1} has no loop"
    yield from (read(LoneLoop(guard, thread, node, before), kernel) for node, before in loops)


def _why_not_full(facts: LaunchFacts) -> str | None:
    """Why the first wave of a workgroup is not known to be full."""
    if not facts.launches:
        return "no captured launch shows the shape of the workgroups"
    if any(launch.workgroup[1:] != (1, 1) for launch in facts.launches):
        return "the workgroups have more than one dimension"
    if facts.written is None:
        return "a run decides the size of the workgroups"
    sizes = {launch.workgroup[0] for launch in facts.launches} | ({facts.written} - {0})
    return "a workgroup is smaller than a wave" if min(sizes) < facts.wave_size else None


def first_thread(node: Node, kernel: KernelSyntax) -> str | None:
    """The name of `threadIdx.x` in `if (threadIdx.x == 0)`, also together with the other places, without `else`."""
    if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
        return None
    parts = re.sub(r"\s", "", text_of(child_of(node, "condition")))[1:-1].split("&&")
    found = ""
    for part in parts:
        match = re.fullmatch(r"([\w.]+)==0u?|!([\w.]+)", part)
        name = (match[1] or match[2]) if match is not None else ""
        axis = next((a for a, values in _AXES.items() if stands_for(name, values, kernel)), None)
        if axis is None:
            return None
        found = name if axis == "x" else found
    return found or None


def why_not_at(guard: Node, kernel: KernelSyntax) -> str | None:
    """Why the whole first wave cannot work right before the statement of the one thread."""
    where = f"line {guard.start_point.row + 1}"
    if child_of(guard, "consequence").type != "compound_statement" or not _begins_line(guard):
        return f"the one thread of {where} has no block with a loop"
    if not _behind_barrier(guard):
        return f"no barrier stands right before {where}"
    if any(_left_by_some(way, guard, kernel) for way in ways_out(kernel.body_node)):
        return f"some threads leave the kernel before {where}"
    return None


def _behind_barrier(guard: Node) -> bool:
    """Whether all threads come from a barrier: between it and the statement are only declarations that call nothing."""
    before = guard.prev_named_sibling
    while before is not None and before.type in ("comment", "declaration"):
        if any(node.type == "call_expression" for node in walk(before)):
            return False
        before = before.prev_named_sibling
    return (
        before is not None
        and before.type == "expression_statement"
        and called(before.named_children[0]) in BARRIERS
    )


def _begins_line(node: Node) -> bool:
    before = node.prev_sibling
    return before is None or before.end_point.row < node.start_point.row


def _left_by_some(way: Node, guard: Node, kernel: KernelSyntax) -> bool:
    """Whether a `return` before the statement is one that some lanes of a wave may take alone.

    What lies at one address is the same for all lanes, whoever has written it: they load it by one instruction.
    """
    pointers = {p.name for p in kernel.parameters if p.pointer} - changed_once_declared(kernel)
    conditions = (a.child_by_field_name("condition") for a in ancestors(way, kernel.body_node))
    return way.start_byte < guard.start_byte and any(
        c is not None and thread_dependent(c, kernel.thread_dependent - pointers) for c in conditions
    )


def same_for_all(expression: Node, kernel: KernelSyntax) -> bool:
    """Whether an expression is the same for all threads, whoever computes it and when."""
    return is_pure(expression, kernel) and not thread_dependent(expression, kernel.thread_dependent)


def counted_from_number(node: Node) -> tuple[CountedLoop, str, Node] | None:
    """A loop that goes up by one from a number, with the digits of that and its bound."""
    loop = counted_loop(node)
    if isinstance(loop, str) or not loop.below or loop.by != 1 or loop.further or loop.type not in COUNTERS:
        return None
    start = None if loop.first is None else number_of(loop.first)
    return (loop, str(start), loop.bound) if start is not None and loop.bound is not None else None


def disturbs(statement: Node, names: frozenset[str] | set[str]) -> bool:
    """Whether a statement declares or changes one of the names, or may do so by a call."""
    for node in walk(statement):
        if node.type == "call_expression":
            return True
        field = {
            "assignment_expression": "left",
            "update_expression": "argument",
            "init_declarator": "declarator",
        }
        target = node.child_by_field_name(field[node.type]) if node.type in field else None
        if target is not None and (target.type == "pointer_expression" or names_in(target) & names):
            return True
    return False


def before_guard(loop: LoneLoop, lines: Iterable[str], source: bytes, style: Style) -> Splice:
    """The lines right before the statement of the one thread."""
    at, indent = line_start(source, loop.guard.start_byte), indentation(source, loop.guard.start_byte)
    return Splice(at, at, "".join(f"{indent}{line}{style.newline}" for line in lines).encode())


def in_place_of(loop: Node, lines: Sequence[str], source: bytes, style: Style) -> Splice:
    """The lines instead of a loop and of the pragma right above it."""
    indent, above = indentation(source, loop.start_byte), loop.prev_named_sibling
    text = f"{style.newline}{indent}".join(lines)
    if above is None or not text_of(above).lstrip().startswith("#pragma"):
        return Splice(loop.start_byte, loop.end_byte, text.encode())
    return Splice(line_start(source, above.start_byte), loop.end_byte, (indent + text).encode())
