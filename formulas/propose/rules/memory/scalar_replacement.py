"""memoryAccess, memoryLocality: a loop reads and writes one element of memory in each step, as `out[i] *= x[k]`.

The element stays in a register until the loop's end and is stored once (scalar replacement). A compiler does that where
it knows that the element is stored to anyway; a condition in the loop, or a pointer that might overlap, keeps it from
it. Needs an address that stays the same, a store before the loop or in its first step that is made anyway, nobody who
looks in between, and a buffer that overlaps no other one: promised, or so in all recorded launches, which is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.kernel.loops import head_values
from hipscope.analysis.source.nodes import LOOPS, ancestors, child_of, condition_of, squeeze, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of, spelled_element
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.atomic_sites import number_kinds
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    is_pure,
    numbered_name,
    renamed,
    style_of,
)
from hipscope.formulas.propose.rules.shared.loop_elements import (
    Around,
    around,
    assumption,
    is_steady,
    loops_around,
    names_of,
    seen_before_the_end,
)
from hipscope.formulas.propose.splice import Splice

_BRANCHES = (
    "if_statement",
    "switch_statement",
    "conditional_expression",
    "lambda_expression",
    *sorted(LOOPS),
)


@dataclass(frozen=True)
class _Region:
    """Where an element stays in a register: a loop, behind the store that it begins with, or under its condition.

    `store` is the assignment before the loop; without one the loop's first step stores, where `enters` holds (""
    for a loop that always has a first step).
    """

    loop: Node
    uses: tuple[Subscript, ...]
    store: Node | None = None
    enters: str = ""


@rewrite("scalar_replacement", "Memory", "memoryAccess", "memoryLocality", rank=38)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Keeps an element that a loop reads and writes in a register.

    Needs: a store before the loop or in its first step that is made anyway; an address that stays the same, no other
    use of the array, no barrier, fence or way out of the kernel there; no overlap, or `__restrict__`.
    Assumes: assumed for all launches.
    For: HeCBench lebesgue.
    """
    style = style_of(source, kernel)
    regions: list[_Region] = []
    reasons: dict[str, None] = {}
    for element in _elements(kernel, facts):
        found = _region(element, kernel, facts)
        if isinstance(found, _Region):
            regions.append(found)
        else:
            reasons[f"`{squeeze(text_of(element[0].node))}` on line {element[0].span.line}: {found}"] = None
    if not regions:
        return "; ".join(reasons) or "no loop changes an element of an argument at one address"
    names: list[str] = []
    splices: list[Splice] = []
    places: dict[int, Around] = {}
    for region in regions:
        names.append(numbered_name(f"{region.uses[0].base.replace('.', '_')}_value", style, names))
        lines = places.setdefault(region.loop.id, Around(region.loop))
        runs = numbered_name("loop_runs", style, [known.runs for known in places.values()])
        splices += _splices(region, names[-1], runs, kernel, facts, lines)
    splices += [splice for lines in places.values() for splice in around(source, lines, style)]
    elements = ", ".join(dict.fromkeys(f"`{squeeze(text_of(r.uses[0].node))}`" for r in regions))
    return edited(
        source,
        splices,
        title=f"Keep {elements} in a register until the end of the loop",
        expected="The element is stored once instead of in every step; results stay the same bit for bit.",
        assumes=assumption((r.uses[0].base for r in regions), kernel, facts),
    )


def _elements(kernel: KernelSyntax, facts: LaunchFacts) -> Iterator[tuple[Subscript, ...]]:
    """The uses of each element that a loop stores to at one address, in the outermost loop where it is one."""
    pointers = pointers_of(kernel, facts)
    seen: set[tuple[int, str]] = set()
    for stored in kernel.subscripts:
        if stored.use not in ("write", "update") or stored.base not in pointers:
            continue
        if (
            not stored.whole
            or stored.node.type != "subscript_expression"
            or not is_steady(stored.indices, kernel)
        ):
            continue
        names, text = names_of(stored.indices, kernel), squeeze(text_of(stored.node))
        loop = next((x for x in loops_around(stored.node, kernel) if not names & changed_names(x)), None)
        if loop is not None and (loop.id, text) not in seen:
            seen.add((loop.id, text))
            inside = (s for s in kernel.subscripts if loop.start_byte <= s.span.start < loop.end_byte)
            yield tuple(s for s in inside if squeeze(text_of(s.node)) == text)


def _region(uses: tuple[Subscript, ...], kernel: KernelSyntax, facts: LaunchFacts) -> _Region | str:
    """Where the element can stay in a register, or why nowhere."""
    first = uses[0]
    if not number_kinds(first.base, pointers_of(kernel, facts)[first.base], facts):
        return "it is no number"
    if all(use.use == "write" for use in uses):
        return "it is stored only"
    if any(use.use == "address" for use in uses):
        return "its address is taken"
    names = names_of(first.indices, kernel)
    loop = next(x for x in loops_around(first.node, kernel) if not names & changed_names(x))
    store = _store_before(loop, uses, kernel, facts)
    if store is not None:
        return _Region(loop, uses, store=store)
    why = seen_before_the_end((loop,), first.base, [use.node for use in uses], kernel, facts)
    if why is not None:
        return why
    if not any(_is_certain(use, loop) for use in uses if use.use != "read"):
        return "nothing says that it is stored to at all"
    enters = _entry(loop, kernel)
    return (
        _Region(loop, uses, enters=enters)
        if enters is not None
        else "whether the loop is entered is not known"
    )


def _store_before(
    loop: Node, uses: Sequence[Subscript], kernel: KernelSyntax, facts: LaunchFacts
) -> Node | None:
    """The assignment before the loop from which on the element can stay in a register."""
    text = squeeze(text_of(uses[0].node))
    names = names_of(uses[0].indices, kernel)
    between: list[Node] = [loop]
    before = (
        loop.prev_named_sibling
        if loop.parent is not None and loop.parent.type == "compound_statement"
        else None
    )
    while before is not None:
        between.append(before)
        assignment = before.named_children[0] if before.type == "expression_statement" else None
        if assignment is not None and assignment.type == "assignment_expression":
            left = child_of(assignment, "left")
            if squeeze(text_of(left)) == text and text_of(child_of(assignment, "operator")) == "=":
                nodes = [left, *(use.node for use in uses)]
                why = seen_before_the_end(tuple(between), uses[0].base, nodes, kernel, facts)
                return assignment if why is None and not names & changed_names(*between) else None
        before = before.prev_named_sibling
    return None


def _is_certain(use: Subscript, loop: Node) -> bool:
    """Whether the first step of the loop comes to this use whatever happens."""
    body = loop.child_by_field_name("body")
    if body is None or not body.start_byte <= use.span.start < body.end_byte:
        return False
    child = use.node
    for outer in ancestors(use.node, loop):
        shortcut = outer.type == "binary_expression" and text_of(child_of(outer, "operator")) in ("&&", "||")
        if outer.type in _BRANCHES or shortcut:
            return False
        child = outer if outer.id != body.id else child
    sooner = (n for n in walk(body) if n.start_byte < child.start_byte)
    return not any(n.type in ("break_statement", "continue_statement") for n in sooner)


def _entry(loop: Node, kernel: KernelSyntax) -> str | None:
    """The condition under which a loop has a first step, as a text before it: "" for always, None where not known."""
    if loop.type == "do_statement":
        return ""
    condition = condition_of(loop)
    if condition is None or loop.type == "for_range_loop" or not is_pure(condition, kernel):
        return None
    begins = head_values(loop)
    if begins is None or len(begins) > 1:
        return None
    texts = {}
    for counter, (kind, value) in begins.items():
        if not kind or not is_pure(value, kernel):
            return None
        begin = text_of(value)
        texts[counter] = begin if begin.isdigit() else f"static_cast<{kind}>({begin})"
    return renamed(condition, texts)


def _splices(
    region: _Region, name: str, runs: str, kernel: KernelSyntax, facts: LaunchFacts, lines: Around
) -> Iterator[Splice]:
    """The element's name for the element; where it is loaded and stored around the loop goes into `lines`.

    `runs` is a name for whether the loop has a first step.
    """
    first = region.uses[0]
    kind = spelled_element(first.base, pointers_of(kernel, facts)[first.base], kernel)
    element = text_of(first.node)
    for use in region.uses:
        yield Splice(use.span.start, use.span.end, name.encode())
    if region.store is not None:
        left = child_of(region.store, "left")
        yield Splice(left.start_byte, left.end_byte, f"{kind} {name}".encode())
        lines.after.append(f"{element} = {name};")
    elif region.enters:
        if not lines.runs:
            lines.runs = runs
            lines.before.append(f"const bool {lines.runs} = {region.enters};")
        lines.before += [f"{kind} {name}{{}};", f"if ({lines.runs}) {name} = {element};"]
        lines.after.append(f"if ({lines.runs}) {element} = {name};")
    else:
        lines.before.append(f"{kind} {name} = {element};")
        lines.after.append(f"{element} = {name};")
