"""Loops that count: from a start, by a step, up or down to a limit that stays, each step reached from its top.

Takes a loop's syntax and what is known of the kernel, gives a SteppedLoop, or the reason why there is none as the end
of a sentence about the loop. `for` in its usual forms, and `while (i < n) { ...; i += step; }`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, publishes, waits_together
from hipscope.analysis.kernel.loops import NO_HEAD, counted_loop, number_of
from hipscope.analysis.source.nodes import (
    LOOPS,
    arguments_of,
    built_in,
    called,
    child_of,
    joins,
    names_in,
    statements_of,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.rules.shared.edit_helpers import declared_type
from hipscope.formulas.propose.rules.shared.loop_memory import LoopMemory, memory_of

_SIGNED = integers(16, signed=True)
_UNSIGNED = integers(32, signed=False)
_STAYS = frozenset(
    {
        "number_literal", "char_literal", "true", "false", "binary_expression", "unary_expression",
        "parenthesized_expression", "conditional_expression", "cast_expression", "sizeof_expression",
        "type_descriptor", "primitive_type", "sized_type_specifier", "type_identifier", "comment",
    }
)  # fmt: skip
_UNREAD = frozenset({"lambda_expression", "gnu_asm_expression", "labeled_statement", "switch_statement"})
_INDICES = re.compile(r"hip(Thread|Block)(Idx|Dim)_[xyz]|hipGridDim_[xyz]|warpSize")
_NAMED = re.compile(
    r"\b(\w+)(?=\s*(?:<[^;{}()]*>\s*)?\()|\b([A-Z_][A-Z0-9_]*)\b"
)  # what is called, and macros
_ONE_WORD = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*|[0-9]+")
_MOST_LINES = 60  # of a body that holds other loops: each step is one more copy


@dataclass(frozen=True)
class SteppedLoop:
    """`for (type counter = start; counter < limit; counter += step)`.

    `type` is empty where the counter is declared before the loop, `start` where it also has its first value from there;
    `kind` is the number that the type stands for. `statements` are those of one step. `down`: the step is subtracted.
    `sure`: the step is not negative, and nor is the counter of a loop that goes up, so that steps below one that is
    inside the limit are inside, too. `hoisted`: the limit is read from memory. `most` is the limit as a number, where
    it is one, or a constant of the program that is; `trips` how many steps numbers and constants say.
    """

    node: Node
    statements: tuple[Node, ...]
    counter: str
    type: str
    kind: str
    start: str
    relation: str
    limit: Node
    step: str
    down: bool
    sure: bool
    hoisted: bool
    memory: LoopMemory = field(repr=False)
    most: int | None = None
    trips: int | None = None

    @property
    def factor(self) -> str:
        """The step as it stands in a product."""
        return self.step if _ONE_WORD.fullmatch(self.step) else f"({self.step})"

    @property
    def named(self) -> bool:
        """Whether the limit is a constant that somebody may give another value."""
        return self.most is not None and number_of(self.limit) is None

    @property
    def copy_type(self) -> str:
        """How the counter of another step is declared: sums with an unsigned step would be unsigned."""
        return f"const {self.type or self.kind}"


def stepped_loop(
    loop: Node,
    kernel: KernelSyntax,
    facts: LaunchFacts | None = None,
    source: bytes = b"",
    *,
    calls: bool = False,
) -> SteppedLoop | str:
    """The loop, if its steps can be written out; else why not, as the end of a sentence about it.

    `calls`: its steps stay one after the other, so that they may call member functions that are not seen through.
    """
    facts = facts if facts is not None else LaunchFacts()
    read = counted_loop(loop)
    if isinstance(read, str):
        return read
    if read.operator not in "+-" or read.comparison == "!=" or read.bound is None or read.further:
        return NO_HEAD
    counter, limit, down = read.variable, read.bound, read.operator == "-"
    kind = read.type or declared_type(counter, kernel) or ""
    kind = kind if kind in _SIGNED | _UNSIGNED else facts.types.of(source, read.asked) or ""
    if kind not in _SIGNED | _UNSIGNED:
        return "counts by something else than a whole number"
    bounds = [limit] if read.amount is None else [limit, read.amount]
    if down and not (kind in _SIGNED and all(_is_signed(bound, kernel) for bound in bounds)):
        return "goes down by or to something that may be unsigned"
    if reason := _left_or_joined(loop, read.statements, kernel, calls):
        return reason
    memory = memory_of(kernel, facts, read.statements)
    if counter in memory.changed or not all(_stays(bound, memory, counter) for bound in bounds):
        return "changes its own bounds"
    constants = parse(source).constants if source else {}
    begins = kind in _UNSIGNED or (read.first is not None and _is_positive(read.first, kernel, 3))
    return SteppedLoop(
        node=loop,
        statements=read.statements,
        counter=counter,
        type=read.type,
        kind=kind,
        start="" if read.first is None else text_of(read.first),
        relation=read.comparison,
        limit=limit,
        step="1" if read.amount is None else text_of(read.amount),
        down=down,
        sure=(read.amount is None or _is_positive(read.amount, kernel, 3)) and (down or begins),
        hoisted=any(n.type == "subscript_expression" for n in walk(limit)),
        memory=memory,
        most=_number(limit, constants, kernel),
        trips=read.trips(lambda node: _number(node, constants, kernel)),
    )


def _number(node: Node, constants: Mapping[str, Node], kernel: KernelSyntax) -> int | None:
    """The value of a number, or of a constant of the file or a header that is one."""
    if node.type == "identifier" and declared_type(text_of(node), kernel) is None:
        named = constants.get(text_of(node), kernel.through.constants.get(text_of(node)))
        node = named if named is not None else node
    return number_of(node)


def continue_guard(statement: Node) -> Node | None:
    """The condition of `if (condition) continue;`."""
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return None
    inner = statements_of(child_of(statement, "consequence"))
    condition = child_of(statement, "condition").child_by_field_name("value")
    if len(inner) != 1 or inner[0].type != "continue_statement" or condition is None:
        return None
    return condition if condition.type != "declaration" else None


def _left_or_joined(
    loop: Node, statements: tuple[Node, ...], kernel: KernelSyntax, calls: bool
) -> str | None:
    """Why a step cannot be written out behind another one: it may be left, or threads wait for each other in it."""
    if any(waits_together(s, kernel) or publishes(s, kernel) for s in statements):
        return "has a barrier, a fence or a wave operation"
    unseen = {o.span.start for o in kernel.through.opaque}
    discarded = {atomic.node.id for atomic in kernel.atomics if atomic.statement is not None}
    for node in (n for statement in statements for n in walk(statement)):
        preproc = node.type.startswith("preproc") and not text_of(node).lstrip().startswith("#pragma")
        if node.type in _UNREAD or (preproc and node.type in ("preproc_if", "preproc_ifdef", "preproc_call")):
            return "holds what is not read"
        if node.type in ("return_statement", "goto_statement"):
            return "can be left in the middle"
        if node.type in ("break_statement", "continue_statement") and _leaves(node, loop, statements):
            return "can be left in the middle"
        name = called(node) or ""
        if node.type == "call_expression" and not (name or calls) and node.start_byte in unseen:
            return "calls a member function that is not seen through"
        if "atomic" in name.lower() and node.id not in discarded:
            return "has an atomic whose result is used"
    inside = any(n.type in LOOPS for statement in statements for n in walk(statement))
    if inside and loop.end_point.row - loop.start_point.row > _MOST_LINES:
        return "has another loop inside, and is long"
    return None


def _leaves(node: Node, loop: Node, statements: tuple[Node, ...]) -> bool:
    """Whether a `break` or `continue` is one of this loop, and not `if (...) continue;` between its statements."""
    outer = node.parent
    while outer is not None and outer.id != loop.id:
        if outer.type in LOOPS:
            return False
        outer = outer.parent
    guards = [s for s in statements if continue_guard(s) is not None]
    return node.type == "break_statement" or not any(
        s.start_byte <= node.start_byte < s.end_byte for s in guards
    )


def _stays(node: Node, memory: LoopMemory, counter: str) -> bool:
    """Whether an expression has the same value in all steps, and does nothing."""
    if node.type == "identifier":
        return text_of(node) not in memory.changed | {counter} and text_of(node) not in memory.references
    if node.type == "field_expression":
        if built_in(text_of(node)) is not None:
            return True
        return "->" not in text_of(node) and _stays(child_of(node, "argument"), memory, counter)
    if node.type == "subscript_expression":
        kept = memory.reads_only(node)
        return kept and all(
            _stays(n, memory, counter)
            for n in child_of(node, "indices").named_children
            if n.type != "comment"
        )
    if node.type == "call_expression":
        plain = called(node) in ("min", "max", "std::min", "std::max") or text_of(
            child_of(node, "function")
        ).startswith("static_cast")
        return plain and all(_stays(a, memory, counter) for a in arguments_of(node))
    return node.type in _STAYS and all(_stays(n, memory, counter) for n in node.named_children)


def _is_signed(limit: Node, kernel: KernelSyntax) -> bool:
    """Made of signed numbers only: a difference below zero stays below it."""
    leaves = [n for n in walk(limit) if not n.named_children and n.is_named]
    return all(
        (n.type == "number_literal" and "u" not in text_of(n).lower())
        or (n.type == "identifier" and declared_type(text_of(n), kernel) in _SIGNED)
        for n in leaves
    )


def _is_positive(node: Node, kernel: KernelSyntax, depth: int) -> bool:
    """Certainly not negative: built of indices, sizes, numbers and unsigned variables without subtraction."""
    text = text_of(node)
    if node.type == "number_literal":
        return True
    if node.type == "field_expression":
        return built_in(text) is not None
    if node.type == "identifier":
        if _INDICES.fullmatch(text) or declared_type(text, kernel) in _UNSIGNED:
            return True
        values = list(_values(text, kernel))
        return depth > 0 and len(values) == 1 and _is_positive(values[0], kernel, depth - 1)
    if node.type in ("parenthesized_expression", "cast_expression"):
        inner = child_of(node, "value") if node.type == "cast_expression" else node.named_children[0]
        return _is_positive(inner, kernel, depth)
    if joins(node, "+", "*", "/", "%"):
        return all(_is_positive(child_of(node, side), kernel, depth) for side in ("left", "right"))
    return False


def _values(name: str, kernel: KernelSyntax) -> Iterator[Node]:
    """What a local of the kernel is set to, its own changes included."""
    if kernel.parameter(name) is not None:
        return
    for node in walk(kernel.body_node):
        if node.type == "init_declarator" and text_of(child_of(node, "declarator")) == name:
            yield child_of(node, "value")
        elif node.type in ("assignment_expression", "update_expression", "pointer_expression") and (
            name in changed_names(node) or (node.type == "pointer_expression" and name in names_in(node))
        ):
            yield node
