"""Builds the report that the model reads: a profile of megabytes as text of a set number of tokens.

Takes a profile, a kernel, its findings, its source and its launches; gives the text, its size and what was left out.
A pure function: nothing is read, run or sent here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from hipscope.analysis.config import PromptSource
from hipscope.analysis.errors import UsageError
from hipscope.analysis.history.importance import Importance
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.llm import report_sections
from hipscope.formulas.propose.llm.answer_schema import RULES
from hipscope.formulas.propose.llm.host_lines import host_lines
from hipscope.formulas.propose.llm.program import Demonstration
from hipscope.formulas.propose.llm.report_sections import Row, Section
from hipscope.formulas.propose.llm.tokens import estimate_tokens

FORM_TOKENS = 420
"""What the request holds beside the rules and the report: names, markers and the JSON schema of the beliefs."""

ALL_SOURCES: tuple[PromptSource, ...] = get_args(PromptSource)


@dataclass(frozen=True)
class Subject:
    """What the report is about. `source` is the file as it was profiled; `headers` are the project's, by name.

    `demonstrations` are rewrites of other kernels: they stand before the report, where there is no attempt to mend.
    `importance` is what the project's history says of the kernel, None where it does not.
    """

    profile: Profile
    kernel: Kernel
    findings: tuple[Finding, ...]
    file: str
    source: bytes
    syntax: KernelSyntax
    facts: LaunchFacts
    headers: Mapping[str, bytes] = field(default_factory=dict)
    demonstrations: tuple[Demonstration, ...] = ()
    importance: Importance | None = None


@dataclass(frozen=True)
class Prompt:
    """The report and its account: `tokens` estimates the whole request, `profile_bytes` is what it stands for."""

    report: str
    tokens: int
    profile_bytes: int
    shown: Mapping[str, int]
    left_out: Mapping[str, int]


def build_prompt(
    subject: Subject,
    *,
    sources: Sequence[PromptSource] = ALL_SOURCES,
    max_tokens: int = 12_000,
    profile_bytes: int | None = None,
) -> Prompt:
    """The report on a kernel, the same for all its attempts, within `max_tokens` of the whole request.

    Findings, launches and source text are always in it; the rest shrinks, the least costly lines first.
    `profile_bytes` is the size of the capture, else that of the profile as JSON. Raises `UsageError` when not even
    what must be in it fits.
    """
    fixed, optional = _sections(subject, sources)
    budget = max_tokens - estimate_tokens(RULES) - FORM_TOKENS
    left = budget - sum(_size(s, s.rows) for s in fixed)
    if left < 0:
        raise UsageError(
            f"{subject.file}: the kernel and its findings alone need about {max_tokens - left} tokens",
            f"raise llm.max_prompt_tokens above {max_tokens}",
        )
    chosen = _share_out(optional, left)
    ordered = sorted([*fixed, *optional], key=lambda s: _ORDER.index(s.name))
    report = "\n\n".join(text for s in ordered if (text := s.text(s.rows if s.required else chosen[s.name])))
    report = _EXPECTED.sub("", report)
    size = profile_bytes if profile_bytes is not None else len(subject.profile.model_dump_json().encode())
    return Prompt(
        report=report,
        tokens=estimate_tokens(RULES) + FORM_TOKENS + estimate_tokens(report),
        profile_bytes=size,
        shown={s.name: len(s.rows if s.required else chosen[s.name]) for s in ordered if s.rows},
        left_out={s.name: missing for s in optional if (missing := len(s.rows) - len(chosen[s.name])) > 0},
    )


def fenced(text: str, language: str = "cpp") -> str:
    """The text as a code block that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


_EXPECTED = re.compile(r"[ \t]*// hipscope: expect \w+")  # of examples: it would tell the model what to find
_ORDER = (
    "device", "kernel", "findings", "hardware", "roofline", "stalls", "memory", "isa", "counters", "importance",
    "metrics", "launches", "declarations", "source",
)  # fmt: skip


def _sections(subject: Subject, sources: Sequence[PromptSource]) -> tuple[list[Section], list[Section]]:
    """The sections that must be in the report, and those that may shrink."""
    profile, kernel = subject.profile, subject.kernel
    found = [
        report_sections.device(profile),
        report_sections.kernel(profile, kernel, subject.file, subject.syntax),
        report_sections.findings(subject.findings, subject.file),
        report_sections.launches(subject.facts, host_lines(subject.source, subject.syntax)),
        report_sections.metrics(kernel, profile.device),
        Section("source", f"Source of {subject.file}", (Row(0, _numbered(subject)),), required=True),
    ]
    found.append(report_sections.hardware(subject.findings))
    if "roofline" in sources:
        found.append(report_sections.roofline(profile, kernel))
    if "stalls" in sources:
        found += [report_sections.stalls(kernel, subject.file), report_sections.memory(kernel, subject.file)]
    if "isa" in sources:
        found.append(report_sections.isa(kernel))
    if "counters" in sources:
        found.append(report_sections.counters(kernel))
    if "importance" in sources and subject.importance is not None:
        found.append(report_sections.importance(subject.importance))
    found.append(report_sections.declarations(subject.source, subject.syntax, subject.headers, fenced))
    return [s for s in found if s.required], [s for s in found if not s.required and s.rows]


def _share_out(optional: Sequence[Section], budget: int) -> dict[str, tuple[Row, ...]]:
    """Which rows of each section fit: small sections whole, large ones by an equal part of what is left."""
    chosen: dict[str, tuple[Row, ...]] = {}
    waiting = sorted(optional, key=lambda s: _size(s, s.rows))
    for place, section in enumerate(waiting):
        chosen[section.name] = _fitting(section, budget // (len(waiting) - place))
        budget -= _size(section, chosen[section.name])
    return chosen


def _fitting(section: Section, budget: int) -> tuple[Row, ...]:
    """As many of the most important rows as fit."""
    low, high = 0, len(section.rows)
    while low < high:
        middle = (low + high + 1) // 2
        if _size(section, section.rows[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    return section.rows[:low]


def _size(section: Section, rows: Sequence[Row]) -> int:
    """Tokens of a section with these rows, with the blank line that follows it."""
    text = section.text(rows)
    return estimate_tokens(f"{text}\n\n") if text else 0


def _numbered(subject: Subject) -> str:
    span = subject.syntax.span
    text = subject.source[span.start : span.end].decode("utf-8", "replace").replace("\r\n", "\n")
    lines = [f"{number:4}| {line}" for number, line in enumerate(text.split("\n"), span.line)]
    return "With line numbers before `|`.\n" + fenced("\n".join(lines))
