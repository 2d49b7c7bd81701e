"""Several outputs per thread: what they share is loaded once, and their chains of operations overlap.

A kernel that computes one output per thread in a loop (a matrix product, distances of pairs, an n-body sum) becomes one
that computes those of 2, 4 or 8 workgroups side by side: what depends on the number of the workgroup gets a value for
each output, and the loop is jammed. The launch stays as it is: the workgroups that have nothing left end at once.
Needs loops whose steps are the same for all outputs, guards that hold for all workgroups before one, and no exchange
between lanes. Each output is computed by the same operations in the same order: results stay the same bit for bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.builtins import words
from hipscope.analysis.kernel.effects import changed_names, relies_on_others, waits_together
from hipscope.analysis.source.nodes import (
    ancestors,
    arguments_of,
    called,
    child_of,
    code_of,
    declarations_in,
    declared_name,
    names_in,
    operator_of,
    takes_address,
    text_of,
    walk,
    without_value,
)
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    at_start,
    fresh_name,
    indentation,
    line_start,
    negated,
    style_of,
    with_steps,
)
from hipscope.formulas.propose.rules.shared.preconditions import (
    first_refusal,
    no_helper_asks_for_the_workgroup,
    no_macro_hides,
    seen_through_whole,
)
from hipscope.formulas.propose.rules.tiles.output_jamming import (
    CannotJam,
    Jam,
    OutputGroup,
    OutputGuard,
    indices,
    is_index,
    jam_of,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

_OUTPUTS = (4, 2, 8)
_MOST = 4  # candidates: what the compiler may be told is timed with them
_LEAST_WAVES = 1024  # that still do something, about one for each SIMD of a large GPU: with fewer, units idle
# What asks for the other workgroups or lanes, cannot be repeated, or hides what is repeated.
_NOT_REPEATED = re.compile(rf"{words('output', 'copies').pattern}|\b(?:this_thread_block|static|goto)\b")
_LOADS = re.compile(r"atomic|ldg|load|reinterpret_cast|static_cast", re.IGNORECASE)
_WHOLE = re.compile(r"\bblockIdx\b(?!\s*\.)")


@rewrite("register_tile", "Memory", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """A thread computes 2, 4 or 8 outputs and loads once what they share.

    Needs: a loop whose steps are the same for all outputs and that loads something for all of them; guards like `row
    < m` that hold for all workgroups before one for which they hold; 1024 waves left to work; no shuffles, fences,
    results of atomics, `volatile` or functions that cannot be seen through.
    Results: same bits, unless the compiler fuses others.
    For: matrix_multiplication of rocm-examples.
    """
    if (why := first_refusal(kernel, _PRECONDITIONS)) is not None:
        return why
    reasons: list[str] = []
    found: list[tuple[int, Candidate]] = []
    for axis, waves in _axes(kernel, facts):
        try:
            jam = jam_of(kernel, axis)
            shared = _shared_loads(jam, kernel)
            if not shared:
                raise CannotJam("no loop loads the same for several outputs")
            for place, number in enumerate(n for n in _OUTPUTS if waves >= n * _LEAST_WAVES):
                text = _Rewrite(source, kernel, jam, number).text()
                found.append((place, _candidate(axis, number, text, shared)))
        except CannotJam as reason:
            reasons.append(f"along {axis}: {reason}")
    if found:
        return [candidate for _, candidate in sorted(found, key=lambda one: one[0])][:_MOST]
    return "; ".join(reasons) or f"a part of the waves would be fewer than {_LEAST_WAVES}"


def _candidate(axis: str, number: int, text: bytes, shared: tuple[Node, ...]) -> Candidate:
    lines = ", ".join(str(line) for line in sorted({n.start_point.row + 1 for n in shared}))
    return edited(
        text,
        title=f"Compute {number} outputs per thread, those of {number} workgroups along {axis}",
        expected=(
            f"What line {lines} loads serves {number} outputs, and their operations overlap; each is computed "
            "as before."
        ),
    )


def _axes(kernel: KernelSyntax, facts: LaunchFacts) -> Iterator[tuple[str, int]]:
    """The axes along which the kernel asks for its workgroup, with the waves of the largest launch."""
    used = {text_of(n) for n in walk(kernel.body_node) if n.type in ("field_expression", "identifier")}
    for number, axis in enumerate("xyz"):
        several = [f for f in facts.launches if f.grid[number] > f.workgroup[number]]
        if used & set(indices(axis)) and several:
            yield axis, max(_waves(launch, facts.wave_size) for launch in several)


def _waves(launch: LaunchFact, wave_size: int) -> int:
    sizes = zip(launch.grid, launch.workgroup, strict=True)
    return math.prod(g // w for g, w in sizes) * -(-math.prod(launch.workgroup) // wave_size)


def _shared_loads(jam: Jam, kernel: KernelSyntax) -> tuple[Node, ...]:
    """What a jammed loop loads in each step, the same for all outputs."""
    own = {name for name, d, at in declarations_in(kernel.body_node) if _is_own_array(d, at)}
    found: dict[int, Node] = {}
    for loop in jam.loops:
        if not any(loop.start_byte <= g.nodes[0].start_byte < loop.end_byte for g in jam.groups):
            continue
        stepped = changed_names(loop)
        for node in walk(child_of(loop, "body")):
            if node.type not in ("subscript_expression", "pointer_expression"):
                continue
            names = names_in(node)
            if not jam.depends(node) and names & stepped and not names & own:
                found[node.id] = node
    return tuple(found.values())


def _is_own_array(declarator: Node, declaration: Node) -> bool:
    """An array of the thread: its elements are registers."""
    shared = any(text_of(c) == "__shared__" for c in declaration.children)
    return not shared and any(n.type == "array_declarator" for n in walk(declarator))


def _indices_by_name(kernel: KernelSyntax) -> str | None:
    return "the kernel takes `blockIdx` as a whole" if _WHOLE.search(text_of(kernel.body_node)) else None


def _can_be_repeated(kernel: KernelSyntax) -> str | None:
    if why := relies_on_others(kernel):
        return f"the kernel uses {why}"
    word = _NOT_REPEATED.search(code_of(kernel.body_node))
    return None if word is None else f"the kernel uses `{word[0]}`"


def _no_exchange(kernel: KernelSyntax) -> str | None:
    for node in walk(kernel.body_node):
        if node.type == "lambda_expression":
            return f"line {node.start_point.row + 1} has a lambda"
        name = called(node)
        if node.type != "call_expression" or name == "__syncthreads":
            continue
        if waits_together(node, kernel):
            return f"the threads exchange something on line {node.start_point.row + 1}"
    return None


def _no_results_of_atomics(kernel: KernelSyntax) -> str | None:
    used = next((a for a in kernel.atomics if a.statement is None), None)
    return f"the result of the {used.function} on line {used.span.line} is used" if used else None


def _no_unseen_stores(kernel: KernelSyntax) -> str | None:
    """A function that is given memory by its address loads from it, or is not understood."""
    own = {
        name
        for name, d, _ in declarations_in(kernel.body_node)
        if not any(n.type in ("pointer_declarator", "reference_declarator") for n in walk(without_value(d)))
    }
    pointers = {p.name for p in kernel.parameters if p.pointer} | {
        name
        for name, d, _ in declarations_in(kernel.body_node)
        if any(n.type == "pointer_declarator" for n in walk(without_value(d)))
    }
    for node in walk(kernel.body_node):
        if node.type != "call_expression" or _LOADS.search(name := called(node) or ""):
            continue
        for argument in arguments_of(node):
            address = takes_address(argument)
            if (address and next(_roots(argument), "") not in own) or _is_address(argument, pointers):
                return f"`{name}` on line {node.start_point.row + 1} may store to memory"
    return None


def _is_address(node: Node, pointers: set[str]) -> bool:
    """A pointer, or one that is moved on."""
    if node.type == "binary_expression":
        return any(_is_address(child_of(node, side), pointers) for side in ("left", "right"))
    if node.type in ("cast_expression", "parenthesized_expression"):
        return _is_address(node.named_children[-1], pointers)
    return node.type == "identifier" and text_of(node) in pointers


def _no_aliases(kernel: KernelSyntax) -> str | None:
    """No other name for a variable of the kernel: it may stand for one output's."""
    declared = list(declarations_in(kernel.body_node))
    own = {name for name, d, _ in declared if not any(n.type == "pointer_declarator" for n in walk(d))}
    arrays = {name for name, d, _ in declared if any(n.type == "array_declarator" for n in walk(d))}
    for name, declarator, at in declared:
        kinds = {n.type for n in walk(child_of(declarator, "declarator"))} | {declarator.type}
        value = declarator.child_by_field_name("value")
        names = names_in(value) if value is not None else frozenset()
        if "reference_declarator" in kinds and (
            "const" not in text_of(at).split() or next(iter(_roots(value)), "") in own
        ):
            return f"`{name}` is another name for a place"
        if "pointer_declarator" in kinds and (
            names & arrays or _address_of(value, own) or _pointed_later(kernel, name, own)
        ):
            return f"`{name}` points to a variable of the kernel"
    return None


def _arrays_by_elements(kernel: KernelSyntax) -> str | None:
    """No array of the kernel is used as a pointer, but for atomics."""
    arrays = {
        name
        for name, d, _ in declarations_in(kernel.body_node)
        if any(n.type == "array_declarator" for n in walk(d))
    }
    for node in walk(kernel.body_node):
        if node.type != "identifier" or text_of(node) not in arrays or node.parent is None:
            continue
        if (
            node.parent.type in ("subscript_expression", "array_declarator")
            and node.parent.children[0] == node
        ):
            continue
        calls = (called(outer) or "" for outer in ancestors(node, kernel.body_node))
        if not any("atomic" in name for name in calls):
            return f"`{text_of(node)}` on line {node.start_point.row + 1} is used other than by its elements"
    return None


def _roots(value: Node | None) -> Iterator[str]:
    """The leftmost name of an expression."""
    yield from (text_of(n) for n in (walk(value) if value is not None else ()) if n.type == "identifier")


def _pointed_later(kernel: KernelSyntax, name: str, own: set[str]) -> bool:
    """Whether the pointer is assigned the place of a variable or a row of an array."""
    for node in walk(kernel.body_node):
        if node.type == "assignment_expression" and text_of(child_of(node, "left")) == name:
            value = child_of(node, "right")
            if _address_of(value, own) or (
                value.type == "subscript_expression" and next(_roots(value), "") in own
            ):
                return True
    return False


def _address_of(value: Node | None, own: set[str]) -> bool:
    nodes = walk(value) if value is not None else iter(())
    return any(takes_address(n) and next(_roots(n), "") in own for n in nodes)


_PRECONDITIONS = (
    no_helper_asks_for_the_workgroup,
    _indices_by_name,
    _can_be_repeated,
    seen_through_whole,
    _no_exchange,
    _no_results_of_atomics,
    _no_unseen_stores,
    _no_aliases,
    _arrays_by_elements,
    no_macro_hides,
)


@dataclass(frozen=True)
class _Names:
    """The names that the rewrite brings in."""

    outputs: str
    output: str
    block: str
    inside: str


class _Rewrite:
    """The text of a kernel in which each thread computes `number` outputs."""

    def __init__(self, source: bytes, kernel: KernelSyntax, jam: Jam, number: int) -> None:
        self.source, self.kernel, self.jam, self.number = source, kernel, jam, number
        self.style = style_of(source, kernel)
        self.names = _fresh(self.style, jam.axis)
        self.declared = {d.id: name for name, d in jam.kept}
        self.registers = {
            name
            for name, d, _ in declarations_in(kernel.body_node)
            if not any(
                n.type in ("pointer_declarator", "reference_declarator") for n in walk(without_value(d))
            )
        }

    def text(self) -> bytes:
        """The whole file. Raises CannotJam."""
        splices = [self._head()]
        splices += [self._group(group) for group in self.jam.groups]
        for guard in self.jam.guards:
            splices += self._guard(guard)
        splices += self._shared_arrays()
        return apply_splices(self.source, splices)

    def _head(self) -> Splice:
        axis, n = self.jam.axis, self.names
        first = f"blockIdx.{axis} * {n.outputs}"
        lines = [
            f"// Each thread computes the outputs of {self.number} workgroups along {axis}; the last ones have none.",
            f"constexpr unsigned {n.outputs} = {self.number};",
            f"if (blockIdx.{axis} >= (gridDim.{axis} + {n.outputs} - 1) / {n.outputs}) return;",
            f"unsigned {n.block}[{n.outputs}];",
            f"bool {n.inside}[{n.outputs}];",
            *self._loop(
                [
                    f"{n.inside}[{n.output}] = {first} + {n.output} < gridDim.{axis};",
                    f"{n.block}[{n.output}] = {first} + ({n.inside}[{n.output}] ? {n.output} : 0);",
                ]
            ),
        ]
        return at_start(self.source, self.kernel, self.style, self.style.lines(lines))

    def _loop(self, lines: Iterable[str]) -> list[str]:
        n = self.names
        head = f"for (unsigned {n.output} = 0; {n.output} < {n.outputs}; ++{n.output}) {{"
        return ["#pragma unroll", head, *(f"\t{line}" for line in lines), "}"]

    def _group(self, group: OutputGroup) -> Splice:
        """The statements in a loop over the outputs, behind the declarations of what outlives it."""
        start, end = group.nodes[0].start_byte, group.nodes[-1].end_byte
        declared: list[str] = []
        edits: list[Splice] = []
        for node in group.nodes:
            if node.type == "declaration" and any(d.id in self.declared for d in _declarators(node)):
                if self._stores(node):
                    raise CannotJam(f"line {node.start_point.row + 1} stores and declares")
                lines, text = self._declaration(node)
                declared += lines
                edits.append(Splice(node.start_byte, node.end_byte, text.encode()))
                continue
            edits += self._renamed(node, self.names.output)
            if self._stores(node):
                edits += self._masked(node)
        moved = [Splice(e.start - start, e.end - start, e.text) for e in edits]
        body = apply_splices(self.source[start:end], moved).decode("utf-8", "surrogateescape")
        outer = indentation(self.source, start)
        inner = [line.removeprefix(outer) for line in body.splitlines() if line.strip()]
        lines = [*declared, *(self._loop(inner) if inner else ())]
        if (around := group.nodes[0].parent) is not None and around.type != "compound_statement":
            return self._in_braces(group, lines)
        text = self._placed(group.nodes[0], lines)
        return Splice(start, end, text.encode("utf-8", "surrogateescape"))

    def _masked(self, node: Node) -> Iterator[Splice]:
        """The statement for outputs that there are; one with an `else` in braces."""
        head, start, end = f"if ({self.names.inside}[{self.names.output}]) ", node.start_byte, node.end_byte
        if node.type != "if_statement" or node.child_by_field_name("alternative") is None:
            yield Splice(start, start, head.encode())
            return
        step, newline = self.style.step, self.style.newline
        outer = indentation(self.source, start)
        yield Splice(start, start, f"{head}{{{newline}{outer}{step}".encode())
        position = start
        while 0 < (position := self.source.find(b"\n", position) + 1) < end:
            yield Splice(position, position, step.encode())
        yield Splice(end, end, f"{newline}{outer}}}".encode())

    def _placed(self, first: Node, lines: list[str]) -> str:
        """The lines in the place of a statement."""
        outer, step, newline = indentation(self.source, first.start_byte), self.style.step, self.style.newline
        text = newline.join(outer + with_steps(line, step) for line in lines)
        begins = not self.source[line_start(self.source, first.start_byte) : first.start_byte].strip()
        return text.removeprefix(outer) if begins else newline + text

    def _in_braces(self, group: OutputGroup, lines: list[str]) -> Splice:
        """The lines as the body of a loop or branch that has no braces."""
        first, last = group.nodes[0], group.nodes[-1]
        head = first.parent if first.parent is not None else first
        outer, before = indentation(self.source, head.start_byte), first.prev_sibling
        start = before.end_byte if before is not None and before.type != "comment" else first.start_byte
        inner = (outer + self.style.step + with_steps(line, self.style.step) for line in lines)
        text = self.style.newline.join([" {" if start < first.start_byte else "{", *inner, f"{outer}}}"])
        return Splice(start, last.end_byte, text.encode("utf-8", "surrogateescape"))

    def _declaration(self, node: Node) -> tuple[list[str], str]:
        """The lines that declare what is kept for each output, and the statement that gives it a value."""
        kind = text_of(child_of(node, "type"))
        if kind == "auto":
            raise CannotJam(f"line {node.start_point.row + 1} declares with `auto`")
        constant = any(text_of(c) == "const" for c in node.children)
        declared, given = [], []
        for declarator in _declarators(node):
            value = declarator.child_by_field_name("value")
            if declarator.id not in self.declared:
                text = self._text(declarator, self.names.output)
                given.append(f"{'const ' if constant else ''}{kind} {text};")
                continue
            name, bare = self.declared[declarator.id], without_value(declarator)
            pointer = bare.type == "pointer_declarator"
            held = f"{'const ' if constant and pointer else ''}{kind} {self._array(name, bare)}"
            if bare.type == "array_declarator":
                if value is not None and re.fullmatch(r"\{\s*(0(\.0*)?f?)?\s*\}", text_of(value)) is None:
                    raise CannotJam(f"`{name}` is an array that begins with more than zeros")
                declared.append(f"{held}{' = {}' if value is not None else ''};")
                continue
            declared.append(f"{held};")
            if value is not None:
                text = self._text(value, self.names.output)
                made = f"{kind}{text}" if value.type == "argument_list" else text
                given.append(f"{name}[{self.names.output}] = {made};")
        return declared, " ".join(given)

    def _array(self, name: str, bare: Node) -> str:
        """`acc[outputs]`, `*p[outputs]`, `sums[outputs][4]`."""
        stars = ""
        while bare.type == "pointer_declarator":
            stars, bare = stars + "*", child_of(bare, "declarator")
        if bare.type not in ("identifier", "array_declarator"):
            raise CannotJam(f"`{name}` is declared in a way that is not understood")
        sizes = text_of(bare)[len(name) :] if bare.type == "array_declarator" else ""
        return f"{stars}{name}[{self.names.outputs}]{sizes}"

    def _guard(self, guard: OutputGuard) -> Iterator[Splice]:
        """Outputs that the guard leaves out repeat the first one and store nothing."""
        n, at = self.names, guard.statement.start_byte
        tests = [self._test(test, guard.leaves) for test in guard.tests]
        lines = [f"{n.inside}[{n.output}] = {n.inside}[{n.output}] && {' && '.join(tests)};"]
        repeated = [f"{name}[{n.output}] = {name}[0];" for name in self._needed(guard)]
        if len(repeated) == 1:
            lines.append(
                f"if (!{n.inside}[{n.output}]) {repeated[0]}  // repeats the first one, stores nothing"
            )
        elif repeated:
            lines += [
                f"if (!{n.inside}[{n.output}]) {{  // repeats the first one, stores nothing",
                *(f"\t{line}" for line in repeated),
                "}",
            ]
        outer = indentation(self.source, at)
        text = "".join(
            outer + with_steps(line, self.style.step) + self.style.newline for line in self._loop(lines)
        )
        yield Splice(line_start(self.source, at), line_start(self.source, at), text.encode())
        yield from self._renamed(child_of(guard.statement, "condition"), "0")

    def _test(self, test: Node, leaves: bool) -> str:
        if not leaves:
            return self._text(test, self.names.output)
        if any(is_index(n, self.jam.axis) for n in walk(test)):
            return f"!({self._text(test, self.names.output)})"
        return negated(
            test, self.kernel, {name: f"{name}[{self.names.output}]" for name in self.jam.kept_names}
        )

    def _needed(self, guard: OutputGuard) -> list[str]:
        """What is known of each output before the guard and used behind it."""
        at = guard.statement.start_byte
        later = [n for n in walk(self.kernel.body_node) if n.start_byte >= at]
        used = {text_of(n) for n in later if n.type == "identifier"}
        known: list[str] = []
        for name, declarator in sorted(self.jam.kept, key=lambda one: one[1].start_byte):
            if declarator.start_byte >= at or name not in used:
                continue
            if without_value(declarator).type == "array_declarator":
                raise CannotJam(
                    f"the array `{name}` is filled before the guard on line {guard.statement.start_point.row + 1}"
                )
            known.append(name)
        if any(is_index(n, self.jam.axis) for n in later):
            known.append(self.names.block)
        return known

    def _shared_arrays(self) -> Iterator[Splice]:
        """LDS that each output fills with its own."""
        for name, declarator in self.jam.kept:
            declaration = next(
                at for _, d, at in declarations_in(self.kernel.body_node) if d.id == declarator.id
            )
            if any(text_of(c) == "__shared__" for c in declaration.children):
                if any(text_of(c) == "extern" for c in declaration.children):
                    raise CannotJam(f"`{name}` is as large as the launch says")
                at = _name_of(declarator).end_byte
                yield Splice(at, at, f"[{self.names.outputs}]".encode())

    def _renamed(self, node: Node, output: str) -> list[Splice]:
        """What depends on the output is that of one."""
        found: list[Splice] = []
        stack = [node]
        while stack:
            inner = stack.pop()
            if is_index(inner, self.jam.axis):
                found.append(
                    Splice(inner.start_byte, inner.end_byte, f"{self.names.block}[{output}]".encode())
                )
                continue
            if inner.type == "identifier" and text_of(inner) in self.jam.kept_names:
                found.append(Splice(inner.end_byte, inner.end_byte, f"[{output}]".encode()))
            stack += inner.children
        return found

    def _text(self, node: Node, output: str) -> str:
        edits = [
            Splice(e.start - node.start_byte, e.end - node.start_byte, e.text)
            for e in self._renamed(node, output)
        ]
        return apply_splices(self.source[node.start_byte : node.end_byte], edits).decode(
            "utf-8", "surrogateescape"
        )

    def _stores(self, statement: Node) -> bool:
        """Whether a statement changes memory that others may read."""
        for node in walk(statement):
            if node.type == "call_expression" and "atomic" in (called(node) or ""):
                return True
            if node.type in ("assignment_expression", "update_expression"):
                target = node.child_by_field_name("left") or child_of(node, "argument")
                if not self._is_register(target):
                    return True
        return False

    def _is_register(self, target: Node) -> bool:
        """A variable of the thread, or LDS that is this output's own."""
        while target.type in ("subscript_expression", "field_expression", "parenthesized_expression"):
            if target.type == "field_expression" and operator_of(target) == "->":
                return False
            inner = child_of(target, "argument")
            if (
                target.type == "subscript_expression"
                and inner.type != "identifier"
                and inner.type != "subscript_expression"
            ):
                return False
            target = target.named_children[0] if target.type == "parenthesized_expression" else inner
        if target.type != "identifier":
            return False
        name = text_of(target)
        return name in self.registers or (
            target.parent is not None and target.parent.type in ("assignment_expression", "update_expression")
        )


def _fresh(style: Style, axis: str) -> _Names:
    given: list[str] = []
    output = next((letter for letter in "tuo" if letter not in style.taken), "t")
    for name in ("outputs", output, f"block_{axis}", "inside"):
        given.append(fresh_name(name, style, given))
    return _Names(*given)


def _declarators(declaration: Node) -> list[Node]:
    return declaration.children_by_field_name("declarator")


def _name_of(declarator: Node) -> Node:
    name = declared_name(declarator)
    return declarator if name is None else name
