"""Verified rewrites of a project, kept to show the model what worked for findings of the same kind.

Takes what a rewrite answered and what came of it, gives the one or two nearest ones for another kernel. They stay in
the project's `.hipscope` directory: they are its source text, and consent to send is given for one project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.system.directories import write_atomically
from hipscope.formulas.propose.llm import report_sections
from hipscope.formulas.propose.llm.program import Demonstration, Rewrite
from hipscope.formulas.propose.llm.prompt import Subject, fenced

FILE = "demonstrations.jsonl"
SHOWN = 2
_KEPT = 200
_SAME_BOUND = 0.1  # breaks ties between kernels with the same findings


class KernelKind(BaseModel):
    """What a kernel suffers from: its findings' formulas with their shares of the time, and what bounds it."""

    model_config = ConfigDict(frozen=True)

    shares: Mapping[str, float] = Field(default_factory=dict)
    bound: str = "unknown"

    def nearness(self, other: KernelKind) -> float:
        """0 where no finding is of the same formula, up to 1.1: the common part of the shares, of all of them."""
        names = {*self.shares, *other.shares}
        pairs = [(self.shares.get(n, 0.0), other.shares.get(n, 0.0)) for n in names]
        common, whole = sum(map(min, pairs)), sum(map(max, pairs))
        return common / whole + _SAME_BOUND * (self.bound == other.bound) if common else 0.0


class KeptRewrite(Demonstration):
    """One line of the file: a kernel, the rewrite that was proved and timed, and how much faster it was."""

    version: Literal[1] = 1
    name: str
    kind: KernelKind
    original: str
    speedup: float


def kind_of(subject: Subject) -> KernelKind:
    """The features of a kernel's findings."""
    shares: dict[str, float] = {}
    for finding in subject.findings:
        shares[finding.formula] = max(finding.share, shares.get(finding.formula, 0.0))
    profile = subject.profile
    return KernelKind(shares=shares, bound=roofline(subject.kernel, profile.device, profile.provenance).bound)


def short_report(subject: Subject) -> str:
    """What a demonstration shows of a kernel: its findings and its text."""
    found = report_sections.findings(subject.findings, subject.file)
    return f"{found.text(found.rows)}\n\n# Source of {subject.file}\n{fenced(kernel_text(subject))}"


def kernel_text(subject: Subject) -> str:
    """The kernel as it stands in its file."""
    span = subject.syntax.span
    return subject.source[span.start : span.end].decode("utf-8", "replace").replace("\r\n", "\n")


def verified_rewrite(subject: Subject, rewrite: Rewrite, speedup: float) -> KeptRewrite:
    """What is kept of an accepted rewrite."""
    return KeptRewrite(
        name=subject.syntax.name,
        kind=kind_of(subject),
        report=short_report(subject),
        original=kernel_text(subject),
        diagnosis=rewrite.diagnosis,
        beliefs=rewrite.beliefs,
        launch=rewrite.launch,
        kernel=rewrite.kernel,
        speedup=speedup,
    )


def recall(root: Path) -> tuple[KeptRewrite, ...]:
    """All that a project keeps. A line that another version wrote, or nobody, is passed over."""
    try:
        lines = _file(root).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    found = []
    for line in lines:
        try:
            found.append(KeptRewrite.model_validate_json(line))
        except ValidationError:
            continue
    return tuple(found)


def remember(root: Path, rewrite: KeptRewrite) -> None:
    """Keep a rewrite; of one kernel only the fastest is kept, and of all the latest 200."""
    others = [kept for kept in recall(root) if _digest(kept.original) != _digest(rewrite.original)]
    same = [kept for kept in recall(root) if _digest(kept.original) == _digest(rewrite.original)]
    best = max([*same, rewrite], key=lambda kept: kept.speedup)
    lines = [kept.model_dump_json() for kept in [*others, best][-_KEPT:]]
    file = _file(root)
    file.parent.mkdir(exist_ok=True)
    write_atomically(file, "".join(f"{line}\n" for line in lines).encode())


def demonstrations_for(root: Path, subject: Subject) -> tuple[Demonstration, ...]:
    """What a project's own verified rewrites show for this kernel."""
    return nearest(recall(root), kind_of(subject), besides=kernel_text(subject))


def nearest(
    kept: Sequence[KeptRewrite], kind: KernelKind, *, besides: str = "", count: int = SHOWN
) -> tuple[KeptRewrite, ...]:
    """The ones with the most similar findings, nearest first; none that shares no formula, nor `besides` itself."""
    near = [(k.kind.nearness(kind), k.speedup, k) for k in kept if _digest(k.original) != _digest(besides)]
    ranked = sorted((row for row in near if row[0] > 0), key=lambda row: row[:2], reverse=True)
    return tuple(k for _, _, k in ranked[:count])


def _file(root: Path) -> Path:
    return root / ".hipscope" / FILE


def _digest(text: str) -> str:
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()
