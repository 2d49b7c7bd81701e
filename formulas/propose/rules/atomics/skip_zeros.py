"""atomicContention: leave out atomics that change nothing, as the many zeros when a histogram is flushed.

The amount is read once; only if it is not zero is it added. Needs an atomic whose result nobody uses, and an amount and
an address without side effects. A sum of floats that was -0 and gets a zero added is the one case that looks different.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, joins, names_in, text_of, walk
from hipscope.analysis.source.number_types import NUMBER_TYPES, vector_type
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    INTEGER_TYPES,
    Style,
    declared_type,
    fresh_name,
    in_place_of,
    is_own,
    renamed,
    style_of,
)
from hipscope.formulas.propose.splice import Splice

_UNCHANGED_BY_ZERO = frozenset({"atomicAdd", "unsafeAtomicAdd", "atomicSub", "atomicOr", "atomicXor"})
_EFFECTS = frozenset({"assignment_expression", "update_expression", "call_expression", "gnu_asm_expression"})


@rewrite("skip_zeros", "Atomics", "atomicContention", function=True, rank=47)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Leaves out atomics that add zero.

    Needs: result unused; the amount is read, the address has no side effects.
    """
    reasons = [_why_not(atomic) or _no_number(atomic, source, kernel, facts) for atomic in kernel.atomics]
    chosen = [a for a, reason in zip(kernel.atomics, reasons, strict=True) if reason is None]
    if not chosen:
        said = "; ".join(reason for reason in reasons if reason is not None)
        return said or "the kernel has no atomic of its own that adds something"
    style = style_of(source, kernel)
    splices: list[Splice] = []
    given: list[str] = []
    for atomic in chosen:
        assert atomic.statement is not None
        amount, name = atomic.arguments[1], ""
        if not is_own(amount, kernel):
            name = fresh_name("amount", style, given)
            given.append(name)
        splices.append(_asked_first(source, atomic.statement, amount, name, style))
    pointers = pointers_of(kernel, facts)
    whole = all(_adds_integers(atomic, pointers) for atomic in chosen)
    lines = ", ".join(str(atomic.span.line) for atomic in chosen)
    return edited(
        source,
        splices,
        title=f"Leave out atomics that add nothing (line {lines})",
        expected="Zeros cost no atomic; sums stay the same.",
        exact=whole,
    )


def _asked_first(source: bytes, statement: Node, amount: Node, name: str, style: Style) -> Splice:
    """The statement under the condition that the amount is not zero; read once, into `name`, where that is given."""
    call = renamed(statement, {}, {amount.id: name} if name else {})
    lines = [f"const auto {name} = {text_of(amount)};"] if name else []
    lines.append(f"if ({name or text_of(amount)} != 0) {call}")
    return in_place_of(source, statement, lines, style)


def _why_not(atomic: Atomic) -> str | None:
    where = f"the {atomic.function} on line {atomic.span.line}"
    if atomic.function not in _UNCHANGED_BY_ZERO or len(atomic.arguments) != 2:
        return f"{where} may change something with a zero"
    if atomic.statement is None:
        return f"the result of {where} is used"
    address, amount = atomic.arguments
    if not names_in(amount) or any(n.type in _EFFECTS for side in (address, amount) for n in walk(side)):
        return f"{where} adds no value that is read"
    if _is_asked(atomic.statement, text_of(amount)):
        return f"{where} is left out already where it adds nothing"
    return None


def _is_asked(statement: Node, amount: str) -> bool:
    """Whether a statement is all, or the first, that is done where the amount is not zero."""
    above = statement.parent
    if above is not None and above.type == "compound_statement" and above.named_children[0] == statement:
        statement, above = above, above.parent
    if above is None or above.type != "if_statement" or above.child_by_field_name("consequence") != statement:
        return False
    asked = {"".join(text_of(part).split()) for part in _all_of(child_of(above, "condition"))}
    plain = "".join(amount.split())
    return not asked.isdisjoint({plain, f"{plain}!=0", f"0!={plain}"})


def _all_of(condition: Node) -> Iterator[Node]:
    """The parts of a condition which are all true where it is."""
    if condition.type in ("condition_clause", "parenthesized_expression"):
        yield from (part for inner in condition.named_children for part in _all_of(inner))
    elif joins(condition, "&&"):
        yield from (part for side in ("left", "right") for part in _all_of(child_of(condition, side)))
    else:
        yield condition


def _no_number(atomic: Atomic, source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> str | None:
    """Why the amount cannot be compared with 0: it is certainly something else than one number, as `__half2`."""
    amount = atomic.arguments[1]
    told = facts.types.of(source, amount)
    written = told or (declared_type(text_of(amount), kernel) if amount.type == "identifier" else None) or ""
    vector = vector_type(written)
    count = vector[1] if vector is not None else NUMBER_TYPES[written].count if written in NUMBER_TYPES else 0
    if count > 1 or (told is not None and count == 0):
        return (
            f"the {atomic.function} on line {atomic.span.line} adds a `{written}`, which is no single number"
        )
    return None


def _adds_integers(atomic: Atomic, pointers: dict[str, str]) -> bool:
    names: frozenset[str] = names_in(atomic.arguments[0])
    return any(pointers.get(name) in INTEGER_TYPES for name in names)
