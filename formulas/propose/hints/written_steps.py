"""Several steps of a loop at once: the loads of all of them before their stores, where one load per step is waited for.

A loop whose step is known only at run time, as `j += gridDim.x * blockDim.x`, is not unrolled by the compiler so that
loads move together, and stores to the array that is read hold them back in any loop. Here the steps are written out,
each in a block of its own and in their order; elements that no other step writes are loaded first. What is left over
goes through the loop as it was. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    BARRIERS,
    LOOPS,
    ancestors,
    called,
    child_of,
    names_in,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.recipes.shared.arithmetic_types import changed_within, is_plain
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
    Style,
    declared_type,
    fresh_name,
    indentation,
    line_start,
    renamed,
    style_of,
)
from hipscope.formulas.propose.recipes.shared.loop_pragmas import pragma_before
from hipscope.formulas.propose.splice import Splice

_ONE_WORD = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*|[0-9]+")
_LEAVES = frozenset({"break_statement", "continue_statement", "return_statement", "goto_statement"})
_UNREAD = frozenset({"lambda_expression", "gnu_asm_expression", "labeled_statement", "switch_statement"})
_CONDITIONAL = frozenset({"if_statement", "conditional_expression", "switch_statement"})
_COUNTERS = frozenset(
    {
        "int", "long", "long long", "unsigned", "unsigned int", "unsigned long", "uint", "size_t",
        "int32_t", "int64_t", "uint32_t", "uint64_t",
    }
)  # fmt: skip


@dataclass(frozen=True)
class SteppedLoop:
    """`for (type counter = start; counter < limit; counter += step)`; `type` is empty where it is declared before."""

    node: Node
    body: Node
    counter: str
    type: str
    start: str
    relation: str
    limit: str
    step: str


@dataclass(frozen=True)
class _Element:
    """One element of an argument that a step reads, by its text; `written`: the step stores to it at its end."""

    base: str
    uses: tuple[Subscript, ...]
    written: bool

    @property
    def text(self) -> str:
        return text_of(self.uses[0].node)


def counted_loop(loop: Node, kernel: KernelSyntax) -> SteppedLoop | str:
    """The loop, if its steps can be written out; else why not, as the end of a sentence about it."""
    if loop.type != "for_statement":
        return "is no `for` loop"
    if loop.has_error:
        return "is not read in whole"
    start, condition, update, body = (
        child_of(loop, name) for name in ("initializer", "condition", "update", "body")
    )
    header = "does not go by a step, as `for (int i = ...; i < n; i += step)` does"
    begun = _start(start, kernel)
    if begun is None or condition.type != "binary_expression":
        return header
    type_, counter, first = begun
    relation, limit = text_of(child_of(condition, "operator")), child_of(condition, "right")
    step = _step(update, counter)
    if step is None or relation not in ("<", "<=") or text_of(child_of(condition, "left")) != counter:
        return header
    if not is_plain(limit) or not _is_plain_text(update):
        return header
    changed = changed_within(body)
    if ({counter} | names_in(limit) | (names_in(update) - {counter})) & changed:
        return "changes its own bounds"
    for node in walk(body):
        if node.type in LOOPS:
            return "has another loop inside"
        if node.type in _LEAVES or node.type in _UNREAD or node.type.startswith("preproc"):
            return "can be left in the middle, or holds what is not read"
        name = called(node) or ""
        if name in BARRIERS or "atomic" in name or name.startswith(("__syncwarp", "__shfl", "__ballot")):
            return "has a barrier, an atomic or a wave operation"
    return SteppedLoop(loop, body, counter, type_, first, relation, text_of(limit), step)


def written_out(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, loop: SteppedLoop, times: int
) -> Splice:
    """The splice that does `times` steps of the loop at once, and the rest as before."""
    style = style_of(source, kernel)
    pragma = pragma_before(loop.node)
    start = loop.node.start_byte if pragma is None else pragma.start_byte
    outer = indentation(source, line_start(source, loop.node.start_byte))
    lines = style.newline.join(_lines(kernel, facts, loop, times, style, outer))
    return Splice(start, loop.node.end_byte, lines.lstrip(" \t").encode())


def _lines(
    kernel: KernelSyntax, facts: LaunchFacts, loop: SteppedLoop, times: int, style: Style, outer: str
) -> Iterator[str]:
    one, two, three = (outer + style.step * depth for depth in (1, 2, 3))
    counters = [loop.counter]
    for number in range(1, times):
        counters.append(fresh_name(f"{loop.counter}_{number}", style, counters))
    elements = _elements(kernel, facts, loop)
    values: list[list[str]] = []
    given = list(counters)
    for number in range(times):
        values.append([])
        for element in elements:
            name = fresh_name(f"{element.base.rpartition('.')[2]}_{number}", style, given)
            given.append(name)
            values[-1].append(name)
    step = loop.step if _ONE_WORD.fullmatch(loop.step) else f"({loop.step})"
    # In 64 bits, so that the sum does not pass the type's end where the counter itself does not.
    ahead = f"{loop.counter} + {_times(times - 1, step, 'LL')} {loop.relation} {loop.limit}"
    yield outer + "{"
    yield (
        f"{one}{loop.type} {loop.counter} = {loop.start};"
        if loop.type
        else f"{one}{loop.counter} = {loop.start};"
    )
    yield f"{one}for (; {ahead}; {loop.counter} += {_times(times, step)}) {{  // {times} steps at once"
    for number, counter in enumerate(counters[1:], 1):
        kind = f"const {loop.type}" if loop.type else "const auto"
        yield f"{two}{kind} {counter} = {loop.counter} + {_times(number, step)};"
    for number, counter in enumerate(counters):
        for element, value in zip(elements, values[number], strict=True):
            kind = "auto" if element.written else "const auto"
            yield f"{two}{kind} {value} = {renamed(element.uses[0].node, {loop.counter: counter})};"
    for number, counter in enumerate(counters):
        replaced = {
            use.node.id: value
            for element, value in zip(elements, values[number], strict=True)
            for use in element.uses
        }
        inner = (
            [c for c in loop.body.named_children if c.type != "comment"]
            if loop.body.type == "compound_statement"
            else [loop.body]
        )
        alone = len(inner) == 1 and inner[0].type == "expression_statement"
        if alone and not any(element.written for element in elements):
            yield two + _deeper(renamed(inner[0], {loop.counter: counter}, replaced), style.step)
            continue
        yield two + "{"
        for statement in inner:
            yield three + _deeper(renamed(statement, {loop.counter: counter}, replaced), 2 * style.step)
        for element, value in zip(elements, values[number], strict=True):
            if element.written:
                yield f"{three}{renamed(element.uses[0].node, {loop.counter: counter})} = {value};"
        yield two + "}"
    yield one + "}"
    body = _deeper(text_of(loop.body), style.step)
    yield f"{one}for (; {loop.counter} {loop.relation} {loop.limit}; {loop.counter} += {loop.step}) {body}"
    yield outer + "}"


def _deeper(text: str, more: str) -> str:
    """Text of several lines with what follows the first one moved to the right, directives left out."""
    first, *rest = text.splitlines(keepends=True)
    return first + "".join(
        line if line.lstrip().startswith("#") or not line.strip() else more + line for line in rest
    )


def _times(factor: int, step: str, suffix: str = "") -> str:
    """`3LL * step`, as short as it can be written."""
    if step.isdigit():
        return f"{factor * int(step)}{suffix}"
    return step if factor == 1 and not suffix else f"{factor}{suffix} * {step}"


def _start(initializer: Node, kernel: KernelSyntax) -> tuple[str, str, str] | None:
    """(type or "", counter, first value) of the loop's first clause; the type is "" where it is declared before."""
    if initializer.type == "assignment_expression":
        name, value = child_of(initializer, "left"), child_of(initializer, "right")
        whole = text_of(child_of(initializer, "operator")) == "=" and name.type == "identifier"
        known = whole and declared_type(text_of(name), kernel) in _COUNTERS
        return ("", text_of(name), text_of(value)) if known else None
    declared = [n for n in walk(initializer) if n.type == "init_declarator"]
    if initializer.type != "declaration" or len(declared) != 1:
        return None
    name, value = child_of(declared[0], "declarator"), child_of(declared[0], "value")
    kind = squeeze(text_of(child_of(initializer, "type")))
    return (kind, text_of(name), text_of(value)) if name.type == "identifier" and kind in _COUNTERS else None


def _step(update: Node, counter: str) -> str | None:
    """By how much the counter grows: `i++`, `i += step`."""
    text = squeeze(text_of(update)).replace(" ", "")
    if update.type == "update_expression":
        return "1" if text in (f"{counter}++", f"++{counter}") else None
    if update.type != "assignment_expression" or text_of(child_of(update, "left")) != counter:
        return None
    return text_of(child_of(update, "right")) if text_of(child_of(update, "operator")) == "+=" else None


def _is_plain_text(update: Node) -> bool:
    return update.type == "update_expression" or is_plain(child_of(update, "right"))


def _elements(kernel: KernelSyntax, facts: LaunchFacts, loop: SteppedLoop) -> list[_Element]:
    """What may be loaded before other steps have stored: elements that are loaded in every step, of arguments that
    nothing in the loop writes but, perhaps, that element itself.
    """
    inside = [s for s in kernel.subscripts if _within(s.node, loop.body)]
    if not _only_subscripts_write(kernel, loop, inside):
        return []
    pointers = {p.name: p for p in kernel.parameters if p.pointer}
    shared = {a.name for a in kernel.shared}
    bases = {s.base for s in inside if s.base not in shared}
    stored = {s.base for s in inside if s.use in ("write", "update") and s.base not in shared}
    fixed = changed_within(loop.body)
    found: list[_Element] = []
    for base in dict.fromkeys(s.base for s in inside if s.base in pointers):
        uses = tuple(s for s in inside if s.base == base)
        alone = base in facts.disjoint or "restrict" in pointers[base].type
        others = stored - {base}
        if others and not alone and not all(o in facts.disjoint for o in others):
            continue
        if any(names_in(i) & fixed for s in uses for i in s.indices) or any(s.use == "address" for s in uses):
            continue
        if base not in stored:
            texts = dict.fromkeys(text_of(s.node) for s in uses)
            for text in texts:
                same = tuple(s for s in uses if text_of(s.node) == text)
                if loop.counter in names_in(same[0].node) and any(_always(s, loop) for s in same):
                    found.append(_Element(base, same, written=False))
            continue
        one = len({text_of(s.node) for s in uses}) == 1 and _own(uses[0], loop.counter)
        apart = alone or bases == {base}  # its store moves behind the loads of the others in its step
        stores = any(s.use != "read" and _always(s, loop) for s in uses)
        if one and apart and stores and uses[0].use != "write" and _always(uses[0], loop):
            found.append(_Element(base, uses, written=True))
    return found


def _only_subscripts_write(kernel: KernelSyntax, loop: SteppedLoop, inside: list[Subscript]) -> bool:
    """Nothing is stored but to variables and by subscripts, and no call is given a pointer."""
    known = {s.node.id for s in inside}
    pointers = {p.name for p in kernel.parameters if p.pointer}
    if any(_within_span(o.span.start, loop.body) for o in kernel.through.opaque):
        return False
    for node in walk(loop.body):
        if node.type == "pointer_expression":
            return False
        if node.type in ("assignment_expression", "update_expression"):
            target = child_of(node, "left" if node.type == "assignment_expression" else "argument")
            if target.type not in ("identifier", "field_expression") and target.id not in known:
                return False
        if node.type == "identifier" and text_of(node) in pointers:
            outer = node.parent
            while outer is not None and outer.type == "parenthesized_expression":
                outer = outer.parent
            if outer is None or outer.type != "subscript_expression":
                return False
    return True


def _own(subscript: Subscript, counter: str) -> bool:
    """Each step has an element of its own: the only index is the counter, or it and something that stays."""
    if len(subscript.indices) != 1:
        return False
    terms = [subscript.indices[0]]
    found = 0
    while terms:
        term = terms.pop()
        if term.type == "parenthesized_expression" and term.named_children:
            terms.append(term.named_children[0])
        elif term.type == "binary_expression" and text_of(child_of(term, "operator")) == "+":
            terms += [child_of(term, "left"), child_of(term, "right")]
        elif text_of(term) == counter:
            found += 1
        elif counter in names_in(term):
            return False
    return found == 1


def _always(subscript: Subscript, loop: SteppedLoop) -> bool:
    """The step reaches it whatever its data are."""
    for outer in ancestors(subscript.node, loop.node):
        if outer.type in _CONDITIONAL:
            return False
        if outer.type == "binary_expression" and text_of(child_of(outer, "operator")) in ("&&", "||"):
            return False
    return True


def _within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _within_span(position: int, outer: Node) -> bool:
    return outer.start_byte <= position < outer.end_byte
