"""Loads behind a barrier or a loop are begun before it, where their addresses are known.

A compiler moves no load over a barrier, and few over a loop: a kernel that loads, waits for the workgroup and loads
again makes two trips to memory, one after the other. Only loads that are made anyway, under the same conditions, of
elements that the launch has not stored to until then: results stay the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.builtins import is_a
from hipscope.analysis.kernel.effects import changed_names, publishes, spinning_loop, unsteady_names
from hipscope.analysis.source.nodes import (
    LOOPS,
    TOGETHER,
    ancestors,
    declared_name,
    names_in,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of, spelled_element
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.backward_slice import (
    CannotSlice,
    Slice,
    can_be_made_early,
    merged,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    before_directives,
    indentation,
    numbered_name,
    style_of,
)
from hipscope.formulas.propose.rules.shared.kept_arrays import is_promised, reads_only, statement_around
from hipscope.formulas.propose.rules.shared.loop_memory import memory_of
from hipscope.formulas.propose.rules.shared.moved_declarations import comments_of, removal
from hipscope.formulas.propose.splice import Splice

_MOST_LOADS = 12  # registers that live over what is between
_LEAVES = ("return_statement", "goto_statement", "break_statement", "continue_statement", "labeled_statement")


@dataclass
class _Place:
    """Where loads are begun: before this statement."""

    statement: Node
    variables: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Hoisted:
    """A load, the statement of the block before which it can be begun, the lines that do.

    `variables` are declared before them; `declarations` are those of the kernel that are among the lines.
    """

    load: Subscript
    before: Node
    variables: tuple[str, ...]
    lines: tuple[str, ...]
    declarations: tuple[Node, ...]


@rewrite("hoist_loads", "Memory", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Loads behind a barrier, a loop or a branch begin where their addresses are known.

    Needs: nothing was stored to these arrays before (no overlap in all recorded launches, or `__restrict__`), no
    atomic operation or fence before them; lanes load different elements; addresses and conditions do not change in
    between.
    """
    style = style_of(source, kernel)
    names: dict[int, str] = {}
    hoisted: list[_Hoisted] = []
    reasons: list[str] = []
    for load in kernel.subscripts:
        name = numbered_name(f"{load.base.replace('.', '_')}_value", style, names.values())
        try:
            one = _hoisted(load, name, kernel, facts, style)
        except CannotSlice as reason:
            reasons.append(f"`{squeeze(text_of(load.node))}` on line {load.span.line} {reason}")
            continue
        if one is not None:
            hoisted.append(one)
            names[load.node.id] = name
    if not hoisted or len(hoisted) > _MOST_LOADS:
        many = "too many loads stand behind barriers and loops" if hoisted else ""
        return many or "; ".join(reasons) or "no load stands behind a barrier or a loop"
    bases = dict.fromkeys(one.load.base for one in hoisted if not is_promised(one.load.base, kernel, facts))
    assumed = ", ".join(f"`{base}`" for base in bases)
    lines = ", ".join(dict.fromkeys(str(one.load.span.line) for one in hoisted))
    return edited(
        source,
        _splices(source, hoisted, names, style),
        title=f"Begin loads before the barrier or loop that they stand behind (line {lines})",
        expected="These loads are under way together with the ones before; results stay the same bit for bit.",
        assumes=(
            (
                f"no launch of `{kernel.name}` lets another argument overlap {assumed} (none did in the recorded ones)",
            )
            if assumed
            else ()
        ),
    )


def _hoisted(
    load: Subscript, name: str, kernel: KernelSyntax, facts: LaunchFacts, style: Style
) -> _Hoisted | None:
    """The load at the first place of its block where it can be begun; None for one that has nothing to gain.

    Raises CannotSlice with the reason of the last place that was tried.
    """
    block, last = _block(load.node, kernel)
    if load.use != "read" or not load.whole or load.node.type != "subscript_expression" or block is None:
        return None
    if load.base not in pointers_of(kernel, facts) or not _differs(load, kernel):
        return None
    statements = [n for n in block.named_children if n.start_byte <= last.start_byte]
    statement = statement_around(load.node, [last])
    if statement is None or not can_be_made_early(load.node, statement):
        return None
    begin = _first_wait(statements, kernel, facts)
    if not _is_late(statements[begin:]):
        return None
    _check_memory(load, statements, block, kernel, facts)
    refusal = CannotSlice("stands where it can be begun first")
    for place in range(begin, len(statements) - 1):
        if statements[place].type in ("comment", "preproc_call") or not _is_late(statements[place:]):
            continue
        try:
            return _from(load, name, statements[place:], kernel, facts, style)
        except CannotSlice as reason:
            refusal = reason
    raise refusal


def _differs(load: Subscript, kernel: KernelSyntax) -> bool:
    """Whether lanes load different elements: what is the same for all comes from the cache for constants."""
    names = frozenset[str]().union(*map(names_in, load.indices))
    return any(name in kernel.thread_dependent or is_a(name, "thread") for name in names)


def _block(node: Node, kernel: KernelSyntax) -> tuple[Node | None, Node]:
    """The outermost block whose statements hold the node outside of loops, and the one that does."""
    child, block, last = node, None, node
    for outer in (*ancestors(node, kernel.body_node), kernel.body_node):
        if outer.type == "compound_statement":
            block, last = outer, child
        elif outer.type in LOOPS or outer.type in ("lambda_expression", "switch_statement"):
            break
        child = outer
    return block, last


def _first_wait(statements: Sequence[Node], kernel: KernelSyntax, facts: LaunchFacts) -> int:
    """The first statement that waits for memory, a barrier or a loop; behind the last one that leaves the block."""
    pointers = pointers_of(kernel, facts)
    reads = [s.span.start for s in kernel.subscripts if s.base in pointers and s.use in ("read", "update")]
    begin = 0
    for number, statement in enumerate(statements[:-1]):
        if any(n.type in _LEAVES for n in walk(statement)):
            begin = number + 1
    for number in range(begin, len(statements)):
        inside = statements[number]
        if _waits(inside) or any(inside.start_byte <= at < inside.end_byte for at in reads):
            return number
    return len(statements) - 1


def _is_late(statements: Sequence[Node]) -> bool:
    """Whether a compiler leaves a load in the last statement behind the others."""
    branches = any(s.type == "if_statement" for s in statements)
    return len(statements) > 1 and (branches or any(_waits(s) for s in statements[:-1]))


def _waits(statement: Node) -> bool:
    """Whether no compiler moves a load over the statement."""
    return TOGETHER.search(text_of(statement)) is not None or any(n.type in LOOPS for n in walk(statement))


def _check_memory(
    load: Subscript, statements: Sequence[Node], block: Node, kernel: KernelSyntax, facts: LaunchFacts
) -> None:
    """Raises CannotSlice where the element may have been another one earlier in the launch."""
    looped = any(outer.type in LOOPS for outer in ancestors(block, kernel.body_node))
    if looped and not reads_only(load.node, kernel, facts):
        raise CannotSlice("may be stored to by another step of the loop around")
    before = (*_before(block, kernel), *statements[:-1])
    memory = memory_of(kernel, facts, before)
    if not memory.keeps(load.base) or load.base in memory.atomic:
        raise CannotSlice("may be stored to before it is loaded")
    own = statements[-1]
    sooner = [
        s
        for s in kernel.subscripts
        if own.start_byte <= s.span.start < load.span.start and not _is_target(s, load)
    ]
    stored = {s.base for s in sooner if s.use != "read"} & memory.pointers.keys()
    if load.base in stored or (stored and load.base not in memory.alone):
        raise CannotSlice("may be stored to before it is loaded")
    if any(own.start_byte <= o.span.start < load.span.start for o in kernel.through.opaque):
        raise CannotSlice("stands behind a call that is not seen through")
    until = kernel.body.end if looped else load.span.start
    atomics = (a.function for a in kernel.atomics if a.span.start < until)
    if word := publishes(kernel.body_node, kernel, until) or next(atomics, ""):
        raise CannotSlice(f"may wait for other workgroups (`{word}`)")
    if (loop := spinning_loop(kernel)) is not None:
        raise CannotSlice(f"may wait for other workgroups in the loop on line {loop.start_point.row + 1}")


def _is_target(use: Subscript, load: Subscript) -> bool:
    """Whether an element is what the load's own assignment stores to, once all of it is computed."""
    change = use.node.parent
    return (
        change is not None
        and change.type == "assignment_expression"
        and change.start_byte == use.node.start_byte
        and load.node.end_byte <= change.end_byte
    )


def _before(block: Node, kernel: KernelSyntax) -> Iterator[Node]:
    """All statements of the kernel before a block that is not its body."""
    child = block
    for outer in (*ancestors(block, kernel.body_node), kernel.body_node):
        if outer.type == "compound_statement":
            yield from (n for n in outer.named_children if n.end_byte <= child.start_byte)
        child = outer


def _from(
    load: Subscript,
    name: str,
    statements: Sequence[Node],
    kernel: KernelSyntax,
    facts: LaunchFacts,
    style: Style,
) -> _Hoisted:
    """The load before the first of these statements, the last of which it is in. Raises CannotSlice."""
    comments = {s.id: _lines_of(s)[:-1] for s in statements if s.type == "declaration"}
    found = Slice(
        kernel, {load.node.id: name}, lambda node: reads_only(node, kernel, facts), style.step, comments
    )
    lines = found.lines(statements)
    if found.assigned:
        raise CannotSlice(f"depends on `{sorted(found.assigned)[0]}`, which changes before it")
    top = {s.id for s in statements}
    if any(declaration.id not in top for declaration in found.declarations):
        raise CannotSlice("depends on what is declared inside a branch")
    unknown = found.needed & (unsteady_names(kernel) | {array.name for array in kernel.shared})
    declared = {
        text_of(named)
        for statement in statements
        for node in walk(statement)
        if node.type == "declaration"
        for declarator in node.children_by_field_name("declarator")
        if (named := declared_name(declarator)) is not None
    }
    if wrong := sorted(unknown | (found.needed & declared)):
        raise CannotSlice(f"depends on `{wrong[0]}`, which is not known before")
    if any(changed_names(s) & found.needed for s in statements[:-1] if s not in found.declarations):
        raise CannotSlice("depends on what changes before it")
    element = spelled_element(load.base, pointers_of(kernel, facts)[load.base], kernel)
    plain = f"{name} = {squeeze(text_of(load.node))};"
    typed = tuple(f"const {element} {line}" if line == plain else line for line in lines)
    variables = () if plain in lines else (f"{element} {name}{{}};",)
    return _Hoisted(load, statements[0], variables, typed, tuple(found.declarations))


def _splices(source: bytes, hoisted: Sequence[_Hoisted], names: dict[int, str], style: Style) -> list[Splice]:
    """All of the loads at their places, and their names where they stood."""
    places: dict[int, _Place] = {}
    splices: list[Splice] = []
    moved: dict[int, Node] = {}
    for one in hoisted:
        place = places.setdefault(one.before.start_byte, _Place(one.before))
        again = {line for d in one.declarations if d.id in moved for line in _lines_of(d)}
        place.variables += one.variables
        place.lines += [line for line in one.lines if line not in again]
        moved |= {d.id: d for d in one.declarations}
        splices.append(Splice(one.load.span.start, one.load.span.end, names[one.load.node.id].encode()))
    for place in places.values():
        at = before_directives(source, place.statement.start_byte)
        outer = indentation(source, place.statement.start_byte)
        text = "".join(
            outer + line + style.newline for line in [*place.variables, *merged(place.lines, style.step)]
        )
        splices.append(Splice(at, at, text.encode()))
    return splices + [removal(source, declaration) for declaration in moved.values()]


def _lines_of(declaration: Node) -> list[str]:
    return [squeeze(text_of(node)) for node in (*comments_of(declaration), declaration)]
