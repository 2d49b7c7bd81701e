"""Steps of a loop in small unrolled loops: what they load first goes into arrays, and the body stands there once.

Takes the loop and how many steps, gives the lines, or None where the type of an element is not certain. The compiler
unrolls the loops, whose lengths are numbers, and keeps the arrays in registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, names_in, text_of
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop
from hipscope.formulas.propose.hints.early_loads import (
    Early,
    EarlyLoad,
    EarlyValue,
    by_level,
    early_loads,
    read_by,
)
from hipscope.formulas.propose.hints.step_text import StepNames, deeper, multiple, under
from hipscope.formulas.propose.rules.shared.edit_helpers import Style, declared_type, fresh_name

_ONE_TYPE = re.compile(r"[A-Za-z_]\w*(?: [A-Za-z_]\w*)*")


def unrolled_steps(
    kernel: KernelSyntax, loop: SteppedLoop, times: int, style: Style, taken: list[str], moved: str
) -> list[str] | None:
    """The lines of `times` steps; `taken` are names given before. `moved`: how far right the loop itself moves."""
    if all(s.type == "comment" for s in loop.statements):
        return None
    early = early_loads(kernel, loop)
    loads = [one for one in early if isinstance(one, EarlyLoad)]
    if not all(_is_typed(load, kernel) for load in loads):
        return None
    given = list(taken)
    number = fresh_name("u", style, given)
    counter = fresh_name(f"{loop.counter}_{number}", style, [*given, number])
    given += [number, counter]
    names = StepNames({loop.counter: counter})
    arrays: dict[int, str] = {}
    for load in loads:
        arrays[id(load)] = fresh_name(f"{load.stem}_at", style, given)
        given.append(arrays[id(load)])
        names.replaced.update({use.node.id: f"{arrays[id(load)]}[{number}]" for use in load.uses})
    unrolled = _Unrolled(loop, times, number, counter, style.step)
    lines: list[str] = []
    counters: list[str] = []
    if not loop.step.isdigit():  # as a sum in each of the loops it would take more registers
        counters = unrolled.counters(fresh_name(f"{loop.counter}_at", style, given))
    for together in by_level(early).values():
        mine = [one for one in together if isinstance(one, EarlyLoad)]
        lines += [f"{m.type} {arrays[id(m)]}[{times}]{' = {}' if m.guards else ''};" for m in mine]
        if mine:
            lines += unrolled.lines(_loaded(mine, early, names, kernel, style.step))
    lines += unrolled.lines(_body(loop, loads, names, moved + style.step))
    return (counters if unrolled.counted else []) + lines


class _Unrolled:
    """The loop over the steps, around lines that use its counter."""

    def __init__(self, loop: SteppedLoop, times: int, number: str, counter: str, more: str) -> None:
        self._loop, self._times, self._number = loop, times, number
        self._counter, self._more = counter, more
        self._head = f"for (int {number} = 0; {number} < {times}; ++{number})"
        self._value = f"{loop.counter} {'-' if loop.down else '+'} {multiple(number, loop.factor)}"
        self._declared = f"{loop.copy_type} {counter} = {self._value};"
        # Without a variable of the counter's type the sum has to be of that type.
        self._is_same = "short" not in loop.kind and loop.step.isdigit()
        self.counted = False  # whether lines so far use the counter

    def counters(self, array: str) -> list[str]:
        """The counters of all steps, from now on taken from an array."""
        line, self._value, self._is_same = (
            f"{array}[{self._number}] = {self._value};",
            f"{array}[{self._number}]",
            True,
        )
        self._declared = f"{self._loop.copy_type} {self._counter} = {self._value};"
        declared = f"{self._loop.copy_type.removeprefix('const ')} {array}[{self._times}];"
        return [declared, "#pragma unroll", f"{self._head} {line}"]

    def lines(self, inside: list[str]) -> list[str]:
        """The loop. An only statement of one line stands behind its head."""
        uses = len(re.findall(rf"\b{self._counter}\b", "\n".join(inside)))
        self.counted |= bool(uses)
        short = len(inside) == 1 and _is_plain(inside[0])
        if short and uses == 1 and self._is_same:
            text = inside[0].replace(f"[{self._counter}]", f"[{self._value}]")
            inside, uses = [re.sub(rf"\b{self._counter}\b", f"({self._value})", text)], 0
        if short and not uses:
            return ["#pragma unroll", f"{self._head} {inside[0]}"]
        first = [self._declared] if uses else []
        return [
            "#pragma unroll",
            f"{self._head} {{",
            *(self._more + line for line in (*first, *inside)),
            "}",
        ]


def _is_plain(line: str) -> bool:
    return line.count(";") == 1 and line.endswith(";") and not re.search(r"[\n{}#]|//|/\*", line)


def _is_typed(load: EarlyLoad, kernel: KernelSyntax) -> bool:
    """Whether the load, as it is written, has the type that its pointer leads to: no helper, no row of a matrix."""
    node, use = load.uses[0].node, load.uses[0]
    if not _ONE_TYPE.fullmatch(load.type) or load.type in ("void", "auto") or not use.whole:
        return False
    if node.type == "call_expression" or len(use.indices) != 1:
        return False
    parameter = kernel.parameter(load.base)
    if parameter is not None and parameter.type.count("*") + parameter.type.count("[") != 1:
        return False
    if node.type != "subscript_expression":
        return True
    pointer = text_of(child_of(node, "argument"))
    return pointer == load.base or declared_type(pointer, kernel) in (None, "auto", load.type)


def _loaded(
    mine: list[EarlyLoad], early: tuple[Early, ...], names: StepNames, kernel: KernelSyntax, more: str
) -> list[str]:
    """The loads of one level and the values that say from where."""
    values = {one.name: one for one in early if isinstance(one, EarlyValue)}
    needed: set[str] = set()
    left = [name for load in mine for node in read_by(load) for name in names_in(node)]
    while left:
        name = left.pop()
        if name in values and name not in needed:
            needed.add(name)
            left += names_in(values[name].value)
    lines = [f"const {v.type} {v.name} = {names.text(v.value)};" for n, v in values.items() if n in needed]
    guarded: dict[str, list[str]] = {}
    for load in mine:
        line = f"{names.replaced[load.uses[0].node.id]} = {names.element(load)};"
        if load.guards:
            guarded.setdefault(names.asked(load.guards, kernel), []).append(line)
        else:
            lines.append(line)
    return lines + under(guarded, more)


def _body(loop: SteppedLoop, loads: list[EarlyLoad], names: StepNames, moved: str) -> list[str]:
    """The loop's body as it was, comments too, and the stores of what it has changed in the arrays."""
    body = child_of(loop.node, "body")
    text = names.text(body)
    if body.type == "compound_statement":
        left_out = dict.fromkeys(_step_of(body), "") if loop.node.type == "while_statement" else {}
        text = StepNames(names.names, {**names.replaced, **left_out}).text(body)[1:-1]
    lines = [deeper(text.strip(), moved)]
    stored = [load for load in loads if load.written]
    return lines + [f"{names.element(s)} = {names.replaced[s.uses[0].node.id]};" for s in stored]


def _step_of(body: Node) -> Iterator[int]:
    """The statement that a `while` loop's body ends with, and the comments on it: beside, above and below."""
    *before, last = [n for n in body.named_children if n.type != "comment"]
    row = before[-1].end_point.row if before else -1
    yield last.id
    for node in body.named_children:
        if (
            node.type == "comment"
            and node.start_point.row > row
            and (not before or node.start_byte > before[-1].end_byte)
        ):
            yield node.id
