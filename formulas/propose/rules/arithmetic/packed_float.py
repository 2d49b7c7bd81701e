"""launchConfig: the CUs that have work do two elements of a loop at a time, with packed float instructions.

CDNA2 and CDNA3 add and multiply two floats per lane in one instruction. A kernel whose launch leaves CUs idle cannot
use those, but needs about half of the instructions on the others. Each element goes through the same operations in the
same order. Needs a loop over elements that computes with `+`, `-`, `*` and `/` on floats, without calls and conditions,
and stores at its end. The second element is loaded before the first is stored, so buffers must not overlap; none did in
the recorded launches, which is assumed for all, and shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import child_of, names_in, squeeze, statements_of, text_of, walk
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.rule import rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import is_plain, kind_of
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    declared_type,
    fresh_name,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "packed_float"

_OPERATORS = frozenset({"+", "-", "*", "/"})
_ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/="})


@dataclass(frozen=True)
class _Cannot(Exception):
    """Why the loop cannot take two elements at a time."""

    reason: str


@dataclass
class _Loop:
    """What is read from the loop: its counter and step, and what has to become what."""

    node: Node
    counter: str
    bound: str
    step: str
    pairs: set[str] = field(default_factory=set)
    declarations: list[Node] = field(default_factory=list)
    loads: list[Node] = field(default_factory=list)
    stores: list[Node] = field(default_factory=list)


@rewrite("packed_float", "Arithmetic", "launchConfig")
def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """Two elements of a loop at a time, in packed float instructions.

    Needs: sums, products and quotients of floats, without calls and conditions; gfx90a, gfx942 or gfx950.
    Assumes: no overlap.
    """
    del finding
    file = parse(source)
    reasons: list[str] = []
    for node in kernel.body_node.named_children:
        if node.type != "for_statement":
            continue
        try:
            return [_candidate(source, _read(node, kernel, file), kernel, facts)]
        except _Cannot as cannot:
            reasons.append(f"the loop on line {node.start_point.row + 1} {cannot.reason}")
    return Refusal(NAME, "; ".join(reasons) if reasons else "the kernel has no loop over elements")


def _read(node: Node, kernel: KernelSyntax, file: FileSyntax) -> _Loop:
    """The loop, if all of it can be done for two elements at once. Raises _Cannot."""
    body, counted = child_of(node, "body"), counted_loop(node)
    header = "does not go by more than one element at a time, as `for (int i = ...; i < n; i += step)` does"
    if isinstance(counted, str) or counted.bound is None or counted.amount is None or counted.further:
        raise _Cannot(header)
    right, step = counted.bound, counted.amount
    plain = (
        (counted.operator, counted.comparison) == ("+", "<")
        and counted.type in integers(32)
        and is_plain(right)
        and is_plain(step)
        and body.type == "compound_statement"
    )
    if not plain or (names_in(right) | names_in(step)) & changed_names(node):
        raise _Cannot(header)
    loop = _Loop(node, counted.variable, text_of(right), text_of(step))
    loop.pairs |= {
        text_of(name)
        for d in walk(body)
        if d.type == "declaration" and squeeze(text_of(child_of(d, "type"))) == "float"
        for n in d.children_by_field_name("declarator")
        if (name := child_of(n, "declarator") if n.type == "init_declarator" else n).type == "identifier"
    }
    _statements(body, loop, kernel, file, frozenset())
    if not loop.stores or not loop.pairs:
        raise _Cannot("keeps no float between a load and a store")
    ends = [n for n in body.named_children if n.type != "comment"][-len(loop.stores) :]
    if [n.named_children[0].id for n in ends if n.type == "expression_statement"] != [
        n.id for n in loop.stores
    ]:
        raise _Cannot("does not store at its end")
    stored = {child_of(s, "left").id for s in loop.stores}
    written = {text_of(child_of(child_of(s, "left"), "argument")) for s in loop.stores}
    for subscript in walk(body):
        base = text_of(child_of(subscript, "argument")) if subscript.type == "subscript_expression" else ""
        if base in written and subscript.id not in stored:
            raise _Cannot(f"reads and writes `{base}`")
    return loop


def _statements(
    block: Node, loop: _Loop, kernel: KernelSyntax, file: FileSyntax, counters: frozenset[str]
) -> None:
    for statement in statements_of(block):
        line = statement.start_point.row + 1
        if statement.type == "preproc_call":
            continue
        if statement.type == "for_statement":
            _statements(
                child_of(statement, "body"),
                loop,
                kernel,
                file,
                counters | _inner(statement, loop, file, counters),
            )
        elif statement.type == "compound_statement":
            _statements(statement, loop, kernel, file, counters)
        elif statement.type == "declaration":
            if squeeze(text_of(child_of(statement, "type"))) != "float":
                raise _Cannot(f"declares something other than a float on line {line}")
            loop.declarations.append(statement)
            for declarator in statement.children_by_field_name("declarator"):
                if declarator.type == "init_declarator":
                    _value(child_of(declarator, "value"), loop, kernel, file, counters)
                elif declarator.type != "identifier":
                    raise _Cannot(f"declares something other than a float on line {line}")
        elif statement.type == "expression_statement":
            _assignment(statement.named_children[0], block, loop, kernel, file, counters)
        else:
            raise _Cannot(f"has a condition or a jump on line {line}")


def _inner(statement: Node, loop: _Loop, file: FileSyntax, counters: frozenset[str]) -> frozenset[str]:
    """The counter of an inner loop, which must be the same for both elements."""
    inner = counted_loop(statement)
    if not isinstance(inner, str) and inner.type and not inner.further:
        asked = [part for part in (inner.bound, inner.amount) if part is not None]
        given = [*asked, *filter(None, [inner.first])]
        names = frozenset({inner.variable}).union(*map(names_in, given))
        if all(map(is_plain, asked)) and not names & (loop.pairs | {loop.counter}):
            return frozenset({inner.variable})
    raise _Cannot(
        f"has an inner loop on line {statement.start_point.row + 1} that may differ between elements"
    )


def _assignment(
    node: Node, block: Node, loop: _Loop, kernel: KernelSyntax, file: FileSyntax, counters: frozenset[str]
) -> None:
    line = node.start_point.row + 1
    left = child_of(node, "left")
    if node.type != "assignment_expression" or text_of(child_of(node, "operator")) not in _ASSIGNMENTS:
        raise _Cannot(f"does something else than assigning floats on line {line}")
    if left.type == "identifier" and text_of(left) in loop.pairs:
        _value(child_of(node, "right"), loop, kernel, file, counters)
        return
    base = (
        kernel.parameter(text_of(child_of(left, "argument"))) if left.type == "subscript_expression" else None
    )
    if base is None or not base.pointer or base.element_type != "float" or _index(left) != loop.counter:
        raise _Cannot(f"stores to something else than an element `[{loop.counter}]` on line {line}")
    at_end = block.id == child_of(loop.node, "body").id and text_of(child_of(node, "operator")) == "="
    right = child_of(node, "right")
    if not at_end or right.type != "identifier" or text_of(right) not in loop.pairs:
        raise _Cannot(f"stores something else than a float variable on line {line}")
    loop.stores.append(node)


def _value(node: Node, loop: _Loop, kernel: KernelSyntax, file: FileSyntax, counters: frozenset[str]) -> None:
    """Check an expression that is computed for both elements. Raises _Cannot."""
    where = f"`{squeeze(text_of(node))}` on line {node.start_point.row + 1}"
    if node.type == "parenthesized_expression":
        _value(node.named_children[0], loop, kernel, file, counters)
    elif node.type == "unary_expression" and text_of(child_of(node, "operator")) in "+-":
        _value(child_of(node, "argument"), loop, kernel, file, counters)
    elif node.type == "binary_expression" and text_of(child_of(node, "operator")) in _OPERATORS:
        _value(child_of(node, "left"), loop, kernel, file, counters)
        _value(child_of(node, "right"), loop, kernel, file, counters)
    elif node.type == "subscript_expression":
        base = kernel.parameter(text_of(child_of(node, "argument")))
        if base is None or not base.pointer or base.element_type != "float" or not base.const_pointee:
            raise _Cannot(f"loads {where}, which is no float of an argument that stays as it is")
        if _index(node) == loop.counter:
            loop.loads.append(node)
        elif loop.counter in names_in(node) or names_in(node) & loop.pairs:
            raise _Cannot(f"loads {where}, which is not the element itself")
    elif node.type == "identifier" and text_of(node) in loop.pairs:
        return
    elif node.type not in ("identifier", "number_literal") or kind_of(node, kernel, file) != "float":
        raise _Cannot(f"computes {where}, which is no float arithmetic")


def _index(subscript: Node) -> str:
    listed = child_of(subscript, "indices").named_children
    return text_of(listed[0]) if len(listed) == 1 else ""


def _candidate(source: bytes, loop: _Loop, kernel: KernelSyntax, facts: LaunchFacts) -> Candidate:
    """The text with the loop over two elements. Raises _Cannot when buffers may overlap."""
    touched = {text_of(child_of(n, "argument")) for n in walk(loop.node) if n.type == "subscript_expression"}
    pointers = [p for p in kernel.parameters if p.name in touched]
    promised = all("restrict" in p.type for p in pointers)
    if not promised and not {p.name for p in pointers} <= facts.disjoint:
        raise _Cannot("stores to a buffer that may overlap what it loads")
    style = style_of(source, kernel)
    body = child_of(loop.node, "body")
    first = next(c for c in body.named_children if c.type != "comment")
    at, last = line_start(source, first.start_byte), line_start(source, body.end_byte - 1)
    if source[at : first.start_byte].strip() or source[last : body.end_byte - 1].strip():
        raise _Cannot("does not have each statement on a line of its own")
    indent, newline = indentation(source, first.start_byte), style.newline
    names: list[str] = []
    for wanted in ("pair", "other", "both", "second"):
        names.append(fresh_name(wanted, style, names))
    pair, other, both, second = names
    kind = declared_type(loop.counter, kernel)
    lines = [
        f"typedef float {pair} __attribute__((ext_vector_type(2)));",
        f"const {kind} {other} = {loop.counter} + {loop.step};",
        f"const bool {both} = {other} < {loop.bound};",
        f"const {kind} {second} = {both} ? {other} : {loop.counter};",
    ]
    splices = [Splice(at, at, "".join(indent + line + newline for line in lines).encode())]
    for declaration in loop.declarations:
        kind_node = child_of(declaration, "type")
        splices.append(Splice(kind_node.start_byte, kind_node.end_byte, pair.encode()))
    for load in loop.loads:
        base = text_of(child_of(load, "argument"))
        loaded = f"{{{text_of(load)}, {base}[{second}]}}"
        alone = load.parent is not None and load.parent.type == "init_declarator"
        splices.append(
            Splice(load.start_byte, load.end_byte, (loaded if alone else f"({pair}{loaded})").encode())
        )
    stored = []
    for store in loop.stores:
        value = text_of(child_of(store, "right"))
        splices.append(Splice(store.end_byte, store.end_byte, b".x"))
        base = text_of(child_of(child_of(store, "left"), "argument"))
        stored.append(f"{style.step}{base}[{other}] = {value}.y;")
    ending = [f"if ({both}) {{", *stored, f"{style.step}{loop.counter} = {other};", "}"]
    splices.append(Splice(last, last, "".join(indent + line + newline for line in ending).encode()))
    listed = ", ".join(f"`{p.name}`" for p in pointers)
    return Candidate(
        recipe=NAME,
        title=f"Take two elements at a time in the loop on line {loop.node.start_point.row + 1} (packed float)",
        text=apply_splices(source, splices),
        expected="One packed instruction does what two did, so the CUs that have work need about half of the vector "
        "instructions; results stay the same bit for bit.",
        assumes=()
        if promised
        else (
            f"no launch of `{kernel.name}` passes overlapping buffers in {listed} (none did in the recorded ones)",
        ),
    )
