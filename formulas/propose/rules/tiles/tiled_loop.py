"""Which loop of a kernel loads elements that several threads of a workgroup share, and what stands around it.

Takes a kernel and its launches, gives the loop, the elements by the part of the thread's number that they depend on,
and the conditions under which a thread comes to the loop. Nothing here edits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.kernel.effects import publishes, waits_together
from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    bare,
    child_of,
    declarations_in,
    names_in,
    operator_of,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    INTEGER_TYPES,
    declared_type,
    only_statement,
    ways_out,
)
from hipscope.formulas.propose.rules.shared.kept_arrays import is_kept, is_promised, reads_only
from hipscope.formulas.propose.rules.tiles.thread_parts import (
    Dependences,
    ThreadPart,
    UnknownDependence,
    dependences,
)

_LEAST_SHARED = 4  # threads to an element: with fewer the two ways through LDS cost what they save
_LEAVING = (
    "break_statement",
    "continue_statement",
    "return_statement",
    "goto_statement",
    "labeled_statement",
)
_BRANCHES = ("if_statement", "conditional_expression", "switch_statement", "lambda_expression", *LOOPS)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class CannotTile(Exception):
    """The reason, as the end of a sentence that begins with the loop."""


@dataclass(frozen=True)
class UniformLoop:
    """`for (type counter = begin; counter < end; counter += step)`; `operator` is `<` or `<=`."""

    node: Node
    type: str
    counter: str
    begin: Node
    operator: str
    end: Node
    step: int

    @property
    def body(self) -> Node:
        """What a step does."""
        return child_of(self.node, "body")


@dataclass(frozen=True)
class LoopTest:
    """`value < bound` (or `<=`): one of the conditions under which a thread comes to the loop."""

    value: Node
    operator: str
    bound: Node


@dataclass(frozen=True)
class LoopGuard:
    """`if (condition) ...` around the loop, or before it `if (condition) return;`, where it `leaves`."""

    statement: Node
    condition: Node
    leaves: bool
    tests: tuple[LoopTest, ...]


@dataclass(frozen=True)
class Operand:
    """An element of each step that all threads with one value of `part` load; `nodes` are its places in the body.

    `tests` are the guards' that depend on that part.
    """

    base: str
    element: str
    bytes: int
    part: ThreadPart
    nodes: tuple[Node, ...]
    tests: tuple[LoopTest, ...]

    @property
    def node(self) -> Node:
        """The first of its places."""
        return self.nodes[0]


@dataclass(frozen=True)
class TiledLoop:
    """The loop, what it shares, the guards outside first, and the statements between the first guard and the loop.

    `least` are conditions on arguments without which no thread of the launch comes to the loop.
    """

    loop: UniformLoop
    operands: tuple[Operand, ...]
    guards: tuple[LoopGuard, ...]
    between: tuple[Node, ...]
    least: tuple[str, ...]
    knows: Dependences


def tiled_loops(
    kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts, workgroup: tuple[int, int, int]
) -> Iterator[TiledLoop | str]:
    """Each loop that can be tiled, or why one that loads in every step can't."""
    knows = dependences(kernel, file, workgroup, lambda node: reads_only(node, kernel, facts))
    for node in walk(kernel.body_node):
        if node.type != "for_statement":
            continue
        try:
            yield _tiled(node, knows, facts)
        except (CannotTile, UnknownDependence) as reason:
            yield f"the loop on line {node.start_point.row + 1}: {reason}"


def assumed_apart(tiled: TiledLoop, facts: LaunchFacts) -> tuple[str, ...]:
    """The staged pointers that nothing but the recorded launches says to overlap no other one."""
    bases = dict.fromkeys(operand.base for operand in tiled.operands)
    return tuple(base for base in bases if not is_promised(base, tiled.knows.kernel, facts))


def _tiled(node: Node, knows: Dependences, facts: LaunchFacts) -> TiledLoop:
    loop = _counted(node, knows.kernel)
    guards, between, around, knows = _way_to(loop, knows)
    if not (knows.uniform(loop.begin) and knows.uniform(loop.end)):
        raise CannotTile("where it begins or ends may differ between the threads of a workgroup")
    knows = replace(knows, counters=knows.counters | {loop.counter})
    _check_body(loop, knows.kernel)
    tests = tuple(test for guard in guards for test in guard.tests)
    operands = _operands(loop, tests, knows, facts)
    if not operands:
        raise CannotTile(f"no element of a step is loaded by {_LEAST_SHARED} or more threads of a workgroup")
    fixed = frozenset(axis for part in (loop.begin, loop.end, *around) for axis in knows.block_axes(part))
    least = dict.fromkeys(text for o in operands for text in _least(o, tests, fixed, knows))
    return TiledLoop(loop, operands, guards, between, tuple(least), knows)


def _counted(node: Node, kernel: KernelSyntax) -> UniformLoop:
    """The loop, if it counts up by a constant while the counter is below something. Raises CannotTile."""
    loop = counted_loop(node)
    if (
        not isinstance(loop, str)
        and loop.below
        and loop.by
        and loop.first
        and loop.bound
        and not loop.further
    ):
        kind = loop.type or declared_type(loop.variable, kernel)
        if kind in INTEGER_TYPES:
            return UniformLoop(node, kind, loop.variable, loop.first, loop.comparison, loop.bound, loop.by)
    raise CannotTile("it does not count up by a number to an end")


def _check_body(loop: UniformLoop, kernel: KernelSyntax) -> None:
    """Raises CannotTile where a step is more than what each thread does for itself."""
    for node in walk(loop.node):
        if node.type in _LEAVING and not _stays(node, loop.node):
            raise CannotTile(f"`{text_of(node).split(';')[0].split()[0]}` leaves a step in the middle")
        if node.type.startswith("preproc") or node.type == "gnu_asm_expression":
            raise CannotTile("it holds a directive or assembly")
    if waits_together(loop.node, kernel) or publishes(loop.node, kernel):
        raise CannotTile("the threads wait for each other in it")


def _stays(node: Node, loop: Node) -> bool:
    """Whether a `break` or `continue` belongs to a loop inside."""
    return node.type in ("break_statement", "continue_statement") and any(
        outer.type in LOOPS for outer in ancestors(node, loop)
    )


def _way_to(
    loop: UniformLoop, knows: Dependences
) -> tuple[tuple[LoopGuard, ...], tuple[Node, ...], tuple[Node, ...], Dependences]:
    """Guards, the statements behind the first one, the uniform conditions around, and what is known with the counters
    of the loops around. Raises CannotTile.
    """
    body = knows.kernel.body_node
    path = [*reversed(list(ancestors(loop.node, body))), loop.node]
    guards: list[LoopGuard] = []
    between: list[Node] = []
    uniform: list[Node] = []
    block: Node = body
    for inner in path:
        for statement in _before(block, inner):
            if (guard := _leaving(statement, knows)) is not None:
                guards.append(guard)
            elif guards:
                between.append(statement)
        if inner.type == "if_statement":
            condition = child_of(child_of(inner, "condition"), "value")
            if knows.uniform(condition):
                if guards:
                    raise CannotTile("it stands in several conditions")
                uniform.append(condition)
            else:
                guards.append(_around(inner, loop.node, condition, knows))
        elif inner.type == "for_statement" and inner.id != loop.node.id:
            if guards:
                raise CannotTile("a condition that differs between threads stands around several loops")
            knows, ends = _stepped(inner, knows)
            uniform += ends
        elif inner.type == "compound_statement" and guards and block.type == "compound_statement":
            raise CannotTile("it stands in a block of its own")
        elif inner.type not in ("compound_statement", "for_statement", "else_clause"):
            raise CannotTile(f"it stands in a {inner.type.replace('_', ' ')}")
        block = inner
    if not guards and loop.node.parent is not None and loop.node.parent.type != "compound_statement":
        raise CannotTile("it is no statement of a block")
    return tuple(guards), tuple(between), tuple(uniform), knows


def _before(block: Node, inner: Node) -> Iterator[Node]:
    """The statements of a block before the one on the way to the loop."""
    if block.type == "compound_statement":
        yield from (n for n in block.named_children if n.start_byte < inner.start_byte)


def _leaving(statement: Node, knows: Dependences) -> LoopGuard | None:
    """The guard that a statement before the loop is. Raises CannotTile where some threads leave otherwise."""
    if not (ways := ways_out(statement)):
        return None
    condition = child_of(child_of(statement, "condition"), "value")
    if statement.type == "if_statement" and knows.uniform(condition):
        return None
    plain = statement.type == "if_statement" and statement.child_by_field_name("alternative") is None
    if not plain or only_statement(child_of(statement, "consequence")).id != ways[0].id:
        raise CannotTile(f"threads may have left by the `return` on line {ways[0].start_point.row + 1}")
    return LoopGuard(statement, condition, True, tuple(_tests(condition, True, knows)))


def _around(statement: Node, loop: Node, condition: Node, knows: Dependences) -> LoopGuard:
    """The guard that the loop stands in."""
    consequence = child_of(statement, "consequence")
    inside = consequence.start_byte <= loop.start_byte < consequence.end_byte
    if statement.child_by_field_name("alternative") is not None or not inside:
        raise CannotTile("the threads of a workgroup take different branches around it")
    return LoopGuard(statement, condition, False, tuple(_tests(condition, False, knows)))


def _tests(condition: Node, leaves: bool, knows: Dependences) -> Iterator[LoopTest]:
    """The comparisons that all have to hold for a thread to come to the loop. Raises CannotTile."""
    condition = bare(condition)
    operator = operator_of(condition) if condition.type == "binary_expression" else ""
    left, right = child_of(condition, "left"), child_of(condition, "right")
    if operator == ("||" if leaves else "&&"):
        yield from _tests(left, leaves, knows)
        yield from _tests(right, leaves, knows)
        return
    operator = _OPPOSITE.get(operator, "") if leaves else operator
    if operator in (">", ">="):
        left, right, operator = right, left, _MIRRORED[operator]
    if operator not in ("<", "<=") or not knows.uniform(right) or knows.block_axes(right):
        raise CannotTile(f"`{squeeze(text_of(condition))}` is no bound of the thread's number")
    yield LoopTest(left, operator, right)


def _stepped(outer: Node, knows: Dependences) -> tuple[Dependences, tuple[Node, Node]]:
    """What is known within a loop around, which all threads of a workgroup step alike, and where it begins and ends."""
    loop = _counted(outer, knows.kernel)
    if any(n.type in _LEAVING and not _stays(n, outer) for n in walk(loop.body)):
        raise CannotTile("a loop around it may be left in the middle")
    if not (knows.uniform(loop.begin) and knows.uniform(loop.end)):
        raise CannotTile("a loop around it may have another length for other threads")
    return replace(knows, counters=knows.counters | {loop.counter}), (loop.begin, loop.end)


def _operands(
    loop: UniformLoop, tests: tuple[LoopTest, ...], knows: Dependences, facts: LaunchFacts
) -> tuple[Operand, ...]:
    """The elements of a step that depend on one part of the thread's number, each with all its places."""
    pointers = pointers_of(knows.kernel, facts)
    found: dict[str, Operand] = {}
    for use in knows.kernel.subscripts:
        node = use.node
        if use.use != "read" or not use.whole or not _in_every_step(node, loop):
            continue
        if not is_kept(use.base, knows.kernel, facts) or not _steps_with(node, loop.counter, knows):
            continue
        element = pointers[use.base]
        part, size = _only_part(node, knows), facts.bytes_of(element)
        if part is None or size is None:
            continue
        text = squeeze(text_of(node))
        places = (*found[text].nodes, node) if text in found else (node,)
        own = tuple(test for test in tests if any(p.index == part.index for p in knows.parts(test.value)))
        found[text] = Operand(use.base, element, size, part, places, own)
    return tuple(found.values())


def _in_every_step(node: Node, loop: UniformLoop) -> bool:
    """Whether each step loads it, once and whatever its data."""
    body = loop.body
    if not body.start_byte <= node.start_byte < body.end_byte:
        return False
    for outer in (*ancestors(node, loop.node), body):
        operator = operator_of(outer) if outer.type == "binary_expression" else ""
        if outer.type in _BRANCHES or operator in ("&&", "||"):
            return False
    return True


def _steps_with(node: Node, counter: str, knows: Dependences) -> bool:
    """Whether the element is another one in the next step."""
    return counter in _made_of(names_in(node), knows)


def _only_part(node: Node, knows: Dependences) -> ThreadPart | None:
    """The part of the thread's number that an element depends on, where it is one that many threads share."""
    try:
        parts = knows.parts(node)
    except UnknownDependence:
        return None
    if len(parts) != 1:
        return None
    (only,) = parts
    shared = math.prod(knows.workgroup) >= _LEAST_SHARED * only.count
    return only if shared and only.count > 1 else None  # the same for all: a scalar load, or one broadcast


def _least(
    operand: Operand, tests: Sequence[LoopTest], fixed: frozenset[str], knows: Dependences
) -> Iterator[str]:
    """What must hold of the arguments so that some thread of the launch loads what the operand's own tests let through.

    An element is loaded for all threads with one value of the part. The thread that has loaded it before is the one
    whose other indices are 0: it passes all tests that any thread passes. `fixed` indices of the workgroup stay.
    Raises CannotTile.
    """
    fixed |= {axis for t in operand.tests for axis in knows.block_axes(t.value)} | knows.block_axes(
        operand.node
    )
    free = frozenset(f"{kind}.{axis}" for kind in ("threadIdx", "blockIdx") for axis in "xyz") - fixed
    for test in tests:
        value, bound = squeeze(text_of(test.value)), squeeze(text_of(test.bound))
        if knows.uniform(test.value):
            yield f"{value} {test.operator} {bound}"
        elif test in operand.tests:
            if not knows.rises(test.value, operand.part):
                raise CannotTile(f"`{value}` may be less for a later thread")
        elif (least := knows.least(test.value, free)) is not None:
            yield f"{bound} {'>' if test.operator == '<' else '>='} {least}"
        else:
            raise CannotTile(f"`{value}` is not known for the first thread")


def own_declarations(names: frozenset[str], knows: Dependences) -> list[tuple[str, Node, Node]]:
    """Name, declarator and declaration of the variables that an expression is made of, in the order of the text."""
    known = _made_of(names, knows) & knows.declared.keys()
    return [found for found in declarations_in(knows.kernel.body_node) if found[0] in known]


def _made_of(names: frozenset[str], knows: Dependences) -> set[str]:
    """These names, and all that the values of their declarations are made of."""
    wanted, seen = set(names), set[str]()
    while wanted - seen:
        name = (wanted - seen).pop()
        seen.add(name)
        value = knows.value(name)
        wanted |= names_in(value) if value is not None else frozenset()
    return seen
