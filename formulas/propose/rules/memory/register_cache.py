"""memoryAccess, memoryLocality: an element is loaded again and again, because a store between may have changed it.

Loads it once into a local constant. Needs an element of an argument that the kernel never writes, at an address that
does not change in between, whose first read happens whenever the block is entered; and a buffer that overlapped no
other in all recorded launches, which is assumed for all launches, and shown.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared, relies_on_others, unsteady_names
from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import LOOPS, ancestors, child_of, joins, names_in, squeeze, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Advice, Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    fresh_name,
    indentation,
    is_pure,
    line_start,
    style_of,
    used_otherwise,
)
from hipscope.formulas.propose.splice import Splice

NAME = "register_cache"

_CONDITIONAL = (
    "if_statement",
    "conditional_expression",
    "switch_statement",
    "lambda_expression",
    *sorted(LOOPS),
)


@rewrite("register_cache", "Memory", "memoryAccess", "memoryLocality", rank=36)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Loads an element once that is read again after stores.

    Needs: an argument that the kernel never writes, an address that stays, a first read that is certain; no overlap.
    Assumes: assumed for all launches.
    For: HeCBench floydwarshall2.
    """
    groups: dict[str, list[Subscript]] = {}
    pointers = pointers_of(kernel, facts)
    for subscript in kernel.subscripts:
        if subscript.base in pointers and len(subscript.indices) == 1 and subscript.whole:
            groups.setdefault(squeeze(text_of(subscript.node)), []).append(subscript)
    style = style_of(source, kernel)
    splices: list[Splice] = []
    reasons: list[str] = []
    bases: list[str] = []
    names: list[str] = []
    for text, uses in groups.items():
        if len(uses) < 2 and not _in_loop(uses[0].node, kernel):
            continue
        reason = _why_not(uses, kernel)
        anchor = None if reason is not None else _anchor(uses, kernel)
        if reason is None and anchor is None:
            reason = "may be read under a condition only"
        if reason is not None or anchor is None:
            reasons.append(f"`{text}` {reason}")
        elif _store_between(uses, anchor, kernel, pointers):
            if uses[0].base not in facts.disjoint:
                return _advice(text, facts)
            local = fresh_name(_local_name(uses[0]), style, names)
            splices += _splices(source, uses, anchor, (pointers[uses[0].base], local), style)
            bases.append(uses[0].base)
            names.append(local)
        else:
            reasons.append(f"no store stands between the reads of `{text}`: the compiler keeps it anyway")
    if not splices:
        return "; ".join(reasons) if reasons else "the kernel reads no element of an argument twice"
    kept = ", ".join(f"`{base}`" for base in dict.fromkeys(bases))
    return edited(
        source,
        splices,
        title=f"Load what is read repeatedly from {kept} once",
        expected=(
            "Each of these elements is loaded once instead of after every store; results stay the "
            "same bit for bit."
        ),
        assumes=(
            (
                f"no launch of `{kernel.name}` lets another argument overlap {kept} (none did in the recorded ones)",
            )
        ),
    )


def _advice(text: str, facts: LaunchFacts) -> Advice:
    why = "another argument may overlap it" if facts.launches else "no launch was recorded"
    return Advice(
        NAME, f"Load `{text}` once into a local variable", f"{why}, so a store may change it in between"
    )


def _why_not(uses: Sequence[Subscript], kernel: KernelSyntax) -> str | None:
    base, index = uses[0].base, uses[0].indices[0]
    for subscript in kernel.subscripts:
        if subscript.base == base and subscript.use != "read":
            return "is written by the kernel"
    if used_otherwise(base, (s.node for s in kernel.subscripts if s.base == base), kernel) is not None:
        return f"may be written: `{base}` is also used other than by subscripts"
    if not is_pure(index, kernel):
        return "has an index that cannot be computed twice"
    if any(n.type in ("subscript_expression", "pointer_expression") for n in walk(index)):
        return "has an index that is itself loaded"
    moving = names_in(index) & (changed_once_declared(kernel) | unsteady_names(kernel))
    if moving:
        return f"has an index that changes (`{sorted(moving)[0]}`)"
    if why := relies_on_others(kernel):
        return f"may be stored to by another workgroup: the kernel uses {why}"
    return None


def _anchor(uses: Sequence[Subscript], kernel: KernelSyntax) -> Node | None:
    """The statement before which the element can be loaded: in a block around all reads, the first read runs always."""
    first = min(uses, key=lambda use: use.span.start)
    block: Node = kernel.body_node
    for outer in ancestors(first.node, kernel.body_node):
        holds = all(outer.start_byte <= use.span.start and use.span.end <= outer.end_byte for use in uses)
        if outer.type == "compound_statement" and holds:
            block = outer
            break
    child = first.node
    for outer in ancestors(first.node, block):
        runs_once = outer.type == "for_statement" and _runs(outer)
        if outer.type in _CONDITIONAL and not runs_once and not _is_condition(outer, child):
            return None
        shortcut = joins(outer, "&&", "||")
        if shortcut and child_of(outer, "left").id != child.id:
            return None
        child = outer
    declared = {
        text_of(n) for d in walk(child) if d.type == "init_declarator" for n in [child_of(d, "declarator")]
    }
    return None if declared & names_in(first.indices[0]) else child


def _is_condition(outer: Node, child: Node) -> bool:
    condition = outer.child_by_field_name("condition")
    return condition is not None and condition.id == child.id


def _runs(loop: Node) -> bool:
    """True for a loop whose first step is certain: `for (int k = 0; k < 8; ...)` with numbers."""
    counted = counted_loop(loop)
    return not isinstance(counted, str) and bool(counted.trips())


def _in_loop(node: Node, kernel: KernelSyntax) -> bool:
    return any(a.type in LOOPS for a in ancestors(node, kernel.body_node))


def _store_between(
    uses: Sequence[Subscript], anchor: Node, kernel: KernelSyntax, pointers: Collection[str]
) -> bool:
    """A store to another argument after the first read and before, or in a loop with, another read."""
    spans = [(min(u.span.start for u in uses), max(u.span.end for u in uses))]
    for use in uses:
        around = ancestors(use.node, kernel.body_node)
        spans += [
            (a.start_byte, a.end_byte)
            for a in around
            if a.type in LOOPS and a.start_byte >= anchor.start_byte
        ]
    stores = [s.span.start for s in kernel.subscripts if s.use in ("write", "update") and s.base in pointers]
    return any(start <= store < end for store in stores for start, end in spans)


def _local_name(use: Subscript) -> str:
    index = use.indices[0]
    suffix = text_of(index) if index.type == "identifier" else "value"
    return f"{use.base.replace('.', '_')}_{suffix}"


def _splices(
    source: bytes, uses: Sequence[Subscript], anchor: Node, local: tuple[str, str], style: Style
) -> list[Splice]:
    """The element in a constant before the statement, and its name for each use; `local` are its type and name."""
    element, name = local
    declaration = f"const {element} {name} = {text_of(uses[0].node)};"
    start = line_start(source, anchor.start_byte)
    while (before := anchor.prev_named_sibling) is not None and before.type == "preproc_call":
        anchor = before  # a pragma belongs to the statement behind it
        start = line_start(source, anchor.start_byte)
    column = (
        indentation(source, uses[0].node.start_byte)
        if source[start : start + 1] == b"#"
        else indentation(source, start)
    )
    if source[start : anchor.start_byte].strip():
        opening = Splice(anchor.start_byte, anchor.start_byte, f"{declaration} ".encode())
    else:
        opening = Splice(start, start, f"{column}{declaration}{style.newline}".encode())
    return [opening, *(Splice(u.span.start, u.span.end, name.encode()) for u in uses)]
