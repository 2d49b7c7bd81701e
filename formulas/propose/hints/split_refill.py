"""Loops that ask in every step whether a buffer is used up: the steps up to the next refill as a loop of their own.

`if (position >= 64) { refill(); position = 0; } out[i] ^= buffer[position++];` waits for each element before the next
one is begun, as each step may refill. Between two refills no step does: an inner loop makes these, several at once
with their loads first. Its steps are the same in the same order: same bits. Takes a loop, gives its new text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changes
from hipscope.analysis.source.nodes import child_of, joins, sets, takes_address, text_of, walk
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import device_functions, parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop, stepped_loop
from hipscope.formulas.propose.hints.written_steps import assumed, can_be_written, written_out
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    declared_type,
    fresh_name,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

_UNSIGNED = integers(32, signed=False)
_SIGNED = integers(32, signed=True)
_NO_REFILL = "does not begin each step by asking whether something is used up"


@dataclass(frozen=True)
class RefillLoop:
    """`if (position >= size) { ...; position = start; }` at the begin of a loop whose other statements step on by 1."""

    loop: SteppedLoop
    asked: Node
    steps: tuple[Node, ...]
    position: str
    size: str
    signed: bool


def refill_loop(node: Node, kernel: KernelSyntax, facts: LaunchFacts, source: bytes) -> RefillLoop | str:
    """The loop, if it can be split; else why not, as the end of a sentence about it."""
    body = node.child_by_field_name("body")
    if node.type != "for_statement" or body is None or body.type != "compound_statement":
        return _NO_REFILL
    first, *steps = [n for n in body.named_children if n.type != "comment"] or [body]
    if first.type != "if_statement" or not steps or first.child_by_field_name("alternative") is not None:
        return _NO_REFILL
    condition = child_of(first, "condition").child_by_field_name("value")
    asked = _position_and_size(condition) if condition is not None else None
    if condition is None or asked is None:
        return _NO_REFILL
    position, size = asked
    loop = stepped_loop(node, kernel, facts, source, calls=True)
    if isinstance(loop, str):
        return loop
    if loop.step != "1" or loop.down or loop.relation != "<" or not loop.sure or loop.hoisted:
        return "does not count up by 1 from 0 or more"
    kind = declared_type(position, kernel) or facts.types.of(source, child_of(condition, "left")) or ""
    if kind not in _UNSIGNED | _SIGNED or not _is_own(position, kernel):
        return "asks for something else than a whole number of the thread"
    if not _starts_again(child_of(first, "consequence"), position, int(size)):
        return f"does not set `{position}` to a number at the end of a refill"
    if not _steps_by_one(steps, position) or _may_change(steps, kernel):
        return f"does not move `{position}` by 1 in each step"
    return RefillLoop(loop, first, tuple(steps), position, size, kind in _SIGNED)


def split_at_refills(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, found: RefillLoop, times: int
) -> tuple[Splice, tuple[str, ...]] | None:
    """The splice that makes `times` steps between two refills at once, and what it relies on; None where it cannot."""
    text = apply_splices(source, [_split(source, found, style_of(source, kernel))])
    functions = parse(text).kernels if kernel.is_kernel else device_functions(text)
    function = next((f for f in functions if f.span.start == kernel.span.start), None)
    inner = next(_inner_loops(function, found), None) if function is not None else None
    if function is None or inner is None:
        return None
    loop = stepped_loop(inner, function, facts, text)
    if isinstance(loop, str) or not can_be_written(function, loop, times):
        return None
    whole = apply_splices(text, [written_out(text, function, loop, times)])
    start, end = found.loop.node.start_byte, found.loop.node.end_byte
    relied = assumed(function, loop)
    return Splice(start, end, whole[start : len(whole) - len(source) + end]), (
        *_assumed(found, kernel),
        *((relied,) if relied is not None else ()),
    )


def _inner_loops(function: KernelSyntax, found: RefillLoop) -> Iterator[Node]:
    begin = f"for (; {found.loop.counter} < "
    for node in walk(function.body_node):
        behind = node.type == "for_statement" and node.start_byte > found.loop.node.start_byte
        if behind and text_of(node).startswith(begin):
            yield node


def _position_and_size(condition: Node) -> tuple[str, str] | None:
    """`position` and `64` of `position >= 64`."""
    if not joins(condition, ">="):
        return None
    left, right = child_of(condition, "left"), child_of(condition, "right")
    is_number = right.type == "number_literal" and text_of(right).isdecimal() and text_of(right)[0] != "0"
    return (text_of(left), text_of(right)) if left.type == "identifier" and is_number else None


def _is_own(name: str, kernel: KernelSyntax) -> bool:
    """Whether only what the text shows changes a name: a local whose address nobody has, or a member of the object."""
    parameter = kernel.parameter(name)
    if parameter is not None and (parameter.pointer or "&" in parameter.type):
        return False
    for node in walk(kernel.body_node):
        taken = takes_address(node)
        if (taken or node.type in ("reference_declarator", "lambda_expression")) and name in text_of(node):
            return False
        if node.type == "declaration" and name in text_of(node) and "__shared__" in text_of(node):
            return False
    return name in kernel.state or declared_type(name, kernel) is not None


def _starts_again(refill: Node, position: str, size: int) -> bool:
    """Whether the last statement of a refill sets the position to a number below the buffer's size."""
    inner = [n for n in refill.named_children if n.type != "comment"]
    last = inner[-1] if refill.type == "compound_statement" and inner else refill
    set_ = last.named_children[0] if last.type == "expression_statement" and last.named_children else last
    if not sets(set_):
        return False
    value = text_of(child_of(set_, "right"))
    return text_of(child_of(set_, "left")) == position and value.isdecimal() and int(value, 10) < size


def _steps_by_one(steps: list[Node], position: str) -> bool:
    """Whether one statement moves the position by 1, and nothing else changes it."""
    moved = [change for step in steps for change in changes(step) if change.name == position]
    forms = (f"{position}++", f"++{position}", f"{position}+=1")
    alone = [
        s for s in steps if s.type == "expression_statement" and "".join(text_of(s).split())[:-1] in forms
    ]
    return len(moved) == 1 and len(alone) == 1


def _may_change(steps: list[Node], kernel: KernelSyntax) -> bool:
    """Whether a step calls what cannot be seen through."""
    return any(
        step.start_byte <= o.span.start < step.end_byte for step in steps for o in kernel.through.opaque
    )


def _assumed(found: RefillLoop, kernel: KernelSyntax) -> Iterator[str]:
    """What the steps rely on where the position is a member, which a store through a pointer could change."""
    stores = any(s.use != "read" for s in kernel.subscripts)
    if found.position in kernel.state and stores:
        yield f"no pointer that `{kernel.name}` stores through leads to its own object"


def _split(source: bytes, found: RefillLoop, style: Style) -> Splice:
    loop, node = found.loop, found.loop.node
    outer, start = indentation(source, line_start(source, node.start_byte)), node.start_byte
    inside = child_of(node, "body").named_children
    first, last = inside[0], inside[-1]
    own = next(n for n in inside if n.start_byte > found.asked.start_byte)
    one, two = outer + style.step, outer + 2 * style.step
    end, left = fresh_name("end", style, []), fresh_name("left", style, ["end"])
    begin = f"{loop.type} {loop.counter} = {loop.start}".strip() if loop.start else ""
    limit, size = text_of(loop.limit), f"{found.size}LL" if found.signed else found.size
    asked = source[first.start_byte : found.asked.end_byte].decode("utf-8", "replace")
    steps = source[own.start_byte : last.end_byte].decode("utf-8", "replace").rstrip()
    before = indentation(source, line_start(source, own.start_byte))
    steps = steps.replace(style.newline + before, style.newline + two)
    lines = [
        f"for ({begin}; {loop.counter} < {limit};) {{",
        f"{one}{asked}",
        f"{one}const auto {left} = {size} - {found.position};  // steps up to the next refill",
        f"{one}const {loop.kind} {end} = {left} < {limit} - {loop.counter} ? {loop.counter} + {left} : {limit};",
        f"{one}for (; {loop.counter} < {end}; ++{loop.counter}) {{",
        f"{two}{steps}",
        f"{one}}}",
        f"{outer}}}",
    ]
    return Splice(start, node.end_byte, style.newline.join(lines).encode())
