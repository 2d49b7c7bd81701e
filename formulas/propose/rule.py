"""A rewrite rule: a function of a kernel whose decorator says what it answers, whose docstring what it needs.

Takes a package, gives the rules in its modules and folders: a rule is found by being there, and no table lists it. The
first paragraph of a rule's docstring says what it changes. Lines that begin with `Needs:`, `Assumes:`, `Results:` and
`For:` (programs that it is kept for) follow.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate, Proposal, Refusal
from hipscope.formulas.propose.splice import Splice, apply_splices

# One that wants to know where the finding is has a fourth parameter, `finding`.
Rewriter = Callable[[bytes, KernelSyntax, LaunchFacts], Answer]
_PART = re.compile(r"\n+(?=(?:Needs|Assumes|Results|For): )")


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule: `propose` answers for one kernel, and for a function that a kernel calls where `function` says so.

    `answers` are formulas; `anywhere`: every hot kernel is asked. `advice`: it gives no edit. `searched`: the search
    over a kernel's variants says the same itself. `device`: the host's compiler does not take the text. `any_caller`:
    where it keeps every bit and assumes nothing, nothing changes for any caller, the host included. `approximate`:
    asked only where a project allows less precision. A lower `rank` is asked earlier.
    """

    name: str
    group: str
    propose: Rewriter = field(repr=False)
    answers: tuple[str, ...] = ()
    anywhere: bool = False
    advice: bool = False
    searched: bool = False
    function: bool = False
    device: bool = False
    any_caller: bool = False
    approximate: bool = False
    rank: int = 50

    @functools.cached_property
    def about(self) -> Mapping[str, str]:
        """What the docstring says: `changes`, and `needs`, `assumes`, `results`, `for` where it has these."""
        first, *parts = _PART.split(inspect.getdoc(self.propose) or "")
        named = (part.partition(": ") for part in parts)
        said = {"changes": first, **{name.lower(): text for name, _, text in named}}
        return {name: " ".join(text.split()).removesuffix(".") for name, text in said.items()}

    def __call__(
        self, source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
    ) -> Proposal:
        """The rule's answer, under its name."""
        propose: Callable[..., Answer] = self.propose
        where = {"finding": finding} if self._of_findings else {}
        answer = propose(source, kernel, facts, **where)
        if isinstance(answer, str):
            return Refusal(self.name, answer)
        if isinstance(answer, Candidate):
            answer = [answer]
        if isinstance(answer, list):
            return [self._named(candidate) for candidate in answer]
        return answer

    @functools.cached_property
    def _of_findings(self) -> bool:
        return "finding" in inspect.signature(self.propose).parameters

    def _named(self, candidate: Candidate) -> Candidate:
        return replace(candidate, recipe=self.name)


def rewrite(
    name: str,
    group: Literal["LDS and reductions", "Memory", "Atomics", "Loops and branches", "Arithmetic"],
    *answers: str,
    rank: int = 50,
    **flags: bool,
) -> Callable[[Rewriter], Rule]:
    """Makes a function a rule; the arguments are those of `Rule`."""
    return lambda propose: Rule(name, group, propose, answers, rank=rank, **flags)


def edited(
    text: bytes,
    splices: Iterable[Splice] = (),
    *,
    title: str,
    expected: str,
    exact: bool = True,
    terms: int = 1,
    assumes: tuple[str, ...] = (),
    only_for: str = "",
) -> Candidate:
    """The candidate of a file's text with the splices done; the rule puts its name to it."""
    new = apply_splices(text, splices)
    return Candidate("", title, new, expected, exact, terms, assumes, only_for=only_for)


@functools.cache
def rules_of(package: str) -> tuple[Rule, ...]:
    """The rules in the modules of a package and of the packages in it, by their rank, then by name."""
    path = importlib.import_module(package).__path__
    found = pkgutil.walk_packages(path, f"{package}.")
    modules = [importlib.import_module(module.name) for module in found if not module.ispkg]
    values = [value for module in modules for value in vars(module).values()]
    return tuple(sorted({v for v in values if isinstance(v, Rule)}, key=lambda rule: (rule.rank, rule.name)))
