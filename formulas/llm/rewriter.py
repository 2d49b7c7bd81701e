"""The LLM rewriter as the optimize loop uses it: leave to send, the report of a bench, the judge, and the results.

Takes a project and a bench (`formulas.judge`), gives the judgements. `render_prompt` only shows the report.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.accordo.verdict import Mismatch
from hipscope.analysis.errors import MissingTool, UsageError
from hipscope.analysis.project import Project
from hipscope.formulas.base import Finding, Formula
from hipscope.formulas.judge import Bench, Judgement, Progress, judge_candidate
from hipscope.formulas.llm.beliefs import Trace
from hipscope.formulas.llm.client import ModelClient
from hipscope.formulas.llm.consent import require_consent
from hipscope.formulas.llm.directions import direction
from hipscope.formulas.llm.metrics import kernel_metrics
from hipscope.formulas.llm.prompt import Prompt, Subject, build_prompt
from hipscope.formulas.llm.propose import Attempt, Outcome, Proposal, Ruling, rewrite_with_model
from hipscope.formulas.llm.settings import ModelKey, ModelSettings, model_settings, take_key
from hipscope.formulas.llm.signature import Belief, load_dspy, messages
from hipscope.formulas.registry import find_formula

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
_MOST_HEADERS = 100
_MOST_DIFFERENCES = 3
_RECORDED_TOGETHER = ("stall", "lds_", "global_", "scratch_", "atomic_", "memory_lines")


@dataclass(frozen=True)
class ModelAccess:
    """A model that may be asked: settings that the user agreed to, and the key. Made before anything is run."""

    settings: ModelSettings
    key: ModelKey | None


@dataclass(frozen=True)
class RenderedPrompt:
    """What would be sent. `messages` is empty where DSPy, which words the request, is not installed."""

    prompt: Prompt
    messages: tuple[Mapping[str, str], ...]

    @property
    def text(self) -> str:
        """All messages, or only the report where there are none."""
        if not self.messages:
            return self.prompt.report
        return "\n\n".join(f"--- {m['role']} ---\n{m['content']}" for m in self.messages)


@dataclass(frozen=True)
class ModelRewrites:
    """What came of asking: the outcome of the loop, and the judge's word on each candidate by attempt number."""

    outcome: Outcome
    judgements: Mapping[int, Judgement]
    trace: Path | None

    def of(self, judgement: Judgement) -> Attempt | None:
        """The attempt that a judgement is about."""
        numbers = (n for n, j in self.judgements.items() if j is judgement)
        number = next(numbers, None)
        return next((a for a in self.outcome.attempts if a.number == number), None)


def allow_model(project: Project, *, yes_send: bool = False) -> ModelAccess:
    """Check settings, library and consent, and take the key out of the environment.

    Raises `UsageError` (no model, no key), `ConsentNeeded` and `MissingTool`. Nothing is sent here.
    """
    settings = model_settings(project.config.llm)
    load_dspy()
    require_consent(project.root, settings, yes_send=yes_send)
    return ModelAccess(settings, take_key(settings))


def ask_model(
    bench: Bench,
    findings: Sequence[Finding],
    access: ModelAccess,
    *,
    capture_bytes: int | None = None,
    progress: Progress = lambda _message, _share: None,
    cancel: threading.Event | None = None,
) -> ModelRewrites:
    """Ask for rewrites of the bench's kernel until a budget ends; every candidate goes through `judge_candidate`.

    Raises `ModelError` when the model cannot be asked at all, `Cancelled`, and `UsageError` when the report cannot be
    made small enough.
    """
    subject = bench_subject(bench, findings)
    judgements: dict[int, Judgement] = {}
    trace = Trace.in_project(bench.project.root, subject.syntax.name)

    def judge(proposal: Proposal) -> Ruling:
        formula = promised_formula(findings, proposal.beliefs)
        judgement = judge_candidate(bench, proposal.candidate, formula, progress=progress, cancel=cancel)
        judgements[proposal.number] = judgement
        return ruling_of(bench, judgement)

    outcome = rewrite_with_model(
        subject,
        access.settings,
        ModelClient(access.settings, access.key).ask,
        judge,
        trace=trace,
        progress=progress,
        cancel=cancel,
        profile_bytes=capture_bytes,
    )
    return ModelRewrites(outcome, judgements, trace.path)


def render_prompt(
    bench: Bench, findings: Sequence[Finding], *, capture_bytes: int | None = None
) -> RenderedPrompt:
    """The first request for the bench's kernel, exactly as `ask_model` would send it. Needs no model, sends nothing."""
    config = bench.project.config.llm
    subject = bench_subject(bench, findings)
    prompt = build_prompt(
        subject,
        sources=config.sources,
        max_tokens=config.max_prompt_tokens,
        profile_bytes=capture_bytes,
        direction=direction([f.formula for f in findings], 0),
    )
    try:
        return RenderedPrompt(prompt, tuple(messages(prompt.report)))
    except MissingTool:
        return RenderedPrompt(prompt, ())


def bench_subject(bench: Bench, findings: Sequence[Finding]) -> Subject:
    """What the report of this kernel is about."""
    profile = bench.session.profile
    kernel = profile.kernel(bench.name)
    if kernel is None:
        raise UsageError(f"the profile holds no kernel {bench.name}")
    root = bench.project.root.resolve()
    source = bench.source.resolve()
    return Subject(
        profile=profile,
        kernel=kernel,
        findings=tuple(findings),
        file=source.relative_to(root).as_posix() if source.is_relative_to(root) else source.name,
        source=bench.original,
        syntax=bench.kernel,
        facts=bench.facts,
        headers=included_headers(bench.original, source, root),
    )


def included_headers(text: bytes, source: Path, root: Path) -> dict[str, bytes]:
    """The headers inside the project that the source includes by `"name"`, and those that they include."""
    found: dict[str, bytes] = {}
    waiting = [(text, source)]
    while waiting:
        body, file = waiting.pop()
        for name in _INCLUDE.findall(body):
            header = (file.parent / name.decode("utf-8", "replace")).resolve()
            if not header.is_relative_to(root) or not header.is_file():
                continue
            shown = header.relative_to(root).as_posix()
            if shown not in found and len(found) < _MOST_HEADERS:
                found[shown] = header.read_bytes()
                waiting.append((found[shown], header))
    return found


def promised_formula(findings: Sequence[Finding], beliefs: Sequence[Belief]) -> Formula | None:
    """The formula whose metric a rewrite must move: that of the first finding it answers, else of the worst."""
    numbered = {f"F{number}": finding for number, finding in enumerate(findings, 1)}
    answered = [numbered[b.finding.upper()] for b in beliefs if b.finding.upper() in numbered]
    finding = next(iter([*answered, *findings]), None)
    return find_formula(finding.formula) if finding is not None else None


def ruling_of(bench: Bench, judgement: Judgement) -> Ruling:
    """A judgement as the model is told of it: what happened and the numbers, not how it was tested."""
    before = kernel_metrics(bench.baseline.kernel)
    after = kernel_metrics(judgement.after.kernel) if judgement.after is not None else {}
    if after:
        before, after = _completed(before, after)
    return Ruling(
        accepted=judgement.accepted,
        facts=tuple(_facts(judgement)),
        speedup=judgement.speedup,
        before=before,
        after=after,
    )


def _facts(judgement: Judgement) -> Iterator[str]:
    verdict = judgement.verdict
    if verdict is None:
        yield judgement.reason
        return
    if not verdict.equivalent:
        yield "It compiles, but its results are not those of the source."
        yield from (_difference(m) for m in verdict.mismatches[:_MOST_DIFFERENCES])
        return
    yield "Its results are those of the source."
    if judgement.speedup is not None:
        yield f"It is {judgement.speedup:.3g} times as fast as the source."
    if judgement.metric is not None:
        name, was, now = judgement.metric
        yield f"{name}: {_number(was)} before, {_number(now)} after."
    yield from judgement.notes


def _difference(mismatch: Mismatch) -> str:
    if mismatch.kind == "fault":
        return f"It faults: {mismatch.message.partition(' with ')[0]}."
    what = {
        "wrong_value": "wrong values",
        "stray_write": "it writes where the source does not",
        "input_changed": "it changes an input",
        "depends_on_poison": "its result depends on memory that nobody wrote",
        "not_deterministic": "its result changes from run to run",
        "fault": "",
    }[mismatch.kind]
    where = f" in {mismatch.label}" if mismatch.label else ""
    first = f", the first is number {mismatch.first_index}" if mismatch.first_index is not None else ""
    values = f": {mismatch.got} instead of {mismatch.expected}" if mismatch.got and mismatch.expected else ""
    count = f", {mismatch.count} of {mismatch.total} elements" if mismatch.total else ""
    text = f"{what[:1].upper()}{what[1:]}{where}{count}{first}{values}."
    if mismatch.map:
        text += "\nFrom first to last element (x wrong, . right):\n" + mismatch.map
    return text


def _completed(
    before: dict[str, float], after: dict[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Both replays record the same things, so what only one side has did not occur on the other: it is 0 there."""
    names = [n for n in {*before, *after} if n.startswith(_RECORDED_TOGETHER)]
    absent = dict.fromkeys(names, 0.0)
    return absent | before, absent | after


def _number(value: float | None) -> str:
    return "not recorded" if value is None else f"{value:.4g}"
