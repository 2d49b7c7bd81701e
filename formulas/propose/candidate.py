"""What a rewriter hands to the judge: a whole new text of the file, and why it should help; or its reasoned no."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.source.syntax import KernelSyntax


@dataclass(frozen=True)
class Candidate:
    """One proposed rewrite of one kernel.

    `text` is the whole file: the kernel's own, or `file`; `also` are further files that change with it. `function` is
    the one that changes in place of the kernel: a device function that the kernel calls. `expected` says, before
    anything ran, what it should change.
    `exact` promises bit-equal results; a rewrite that reorders or rounds floating-point operations sets it to False,
    and `terms` to how many of them make one element. `assumes` are sentences about the program that hold in every
    recorded launch and that the rewrite relies on beyond them; the user is shown them. `only_for` names the formula
    whose metric alone explains a gain: a rewrite that does nothing else and leaves the metric is faster by chance.
    """

    recipe: str
    title: str
    text: bytes
    expected: str
    exact: bool = True
    terms: int = 1
    assumes: tuple[str, ...] = ()
    file: Path | None = None
    only_for: str = ""
    function: KernelSyntax | None = None
    also: tuple[tuple[Path, bytes], ...] = ()

    def texts(self, source: Path) -> tuple[tuple[Path, bytes], ...]:
        """All files that change, with their new texts; `source` is the kernel's own file."""
        return ((self.file or source, self.text), *self.also)


@dataclass(frozen=True)
class Advice:
    """A change that hipscope does not make: `reason` is what cannot be proved."""

    recipe: str
    title: str
    reason: str


@dataclass(frozen=True)
class Refusal:
    """A rewriter's reasoned no: the sentence names the precondition that does not hold."""

    recipe: str
    reason: str


Proposal = list[Candidate] | Advice | Refusal
# What a rule returns: one candidate stands for a list of it, a sentence for a refusal.
Answer = Proposal | Candidate | str
