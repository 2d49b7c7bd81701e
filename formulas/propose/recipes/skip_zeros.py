"""atomicContention: leave out atomics that change nothing, as the many zeros when a histogram is flushed.

The amount is read once; only if it is not zero is it added. Needs an atomic whose result nobody uses, and an amount and
an address without side effects. A sum of floats that was -0 and gets a zero added is the one case that looks different.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipscope.analysis.source.nodes import names_in, text_of, walk
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.edit_helpers import INTEGER_TYPES, fresh_name, renamed, style_of
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "skip_zeros"

_UNCHANGED_BY_ZERO = frozenset({"atomicAdd", "unsafeAtomicAdd", "atomicSub", "atomicOr", "atomicXor"})
_EFFECTS = frozenset({"assignment_expression", "update_expression", "call_expression", "gnu_asm_expression"})


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate in which every atomic that may add a zero is asked first."""
    del finding
    reasons = [_why_not(atomic) for atomic in kernel.atomics]
    chosen = [a for a, reason in zip(kernel.atomics, reasons, strict=True) if reason is None]
    if not chosen:
        said = "; ".join(reason for reason in reasons if reason is not None)
        return Refusal(NAME, said or "the kernel has no atomic of its own that adds something")
    style = style_of(source, kernel)
    splices: list[Splice] = []
    given: list[str] = []
    for atomic in chosen:
        assert atomic.statement is not None
        name = fresh_name("amount", style, given)
        given.append(name)
        amount = atomic.arguments[1]
        call = renamed(atomic.statement, {}, {amount.id: name})
        text = f"{{ const auto {name} = {text_of(amount)}; if ({name} != 0) {call} }}"
        splices.append(Splice(atomic.statement.start_byte, atomic.statement.end_byte, text.encode()))
    pointers = pointers_of(kernel, facts)
    whole = all(_adds_integers(atomic, pointers) for atomic in chosen)
    lines = ", ".join(str(atomic.span.line) for atomic in chosen)
    return [
        Candidate(
            recipe=NAME,
            title=f"Leave out atomics that add nothing (line {lines})",
            text=apply_splices(source, splices),
            expected="Zeros cost no atomic; sums stay the same.",
            exact=whole,
        )
    ]


def _why_not(atomic: Atomic) -> str | None:
    where = f"the {atomic.function} on line {atomic.span.line}"
    if atomic.function not in _UNCHANGED_BY_ZERO or len(atomic.arguments) != 2:
        return f"{where} may change something with a zero"
    if atomic.statement is None:
        return f"the result of {where} is used"
    address, amount = atomic.arguments
    if not names_in(amount) or any(n.type in _EFFECTS for side in (address, amount) for n in walk(side)):
        return f"{where} adds no value that is read"
    return None


def _adds_integers(atomic: Atomic, pointers: dict[str, str]) -> bool:
    names: frozenset[str] = names_in(atomic.arguments[0])
    return any(pointers.get(name) in INTEGER_TYPES for name in names)
