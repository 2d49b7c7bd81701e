"""atomicContention: look at a word before an atomic that may change nothing, and leave the atomic out then.

A minimum that was found long ago, a bit that is set, a slot that is taken: most atomics of such kernels change nothing,
and each is a trip to the L2 all the same. Sound where the word moves one way only (`one_way_words`): what an old read
shows as done stays done. A value that the atomic returns may only be used where that makes no difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.source.nodes import (
    ancestors,
    child_of,
    code_of,
    declarations_in,
    declared_name,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.one_way_words import OneWayWords, Word, one_way_words
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
    Style,
    declared_type,
    fresh_name,
    in_place_of,
    indentation,
    is_own,
    is_pure,
    line_start,
    style_of,
)
from hipscope.formulas.propose.rule import rewrite
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "ask_first"

# What is asked of the word first; the atomic is left out where it does not hold.
_MAY_CHANGE = {
    "atomicMin": "{value} < {word}",
    "atomicMax": "{value} > {word}",
    "atomicOr": "({value} & ~{word}) != 0",
    "atomicAnd": "({word} & ~{value}) != 0",
    "atomicExch": "{word} != {value}",
    "atomicCAS": "{word} == {value}",
}
# How a result may be compared with the value: as it is, and with the two sides exchanged. It says whether the atomic
# changed something, or the opposite.
_CHANGED = {"atomicMin": (">", "<"), "atomicMax": ("<", ">"), "atomicCAS": ("==", "==")}
_KEPT = {"atomicMin": ("<=", ">="), "atomicMax": (">=", "<="), "atomicCAS": ("!=", "!=")}

_EFFECTS = frozenset(
    {"assignment_expression", "update_expression", "lambda_expression", "gnu_asm_expression"}
)


@dataclass(frozen=True)
class _Site:
    """An atomic with the word that it changes, in the text of one kernel."""

    atomic: Atomic
    word: Word
    words: OneWayWords

    @property
    def kernel(self) -> KernelSyntax:
        return self.words.kernel

    @property
    def value(self) -> Node:
        """What is compared with the word."""
        return self.atomic.arguments[1]

    def load(self, place: str | None = None) -> str:
        place = place or text_of(self.atomic.arguments[0])
        return f"__hip_atomic_load({place}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)"

    def question(self, word: str, value: str) -> str:
        return _MAY_CHANGE[self.atomic.function].format(word=word, value=value)

    def has_the_type(self, *uses: Node) -> bool:
        """Whether a variable has the word's own type."""
        told = {self.words.facts.types.of(self.words.source, node) for node in uses} - {None}
        return (told or {declared_type(text_of(uses[0]), self.kernel)}) == {self.word.type}

    @property
    def reads_memory(self) -> bool:
        """Whether the address depends on what stands in memory: it is computed once, then."""
        address = self.atomic.arguments[0]
        return sum(n.type in ("subscript_expression", "call_expression") for n in walk(address)) > 1

    @property
    def comparable(self) -> bool:
        """Whether the value compares with the word as the atomic does it, and may stand in the text twice."""
        if is_own(self.value, self.kernel) and self.has_the_type(self.value):
            return True
        if self.atomic.function in ("atomicMin", "atomicMax"):
            return re.fullmatch(r"-?\d+", text_of(self.value)) is not None
        return self.words.is_constant(self.value)


@rewrite("ask_first", "Atomics", "atomicContention", rank=48)
def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """Reads first, and leaves out an atomic that would change nothing.

    Needs: all that changes the words in the kernel are atomics of this one kind, with one constant for exchanges and
    compare-and-swaps; the result is unused, or compared with the value so that an old one says the same; for a
    compare-and-swap any use.
    For: group-by, Bloom filter builds, depth buffers.
    """
    del finding
    if not kernel.atomics:
        return Refusal(NAME, "the kernel has no atomic of its own")
    if kernel.member:
        return Refusal(NAME, "the kernel is a member of a class, whose state others may change")
    words = one_way_words(source, kernel, facts)
    style = style_of(source, kernel)
    given: list[str] = []
    splices: list[Splice] = []
    lines: list[str] = []
    reasons: list[str] = []
    for atomic in kernel.atomics:
        word = words.word_of(atomic)
        answer = word if isinstance(word, str) else _asked_first(_Site(atomic, word, words), style, given)
        if isinstance(answer, str):
            reasons.append(answer)
        else:
            splices += answer
            lines.append(str(atomic.span.line))
    if not splices:
        return Refusal(NAME, "; ".join(dict.fromkeys(reasons)))
    return [
        Candidate(
            recipe=NAME,
            title=f"Look at the word first and leave out atomics that change nothing (line {', '.join(lines)})",
            text=apply_splices(source, splices),
            expected="Where the word is past the value already, a read that the caches can answer takes the place of "
            "the atomic.",
            exact=True,
        )
    ]


def _asked_first(site: _Site, style: Style, given: list[str]) -> list[Splice] | str:
    atomic = site.atomic
    where = f"the {atomic.function} on line {atomic.span.line}"
    once = atomic.statement is not None and not site.comparable  # the value is kept in a variable, then
    twice = [a for a in atomic.arguments if not (once and a.id == site.value.id)]
    effects = any(n.type in _EFFECTS for n in walk(site.value))
    if effects or not all(is_pure(argument, site.kernel) for argument in twice):
        return f"{where} computes something by the way"
    if any(a.type == "lambda_expression" for a in ancestors(atomic.node, site.kernel.body_node)):
        return f"{where} stands in a lambda"
    if atomic.statement is not None:
        return [_statement(site, atomic.statement, style, given)]
    found = _compared(site) or _kept(site)
    return f"the result of {where} is used" if found is None else found


def _statement(site: _Site, statement: Node, style: Style, given: list[str]) -> Splice:
    """An atomic whose result nobody uses, under the condition that it may change the word."""
    address, value = site.atomic.arguments[:2]
    place, kept = text_of(address), text_of(value)
    lines = []
    if site.reads_memory:
        name = fresh_name("place", style, given)
        given.append(name)
        lines.append(f"{site.word.type}* const {name} = {place};")
        place = name
    if not site.comparable:
        name = fresh_name("value", style, given)
        given.append(name)
        lines.append(f"const {site.word.type} {name} = {kept};")
        kept = name
    rest = "".join(f", {text_of(argument)}" for argument in site.atomic.arguments[2:])
    question = site.question(site.load(place), kept)
    lines.append(f"if ({question}) {site.atomic.function}({place}, {kept}{rest});")
    return in_place_of(site.words.source, statement, lines, style)


def _compared(site: _Site) -> list[Splice] | None:
    """`atomicCAS(p, none, x) == none`, `atomicMin(p, x) > x`: known where the word is past the value."""
    call = site.atomic.node
    outer = call.parent
    if outer is None or outer.type != "binary_expression" or site.reads_memory or not site.comparable:
        return None
    changed = _says_changed(site, outer, call)
    if changed is None:
        return None
    question = site.question(site.load(), text_of(site.value))
    if changed:
        text = f"{question} && {text_of(outer)}"
    else:
        text = f"{_opposite(site)} || {text_of(outer)}"
    around = outer.parent
    if around is None or not _takes(around, "&&" if changed else "||"):
        text = f"({text})"
    return [Splice(outer.start_byte, outer.end_byte, text.encode())]


def _takes(around: Node, operator: str) -> bool:
    """Whether two conditions may stand there without parentheses around both."""
    if around.type == "binary_expression":
        return text_of(child_of(around, "operator")) == operator
    return around.type in ("condition_clause", "parenthesized_expression")


def _opposite(site: _Site) -> str:
    word, value = site.load(), text_of(site.value)
    return f"{word} {_KEPT[site.atomic.function][0]} {value}"


def _says_changed(site: _Site, comparison: Node, result: Node) -> bool | None:
    """Whether a comparison of the result with the value says that the word was changed, or (False) that it was not."""
    left, right = child_of(comparison, "left"), child_of(comparison, "right")
    operator, exchanged = text_of(child_of(comparison, "operator")), right.id == result.id
    other = left if exchanged else right
    name = site.atomic.function
    if code_of(other) != code_of(site.value) or name not in _CHANGED:
        return None
    if operator == _CHANGED[name][exchanged]:
        return True
    return False if operator == _KEPT[name][exchanged] else None


def _kept(site: _Site) -> list[Splice] | None:
    """`old = atomicCAS(p, none, x);`: what the word holds once it holds something is what the atomic would return.
    That of a minimum may be another one that is small enough: `old` is only compared with the value, then.
    """
    call, function = site.atomic.node, site.atomic.function
    target, statement = _target(call)
    if (
        target is None
        or statement is None
        or function not in _CHANGED
        or site.reads_memory
        or not site.comparable
    ):
        return None
    name = text_of(target)
    uses = [n for n in walk(site.kernel.body_node) if n.type == "identifier" and text_of(n) == name]
    others = [n for n in uses if n.id != target.id]
    if not site.has_the_type(target, *others):
        return None
    value = text_of(site.value)
    if function != "atomicCAS" and not (
        all(_only_compared(site, n) for n in others)
        and value not in changed_once_declared(site.kernel)
        and [n for n, _, _ in declarations_in(site.kernel.body_node)].count(value) <= 1
        and statement.type == "declaration"
    ):
        return None
    source, start = site.words.source, statement.start_byte
    listed = statement.parent is not None and statement.parent.type == "compound_statement"
    if not listed or source[line_start(source, start) : start].strip():
        return None
    indent = indentation(source, start)
    newline = "\r\n" if b"\r\n" in source else "\n"
    ask = f"{newline}{indent}if ({site.question(name, value)}) {name} = {text_of(call)};"
    return [
        Splice(call.start_byte, call.end_byte, site.load().encode()),
        Splice(statement.end_byte, statement.end_byte, ask.encode()),
    ]


def _target(call: Node) -> tuple[Node | None, Node | None]:
    """The variable that a statement of its own gives the result to, and that statement."""
    outer = call.parent
    if outer is None or outer.parent is None:
        return None, None
    if outer.type == "assignment_expression" and outer.parent.type == "expression_statement":
        left = child_of(outer, "left")
        plain = left.type == "identifier" and text_of(child_of(outer, "operator")) == "="
        return (left, outer.parent) if plain else (None, None)
    if outer.type == "init_declarator" and outer.parent.type == "declaration":
        qualified = any(
            c.type in ("type_qualifier", "storage_class_specifier") for c in outer.parent.children
        )
        alone = len(outer.parent.children_by_field_name("declarator")) == 1
        inner = child_of(outer, "declarator")
        if alone and not qualified and inner.type == "identifier":
            return declared_name(inner), outer.parent
    return None, None


def _only_compared(site: _Site, use: Node) -> bool:
    outer = use.parent
    return (
        outer is not None
        and outer.type == "binary_expression"
        and _says_changed(site, outer, use) is not None
    )
