"""The text of a kernel in which several lanes of a wave share each work-item.

Each lane makes a part of the steps of the loops that can be shared; behind each loop shuffles give all lanes the whole
result, so that the rest of the kernel is the same for all of them, but that only the first one stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import (
    changed_names,
    changed_once_declared,
    relies_on_others,
    waits_together,
)
from hipscope.analysis.source.nodes import called, child_of, declarations_in, text_of, walk
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, elements_of
from hipscope.formulas.launches.one_lane_stores import CannotSeparate, one_lane_stores, written_by
from hipscope.formulas.launches.shared_items import shared_items
from hipscope.formulas.launches.shared_steps import Carried, SharedLoop, shared_loops
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    at_start,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.rules.shared.loop_elements import Around, around, assumption
from hipscope.formulas.propose.rules.shared.thread_renumbering import LANE_FUNCTIONS
from hipscope.formulas.propose.splice import Splice

_SHUFFLED = integers(8) | {"float", "double", "bool"}


_PASSED = ("declaration", "expression_statement", "comment", "preproc_call")
_UNSEEN = ("gnu_asm_expression", "lambda_expression")
# What binds less than a sum, or may.
_LOOSE = ("binary_expression", "conditional_expression", "assignment_expression")


@dataclass(frozen=True)
class SharedKernel:
    """The edits of a kernel whose work-items have `lanes` lanes each, and what it assumes of launches."""

    splices: tuple[Splice, ...]
    loops: tuple[SharedLoop, ...]
    assumes: tuple[str, ...]


def share_kernel(
    source: bytes,
    kernel: KernelSyntax,
    file: FileSyntax,
    facts: LaunchFacts,
    workgroup: int,
    lanes: str,
    *,
    inner: bool = False,
) -> SharedKernel | str:
    """The kernel with `lanes` (the name of a constant) lanes for each work-item, or why that cannot be done.

    `workgroup` is how many work-items a workgroup has along x; `inner` as for `shared_loops`.
    """
    if (why := _refusal(kernel)) is not None:
        return why
    items = shared_items(kernel, file, workgroup, lanes)
    if isinstance(items, str):
        return items
    types = facts.types.spans if facts.types.text == source else {}
    loops, reasons = shared_loops(kernel, facts, types, inner=inner)
    if not loops:
        return "; ".join(reasons) or "it has no loop"
    for loop in loops:
        for one in loop.carried:
            for name, kind in ((one.name, one.type), *one.places):
                if not elements_of(name, kind, facts) <= _SHUFFLED:
                    return f"`{name}` of type `{kind}` cannot be handed from lane to lane"
    if (why := _crossed(loops, kernel)) is not None:
        return why
    try:
        stores = one_lane_stores(kernel, [loop.node for loop in loops], facts)
    except CannotSeparate as reason:
        return str(reason)
    style = style_of(source, kernel)
    lane = style.fresh("lane")
    first = f"const int {lane} = threadIdx.x % {lanes};"
    splices = [*items, at_start(source, kernel, style, style.lines([first]))]
    for loop in loops:
        splices += _shared(source, loop, style, lane, lanes)
    for run in stores:
        splices += _alone(source, run, style, lane)
    written = {base for loop in loops for base, _ in loop.stored} | written_by(stores, kernel, facts)
    assumes = assumption(sorted(written), kernel, facts)
    return SharedKernel(tuple(splices), tuple(loops), assumes)


def _refusal(kernel: KernelSyntax) -> str | None:
    if kernel.barriers or kernel.shared:
        return "the threads of a workgroup already work together (LDS or barriers)"
    own = {name for name, _, _ in declarations_in(kernel.body_node)} | {p.name for p in kernel.parameters}
    if elsewhere := sorted(changed_once_declared(kernel) - own):
        return f"`{elsewhere[0]}`, which it changes, is no variable of the kernel"
    if kernel.through.opaque:
        return kernel.through.opaque[0].sentence
    for node in walk(kernel.body_node):
        if called(node) == "printf":
            return f"it prints on line {node.start_point.row + 1}"
        if (called(node) or "").startswith(LANE_FUNCTIONS) or node.type in _UNSEEN:
            return (
                f"line {node.start_point.row + 1} depends on which lanes share a wave, or is not seen through"
            )
    if word := waits_together(kernel.body_node, kernel):
        return f"lanes of it already work together (`{word}`)"
    if why := relies_on_others(kernel):
        return f"it uses {why}: others may see its memory in between"
    return None


def _crossed(loops: Sequence[SharedLoop], kernel: KernelSyntax) -> str | None:
    """Why what a shared loop stores may be read by another lane; None where each lane reads only what it stored."""
    for loop in loops:
        for base, text in loop.stored:
            for use in kernel.subscripts:
                if use.base != base or loop.node.start_byte <= use.node.start_byte < loop.node.end_byte:
                    continue
                other = next(
                    (o for o in loops if o.node.start_byte <= use.node.start_byte < o.node.end_byte), None
                )
                same = other is not None and (base, text) in other.stored and _same_head(loop, other)
                if not same:
                    return f"`{base}`, which a shared loop stores to, is used on line {use.node.start_point.row + 1}"
    return None


def _same_head(one: SharedLoop, other: SharedLoop) -> bool:
    return text_of(one.begin) == text_of(other.begin) and one.step == other.step


def _shared(source: bytes, loop: SharedLoop, style: Style, lane: str, lanes: str) -> list[Splice]:
    """One loop of which each lane makes a part, and what puts the parts together."""
    begin, step = text_of(loop.begin), loop.step
    ahead = f"{lane} * {step}" if step else lane
    summand = begin if loop.begin.type not in _LOOSE or _is_sum(loop.begin) else f"({begin})"
    first = ahead if begin == "0" else f"{summand} + {ahead}"
    by = f"{lanes} * {step}" if step else lanes
    begun = [c.name for c in loop.carried if c.kind == "sum" and not _begins_with_zero(c, loop)]
    before = [f"if ({lane} != 0) {' = '.join(begun)} = 0;"] if begun else []
    after = list(_together(loop.carried, style, lanes))
    splices = [
        Splice(loop.begin.start_byte, loop.begin.end_byte, first.encode("utf-8", "surrogateescape")),
        Splice(loop.update.start_byte, loop.update.end_byte, f"{loop.counter} += {by}".encode()),
    ]
    if not before and not after:
        return splices
    return [*splices, *around(source, Around(loop.node, before, after), style)]


def _is_sum(node: Node) -> bool:
    operator = child_of(node, "operator")
    return node.type == "binary_expression" and text_of(operator) in ("+", "-", "*", "/", "%")


def _begins_with_zero(one: Carried, loop: SharedLoop) -> bool:
    """Whether the statement that stands right before the loop, or shortly before, sets the variable to nothing."""
    before = loop.node.prev_named_sibling
    name = re.escape(one.name)
    zero = r"(0|0?\.0?[fF]?|0\.0*[fF]?|\w+\(0(\.0*)?[fF]?\)|\(\w+\)\s*0(\.0*)?[fF]?)"
    while before is not None and before.type in _PASSED:
        text = " ".join(text_of(before).split())
        if re.search(rf"(^|[\s,*]){name}\s*(=\s*{zero}|\{{\s*(0\.?0*[fF]?)?\s*\}})\s*[,;]", text):
            return True
        if one.name.split(".")[0] in changed_names(before):
            return False
        before = before.prev_named_sibling
    return False


def _together(carried: Sequence[Carried], style: Style, lanes: str) -> Iterator[str]:
    """The lines behind a loop by which all lanes get what each has found."""
    if not carried:
        return
    offset, step = style.fresh("offset"), style.step
    lines: list[str] = []
    for one in carried:
        other = f"__shfl_xor({one.name}, {offset})"
        if one.kind in ("sum", "bits"):
            lines.append(f"{one.name} {one.operator}= {other};")
        elif one.kind == "least":
            lines.append(f"{one.name} = {one.operator}({one.name}, {other});")
        elif not one.places:
            name = style.fresh(f"other_{one.name}")
            lines += [
                f"const {one.type} {name} = {other};",
                f"if ({name} {one.operator} {one.name}) {one.name} = {name};",
            ]
        else:
            lines += _better(one, style, offset)
    head = f"for (int {offset} = {lanes} / 2; {offset} > 0; {offset} /= 2)"
    if len(lines) == 1:
        yield f"{head} {lines[0]}"
        return
    yield f"{head} {{"
    yield from (step + line for line in lines)
    yield "}"


def _better(one: Carried, style: Style, offset: str) -> Iterator[str]:
    """Of two best values the better one, of equal ones the one that was found first."""
    names = {name: style.fresh(f"other_{name}") for name in (one.name, *(n for n, _ in one.places))}
    for name, kind in ((one.name, one.type), *one.places):
        yield f"const {kind} {names[name]} = __shfl_xor({name}, {offset});"
    best, other = one.name, names[one.name]
    tie = f"{other} == {best} && {names[one.counter]} < {one.counter}"
    yield f"if ({other} {one.operator} {best} || ({tie})) {{"
    yield from (f"{style.step}{name} = {fresh};" for name, fresh in names.items())
    yield "}"


def _alone(source: bytes, run: Sequence[Node], style: Style, lane: str) -> list[Splice]:
    """Statements that one lane makes."""
    first, last = run[0], run[-1]
    outer = indentation(source, first.start_byte)
    head = f"if ({lane} == 0)"
    own_line = not source[line_start(source, first.start_byte) : first.start_byte].strip()
    single = len(run) == 1 and first.type == "expression_statement"
    if single:
        return [Splice(first.start_byte, first.start_byte, f"{head} ".encode())]
    if not own_line:
        return [
            Splice(first.start_byte, first.start_byte, f"{head} {{ ".encode()),
            Splice(last.end_byte, last.end_byte, b" }"),
        ]
    splices = [
        Splice(
            line_start(source, first.start_byte),
            line_start(source, first.start_byte),
            f"{outer}{head} {{{style.newline}".encode(),
        )
    ]
    position = line_start(source, first.start_byte)
    while position < last.end_byte:
        end = source.find(b"\n", position)
        line = source[position : end if end >= 0 else len(source)]
        if line.strip() and not line.lstrip().startswith(b"#"):
            splices.append(Splice(position, position, style.step.encode()))
        position = end + 1 if end >= 0 else len(source)
    splices.append(Splice(last.end_byte, last.end_byte, f"{style.newline}{outer}}}".encode()))
    return splices
