"""What the next step of a loop reads from memory is loaded while this step is computed, across the barriers between.

A tile is loaded, the workgroup waits at a barrier, computes with the tile, and waits again: each step is a trip to
memory with nothing to do. Here the loads of the next step are begun right behind the barrier, into variables, and
stored to LDS when its turn comes. Only elements that no kernel of the launch stores to, only in steps that run: the
same loads, earlier. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, unsteady_names
from hipscope.analysis.kernel.loops import head_values
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    child_of,
    condition_of,
    declared_name,
    names_in,
    operator_of,
    squeeze,
    text_of,
    walk,
    walk_outside,
)
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of, spelled_element
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import is_plain
from hipscope.formulas.propose.rules.shared.backward_slice import (
    CannotSlice,
    Slice,
    can_be_made_early,
    top_level_barriers,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    before_directives,
    declared_type,
    fresh_name,
    indentation,
    is_pure,
    numbered_name,
    style_of,
)
from hipscope.formulas.propose.rules.shared.kept_arrays import (
    is_kept,
    is_promised,
    reads_only,
    statement_around,
)
from hipscope.formulas.propose.rules.shared.moved_declarations import comments_of, removal
from hipscope.formulas.propose.rules.shared.preconditions import waits_for_no_workgroup
from hipscope.formulas.propose.splice import Splice

_MOST_LOADS = 8  # registers that live across the whole step
_LEAVING = frozenset({"return_statement", "goto_statement", "break_statement", "continue_statement"})
_UNREAD = frozenset({"lambda_expression", "gnu_asm_expression", "labeled_statement"})


@dataclass(frozen=True)
class _Change:
    """`name += operand`; None is 1. `operator` is "" for a change that is not read."""

    name: str
    operator: str
    operand: Node | None


@dataclass(frozen=True)
class _Carried:
    """A variable that goes from step to step, its value before the loop and, behind the barrier, the next step's."""

    name: str
    type: str
    begin: str
    then: str


@dataclass(frozen=True)
class _Step:
    """A loop that loads before a barrier: its statements, the place of the barrier, what is loaded before it.

    `first` are the variables of the loop's head with what they begin with, `further` the changes of variables behind
    the barrier and in the head.
    """

    loop: Node
    condition: Node
    statements: tuple[Node, ...]
    barrier: int
    loads: tuple[Subscript, ...]
    first: Mapping[str, tuple[str, Node]]
    further: tuple[_Change, ...]


@rewrite("prefetch", "Memory", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """A loop loads one step ahead, right behind the barrier.

    Needs: the launch stores nothing to these arrays (no overlap in all recorded launches, or `__restrict__`); a step
    has no way out in the middle; where it loads follows from indices, arguments, such arrays and variables that go on
    by the same amount.
    """
    if (why := waits_for_no_workgroup(kernel)) is not None:
        return why
    style = style_of(source, kernel)
    given: list[str] = []
    splices: list[Splice] = []
    lines: list[str] = []
    bases: dict[str, None] = {}
    reasons: list[str] = []
    for loop in walk(kernel.body_node):
        if loop.type not in LOOPS or not any(True for _ in top_level_barriers(_body(loop))):
            continue
        line = str(loop.start_point.row + 1)
        try:
            step, more = _edit(source, loop, kernel, facts, style, given)
        except CannotSlice as reason:
            reasons.append(f"the loop on line {line} {reason}")
            continue
        splices += more
        lines.append(line)
        bases |= dict.fromkeys(load.base for load in step.loads)
    if not lines:
        return "; ".join(reasons) or "the kernel has no loop with a barrier"
    assumed = [base for base in bases if not is_promised(base, kernel, facts)]
    names = ", ".join(f"`{base}`" for base in assumed)
    return edited(
        source,
        splices,
        title=f"Load what the next step needs before this one is computed (line {', '.join(lines)})",
        expected=(
            "Loads of the next step are under way while this one is computed; results stay the same bit for "
            "bit."
        ),
        assumes=(
            (
                f"no launch of `{kernel.name}` lets another argument overlap {names} (none did in the recorded ones)",
            )
            if assumed
            else ()
        ),
    )


def _edit(
    source: bytes, loop: Node, kernel: KernelSyntax, facts: LaunchFacts, style: Style, given: list[str]
) -> tuple[_Step, list[Splice]]:
    """The step that loads ahead of its last barrier that this can be done for, and how. Raises CannotSlice."""
    refusal = CannotSlice(
        "stores nothing for other threads before a barrier that it loads from what the launch leaves as it is"
    )
    for step in _steps(loop, _condition(loop), kernel, facts):
        edit = _try(source, step, kernel, facts, style, given)
        if isinstance(edit, CannotSlice):
            refusal = edit
            singles = (replace(step, loads=(load,)) for load in step.loads)
            apart = [
                s.loads[0] for s in singles if isinstance(_try(source, s, kernel, facts, style, given), list)
            ]
            step = replace(step, loads=tuple(apart))
            edit = _try(source, step, kernel, facts, style, given) if apart else edit
        if isinstance(edit, list):
            given += {word for splice in edit for word in re.findall(r"\w+", splice.text.decode())}
            return step, edit
    raise refusal


def _try(
    source: bytes, step: _Step, kernel: KernelSyntax, facts: LaunchFacts, style: Style, given: Sequence[str]
) -> list[Splice] | CannotSlice:
    """How a step loads ahead, or why it can't."""
    try:
        return _splices(source, step, kernel, facts, style, given)
    except CannotSlice as reason:
        return reason


def _condition(loop: Node) -> Node:
    """The condition of a loop whose steps are whole. Raises CannotSlice for other loops."""
    condition = condition_of(loop)
    if condition is None or loop.type not in ("for_statement", "while_statement"):
        raise CannotSlice("does not begin with its condition")
    if loop.parent is None or loop.parent.type != "compound_statement" or loop.has_error:
        raise CannotSlice("is not a statement of a block that is read in whole")
    for node in walk(loop):
        if node.type in _UNREAD or (node.type in _LEAVING and _leaves(node, loop)):
            raise CannotSlice("can be left in the middle, or is not read in whole")
        directive = node.type.startswith("preproc_") and text_of(node).startswith("#")
        if directive and not text_of(node).removeprefix("#").lstrip().startswith("pragma"):
            raise CannotSlice("holds a directive")
        if node.type == "expression_statement" and [n.type for n in node.named_children] == ["identifier"]:
            raise CannotSlice(f"holds `{text_of(node)}`, which is not read")
    return condition


def _steps(loop: Node, condition: Node, kernel: KernelSyntax, facts: LaunchFacts) -> Iterator[_Step]:
    """The step with each barrier before which it loads something for other threads, the last one first."""
    statements, first = _body(loop), head_values(loop)
    if first is None:
        raise CannotSlice("begins with more than values of variables")
    barriers = list(top_level_barriers(statements))
    for before, barrier in reversed(list(zip([0, *barriers], barriers, strict=False))):
        loaded = any(True for _ in _loads(statements[before:barrier], kernel, facts))
        stored = any(_stores_for_others(s, kernel) for s in statements[before:barrier])
        if not loaded or not stored or all(s.type == "comment" for s in statements[barrier + 1 :]):
            continue
        loads = tuple(_loads(statements[:barrier], kernel, facts))
        further = (*_changes(loop.child_by_field_name("update")), *_changes_behind(statements[barrier:]))
        yield _Step(loop, condition, statements, barrier, loads, first, further)


def _splices(
    source: bytes, step: _Step, kernel: KernelSyntax, facts: LaunchFacts, style: Style, given: Sequence[str]
) -> list[Splice]:
    """The loads of a step before the loop and behind the barrier, and what uses them. Raises CannotSlice."""
    names, slice_, inside = _slice(step, kernel, facts, style, given)
    loads = [load for load in step.loads if load.node.id in names]
    carried = [_carried(name, step, kernel) for name in _moving(slice_.needed, step, kernel)]
    own = sorted(slice_.assigned - {one.name for one in carried})
    function = fresh_name("load_next", style, [*given, *names.values()])
    pointers = pointers_of(kernel, facts)
    block = [f"if ({squeeze(text_of(step.condition))}) {{", *(style.step + line for line in inside), "}"]
    block[:0] = [f"{_type_before(name, step, kernel)} {name};" for name in own]
    head = [
        "// What the next step needs is loaded while this one is computed.",
        *(
            f"{spelled_element(load.base, pointers[load.base], kernel)} {names[load.node.id]}{{}};"
            for load in loads
        ),
        f"const auto {function} = [&]({', '.join(f'{one.type} {one.name}' for one in carried)}) {{",
        *(style.step + line for line in block),
        "};",
        f"{function}({', '.join(one.begin for one in carried)});",
    ]
    outer = indentation(source, step.loop.start_byte)
    place = before_directives(source, step.loop.start_byte)
    barrier = step.statements[step.barrier]
    again = f"{function}({', '.join(one.then for one in carried)});"
    behind = style.newline + indentation(source, barrier.start_byte) + again
    return [
        Splice(place, place, "".join(outer + line + style.newline for line in head).encode()),
        *(Splice(load.span.start, load.span.end, names[load.node.id].encode()) for load in loads),
        *(removal(source, declaration) for declaration in _left_over(slice_, step)),
        Splice(barrier.end_byte, barrier.end_byte, behind.encode()),
    ]


def _slice(
    step: _Step, kernel: KernelSyntax, facts: LaunchFacts, style: Style, given: Sequence[str]
) -> tuple[dict[int, str], Slice, list[str]]:
    """Variables for the loads, by the ids of these, and the lines that make them. Raises CannotSlice.

    A load that says where another one is stays in its step, and is made once more for the next one.
    """
    loads = list(step.loads)
    while loads and len(loads) <= _MOST_LOADS:
        names: dict[int, str] = {}
        for load in loads:
            stem = f"next_{load.base.replace('.', '_')}"
            names[load.node.id] = numbered_name(stem, style, [*given, *names.values()])
        found = Slice(kernel, names, lambda node: reads_only(node, kernel, facts), style.step)
        found.lines(step.statements[: step.barrier])
        if not found.within:
            comments = {d.id: [squeeze(text_of(c)) for c in comments_of(d)] for d in _left_over(found, step)}
            found = Slice(kernel, names, found.reads_only, style.step, comments)
            lines = found.lines(step.statements[: step.barrier])
            found.use(step.condition)
            return names, found, lines
        loads = [load for load in loads if load.node.id not in found.within]
    raise CannotSlice("loads too many elements in a step, or only such as say where others are")


def _left_over(found: Slice, step: _Step) -> list[Node]:
    """The declarations that nothing in the loop uses any more, once the loads are made elsewhere."""
    gone = set(found.loads)
    unused: list[Node] = []
    for declaration in found.declarations:
        named = [declared_name(d) for d in declaration.children_by_field_name("declarator")]
        names = {text_of(n) for n in named if n is not None}
        mentions = (
            n for n in walk_outside(step.loop, gone) if n.type == "identifier" and text_of(n) in names
        )
        if sum(1 for _ in mentions) == len(named):
            unused.append(declaration)
            gone.add(declaration.id)
    return unused


def _body(loop: Node) -> tuple[Node, ...]:
    body = child_of(loop, "body")
    return tuple(body.named_children) if body.type == "compound_statement" else (body,)


def _leaves(node: Node, loop: Node) -> bool:
    """Whether a statement leaves a step of this loop: a `break` of a loop inside does not."""
    if node.type in ("return_statement", "goto_statement"):
        return True
    inside = LOOPS | {"switch_statement"} if node.type == "break_statement" else LOOPS
    return not any(outer.type in inside for outer in ancestors(node, loop))


def _loads(statements: Sequence[Node], kernel: KernelSyntax, facts: LaunchFacts) -> Iterator[Subscript]:
    """The elements that these statements, outside of loops inside, read for something else than a condition."""
    for use in kernel.subscripts:
        statement = statement_around(use.node, statements)
        if statement is None or use.use != "read" or not use.whole or use.node.type != "subscript_expression":
            continue
        if is_kept(use.base, kernel, facts) and can_be_made_early(use.node, statement):
            yield use


def _stores_for_others(statement: Node, kernel: KernelSyntax) -> bool:
    """Whether LDS is stored to, or an element of something else that is no argument."""
    stores = [child_of(n, "left") for n in walk(statement) if n.type == "assignment_expression"]
    if {text_of(left) for left in stores} & {array.name for array in kernel.shared}:
        return True
    return any(
        kernel.parameter(text_of(n)) is None
        for left in stores
        if left.type == "subscript_expression"
        for n in [next(inner for inner in walk(left) if inner.type == "identifier")]
    )


def _changes(update: Node | None) -> Iterator[_Change]:
    """What a loop's head changes in each step. Raises CannotSlice for what is not read."""
    if update is None:
        return
    if update.type == "comma_expression":
        yield from _changes(child_of(update, "left"))
        yield from _changes(child_of(update, "right"))
        return
    if update.type == "update_expression":
        sign = "+" if "++" in text_of(update) else "-"
        yield _Change(text_of(child_of(update, "argument")), sign, None)
        return
    name = text_of(child_of(update, "left"))
    operator, value = operator_of(update), child_of(update, "right")
    if update.type == "assignment_expression" and operator != "=" and name.isidentifier():
        yield _Change(name, operator.removesuffix("="), value)
    elif value.type == "binary_expression" and text_of(child_of(value, "left")) == name:
        yield _Change(name, operator_of(value), child_of(value, "right"))
    else:
        raise CannotSlice(f"goes on by `{squeeze(text_of(update))}`")


def _changes_behind(statements: Sequence[Node]) -> Iterator[_Change]:
    """The same for statements behind the barrier; the operator is "" for what is changed in another way."""
    for statement in statements:
        plain = statement.type == "expression_statement" and len(statement.named_children) == 1
        try:
            changes = list(_changes(statement.named_children[0])) if plain else []
        except CannotSlice:
            changes = []
        yield from changes
        unread = changed_names(statement) - {change.name for change in changes}
        yield from (_Change(name, "", None) for name in sorted(unread))


def _moving(needed: set[str], step: _Step, kernel: KernelSyntax) -> list[str]:
    """Of the names that the loads need, those that the loop changes. Raises CannotSlice where others may change one."""
    shared = {array.name for array in kernel.shared}
    if wrong := sorted(needed & shared):
        raise CannotSlice(f"reads `{wrong[0]}`, which other threads change, to know where it loads")
    if wrong := sorted(needed & unsteady_names(kernel)):
        raise CannotSlice(f"depends on `{wrong[0]}`, which a pointer, a reference or a lambda may change")
    changed = needed & changed_names(step.loop)
    return [name for name in step.first if name in changed] + sorted(changed - step.first.keys())


def _carried(name: str, step: _Step, kernel: KernelSyntax) -> _Carried:
    """A variable that goes from step to step. Raises CannotSlice for one of an unknown type or value."""
    kind, value = step.first.get(name, ("", None))
    if value is not None and (not is_pure(value, kernel) or names_in(value) & step.first.keys()):
        raise CannotSlice(f"begins with `{name}` at what cannot be computed twice")
    begin = name if value is None else squeeze(text_of(value))
    kind = kind or _type_before(name, step, kernel)
    changes = [change for change in step.further if change.name == name]
    if not changes:
        return _Carried(name, kind, begin, name)
    change = changes[0]
    if len(changes) > 1 or not change.operator or not _stays(change.operand, step.loop):
        raise CannotSlice(f"changes `{name}` behind the barrier in a way that is not known before")
    operand = "1" if change.operand is None else squeeze(text_of(change.operand))
    weak = change.operand is not None and change.operand.type == "binary_expression"
    return _Carried(name, kind, begin, f"{name} {change.operator} {f'({operand})' if weak else operand}")


def _stays(operand: Node | None, loop: Node) -> bool:
    return operand is None or (is_plain(operand) and not names_in(operand) & changed_names(loop))


def _type_before(name: str, step: _Step, kernel: KernelSyntax) -> str:
    """The type of a number that is declared once, before the loop. Raises CannotSlice for anything else."""
    parameter = kernel.parameter(name)
    if parameter is not None:
        if "&" in parameter.type or "[" in parameter.type:
            raise CannotSlice(f"changes `{name}`, whose type is not certain")
        bare = re.sub(r"\s*\b(?:__restrict__|__restrict|restrict)\b", "", parameter.type)
        return bare if parameter.pointer else parameter.element_type
    declarators = [
        declarator
        for node in walk(kernel.body_node)
        if node.type == "declaration"
        for declarator in node.children_by_field_name("declarator")
        if (named := declared_name(declarator)) is not None and text_of(named) == name
    ]
    kind = declared_type(name, kernel)
    plain = [
        d for d in declarators if d.type == "identifier" or child_of(d, "declarator").type == "identifier"
    ]
    before = all(d.start_byte < step.loop.start_byte for d in declarators)
    if len(declarators) != 1 or len(plain) != 1 or not before or kind in (None, "auto"):
        raise CannotSlice(f"changes `{name}`, whose type is not certain")
    return kind or ""
