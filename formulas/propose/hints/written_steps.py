"""Several steps of a loop at once: the loads of all of them before their stores, where one load per step is waited for.

A loop whose step is known only at run time, as `j += gridDim.x * blockDim.x`, is not unrolled by the compiler so that
loads move together, and stores to the array that is read hold them back in any loop. Here the steps are written out in
their order, in unrolled loops or as copies; elements that no other step writes are loaded first. What is left over goes
through the loop as it was. Results stay the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from hipscope.analysis.source.nodes import child_of, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.propose.hints.copied_steps import copied_steps
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop
from hipscope.formulas.propose.hints.early_loads import EarlyLoad, early_loads
from hipscope.formulas.propose.hints.step_text import deeper, multiple
from hipscope.formulas.propose.hints.unrolled_steps import unrolled_steps
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    fresh_name,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_before
from hipscope.formulas.propose.splice import Splice

_MOST_COPIES = 4
_MOST_LINES = 40  # of a loop: its text stands there twice afterwards
_END_OF_INT = 1 << 31


def written_out(source: bytes, kernel: KernelSyntax, loop: SteppedLoop, times: int) -> Splice:
    """The splice that does `times` steps of the loop at once, and the rest as before."""
    style = style_of(source, kernel)
    pragma = pragma_before(loop.node)
    start = loop.node.start_byte if pragma is None else pragma.start_byte
    outer = indentation(source, line_start(source, loop.node.start_byte))
    lines = style.newline.join(_lines(kernel, loop, times, style, outer))
    return Splice(start, loop.node.end_byte, lines.lstrip(" \t").encode())


def assumed(kernel: KernelSyntax, loop: SteppedLoop) -> str | None:
    """What loads before stores rely on beyond the recorded launches."""
    memory = loop.memory
    stored = memory.stored or frozenset()
    loads = [one for one in early_loads(kernel, loop) if isinstance(one, EarlyLoad)]
    read = {load.base for load in loads if load.base not in memory.promised}
    several = len(stored | {load.base for load in loads}) > 1
    loose = read | stored if read and stored and several else set[str]()
    names = ", ".join(f"`{name}`" for name in memory.pointers if name in loose)
    who = f"no {'launch' if kernel.is_kernel else 'call'} of `{kernel.name}`"
    told = f"{who} passes overlapping buffers in {names} (none did in the recorded launches)"
    return told if names else None


def can_be_written(kernel: KernelSyntax, loop: SteppedLoop, times: int) -> bool:
    """Whether that many steps make a text that can be read: copies are for few."""
    style = Style("  ", "", "\n", False, frozenset())
    if loop.trips is not None and loop.trips < times:
        return False
    if _only_stores(loop):
        return False  # nothing moves before a store: the compiler's own copies do as much, and are a line
    if loop.node.end_point.row - loop.node.start_point.row > _MOST_LINES:
        return False
    return times <= _MOST_COPIES or unrolled_steps(kernel, loop, times, style, [], "") is not None


def _only_stores(loop: SteppedLoop) -> bool:
    """Whether a step reads no memory and calls nothing, as in a loop that clears an array."""
    calls = any(n.type == "call_expression" for s in loop.statements for n in walk(s))
    uses = [s.use for s in loop.memory.subscripts]
    return bool(uses) and not calls and all(use == "write" for use in uses)


def _lines(kernel: KernelSyntax, loop: SteppedLoop, times: int, style: Style, outer: str) -> Iterator[str]:
    if loop.trips is None or loop.trips % times or (loop.named and not _can_be_asserted(loop)):
        yield from _with_rest(kernel, loop, times, style, outer)
        return
    if loop.named:
        yield outer + _asserted(loop, times)
    start = f"{loop.type} {loop.counter} = {loop.start}".lstrip()
    yield outer + _head(loop, times, start, f"{loop.counter} {loop.relation} {text_of(loop.limit)}")
    yield from (outer + style.step + line for line in _steps(kernel, loop, times, style, [loop.counter], ""))
    yield outer + "}"


def _can_be_asserted(loop: SteppedLoop) -> bool:
    parent = loop.node.parent
    return loop.relation == "<" and parent is not None and parent.type == "compound_statement"


def _asserted(loop: SteppedLoop, times: int) -> str:
    """What does not compile with another value of the constant, for which steps would be left."""
    limit = text_of(loop.limit)
    steps = limit if int(loop.start) == 0 else f"({limit} - {loop.start})"
    said = f"the loop does {times} steps at once"
    return f'static_assert({steps} % {times * int(loop.step)} == 0, "{said}");'


def _with_rest(
    kernel: KernelSyntax, loop: SteppedLoop, times: int, style: Style, outer: str
) -> Iterator[str]:
    """Two loops, in a block of their own where they have names of their own or stand where one statement does."""
    parent = loop.node.parent
    block = bool(loop.hoisted or loop.type) or parent is None or parent.type != "compound_statement"
    moved = style.step if block else ""
    one, limit, given = outer + moved, text_of(loop.limit), [loop.counter]
    if block:
        yield outer + "{"
    if loop.hoisted:
        limit = fresh_name("limit", style, given)
        given.append(limit)
        yield f"{one}const auto {limit} = {text_of(loop.limit)};"
    start = f"{loop.counter} = {loop.start}" if loop.start else ""
    if loop.type:
        yield f"{one}{loop.type} {start};"
        start = ""
    yield one + _head(loop, times, start, _all_inside(loop, times, limit))
    yield from (one + style.step + line for line in _steps(kernel, loop, times, style, given, moved))
    yield one + "}"
    yield one + _rest(loop, limit, moved)
    if block:
        yield outer + "}"


def _head(loop: SteppedLoop, times: int, start: str, condition: str) -> str:
    step = f"{loop.counter} {'-' if loop.down else '+'}= {multiple(times, loop.factor)}"
    return f"for ({start}; {condition}; {step}) {{  // {times} steps at once"


def _all_inside(loop: SteppedLoop, times: int, limit: str) -> str:
    """The condition that the next `times` steps are all inside the limit."""
    # In 64 bits, so that the sum does not pass the type's end where the counter itself does not.
    suffix = "" if _stays_small(loop, times) else "LL"
    last = f"{loop.counter} {'-' if loop.down else '+'} {multiple(times - 1, loop.factor, suffix)}"
    ahead = f"{last} {loop.relation} {limit}"
    return ahead if loop.sure else f"{loop.counter} {loop.relation} {limit} && {ahead}"


def _stays_small(loop: SteppedLoop, times: int) -> bool:
    """Whether the loop's numbers say that the counter of a later step still is an `int`."""
    if loop.trips is None or loop.most is None:
        return False
    return loop.most + times * int(loop.step) < _END_OF_INT


def _steps(
    kernel: KernelSyntax, loop: SteppedLoop, times: int, style: Style, given: list[str], moved: str
) -> list[str]:
    """The shorter text of the two forms."""
    unrolled = unrolled_steps(kernel, loop, times, style, given, moved)
    if unrolled is not None and times > _MOST_COPIES:
        return unrolled
    copied = copied_steps(kernel, loop, times, style, given, moved)
    return copied if unrolled is None or _length(copied) <= _length(unrolled) else unrolled


def _length(lines: list[str]) -> int:
    return sum(line.count("\n") + 1 for line in lines)


def _rest(loop: SteppedLoop, limit: str, more: str) -> str:
    """The loop as it was, from where its counter is."""
    body = deeper(text_of(child_of(loop.node, "body")), more)
    head = f"{loop.counter} {loop.relation} {limit}"
    if loop.node.type == "while_statement":
        return f"while ({head}) {body}"
    return f"for (; {head}; {text_of(child_of(loop.node, 'update'))}) {body}"
