"""Slow functions of a loop's counter and of arguments alone are computed once for each workgroup, into LDS.

`powf(beta, t)` has one value for all threads in each step of the loop, but each wave computes it, in tens of
instructions. The workgroup's threads compute the values side by side, one step each, before anything else; a step
beyond the table computes its own. The same expression of the same operands: results stay the same bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, changed_once_declared
from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import (
    ancestors,
    bare,
    built_in,
    called,
    child_of,
    joins,
    names_in,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.lane_model import constant_number
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import kind_of, parse_with_types
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    INTEGER_TYPES,
    THREAD_IN_BLOCK,
    THREADS_OF_BLOCK,
    Style,
    at_start,
    fresh_name,
    style_of,
)
from hipscope.formulas.propose.splice import Splice

_FUNCTIONS = frozenset(
    name + suffix
    for name in (
        "pow", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
        "atan", "atan2", "sinh", "cosh", "tanh", "cbrt", "erf", "erfc", "tgamma", "lgamma", "hypot", "sinpi", "cospi",
    )
    for suffix in ("", "f")
)  # fmt: skip
_OF_WORKGROUP = ("blockIdx", "blockDim", "gridDim")
_STEPS = (
    "binary_expression",
    "unary_expression",
    "parenthesized_expression",
    "call_expression",
    "cast_expression",
)
_LEAST, _MOST = 64, 1024  # elements of a table
_MANY = 2  # steps, in all recorded launches: a table of one value is worth nothing


@dataclass(frozen=True)
class _Loop:
    """`for (type counter = start; condition; ++counter)`, with the operator and the end of its condition."""

    node: Node
    type: str
    counter: str
    start: Node
    condition: Node
    end: Node
    comparison: str


@dataclass(frozen=True)
class _Table:
    """One expression, wherever it stands in the loop, and its type."""

    uses: tuple[Node, ...]
    text: str
    type: str
    function: str


@rewrite("uniform_table", "Arithmetic", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Slow functions of a loop's counter are computed once per workgroup.

    Needs: a loop that counts up by one between numbers and arguments that nothing changes; no memory in the
    expression.
    For: HeCBench adam.
    """
    file = parse_with_types(source, facts)
    reasons: list[str] = []
    for node in walk(kernel.body_node):
        if node.type != "for_statement":
            continue
        loop = _counted(node, kernel, file)
        if loop is None:
            continue
        tables = _tables(loop, kernel, file)
        if not tables:
            continue
        steps = _steps(loop, file, facts)
        if steps is None or steps < _MANY:
            reasons.append(
                f"how many steps the loop on line {node.start_point.row + 1} has is not known, or too few"
            )
            continue
        return [_candidate(source, kernel, facts, loop, tables, steps)]
    return "; ".join(reasons) or "no loop calls a slow function of its counter and of arguments alone"


def _counted(node: Node, kernel: KernelSyntax, file: FileSyntax) -> _Loop | None:
    """The loop, if it counts up by one from what is the same for all threads to what is the same for all."""
    loop = counted_loop(node)
    if isinstance(loop, str) or not loop.below or loop.by != 1 or loop.first is None or loop.bound is None:
        return None
    if loop.further or loop.type not in INTEGER_TYPES:
        return None
    if not all(_is_uniform(part, frozenset(), kernel, file) for part in (loop.first, loop.bound)):
        return None
    return _Loop(
        node, loop.type, loop.variable, loop.first, child_of(node, "condition"), loop.bound, loop.comparison
    )


def _is_uniform(expression: Node, counters: frozenset[str], kernel: KernelSyntax, file: FileSyntax) -> bool:
    """Made of literals, constants, sizes of the launch, arguments that nothing changes, and `counters` only."""
    for node in walk(expression):
        if node.type == "field_expression":
            if text_of(child_of(node, "argument")) not in _OF_WORKGROUP:
                return False
        elif node.type == "call_expression":
            if called(node) not in _FUNCTIONS:
                return False
        elif node.type in _STEPS or not node.is_named or node.type == "number_literal":
            continue
        elif node.type == "identifier" and (older := built_in(text_of(node))) is not None:
            if older.partition(".")[0] not in _OF_WORKGROUP:
                return False
        elif node.type == "identifier":
            name = text_of(node)
            parameter = kernel.parameter(name)
            plain = parameter is not None and not parameter.pointer and "&" not in parameter.type
            known = plain and name not in changed_once_declared(kernel)
            constant = name in file.constants and parameter is None and not _declared(name, kernel)
            if not (known or constant or name in counters or name in (*_OF_WORKGROUP, *_FUNCTIONS)):
                return False
        elif node.type not in ("argument_list", "field_identifier", "type_descriptor", "primitive_type"):
            return False
    return True


def _declared(name: str, kernel: KernelSyntax) -> bool:
    return name in changed_names(kernel.body_node)


def _tables(loop: _Loop, kernel: KernelSyntax, file: FileSyntax) -> list[_Table]:
    """The largest expressions of the counter and what is the same for all threads that hold a slow function."""
    body = child_of(loop.node, "body")
    counters = frozenset({loop.counter})
    found: dict[str, list[Node]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    end = 0
    for node in walk(body):
        if node.start_byte < end or node.type not in _STEPS or not _is_uniform(node, counters, kernel, file):
            continue
        inner = _root(node)
        calls = [name for n in walk(inner) if n.type == "call_expression" and (name := called(n)) is not None]
        if not calls or loop.counter not in names_in(inner) or _hidden(node, loop):
            continue
        kind = file.types.get((inner.start_byte, inner.end_byte)) or kind_of(inner, kernel, file)
        end = node.end_byte
        if kind in ("float", "double"):
            found.setdefault(text_of(inner), []).append(inner)
            kinds[text_of(inner)] = kind, calls[0]
    return [_Table(tuple(nodes), text, *kinds[text]) for text, nodes in found.items()]


def _root(node: Node) -> Node:
    """The expression without parentheses; of a product that is added to something only the factor with the function.

    There the compiler may round once for both, and what the table holds is rounded.
    """
    node = bare(node)
    if joins(node, "*"):
        sides = [child_of(node, name) for name in ("left", "right")]
        slow = [side for side in sides if any(n.type == "call_expression" for n in walk(side))]
        return _root(slow[0]) if len(slow) == 1 else node
    return node


def _hidden(node: Node, loop: _Loop) -> bool:
    """Whether another variable has the counter's name there, or the code is another function."""
    for outer in ancestors(node, loop.node):
        if outer.type == "lambda_expression":
            return True
        start = outer.child_by_field_name("initializer") if outer.type == "for_statement" else None
        if start is not None and loop.counter in changed_names(start):
            return True
        if outer.type == "compound_statement":
            declared = [n for n in outer.named_children if n.type == "declaration"]
            if any(loop.counter in changed_names(n) for n in declared):
                return True
    return False


def _steps(loop: _Loop, file: FileSyntax, facts: LaunchFacts) -> int | None:
    """The most steps in a recorded launch; None where that is not a number."""
    first = _number(loop.start, file, {})
    found = [_number(loop.end, file, launch.scalars) for launch in facts.launches]
    ends = [end for end in found if end is not None]
    if first is None or len(ends) < len(found) or not ends:
        return None
    return max(ends) - first + (loop.comparison == "<=")


def _number(node: Node, file: FileSyntax, scalars: object) -> int | None:
    text = text_of(node)
    if isinstance(scalars, dict) and text in scalars:
        return int(scalars[text])
    return constant_number(node, file.constants)


def _candidate(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, loop: _Loop, tables: list[_Table], steps: int
) -> Candidate:
    style = style_of(source, kernel)
    size = _LEAST
    while size < min(steps, _MOST):
        size *= 2
    names: dict[str, str] = {}
    for table in tables:
        whole = table.text.startswith(f"{table.function}(") and table.uses[0].type == "call_expression"
        stem = table.function if whole else "value"
        names[table.text] = fresh_name(f"{stem}_of_{loop.counter}", style, names.values())
    splices = [at_start(source, kernel, style, _filled(style, facts, loop, tables, names, size))]
    first = text_of(loop.start)
    place = loop.counter if first == "0" else f"{loop.counter} - {first}"
    for table in tables:
        for use in table.uses:
            text = f"{_within(loop, size)} ? {names[table.text]}[{place}] : {text_of(use)}"
            bare = use.parent is not None and use.parent.type in (
                "parenthesized_expression",
                "init_declarator",
            )
            splices.append(Splice(use.start_byte, use.end_byte, (text if bare else f"({text})").encode()))
    listed = ", ".join(f"`{table.text}`" for table in tables)
    return edited(
        source,
        splices,
        title=f"Compute {listed} once for each workgroup",
        expected=(
            "One thread computes the slow function for each step, not all of them; results stay the same bit for "
            "bit."
        ),
    )


def _within(loop: _Loop, size: int) -> str:
    """Whether a step of the loop is in the table."""
    first, counter = text_of(loop.start), loop.counter
    return f"{counter} < {size + int(first)}" if first.isdigit() else f"{counter} - {first} < {size}"


def _filled(
    style: Style, facts: LaunchFacts, loop: _Loop, tables: list[_Table], names: dict[str, str], size: int
) -> str:
    """The declarations, the loop in which the threads fill the tables, and the barrier."""
    flat = bool(facts.launches) and all(launch.workgroup[1:] == (1, 1) for launch in facts.launches)
    lane, threads = ("threadIdx.x", "blockDim.x") if flat else (THREAD_IN_BLOCK, THREADS_OF_BLOCK)
    first, counter = text_of(loop.start), loop.counter
    begin, place = (lane, counter) if first == "0" else (f"{first} + {lane}", f"{counter} - {first}")
    texts = [f"// The same for all threads: computed once for the first {size} steps of {counter}."]
    texts += [f"__shared__ {table.type} {names[table.text]}[{size}];" for table in tables]
    asked = f"{_within(loop, size)} && {text_of(loop.condition)}"
    texts.append(f"for ({loop.type} {counter} = {begin}; {asked}; {counter} += {threads}) {{")
    texts += [f"\t{names[table.text]}[{place}] = {table.text};" for table in tables]
    return style.lines([*texts, "}", "__syncthreads();"])
