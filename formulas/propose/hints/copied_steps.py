"""Steps of a loop one below the other, each in a block of its own: the form for few and short ones.

Takes the loop and how many steps, gives the lines that do them, loads first.
"""

from __future__ import annotations

from collections.abc import Iterator

from hipscope.analysis.source.nodes import text_of
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
from hipscope.formulas.propose.hints.step_text import StepNames, deeper, multiple, under
from hipscope.formulas.propose.rules.shared.edit_helpers import Style, fresh_name


def copied_steps(
    kernel: KernelSyntax, loop: SteppedLoop, times: int, style: Style, taken: list[str], moved: str
) -> list[str]:
    """The lines of `times` steps; `taken` are names given before. `moved`: how far right the loop itself moves."""
    given, sign = list(taken), "-" if loop.down else "+"
    steps = [StepNames({loop.counter: loop.counter})]
    lines: list[str] = []
    for number in range(1, times):
        counter = fresh_name(f"{loop.counter}_{number}", style, given)
        given.append(counter)
        steps.append(StepNames({loop.counter: counter}))
        lines.append(f"{loop.copy_type} {counter} = {loop.counter} {sign} {multiple(number, loop.factor)};")
    early = early_loads(kernel, loop)
    lines += _early_lines(early, steps, kernel, style, given)
    for names in steps:
        lines += _step_lines(kernel, loop, early, names, style.step, moved)
    return lines


def _early_lines(
    early: tuple[Early, ...], steps: list[StepNames], kernel: KernelSyntax, style: Style, given: list[str]
) -> Iterator[str]:
    """What all steps have computed and loaded before the first of them begins."""
    named: list[tuple[StepNames, Early, str]] = []
    for number, names in enumerate(steps):
        for one in early:
            stem = one.name if isinstance(one, EarlyValue) else one.stem
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
    mine: list[tuple[Early, str]], names: StepNames, kernel: KernelSyntax, style: Style
) -> Iterator[str]:
    """What one step has made at the same time. What is loaded under the same conditions is so in one block."""
    guarded: dict[str, list[str]] = {}
    for one, name in mine:
        if isinstance(one, EarlyValue):
            yield f"const {one.type} {name} = {names.text(one.value)};"
        elif one.guards:
            yield f"{one.type} {name}{{}};"
            asked = names.asked(one.guards, kernel)
            guarded.setdefault(asked, []).append(f"{name} = {names.element(one)};")
        else:
            yield f"{'auto' if one.written else 'const auto'} {name} = {names.element(one)};"
    yield from under(guarded, style.step)


def _step_lines(
    kernel: KernelSyntax, loop: SteppedLoop, early: tuple[Early, ...], names: StepNames, more: str, moved: str
) -> Iterator[str]:
    """One step in a block of its own. Its locals have their own names there."""
    body = StepNames({k: v for k, v in names.names.items() if k == loop.counter}, names.replaced)
    written = [one for one in early if isinstance(one, EarlyLoad) and one.written]
    statements = [s for s in loop.statements if s.type != "comment"]
    if len(statements) == 1 and statements[0].type == "expression_statement" and not written:
        yield deeper(body.text(statements[0]), moved)
        return
    yield "{"
    depth = 1
    for statement in statements:
        left = continue_guard(statement)
        if left is not None:
            yield f"{more * depth}if ({body.one_asked(Guard(left, False), kernel)}) {{"
            depth += 1
        elif statement.type == "preproc_call":
            yield text_of(statement).strip()
        else:
            yield more * depth + deeper(body.text(statement), moved + more * depth)
    while depth > 1:
        depth -= 1
        yield more * depth + "}"
    for one in written:
        yield f"{more}{names.element(one)} = {names.replaced[one.uses[0].node.id]};"
    yield "}"
