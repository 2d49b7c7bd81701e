"""atomicContention: the workgroups of a grid-stride kernel add to the same addresses. Let fewer do all the work.

Where each loop goes on by the whole grid (`i += blockDim.x * gridDim.x`), any number of workgroups does all of it: the
first ones, as if no others had been launched. What they add at the end, a sum or the bins of a histogram, is added
once for 4, 8 or 16 workgroups of before. Needs that `gridDim.x` is nothing but such a step, and that what depends on
`blockIdx.x` is used in these loops only: an element of each workgroup's own would be left out. No barrier may be in
these loops: where each had one step so far, nobody may have seen that a second one needs another barrier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, relies_on_others, waits_together
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    bare,
    called,
    child_of,
    condition_of,
    declarations_in,
    is_in,
    joins,
    names_in,
    operator_of,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    INTEGER_TYPES,
    WORKGROUP_NUMBERS,
    at_start,
    is_pure,
    only_the_first_workgroups,
    style_of,
)
from hipscope.formulas.propose.rules.shared.preconditions import shares_of
from hipscope.formulas.propose.splice import Splice

_SIZES = ("gridDim.x", "hipGridDim_x")
_COMPARISONS = ("<", "<=", ">", ">=")
_CONVERSIONS = ("static_cast", "int", "unsigned", "long", "size_t")
_WHOLE = re.compile(
    r"\b(?:gridDim|blockIdx)\b(?!\s*\.)"
)  # the grid or the kernel's own number, not a member of it


class _NoStride(Exception):
    """Why the grid is more than the step of loops, as the end of a sentence about the kernel."""


@dataclass
class _Strides:
    """The loops that go on by the whole grid, by their nodes' ids, and what tells their counters where to begin."""

    kernel: KernelSyntax
    loops: dict[int, Node] = field(default_factory=dict)
    counters: dict[int, set[str]] = field(default_factory=dict)

    def add(self, loop: Node, counter: str) -> None:
        """A loop whose counter goes on by the grid."""
        self.loops[loop.id] = loop
        self.counters.setdefault(loop.id, set()).add(counter)

    def around(self, node: Node) -> Iterator[Node]:
        """Those of the loops that a node is in."""
        return (a for a in ancestors(node, self.kernel.body_node) if a.id in self.loops)


@rewrite("fewer_workgroups", "Atomics", "atomicContention", rank=43)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """In a grid-stride kernel, fewer workgroups each take more steps and add once.

    Needs: `gridDim.x` is nothing but the step of loops that end by their counter; what depends on `blockIdx.x` is
    used in these loops only; no barrier in them; 64 workgroups left to work.
    Results: integers: same bits; floats in another order.
    """
    if not kernel.is_kernel:
        return "a function does not end its workgroup"
    sizes = [n for n in walk(kernel.body_node) if _is(n, _SIZES)]
    try:
        if not sizes:
            raise _NoStride("does not go through its elements by the whole grid (`gridDim.x`)")
        _check(kernel, sizes)
    except _NoStride as reason:
        return f"the kernel {reason}"
    if isinstance(shares := shares_of(facts), str):
        return shares
    style = style_of(source, kernel)
    working = style.fresh("working_blocks")
    pointers = pointers_of(kernel, facts)
    bases = {name for a in kernel.atomics for name in (names_in(a.arguments[0]) if a.arguments else ())}
    whole = all(pointers[name] in INTEGER_TYPES for name in bases & pointers.keys())
    strides = [Splice(n.start_byte, n.end_byte, working.encode()) for n in sizes]
    return [
        edited(
            source,
            [
                at_start(source, kernel, style, style.lines(only_the_first_workgroups(working, number))),
                *strides,
            ],
            title=f"Let one workgroup do the work of {number}, with a shorter stride of its loops",
            expected=(
                f"A {number}th of the atomics at the end of workgroups."
                + ("" if whole else " Floating-point sums are added in another order.")
            ),
            exact=whole,
        )
        for number in shares
    ]


def _is(node: Node, names: tuple[str, ...]) -> bool:
    return node.type in ("field_expression", "identifier") and text_of(node) in names


def _check(kernel: KernelSyntax, sizes: list[Node]) -> None:
    """Raises _NoStride where another number of workgroups would do something else."""
    text = text_of(kernel.body_node)
    if (word := _WHOLE.search(text)) is not None:
        raise _NoStride(f"uses `{word[0]}`: it counts with the other workgroups")
    if why := relies_on_others(kernel):
        raise _NoStride(f"uses {why}: it counts with the other workgroups")
    for name in ("gridDim", "hipGridDim", "blockIdx", "hipBlockIdx"):
        if (helper := kernel.through.built_ins.get(name)) is not None:
            raise _NoStride(f"uses `{helper}`, which asks for the grid itself")
    strides = _Strides(kernel)
    for node in sizes:
        _steps(node, strides, [])
    for loop in strides.loops.values():
        if waits_together(loop, kernel):
            line = loop.start_point.row + 1
            raise _NoStride(
                f"waits for its workgroup in the loop on line {line}, which may have one step so far"
            )
    _check_numbers(kernel, strides)


def _steps(node: Node, strides: _Strides, seen: list[str]) -> None:
    """The use of the grid's size is the step of loops, or the value of a variable that is. Raises _NoStride."""
    body = strides.kernel.body_node
    outer = _product(node)
    around = outer.parent
    if around is not None and around.type == "init_declarator":
        name = text_of(child_of(around, "declarator"))
        declared = [n for n, _, _ in declarations_in(body)].count(name)
        if declared == 1 and name.isidentifier() and name not in seen:
            for use in walk(body):
                if use.type == "identifier" and text_of(use) == name and use.start_byte > around.end_byte:
                    _steps(use, strides, [*seen, name])
            return
    elif (step := _step(outer)) is not None:
        loop = next((a for a in ancestors(step, body) if a.type in LOOPS), None)
        counter = text_of(child_of(step, "left"))
        if loop is not None and _ends_by(loop, counter):
            strides.add(loop, counter)
            return
    raise _NoStride(
        f"uses `{text_of(node)}` on line {node.start_point.row + 1} for more than the step of a loop"
    )


def _product(node: Node) -> Node:
    """The outermost product that a factor is in, with conversions and parentheses."""
    while (outer := node.parent) is not None:
        product = joins(outer, "*")
        converted = outer.type == "call_expression" and called(outer) in _CONVERSIONS
        passed = outer.type in ("parenthesized_expression", "cast_expression", "argument_list")
        if not (product or converted or passed):
            break
        node = outer
    return node


def _step(stride: Node) -> Node | None:
    """The assignment by which a variable goes on by a stride: `i += stride`, `i = i + stride`."""
    outer = stride.parent
    if outer is not None and joins(outer, "+"):
        sides = {text_of(child_of(outer, "left")), text_of(child_of(outer, "right"))} - {text_of(stride)}
        stride, outer, operator = outer, outer.parent, "="
    else:
        sides, operator = set(), "+="
    if outer is None or outer.type != "assignment_expression" or child_of(outer, "right").id != stride.id:
        return None
    target = child_of(outer, "left")
    goes_on = operator_of(outer) == operator and sides <= {text_of(target)}
    return outer if goes_on and target.type == "identifier" else None


def _ends_by(loop: Node, counter: str) -> bool:
    """Whether the loop goes on until the counter reaches something, and changes it once in a step."""
    asked = condition_of(loop)
    value = loop if asked is None else bare(asked)
    if not joins(value, *_COMPARISONS):
        return False
    changes = [n for n in walk(loop) if n.type in ("assignment_expression", "update_expression")]
    changed = [c for c in changes if counter in changed_names(c) and not _begins(c, loop)]
    return counter in names_in(value) and len(changed) == 1


def _check_numbers(kernel: KernelSyntax, strides: _Strides) -> None:
    """What depends on the workgroup's number is where these loops begin, or their counter. Raises _NoStride."""
    body = kernel.body_node
    begins: set[str] = set()
    while more := {
        name
        for name, declarator, _ in declarations_in(body)
        if name not in begins
        and next(strides.around(declarator), None) is None
        and _depends(declarator, begins)
    }:
        begins |= more
    for node in walk(body):
        # `Random random(seed, first);` is read as a function's declaration, with `first` as a type.
        named = node.type in ("identifier", "type_identifier") and text_of(node) in begins
        if not (_is(node, WORKGROUP_NUMBERS) or named):
            continue
        if node.parent is not None and _is(node.parent, WORKGROUP_NUMBERS):
            continue
        loop = next(strides.around(node), None)
        if loop is None:
            if not _declares(node, kernel, begins):
                raise _NoStride(_own(node))
        elif not _begins(node, loop) and text_of(node) not in strides.counters[loop.id]:
            raise _NoStride(_own(node))


def _declares(node: Node, kernel: KernelSyntax, begins: set[str]) -> bool:
    """Whether a node is a variable of these where it is declared, or in the value of one, which does nothing else."""
    declarator = next((a for a in ancestors(node, kernel.body_node) if a.type == "init_declarator"), None)
    if declarator is None:
        return False
    name, value = child_of(declarator, "declarator"), declarator.child_by_field_name("value")
    if value is None or text_of(name) not in begins or not is_pure(value, kernel):
        return False
    calls = (n for n in walk(value) if n.type == "call_expression")
    return all(called(call) in (*_CONVERSIONS, "min", "max") for call in calls)


def _own(node: Node) -> str:
    return f"has something of each workgroup's own: `{text_of(node)}` on line {node.start_point.row + 1}"


def _depends(declarator: Node, begins: set[str]) -> bool:
    value = declarator.child_by_field_name("value")
    if value is None:
        return False
    return any(
        _is(n, WORKGROUP_NUMBERS) or (n.type == "identifier" and text_of(n) in begins) for n in walk(value)
    )


def _begins(node: Node, loop: Node) -> bool:
    """Whether a node is in what a `for` begins with."""
    return is_in(node, loop.child_by_field_name("initializer"))
