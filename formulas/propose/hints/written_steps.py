"""Several steps of a loop at once: the loads of all of them before their stores, where one load per step is waited for.

A loop whose step is known only at run time, as `j += gridDim.x * blockDim.x`, is not unrolled by the compiler so that
loads move together, and stores to the array that is read hold them back in any loop. Here the steps are written out,
each in a block of its own and in their order; elements that no other step writes are loaded first. What is left over
goes through the loop as it was. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop, continue_guard
from hipscope.formulas.propose.hints.early_loads import (
    Early,
    EarlyLoad,
    EarlyValue,
    Guard,
    by_level,
    early_loads,
)
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
    Style,
    fresh_name,
    indentation,
    line_start,
    negated,
    renamed,
    style_of,
)
from hipscope.formulas.propose.recipes.shared.loop_pragmas import pragma_before
from hipscope.formulas.propose.splice import Splice

_ONE_WORD = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*|[0-9]+")
_WEAK = ("conditional_expression", "binary_expression", "assignment_expression")


@dataclass
class _Names:
    """What the names of one step are called beside the other ones: by name, and by the node of an element."""

    names: dict[str, str]
    replaced: dict[int, str] = field(default_factory=dict)

    def text(self, node: Node) -> str:
        """The node's text for this step."""
        return renamed(node, self.names, self.replaced)

    def element(self, load: EarlyLoad) -> str:
        """What is loaded, or stored to, for this step."""
        node = load.uses[0].node
        return renamed(node, self.names, {key: v for key, v in self.replaced.items() if key != node.id})


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
    told = (
        f"no launch of `{kernel.name}` passes overlapping buffers in {names} (none did in the recorded ones)"
    )
    return told if names else None


def _lines(kernel: KernelSyntax, loop: SteppedLoop, times: int, style: Style, outer: str) -> Iterator[str]:
    one, two = outer + style.step, outer + 2 * style.step
    given = [loop.counter]
    for number in range(1, times):
        given.append(fresh_name(f"{loop.counter}_{number}", style, given))
    steps = [_Names({loop.counter: counter}) for counter in given]
    limit = text_of(loop.limit)
    step = loop.step if _ONE_WORD.fullmatch(loop.step) else f"({loop.step})"
    yield outer + "{"
    if loop.hoisted:
        limit = fresh_name("limit", style, given)
        given.append(limit)
        yield f"{one}const auto {limit} = {text_of(loop.limit)};"
    if loop.start:
        yield f"{one}{loop.type} {loop.counter} = {loop.start};".replace(f"{one} ", one)
    # In 64 bits, so that the sum does not pass the type's end where the counter itself does not.
    sign = "-" if loop.down else "+"
    ahead = f"{loop.counter} {sign} {_times(times - 1, step, 'LL')} {loop.relation} {limit}"
    inside = f"{loop.counter} {loop.relation} {limit}"
    ahead = ahead if loop.sure else f"{inside} && {ahead}"
    yield f"{one}for (; {ahead}; {loop.counter} {sign}= {_times(times, step)}) {{  // {times} steps at once"
    for number, counter in enumerate(given[1:times], 1):
        kind = f"const {loop.type}" if loop.type else "const auto"
        yield f"{two}{kind} {counter} = {loop.counter} {sign} {_times(number, step)};"
    early = early_loads(kernel, loop)
    yield from (two + line for line in _early_lines(early, steps, kernel, style, given))
    for names in steps:
        yield from (two + line for line in _step_lines(kernel, loop, early, names, style.step))
    yield one + "}"
    yield one + _rest(loop, limit, style.step)
    yield outer + "}"


def _rest(loop: SteppedLoop, limit: str, more: str) -> str:
    """The loop as it was, from where its counter is."""
    body = _deeper(text_of(child_of(loop.node, "body")), more)
    head = f"{loop.counter} {loop.relation} {limit}"
    if loop.node.type == "while_statement":
        return f"while ({head}) {body}"
    return f"for (; {head}; {text_of(child_of(loop.node, 'update'))}) {body}"


def _early_lines(
    early: tuple[Early, ...], steps: list[_Names], kernel: KernelSyntax, style: Style, given: list[str]
) -> Iterator[str]:
    """What all steps have computed and loaded before the first of them begins."""
    named: list[tuple[_Names, Early, str]] = []
    for number, names in enumerate(steps):
        for one in early:
            stem = one.name if isinstance(one, EarlyValue) else one.base.rpartition(".")[2]
            name = fresh_name(f"{stem}_{number}", style, given)
            given.append(name)
            named.append((names, one, name))
            if isinstance(one, EarlyValue):
                names.names[one.name] = name
            else:
                names.replaced.update({use.node.id: name for use in one.uses})
    for level in by_level(early):
        for names in steps:
            mine = [(one, name) for whose, one, name in named if whose is names and one.level == level]
            yield from _level_lines(mine, names, kernel, style)


def _level_lines(
    mine: list[tuple[Early, str]], names: _Names, kernel: KernelSyntax, style: Style
) -> Iterator[str]:
    """What one step has made at the same time. What is loaded under the same conditions is so in one block."""
    guarded: dict[str, list[str]] = {}
    for one, name in mine:
        if isinstance(one, EarlyValue):
            yield f"const {one.type} {name} = {names.text(one.value)};"
        elif one.guards:
            yield f"{one.type} {name}{{}};"
            guarded.setdefault(_asked(one.guards, names, kernel), []).append(
                f"{name} = {names.element(one)};"
            )
        else:
            yield f"{'auto' if one.written else 'const auto'} {name} = {names.element(one)};"
    for asked, lines in guarded.items():
        if len(lines) == 1:
            yield f"if ({asked}) {lines[0]}"
            continue
        yield f"if ({asked}) {{"
        yield from (style.step + line for line in lines)
        yield "}"


def _asked(guards: tuple[Guard, ...], names: _Names, kernel: KernelSyntax) -> str:
    """All of the conditions, in one."""
    if len(guards) == 1 and guards[0].holds:
        return names.text(guards[0].condition)
    return " && ".join(_one_of(guard, names, kernel) for guard in guards)


def _one_of(guard: Guard, names: _Names, kernel: KernelSyntax) -> str:
    condition = guard.condition
    if not guard.holds and not any(n.id in names.replaced for n in walk(condition)):
        return negated(condition, kernel, names.names)
    text = names.text(condition)
    if condition.type in _WEAK:
        text = f"({text})"
    return text if guard.holds else f"!{text}"


def _step_lines(
    kernel: KernelSyntax, loop: SteppedLoop, early: tuple[Early, ...], names: _Names, more: str
) -> Iterator[str]:
    """One step in a block of its own. Its locals have their own names there."""
    body = _Names({k: v for k, v in names.names.items() if k == loop.counter}, names.replaced)
    written = [one for one in early if isinstance(one, EarlyLoad) and one.written]
    statements = [s for s in loop.statements if s.type != "comment"]
    if len(statements) == 1 and statements[0].type == "expression_statement" and not written:
        yield _deeper(body.text(statements[0]), more)
        return
    yield "{"
    depth = 1
    for statement in statements:
        left = continue_guard(statement)
        if left is not None:
            yield f"{more * depth}if ({_one_of(Guard(left, False), body, kernel)}) {{"
            depth += 1
        elif statement.type == "preproc_call":
            yield text_of(statement).strip()
        else:
            yield more * depth + _deeper(body.text(statement), more * (depth + 1))
    while depth > 1:
        depth -= 1
        yield more * depth + "}"
    for one in written:
        yield f"{more}{names.element(one)} = {names.replaced[one.uses[0].node.id]};"
    yield "}"


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
