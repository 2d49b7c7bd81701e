"""An element of memory that a loop changes at one address: whether it may stay in a register until the loop's end.

Takes statements of a kernel (a loop, perhaps with what stands before it) and one element, gives the reason why other
statements would see that it is written late, or None; and the text around a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.kernel.effects import publishes, waits_together
from hipscope.analysis.source.nodes import LOOPS, ancestors, child_of, names_in, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    before_directives,
    indentation,
    is_pure,
    line_start,
)
from hipscope.formulas.propose.rules.shared.kept_arrays import is_promised
from hipscope.formulas.propose.rules.shared.loop_memory import memory_of
from hipscope.formulas.propose.splice import Splice

_LEAVES = ("return_statement", "goto_statement", "labeled_statement", "co_return_statement")
_LOADS = ("subscript_expression", "pointer_expression")


def loops_around(node: Node, kernel: KernelSyntax) -> list[Node]:
    """The loops around a node, the outermost first; none of those around a lambda that it stands in."""
    found: list[Node] = []
    for outer in ancestors(node, kernel.body_node):
        if outer.type == "lambda_expression":
            break
        if outer.type in LOOPS:
            found.append(outer)
    return found[::-1]


def names_of(expressions: Iterable[Node], kernel: KernelSyntax) -> frozenset[str]:
    """The names that an expression depends on, also inside the macros and functions that it calls."""
    meanings = kernel.through.meanings
    nodes = [node for expression in expressions for node in walk(expression)]
    hidden = [meanings[node.id] for node in nodes if node.id in meanings]
    return frozenset(name for expression in (*expressions, *hidden) for name in names_in(expression))


def indices_of(address: Node) -> Iterator[Node]:
    """`i` of `&p[i]` and of `p + i`."""
    if address.type == "subscript_expression":
        yield from indices_of(child_of(address, "argument"))
        yield child_of(address, "indices")
    elif address.type == "binary_expression":
        yield from indices_of(child_of(address, "left"))
        yield child_of(address, "right")
    elif address.type in ("pointer_expression", "parenthesized_expression"):
        yield from indices_of(address.named_children[0])


def is_steady(expressions: Sequence[Node], kernel: KernelSyntax) -> bool:
    """Whether an address can be computed again: nothing in it has effects, or is loaded."""
    return all(
        is_pure(expression, kernel) and not any(n.type in _LOADS for n in walk(expression))
        for expression in expressions
    )


def seen_before_the_end(
    statements: tuple[Node, ...], base: str, own: Sequence[Node], kernel: KernelSyntax, facts: LaunchFacts
) -> str | None:
    """Why the element cannot be written behind these statements; `own` are the expressions that name it there."""
    for statement in statements:
        if word := publishes(statement, kernel) or waits_together(statement, kernel):
            return f"others may look at it in the loop (`{word}`)"
        leaves = next((n for n in walk(statement) if n.type in _LEAVES), None)
        if leaves is not None:
            return f"the loop is left on line {leaves.start_point.row + 1}"
    known = {n.id for node in own for n in walk(node)}
    root = base.partition(".")[0]
    others = (n for s in statements for n in walk(s) if n.type == "identifier" and text_of(n) == root)
    if (other := next((n for n in others if n.id not in known), None)) is not None:
        return f"`{base}` is also used on line {other.start_point.row + 1}"
    if any(array.name == base for array in kernel.shared):
        return f"a pointer may lead to `{base}`" if _is_given_away(base, kernel) else None
    memory = memory_of(kernel, facts, statements)
    if memory.stored is None:
        return "something else may be stored to in the loop"
    if base not in memory.alone and any(
        s.base in memory.pointers and s.base != base for s in memory.subscripts
    ):
        return "another argument may overlap it"
    return None


def _is_given_away(base: str, kernel: KernelSyntax) -> bool:
    """Whether a variable in LDS is used other than by its name, its elements and atomics: no pointer is made of it."""
    places = {n.id for atomic in kernel.atomics if atomic.arguments for n in walk(atomic.arguments[0])}
    places |= {argument.id for atomic in kernel.atomics for argument in atomic.arguments[1:]}
    arrays = {array.name for array in kernel.shared if array.dimensions}
    declared = [(array.span.start, array.span.end) for array in kernel.shared]
    for node in walk(kernel.body_node):
        if node.type != "identifier" or text_of(node) != base or node.id in places or node.parent is None:
            continue
        outer, at = node.parent, node.start_byte
        if any(start <= at < end for start, end in declared) or outer.type in (
            "array_declarator",
            "declaration",
        ):
            continue
        if outer.type == "pointer_expression" or outer.type == "reference_declarator":
            return True
        if base in arrays and outer.type != "subscript_expression":
            return True
        if outer.type == "init_declarator" and any(n.type == "reference_declarator" for n in outer.children):
            return True
        if outer.type == "argument_list":  # a function may take it by reference
            return True
    return False


def assumption(bases: Iterable[str], kernel: KernelSyntax, facts: LaunchFacts) -> tuple[str, ...]:
    """What is assumed of launches that were not recorded: nothing where the program promises it."""
    names = [base for base in dict.fromkeys(bases) if not is_promised(base, kernel, facts)]
    listed = ", ".join(f"`{name}`" for name in names)
    sentence = (
        f"no launch of `{kernel.name}` lets another argument overlap {listed} (none did in the recorded ones)"
    )
    return (sentence,) if names else ()


@dataclass
class Around:
    """The lines before and after one loop; `runs` is a variable that says whether it has a first step."""

    loop: Node
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    runs: str = ""


def around(source: bytes, lines: Around, style: Style) -> list[Splice]:
    """Lines before and after a loop, in braces where it is the only statement of an `if` or another loop."""
    loop = lines.loop
    alone = loop.parent is not None and loop.parent.type != "compound_statement"
    own_line = not source[line_start(source, loop.start_byte) : loop.start_byte].strip()
    start = before_directives(source, loop.start_byte) if own_line else loop.start_byte
    outer = indentation(source, loop.start_byte)
    inner = outer + style.step if alone else outer
    first, last = [f"{inner}{line}" for line in lines.before], [f"{inner}{line}" for line in lines.after]
    if alone:
        first, last = [f"{outer}{{", *first], [*last, f"{outer}}}"]
    opening = "".join(line + style.newline for line in first) if own_line else " ".join((*first, "")).lstrip()
    closing = "".join(style.newline + line for line in last)
    splices = [Splice(start, start, opening.encode()), Splice(loop.end_byte, loop.end_byte, closing.encode())]
    return splices + (_deeper(source, start, loop.end_byte, style) if alone and own_line else [])


def _deeper(source: bytes, start: int, end: int, style: Style) -> list[Splice]:
    """One more indentation step for each line that begins in [start, end)."""
    splices, position = [], start
    while start <= position < end:
        line = source[position : source.find(b"\n", position)].strip()
        if line and not line.startswith(b"#"):
            splices.append(Splice(position, position, style.step.encode()))
        position = source.find(b"\n", position) + 1
    return splices
