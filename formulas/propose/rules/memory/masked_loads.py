"""Loads under a condition are made without one: at the element's index where the condition holds, else at index 0.

A branch around a load waits for it before the next one is begun: `if (x + k < width) sum += in[x + k] * w[k];` in a
loop is one trip to memory after the other. Without the branch all loads of an unrolled loop are in flight together.
What the branch computes is computed always and kept where the condition holds: results stay the same bit for bit.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.source.nodes import (
    BARRIERS,
    LOOPS,
    ancestors,
    bare,
    called,
    child_of,
    condition_of,
    joins,
    names_in,
    operator_of,
    statements_of,
    text_of,
    walk,
    without_value,
)
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of, spelled_element
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    declared_type,
    fresh_name,
    indentation,
    line_start,
    renamed,
    style_of,
)
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_before, pragma_splice
from hipscope.formulas.propose.splice import Splice

_TOGETHER = 4  # steps of the loop around, whose loads are then made together
_PURE = frozenset(
    f"{name}{suffix}"
    for name in ("fabs", "fmin", "fmax", "fma", "sqrt", "rsqrt", "floor", "ceil", "exp", "log", "min", "max", "abs")
    for suffix in ("", "f")
)  # fmt: skip
_EXPRESSIONS = frozenset(
    {
        "identifier", "number_literal", "char_literal", "true", "false", "binary_expression", "unary_expression",
        "parenthesized_expression", "cast_expression", "conditional_expression", "field_expression",
        "field_identifier", "subscript_expression", "subscript_argument_list", "call_expression", "argument_list",
        "template_function", "template_argument_list", "type_descriptor", "primitive_type", "type_identifier",
        "sized_type_specifier", "condition_clause", "comment",
    }
)  # fmt: skip
_NUMBERS = ("primitive_type", "sized_type_specifier", "type_identifier", "placeholder_type_specifier")
_WEAK = ("conditional_expression", "binary_expression")  # bind weaker than what may be put around them
_FLOATS = ("float", "double")
_CASTS = ("static_cast", "int", "float", "double", "unsigned")


class _CannotMask(Exception):
    """Why a branch has to stay, as the end of a sentence about it."""


@dataclass
class _Branch:
    """One `if` that becomes straight code: the lines so far, the names given, the local variables declared in it."""

    kernel: KernelSyntax
    facts: LaunchFacts
    style: Style
    given: list[str]
    lines: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    types: dict[str, frozenset[str]] = field(default_factory=dict)
    known: dict[str, tuple[str, str | None, frozenset[str]]] = field(default_factory=dict)
    within: dict[str, str | None] = field(default_factory=dict)
    masked: dict[str, None] = field(default_factory=dict)

    @functools.cached_property
    def moved(self) -> set[str]:
        """What the kernel gives another value than it was called with."""
        return set(changed_once_declared(self.kernel))

    def fresh(self, name: str) -> str:
        """A new name like this one."""
        made = fresh_name(name, self.style, self.given)
        self.given.append(made)
        return made

    def holds(self, mask: str | None, outer: str | None) -> bool:
        """Whether the outer mask holds wherever the mask does."""
        while mask is not None and mask != outer:
            mask = self.within.get(mask)
        return mask == outer

    def changed(self, name: str) -> None:
        """Forget what was loaded by the old value of a variable."""
        self.known = {text: found for text, found in self.known.items() if name not in found[2]}


@rewrite("masked_loads", "Memory", anywhere=True, function=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """`if (inside) sum += in[i]` becomes a load that is always made, and a choice.

    Needs: the branch computes numbers of the thread only; the first element is there in all recorded launches;
    functions without side effects.
    """
    style = style_of(source, kernel)
    splices: list[Splice] = []
    lines: list[int] = []
    loops: dict[int, Node] = {}
    reasons: list[str] = []
    given: list[str] = []
    bases: dict[str, None] = {}
    end = 0
    for node in walk(kernel.body_node):
        if node.type != "if_statement" or node.start_byte < end:
            continue
        branch = _Branch(kernel, facts, style, list(given))
        last = _skipped(node) or [node]
        try:
            _straight(branch, node)
        except _CannotMask as reason:
            reasons.append(f"the branch on line {node.start_point.row + 1} {reason}")
            continue
        if not branch.masked:
            continue
        given, end = branch.given, last[-1].end_byte
        bases.update(branch.masked)
        splices.append(_splice(source, style, node, last[-1], branch))
        lines.append(node.start_point.row + 1)
        if (loop := _loop_around(node, kernel)) is not None:
            loops[loop.id] = loop
    if not splices:
        return "; ".join(reasons) or "no load of the kernel stands under a condition of its own"
    texts = [("", splices)]
    if loops:
        told = [
            pragma_splice(source, n, f"unroll {_TOGETHER}", style.newline, style.step) for n in loops.values()
        ]
        texts.append((f", {_TOGETHER} steps of the loop at once", [*told, *splices]))
    where = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
    return [
        edited(
            source,
            edits,
            title=f"Load without a branch ({where}){more}",
            expected=(
                "Loads do not wait for each other behind branches; what a lane does not need is loaded at index "
                "0 and left out. Results stay the same bit for bit."
            ),
            assumes=(_first_elements(bases),),
        )
        for more, edits in texts
    ]


def _first_elements(bases: Iterable[str]) -> str:
    """What the loads at index 0 rely on beyond the recorded launches."""
    names = ", ".join(f"`{name}`" for name in bases)
    return f"{names} can be read at index 0 in every launch, needed or not (so it was in the recorded ones)"


def _skipped(node: Node) -> list[Node]:
    """What `if (...) continue;` skips, up to the end of the loop's body."""
    block = node.parent
    alone = node.child_by_field_name("alternative") is None
    inner = statements_of(child_of(node, "consequence"))
    leaves = len(inner) == 1 and inner[0].type == "continue_statement"
    if not (alone and leaves) or block is None or block.type != "compound_statement":
        return []
    if block.parent is None or block.parent.type not in LOOPS:
        return []
    return [n for n in block.named_children if n.start_byte >= node.end_byte]


def _straight(branch: _Branch, node: Node) -> None:
    """The lines that do what the branch does. Raises _CannotMask."""
    rest = _skipped(node)
    if rest:
        left_out = _condition(branch, _asked(node), None)
        for statement in rest:
            _statement(branch, statement, f"!{left_out}")
        return
    _if(branch, node, None)


def _if(branch: _Branch, node: Node, mask: str | None) -> None:
    inside = _condition(branch, _asked(node), mask)
    _statement(branch, child_of(node, "consequence"), inside)
    other = node.child_by_field_name("alternative")
    if other is not None:
        outside = f"!{inside}"
        branch.within[outside] = mask
        if mask is not None:
            outside = branch.fresh("outside")
            branch.within[outside] = mask
            branch.lines.append(f"const bool {outside} = {mask} && !{inside};")
        _statement(branch, other.named_children[-1] if other.type == "else_clause" else other, outside)


def _asked(node: Node) -> Node:
    value = condition_of(node)
    if value is None:
        raise _CannotMask("declares something in its condition")
    if any(child.type == "constexpr" for child in node.children):
        raise _CannotMask("is decided by the compiler")
    return value


def _condition(branch: _Branch, node: Node, mask: str | None) -> str:
    """The name of what holds where the mask and the condition do."""
    node = bare(node)
    both = joins(node, "&&")
    if both and any(n.type == "subscript_expression" for n in walk(child_of(node, "right"))):
        return _condition(branch, child_of(node, "right"), _condition(branch, child_of(node, "left"), mask))
    text = _value(branch, node, mask)
    name = branch.fresh("inside")
    asked = text if mask is None else f"{mask} && ({text})" if node.type in _WEAK else f"{mask} && {text}"
    branch.lines.append(f"const bool {name} = {asked};")
    branch.within[name] = mask
    return name


def _statement(branch: _Branch, node: Node, mask: str) -> None:
    if node.type == "comment":
        branch.lines.append(text_of(node))
    elif node.type == "compound_statement":
        for inner in node.named_children if node.type == "compound_statement" else [node]:
            _statement(branch, inner, mask)
    elif node.type == "if_statement":
        _if(branch, node, mask)
    elif node.type == "declaration":
        _declaration(branch, node, mask)
    elif node.type == "expression_statement" and len(node.named_children) == 1:
        _assignment(branch, node.named_children[0], mask)
    else:
        raise _CannotMask(f"does more than to compute values (line {node.start_point.row + 1})")


def _declaration(branch: _Branch, node: Node, mask: str) -> None:
    kind = child_of(node, "type")
    if kind.type not in _NUMBERS or any(
        text_of(c) in ("static", "volatile", "__shared__") for c in node.children
    ):
        raise _CannotMask(f"declares more than a number (line {node.start_point.row + 1})")
    head = "const " if any(text_of(c) in ("const", "constexpr") for c in node.children) else ""
    for declarator in node.children_by_field_name("declarator"):
        named = without_value(declarator)
        if named.type != "identifier":
            raise _CannotMask(f"declares more than a number (line {node.start_point.row + 1})")
        value = declarator.child_by_field_name("value")
        if value is not None and value.type in ("initializer_list", "argument_list"):
            raise _CannotMask(f"declares more than a number (line {node.start_point.row + 1})")
        name, written = text_of(named), len(branch.lines)
        begins = f" = {_value(branch, value, mask)}" if value is not None else ""
        if (
            head
            and begins
            and _names_the_load(branch, begins.removeprefix(" = "), text_of(kind), written, name)
        ):
            branch.own.add(name)
            continue
        branch.lines.append(f"{head}{text_of(kind)} {name}{begins};")
        branch.own.add(name)
        branch.changed(name)


def _names_the_load(branch: _Branch, loaded: str, kind: str, written: int, name: str) -> bool:
    """Give what was loaded for a constant, as it is, that constant's name at once: no copy of another name."""
    first = f"const {kind} {loaded} = "
    if len(branch.lines) == written or not branch.lines[-1].startswith(first):
        return False
    branch.lines[-1] = f"const {kind} {name} = {branch.lines[-1].removeprefix(first)}"
    branch.changed(name)
    branch.types[name] = frozenset({kind})
    branch.given.remove(loaded)
    branch.known = {t: (name, *k[1:]) if k[0] == loaded else k for t, k in branch.known.items()}
    return True


def _assignment(branch: _Branch, node: Node, mask: str) -> None:
    """`x = value`, `x += value`, `++x` of a number of the thread."""
    steps = node.type == "update_expression"
    if not steps and node.type != "assignment_expression":
        raise _CannotMask(f"does more than to compute values (line {node.start_point.row + 1})")
    target, operator = child_of(node, "argument" if steps else "left"), operator_of(node)
    name = text_of(target)
    kind = declared_type(name, branch.kernel) if target.type == "identifier" else None
    if kind is None or not _is_number(branch.kernel, name):
        raise _CannotMask(f"stores to more than numbers of the thread (line {node.start_point.row + 1})")
    value = "1" if steps else _value(branch, child_of(node, "right"), mask)
    if operator != "=":
        closed = f"({value})" if not steps and child_of(node, "right").type in _WEAK else value
        value = f"{name} {operator[0] if steps else operator[:-1]} {closed}"
    branch.changed(name)
    if name in branch.own:
        branch.lines.append(f"{name} = {value};")
        return
    counted = steps or child_of(node, "right").type == "number_literal"
    if counted or kind in branch.types.get(value, ()):  # loaded just before, as it is
        branch.lines.append(f"{name} = {mask} ? {value} : {name};")
        return
    after = branch.fresh(f"next_{name}")
    branch.lines += [f"const {kind} {after} = {value};", f"{name} = {mask} ? {after} : {name};"]


def _is_number(kernel: KernelSyntax, name: str) -> bool:
    """Whether the kernel declares it once, as a plain variable: no array, pointer or reference."""
    parameter = kernel.parameter(name)
    if parameter is not None:
        return not parameter.pointer and "&" not in parameter.type
    found = 0
    for node in walk(kernel.body_node):
        if node.type == "declaration":
            for declarator in node.children_by_field_name("declarator"):
                inner = (
                    child_of(declarator, "declarator") if declarator.type == "init_declarator" else declarator
                )
                names = [text_of(n) for n in walk(inner) if n.type == "identifier"]
                if name in names[:1]:
                    found += 1
                    if inner.type != "identifier" or any(
                        text_of(c) in ("volatile", "__shared__") for c in node.children
                    ):
                        return False
    return found == 1


def _value(branch: _Branch, node: Node, mask: str | None) -> str:
    """The expression's text with its loads made before it, where the mask holds. Raises _CannotMask."""
    replaced = {}
    for load in _loads(branch, node):
        name = _loaded(branch, load, mask)
        replaced[load.node.id] = name
    return renamed(node, {}, replaced)


def _loads(branch: _Branch, node: Node) -> Iterator[Subscript]:
    """The loads in an expression that does nothing else, outermost subscripts only. Raises _CannotMask."""
    known = {s.node.id: s for s in branch.kernel.subscripts if s.node.type == "subscript_expression"}
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type == "subscript_expression":
            subscript = known.get(current.id)
            if subscript is None or subscript.use != "read" or not subscript.whole:
                raise _CannotMask(f"reads `{text_of(current)}`, of which too little is known")
            yield subscript
            continue
        if current.is_named and current.type not in _EXPRESSIONS:
            raise _CannotMask(f"computes `{text_of(current)}`")
        if current.type == "field_expression" and "->" in text_of(current):
            raise _CannotMask(f"reads `{text_of(current)}`, of which too little is known")
        if joins(current, "/", "%"):
            _divides_safely(branch, current)
        if current.type == "call_expression" and not _is_pure(branch.kernel, current):
            raise _CannotMask(f"calls `{text_of(child_of(current, 'function'))}`")
        waiting.extend(reversed(current.children))


def _divides_safely(branch: _Branch, node: Node) -> None:
    """Raises _CannotMask for a division of integers by what may be 0: then all of the thread is undefined."""
    left, right = child_of(node, "left"), child_of(node, "right")
    literal = right.type == "number_literal" and text_of(right).strip("0uUlL") != ""
    if not (literal or _is_float(branch, left) or _is_float(branch, right)):
        raise _CannotMask(
            f"divides integers by `{text_of(right)}`, which may be 0 where the branch is not taken"
        )


def _is_float(branch: _Branch, node: Node) -> bool:
    """Whether an expression certainly is a floating-point number."""
    if node.type == "number_literal":
        text = text_of(node).lower()
        return not text.startswith("0x") and ("." in text or "e" in text)
    if node.type == "identifier":
        return (declared_type(text_of(node), branch.kernel) or "").removeprefix("const ") in _FLOATS
    if node.type == "subscript_expression":
        base = text_of(child_of(node, "argument"))
        return pointers_of(branch.kernel, branch.facts).get(base, "").removeprefix("const ") in _FLOATS
    if joins(node, "+", "-", "*", "/"):
        return _is_float(branch, child_of(node, "left")) or _is_float(branch, child_of(node, "right"))
    if node.type in ("parenthesized_expression", "unary_expression"):
        return any(_is_float(branch, child) for child in node.named_children)
    return False


def _is_pure(kernel: KernelSyntax, call: Node) -> bool:
    name = (called(call) or text_of(child_of(call, "function"))).removeprefix("std::")
    return name in _PURE or name in _CASTS or call.id in kernel.through.meanings


def _loaded(branch: _Branch, load: Subscript, mask: str | None) -> str:
    """The name of what was loaded: at the indices where the mask holds, else at the first element, which is there."""
    kernel, facts = branch.kernel, branch.facts
    pointers, shared = pointers_of(kernel, facts), {a.name: a.element_type for a in kernel.shared}
    if load.base.partition(".")[0] in branch.moved:
        raise _CannotMask(f"loads from `{load.base}`, which does not lead to its first element all the time")
    if load.base in pointers:
        kind = pointers[load.base]
        size = facts.bytes_of(kind) or 1
        there = [launch.buffer_bytes.get(load.base, 0) >= size for launch in facts.launches]
        if not there or not all(there):
            raise _CannotMask(f"loads from `{load.base}`, which may be empty")
    elif load.base in shared:
        kind = shared[load.base]
    else:
        raise _CannotMask(f"loads from `{load.base}`, of which the first element may not be there")
    text = text_of(load.node)
    if text in branch.known and branch.holds(mask, branch.known[text][1]):
        return branch.known[text][0]
    indices = [_value(branch, index, mask) for index in load.indices]
    if mask is not None and not (load.base in shared and all(i.isdigit() for i in indices)):
        if load.base in pointers:
            branch.masked[load.base] = None
        indices = [i if i == "0" else f"{mask} ? {i} : 0" for i in indices]
    name = branch.fresh(f"{load.base.rpartition('.')[2]}_value")
    spelled = spelled_element(load.base, kind, kernel)
    branch.types[name] = frozenset({kind, spelled})
    branch.known[text] = (name, mask, names_in(load.node))
    branch.lines.append(f"const {spelled} {name} = {load.base}{''.join(f'[{i}]' for i in indices)};")
    return name


def _loop_around(node: Node, kernel: KernelSyntax) -> Node | None:
    """The loop whose steps the branch is in, where nobody has said how to unroll it."""
    loop = next((a for a in ancestors(node, kernel.body_node) if a.type in LOOPS), None)
    waits = loop is not None and any(called(n) in BARRIERS for n in walk(loop))
    return loop if loop is not None and not waits and pragma_before(loop) is None else None


def _splice(source: bytes, style: Style, first: Node, last: Node, branch: _Branch) -> Splice:
    """The lines in place of the statements; in a block where one statement stood, or where they declare a name."""
    start = line_start(source, first.start_byte)
    outer = indentation(source, start)
    before = first.prev_sibling
    if first.parent is None or first.parent.type == "compound_statement" or before is None:
        block = bool(branch.own)
        lines = [outer + (style.step if block else "") + line for line in branch.lines]
        lines = [f"{outer}{{", *lines, f"{outer}}}"] if block else lines
        return Splice(first.start_byte, last.end_byte, style.newline.join(lines).removeprefix(outer).encode())
    outer = indentation(source, line_start(source, before.start_byte))
    lines = [" {", *(outer + style.step + line for line in branch.lines), f"{outer}}}"]
    return Splice(before.end_byte, last.end_byte, style.newline.join(lines).encode())
