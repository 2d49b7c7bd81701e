"""The deterministic rewrites: which of them answer which formula.

A rule is a plain function of the source, the kernel's syntax and the captured launches, under `@rewrite`
(`propose/rule.py`); one that wants it has the finding as well. It gives a candidate or several, Advice that names what
cannot be proved, or the sentence of the precondition that does not hold. It proves nothing itself: the judge does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Proposal, Refusal
from hipscope.formulas.propose.loop_directives import settled
from hipscope.formulas.propose.rule import Rule, rules_of

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding


def rules() -> tuple[Rule, ...]:
    """All rules below this folder, those first that are asked first."""
    return rules_of(__name__)


def ask_recipe(
    rule: Rule, source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> Proposal:
    """The rule's answer; a refusal that names the defect where the rule itself fails: it is one of many, and the
    others are worth asking. Each loop pragma of a candidate stands before its loop.
    """
    try:
        answer = rule(source, kernel, finding, facts)
        if not isinstance(answer, list):
            return answer
        return [replace(candidate, text=settled(source, candidate.text)) for candidate in answer]
    except Exception as error:
        defect = f"{type(error).__name__}: {error}"
        return Refusal(rule.name, f"it has a defect of its own that this code brings out ({defect})")


def recipes_for(formula: str, *, approximate: bool = False) -> tuple[Rule, ...]:
    """The rules that answer a formula; those that give up precision only when the user has asked for them."""
    return tuple(r for r in rules() if formula in r.answers and (approximate or not r.approximate))


def further_recipes(asked: Collection[str]) -> tuple[Rule, ...]:
    """The rules that no finding of these formulas has asked: the time decides what a rewrite is worth, whether or not
    a formula saw the reason.
    """
    left = [r for r in rules() if not (r.searched or {*r.answers} & {*asked}) and not r.approximate]
    return tuple(sorted(left, key=lambda rule: not rule.anywhere))
