"""Weights of a window are computed once for each workgroup, into LDS: slow functions of two nested loops' counters.

`expf(-(dx * dx + dy * dy) / (2 * sigma * sigma))` is the same for all threads at each place of a window (a Gaussian
filter, the window of an optical flow), but each wave computes it at each of its places, in tens of instructions. The
workgroup's threads compute the places side by side before anything else. Variables that follow from the counters and
from arguments alone are declared there again. The same expression of the same operands: results stay the same bit for
bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import ancestors, called, child_of, names_in, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.lane_model import constant_number
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.arithmetic_types import (
    changed_within,
    kind_of,
    parse_with_types,
)
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
    INTEGER_TYPES,
    THREAD_IN_BLOCK,
    THREADS_OF_BLOCK,
    Style,
    at_start,
    changed_names,
    fresh_name,
    style_of,
)
from hipscope.formulas.propose.recipes.uniform_table import (
    OPERATIONS,
    CountingLoop,
    counted_loop,
    is_uniform,
    template_numbers,
    without_brackets,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "weight_table"

_LEAST, _MOST = 4, 32  # places along an axis of a table whose size a run decides
_PLACES = 1024  # at most, in a table of known size
_NUMBERS = INTEGER_TYPES | {"float", "double"}


@dataclass(frozen=True)
class _Axis:
    """A loop and the size of the table along it, as text; `places` where it is known, `whole` when all steps fit."""

    loop: CountingLoop
    size: str
    places: int | None
    whole: bool

    @property
    def place(self) -> str:
        """The index of a step: its counter, from 0."""
        start, counter = self.loop.start, self.loop.counter
        text = text_of(start)
        if text == "0":
            return counter
        if start.type == "unary_expression" and text.startswith("-"):
            return f"{counter} + {text[1:].strip()}"
        return f"{counter} - {text if start.type in ('identifier', 'number_literal') else f'({text})'}"

    def counted(self, step: str) -> str:
        """The counter at a step."""
        text = text_of(self.loop.start)
        if text == "0":
            return step
        return f"{step} - {text[1:].strip()}" if text.startswith("-") else f"{text} + {step}"


@dataclass(frozen=True)
class _Weight:
    """One expression, wherever it stands in the loops, its type, and the declarations that it follows from."""

    uses: tuple[Node, ...]
    text: str
    type: str
    function: str
    declared: tuple[Node, ...]


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate with a table for each such expression of the first two loops that have one."""
    del finding
    file = parse_with_types(source, facts)
    reasons: list[str] = []
    for outer, inner in _nests(kernel, file):
        weights = _weights(outer, inner, kernel, file)
        if not weights:
            continue
        axes = [axis for loop in (outer, inner) if (axis := _axis(loop, kernel, file, facts)) is not None]
        line = outer.node.start_point.row + 1
        if len(axes) < 2:
            reasons.append(f"how many steps the loops on line {line} have is not known, or more than {_MOST}")
            continue
        known = [axis.places for axis in axes if axis.places is not None]
        if len(known) == 2 and known[0] * known[1] > _PLACES:
            reasons.append(f"the loops on line {line} go through more than {_PLACES} places")
            continue
        return [_candidate(source, kernel, facts, (axes[0], axes[1]), weights)]
    return Refusal(
        NAME,
        "; ".join(reasons) or "no two loops call a slow function of their counters and of arguments alone",
    )


def _nests(kernel: KernelSyntax, file: FileSyntax) -> list[tuple[CountingLoop, CountingLoop]]:
    loops = [node for node in walk(kernel.body_node) if node.type == "for_statement"]
    counted = [loop for node in loops if (loop := counted_loop(node, kernel, file)) is not None]
    return [
        (outer, inner)
        for outer in counted
        for inner in counted
        if outer.counter != inner.counter
        and any(node.id == outer.node.id for node in ancestors(inner.node, kernel.body_node))
    ]


def _weights(
    outer: CountingLoop, inner: CountingLoop, kernel: KernelSyntax, file: FileSyntax
) -> list[_Weight]:
    """The largest expressions of both counters and what is the same for all threads that hold a slow function."""
    counters = frozenset({outer.counter, inner.counter})
    if any(_declared_again(name, inner, outer, kernel) for name in counters):
        return []
    locals_ = _uniform_locals(kernel, file, counters)
    known = counters | frozenset(locals_)
    found: dict[str, list[Node]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    end = 0
    for node in walk(child_of(inner.node, "body")):
        if node.start_byte < end or node.type not in OPERATIONS or not is_uniform(node, known, kernel, file):
            continue
        expression = without_brackets(node)
        calls = [name for n in walk(expression) if n.type == "call_expression" and (name := called(n))]
        follows = _followed(expression, locals_)
        names = names_in(expression).union(*(names_in(n) for n in follows))
        kind = file.types.get((expression.start_byte, expression.end_byte)) or kind_of(
            expression, kernel, file
        )
        if not calls or not counters <= names or kind not in ("float", "double"):
            continue
        if any(n.type == "lambda_expression" for n in ancestors(node, inner.node)):
            continue
        end = node.end_byte
        found.setdefault(text_of(expression), []).append(expression)
        kinds[text_of(expression)] = kind, calls[0]
    return [
        _Weight(tuple(nodes), text, *kinds[text], _followed(nodes[0], locals_))
        for text, nodes in found.items()
    ]


def _declared_again(name: str, inner: CountingLoop, outer: CountingLoop, kernel: KernelSyntax) -> bool:
    """Whether the name means another variable somewhere within the loops, or is also one of other kinds."""
    own = {inner.node.id: inner.counter, outer.node.id: outer.counter}
    for node in walk(child_of(outer.node, "body")):
        if node.type == "for_statement" and own.get(node.id) == name:
            continue
        if node.type == "declaration" and name in changed_within(node):
            head = node.parent is not None and own.get(node.parent.id) == name
            if not head:
                return True
    return name in {p.name for p in kernel.parameters}


def _uniform_locals(kernel: KernelSyntax, file: FileSyntax, counters: frozenset[str]) -> dict[str, Node]:
    """Variables that are declared once, never change, and follow from the counters and arguments; in their order."""
    declarations = [n for n in walk(kernel.body_node) if n.type == "declaration"]
    every = [name for n in declarations for name in changed_within(n)]
    changed = changed_names(kernel)
    found: dict[str, Node] = {}
    for node in declarations:
        declared = node.children_by_field_name("declarator")
        if len(declared) != 1 or declared[0].type != "init_declarator":
            continue
        name_node = child_of(declared[0], "declarator")
        name, kind = text_of(name_node), text_of(child_of(node, "type"))
        plain = all(
            c.type == "type_qualifier" and text_of(c) in ("const", "constexpr")
            for c in node.named_children
            if c.id not in (declared[0].id, child_of(node, "type").id)
        )
        alone = every.count(name) == 1 and name not in changed and name not in counters
        known = counters | frozenset(found)
        if not (plain and alone and name_node.type == "identifier" and kind in _NUMBERS):
            continue
        in_list = node.parent is not None and node.parent.type == "compound_statement"
        if in_list and is_uniform(child_of(declared[0], "value"), known, kernel, file):
            found[name] = node
    return found


def _followed(expression: Node, locals_: Mapping[str, Node]) -> tuple[Node, ...]:
    """The declarations that an expression needs, in their order."""
    needed: set[str] = set()
    waiting = list(names_in(expression) & set(locals_))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            value = locals_[name].children_by_field_name("declarator")[0]
            waiting += (names_in(value) & set(locals_)) - {name}
    return tuple(node for name, node in locals_.items() if name in needed)


def _axis(loop: CountingLoop, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts) -> _Axis | None:
    """The table along a loop: exactly as long where the compiler knows it, else a little longer than recorded."""
    names = names_in(loop.start) | names_in(loop.end)
    more = text_of(child_of(loop.condition, "operator")) == "<="
    own = frozenset(p.name for p in kernel.parameters) | changed_within(kernel.body_node)
    start, end = text_of(loop.start), text_of(loop.end)
    numbers = [_value(part, file, {}) for part in (loop.start, loop.end)]
    steps = numbers[1] - numbers[0] + more if None not in numbers else None  # type: ignore[operator]
    if names <= (frozenset(file.constants) | template_numbers(kernel)) - own:
        if steps is not None and not names:
            size = str(steps)
        elif start.replace(" ", "") == f"-{end}":
            size = f"2 * {end} + 1" if more else f"2 * {end}"
        elif start == "0":
            size = f"{end} + 1" if more else end
        else:
            size = f"({end}) - ({start})" + (" + 1" if more else "")
        return _Axis(loop, size, steps, whole=True) if steps is None or 0 < steps <= _PLACES else None
    most = 0
    for launch in facts.launches:
        ends = [_value(part, file, launch.scalars) for part in (loop.start, loop.end)]
        if ends[0] is None or ends[1] is None:
            return None
        most = max(most, ends[1] - ends[0] + more)
    if not 1 < most <= _MOST:
        return None
    places = max(_LEAST, 1 << (most - 1).bit_length())
    return _Axis(loop, str(places), places, whole=False)


def _value(node: Node, file: FileSyntax, scalars: Mapping[str, int]) -> int | None:
    """An integer made of numbers, constants and arguments."""
    if text_of(node) in scalars:
        return int(scalars[text_of(node)])
    if node.type == "parenthesized_expression":
        return _value(node.named_children[0], file, scalars)
    if node.type == "unary_expression" and text_of(node).startswith("-"):
        value = _value(child_of(node, "argument"), file, scalars)
        return -value if value is not None else None
    if node.type == "binary_expression" and text_of(child_of(node, "operator")) in ("+", "-"):
        left, right = (_value(child_of(node, side), file, scalars) for side in ("left", "right"))
        if left is None or right is None:
            return None
        return left + right if text_of(child_of(node, "operator")) == "+" else left - right
    return constant_number(node, file.constants)


def _candidate(
    source: bytes,
    kernel: KernelSyntax,
    facts: LaunchFacts,
    axes: tuple[_Axis, _Axis],
    weights: Sequence[_Weight],
) -> Candidate:
    style = style_of(source, kernel)
    names: dict[str, str] = {}
    for weight in weights:
        stem = f"{weight.function}_of_{axes[0].loop.counter}_{axes[1].loop.counter}"
        names[weight.text] = fresh_name(stem, style, names.values())
    splices = [at_start(source, kernel, style, _filled(style, facts, axes, weights, names))]
    within = " && ".join(f"{axis.place} < {axis.size}" for axis in axes if not axis.whole)
    for weight in weights:
        element = f"{names[weight.text]}[{axes[0].place}][{axes[1].place}]"
        for use in weight.uses:
            text = f"{within} ? {element} : {text_of(use)}" if within else element
            bare = use.parent is not None and use.parent.type in (
                "parenthesized_expression",
                "init_declarator",
            )
            splices.append(
                Splice(use.start_byte, use.end_byte, (text if bare or not within else f"({text})").encode())
            )
    listed = ", ".join(f"`{weight.text}`" for weight in weights)
    return Candidate(
        recipe=NAME,
        title=f"Compute {listed} once for each workgroup",
        text=apply_splices(source, splices),
        expected="A workgroup computes the slow function once for each place of the window, not each wave; results "
        "stay the same bit for bit.",
    )


def _filled(
    style: Style,
    facts: LaunchFacts,
    axes: tuple[_Axis, _Axis],
    weights: Sequence[_Weight],
    names: Mapping[str, str],
) -> str:
    """The declarations, the loop in which the threads fill the tables, and the barrier."""
    flat = bool(facts.launches) and all(launch.workgroup[1:] == (1, 1) for launch in facts.launches)
    lane, threads = (
        ("threadIdx.x", "blockDim.x") if flat else map(style.fresh, ("thread_in_block", "threads_of_block"))
    )
    outer, inner = axes
    step, width = style.fresh("place"), _bracketed(inner.size)
    texts = [
        f"// The same for all threads: computed once for each {outer.loop.counter} and {inner.loop.counter}."
    ]
    texts += [f"__shared__ {w.type} {names[w.text]}[{outer.size}][{inner.size}];" for w in weights]
    if not flat:
        texts.append(f"const unsigned {lane} = {THREAD_IN_BLOCK};")
        texts.append(f"const unsigned {threads} = {THREADS_OF_BLOCK};")
    texts.append(
        f"for (int {step} = {lane}; {step} < {_bracketed(outer.size)} * {width}; {step} += {threads}) {{"
    )
    for axis, at in ((outer, f"{step} / {width}"), (inner, f"{step} % {width}")):
        texts.append(f"\tconst {axis.loop.type} {axis.loop.counter} = {axis.counted(at)};")
    declared = {n.id: n for w in weights for n in w.declared}
    texts += [f"\t{text_of(n)}" for n in sorted(declared.values(), key=lambda n: n.start_byte)]
    texts += [f"\t{names[w.text]}[{outer.place}][{inner.place}] = {w.text};" for w in weights]
    return style.lines([*texts, "}", "__syncthreads();"])


def _bracketed(size: str) -> str:
    return size if size.isalnum() else f"({size})"
