"""The LLM rewriter as the optimize loop uses it: leave to send, the report of a bench, the judge, and the results.

Takes a project and a bench (`formulas.judge`), gives the judgements. `render_prompt` only shows the report.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.accordo.model.verdict import Mismatch
from hipscope.analysis.errors import MissingTool, UsageError
from hipscope.analysis.history.importance import Importance, importance_of
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project, program_of
from hipscope.analysis.source.includes import included_files
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import detect_all, find_formula
from hipscope.formulas.judge.bench import Bench, find_source, recorded_launches
from hipscope.formulas.judge.judge import Judgement, judge_candidate
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.whole_program import Rehearsed
from hipscope.formulas.launches.asked_launch import judge_with_launch, launches_so
from hipscope.formulas.launches.judge_launches import Judged
from hipscope.formulas.propose.llm.answer_schema import Belief, load_dspy
from hipscope.formulas.propose.llm.attempt_hints import direction
from hipscope.formulas.propose.llm.attempts import (
    Conversation,
    ModelAttempt,
    Proposal,
    Ruling,
    UnusableAnswer,
    rewrite_with_model,
    splice,
)
from hipscope.formulas.propose.llm.beliefs import BeliefTrace
from hipscope.formulas.propose.llm.client import ModelClient
from hipscope.formulas.propose.llm.consent import require_consent
from hipscope.formulas.propose.llm.learn.demonstrations import (
    demonstrations_for,
    remember,
    verified_rewrite,
)
from hipscope.formulas.propose.llm.learn.program_file import read_program
from hipscope.formulas.propose.llm.metrics import kernel_metrics
from hipscope.formulas.propose.llm.model_settings import (
    Budget,
    ModelKey,
    ModelSettings,
    model_settings,
    take_key,
    withhold_key,
)
from hipscope.formulas.propose.llm.program import ProgramState, Request, Rewrite, messages
from hipscope.formulas.propose.llm.prompt import Prompt, Subject, build_prompt
from hipscope.formulas.propose.llm.roof import at_roof

Confirm = Callable[[Judgement, Rehearsed | None], Judgement]
"""The gates behind the proof; the program's run with the rewrite, where it is there already."""

_MOST_HEADERS = 100
_MOST_DIFFERENCES = 3
_RECORDED_TOGETHER = ("stall", "lds_", "global_", "scratch_", "atomic_", "memory_lines")


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

    outcome: Conversation
    judgements: Mapping[int, Judgement]
    trace: Path | None

    def attempt(self, judgement: Judgement) -> ModelAttempt:
        """The attempt that a judgement is about."""
        number = next(n for n, j in self.judgements.items() if j is judgement)
        return self.outcome.attempts[number - 1]

    def finding(self, judgement: Judgement, findings: Sequence[Finding]) -> Finding:
        """The finding that the rewrite answers, as the model says, else the worst. There must be one."""
        beliefs = [c.belief for c in self.attempt(judgement).beliefs]
        return next(iter(answered_findings(findings, beliefs)), findings[0])

    def account(self, model: str) -> str:
        """What asking used up, why it ended, and where the trace is."""
        usage, number = self.outcome.usage, len(self.outcome.attempts)
        money = f"{usage.cost:.4f} US dollars" if usage.cost is not None else "cost not known"
        trace = f"; trace: {self.trace}" if self.trace is not None else ""
        return (
            f"{model}: {number} attempt{'s' if number != 1 else ''} in {usage.calls} request"
            f"{'s' if usage.calls != 1 else ''}, {usage.sent} tokens sent, "
            f"{usage.received} received, {money}; ended because {self.outcome.stopped}{trace}"
        )


class ModelProposer:
    """A model that may be asked, for one kernel after the other, within one budget for all of them."""

    def __init__(
        self, settings: ModelSettings, key: ModelKey | None, state: ProgramState | None = None
    ) -> None:
        self._settings = settings
        self._client = ModelClient(settings, key, state)
        self._budget = settings.budget

    @property
    def model(self) -> str:
        """The model's name."""
        return self._settings.model

    def ask(
        self,
        bench: Bench,
        findings: Sequence[Finding],
        run: Run | None = None,
        *,
        confirm: Confirm = lambda judgement, _whole: judgement,
    ) -> ModelRewrites | None:
        """Ask for rewrites of the bench's kernel; every candidate goes through `judge_candidate`.

        Those that pass go through `confirm`, the gates behind it, so that the model hears of what they say. None when
        the budget is used up. Raises `ModelError` when the model cannot be asked at all, `Cancelled`, and `UsageError`
        when the report cannot be made small enough.
        """
        if self._budget.attempts < 1 or self._budget.seconds <= 0 or self._budget.calls == 0:
            return None
        run, profile = run or bench.run, bench.session.profile
        kernel = profile.kernel(bench.name)
        if kernel is None:
            raise UsageError(f"the profile holds no kernel {bench.name}")
        subject = subject_of(bench, kernel, findings, run)
        judgements: dict[int, Judgement] = {}
        trace = BeliefTrace.in_project(bench.project.root, bench.kernel.name)

        judged = judge_of(bench, findings, run, confirm)

        def judge(proposal: Proposal) -> Ruling:
            judgements[proposal.number], ruling = judged(proposal)
            return ruling

        started = time.monotonic()
        root = bench.project.root
        if self._settings.learn:
            subject = replace(subject, demonstrations=demonstrations_for(root, subject))
        outcome = rewrite_with_model(
            subject,
            replace(self._settings, budget=self._budget),
            self._client.ask,
            judge,
            run,
            trace=trace,
            profile_bytes=directory_bytes(bench.session.run_dir),
        )
        if self._settings.learn and (best := outcome.best) is not None and best.ruling is not None:
            beliefs = tuple(c.belief for c in best.beliefs)
            written = Rewrite(best.kernel or "", beliefs, best.diagnosis, best.launch)
            try:
                remember(root, verified_rewrite(subject, written, best.ruling.reward))
            except OSError as error:  # the rewrite is verified all the same
                trace.write("not kept", reason=str(error))
        cost, calls = self._budget.cost, self._budget.calls
        priced = cost is None or outcome.usage.cost is not None
        self._budget = Budget(
            attempts=self._budget.attempts - len(outcome.attempts) if priced else 0,
            tokens=self._budget.tokens - outcome.usage.tokens,
            seconds=self._budget.seconds - (time.monotonic() - started),
            cost=cost - (outcome.usage.cost or 0.0) if cost is not None else None,
            calls=calls - outcome.usage.calls if calls is not None else None,
        )
        return ModelRewrites(outcome, judgements, trace.path)


def subject_of(bench: Bench, kernel: Kernel, findings: Sequence[Finding], run: Run) -> Subject:
    """What the report on the kernel of a bench is about."""
    return Subject(
        profile=bench.session.profile,
        kernel=kernel,
        findings=tuple(findings),
        file=_shown_file(bench.project, bench.source),
        source=bench.original,
        syntax=bench.kernel,
        facts=bench.facts,
        headers=included_headers(run.texts, bench.source, bench.project.root),
        importance=_importance(bench.project, bench.session.profile, kernel),
    )


def _importance(project: Project, profile: Profile, kernel: Kernel) -> Importance | None:
    if "importance" not in project.config.llm.sources:
        return None
    return importance_of(project.directory, kernel.mangled, profile.device.name, profile.provenance.value)


def judge_of(
    bench: Bench,
    findings: Sequence[Finding],
    run: Run,
    confirm: Confirm = lambda judgement, _whole: judgement,
) -> Callable[[Proposal], tuple[Judgement, Ruling]]:
    """The bench's judge for what a model proposes; those that pass go through `confirm`."""

    def with_launch(proposal: Proposal) -> Judged:
        def rewriting(source: bytes, kernel: KernelSyntax) -> bytes:
            return splice(source, kernel, proposal.kernel)

        try:
            return judge_with_launch(bench, proposal.candidate, proposal.launch, rewriting, run)
        except UnusableAnswer as error:
            return Judged(Judgement(proposal.candidate, Outcome.REFUSED, f"Refused: {error}."))

    def judge(proposal: Proposal) -> tuple[Judgement, Ruling]:
        if proposal.launch and not launches_so(bench, proposal.launch):
            judged = with_launch(proposal)
            judgement = judged.judgement
            if judgement.accepted:
                judgement = confirm(judgement, judged.whole)
            return judgement, ruling_of(bench, judgement)
        answered = answered_findings(findings, proposal.beliefs)
        formula, *others = [find_formula(f.formula) for f in answered] or [None]
        more = [other for other in others if other is not None]
        judgement = judge_candidate(bench, proposal.candidate, formula, run, others=more)
        if judgement.accepted:
            judgement = confirm(judgement, None)
        return judgement, ruling_of(bench, judgement)

    return judge


def allow_model(
    project: Project, *, yes_send: bool = False, stored_keys: Mapping[str, str] | None = None
) -> ModelProposer:
    """Check settings, library and consent, and take the key out of the environment or the editor's. Sends nothing.

    Call it before anything is built or run. Raises `UsageError` (no model, no key), `ConsentNeeded` and `MissingTool`.
    """
    settings = model_settings(project.config.llm)
    state = program_of_project(project)
    load_dspy()
    require_consent(project.directory, settings, yes_send=yes_send)
    key = take_key(settings, stored=stored_keys or {})
    withhold_key(project.config.llm)
    return ModelProposer(settings, key, state)


def program_of_project(project: Project) -> ProgramState | None:
    """The trained program that a project's settings name. Raises `UsageError`."""
    named = project.config.llm.program
    return read_program(project.directory / named).state if named is not None else None


def explain_attempt(attempt: ModelAttempt) -> tuple[str, ...]:
    """What the model believed and what the measurement says of it, as sentences to show beside the edit."""
    lines = [
        f"{c.belief.edit}: {c.belief.mechanism} ({c.belief.finding}); expected {c.belief.metric} {c.belief.direction}"
        + (f" by {c.belief.expected_percent:g} %" if c.belief.expected_percent is not None else "")
        + f"; {c.outcome}: {c.reason}"
        for c in attempt.beliefs
    ]
    if attempt.alignment is not None:
        parts = {
            "findings answered": attempt.alignment.coverage,
            "edits at a finding": attempt.alignment.localisation,
            "beliefs confirmed": attempt.alignment.agreement,
        }
        shown = [f"{name} {value:.0%}" for name, value in parts.items() if value is not None]
        if shown:
            lines.append(", ".join(shown))
    return tuple(lines)


def render_prompt(project: Project, kernel: str | None = None, run: Run | None = None) -> RenderedPrompt:
    """Profile the project and word the first request for a kernel, exactly as `ModelProposer.ask` would send it.

    Without a name the kernel with the worst finding is taken, else the longest. Needs no model and sends nothing.
    Raises `UsageError` for an unknown kernel, `CannotJudge` when no rewrite of it could be proved anyway.
    """
    run = run or Run()
    session = profile_project(project, run, options=ProfileOptions(capture_dispatches=()))
    project, run = program_of(session, project, run)
    chosen = chosen_kernel(project, session.profile, kernel, run.texts)
    found = find_source(project, chosen, run.texts)
    findings = kernel_findings(project, session.profile, chosen, run.texts)
    subject = Subject(
        profile=session.profile,
        kernel=chosen,
        findings=findings,
        file=_shown_file(project, found.file),
        source=run.texts.needed(found.file),
        syntax=found.syntax,
        facts=recorded_launches(project, session, chosen, found, run),
        headers=included_headers(run.texts, found.file, project.root),
        importance=_importance(project, session.profile, chosen),
    )
    config = project.config.llm
    prompt = build_prompt(
        subject,
        sources=config.sources,
        max_tokens=config.max_prompt_tokens,
        profile_bytes=directory_bytes(session.run_dir),
    )
    shown = demonstrations_for(project.root, subject) if config.learn else ()
    way = direction([f.formula for f in findings], 0)
    request = Request(prompt.report, way, demonstrations=shown)
    try:
        return RenderedPrompt(prompt, tuple(messages(request, config.steps, program_of_project(project))))
    except MissingTool:
        return RenderedPrompt(prompt, ())


def kernel_findings(
    project: Project,
    profile: Profile,
    kernel: Kernel,
    texts: SourceTexts,
    formulas: Sequence[str] | None = None,
) -> tuple[Finding, ...]:
    """All findings of one kernel, worst first; `formulas` None asks those of the project."""
    config = project.config
    found = detect_all(profile, texts, formulas=formulas or config.formulas, min_share=config.min_share)
    return tuple(f for f in found if f.mangled == kernel.mangled)


def directory_bytes(directory: Path) -> int:
    """The size of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def chosen_kernel(project: Project, profile: Profile, name: str | None, texts: SourceTexts) -> Kernel:
    """The kernel of that name, else the one with the worst finding, else the longest. Raises `UsageError`."""
    if not profile.kernels:
        raise UsageError("the program runs no kernel")
    if name is not None:
        named = [k for k in profile.kernels if name in (k.name, k.mangled, base_name(k.name))]
        if not named:
            known = ", ".join(base_name(k.name) for k in profile.kernels)
            raise UsageError(f"the program runs no kernel {name!r}", f"it runs: {known}")
        return named[0]
    worst = next(iter(detect_all(profile, texts, formulas=project.config.formulas)), None)
    found = profile.kernel(worst.mangled) if worst is not None else None
    return found or profile.kernels[0]


def _shown_file(project: Project, source: Path) -> str:
    """The source as the project sees it."""
    root, file = project.root.resolve(), source.resolve()
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name


def included_headers(texts: SourceTexts, source: Path, root: Path) -> dict[str, bytes]:
    """The headers inside the project that the source includes by `"name"`, and those that they include."""
    files = included_files(texts, (source,), root)
    found = ((file.relative_to(root.resolve()).as_posix(), texts.read(file)) for file in files)
    own = source.resolve()
    headers = {name: text for name, text in found if text is not None and root.resolve() / name != own}
    return dict(itertools.islice(headers.items(), _MOST_HEADERS))


def answered_findings(findings: Sequence[Finding], beliefs: Sequence[Belief]) -> list[Finding]:
    """The findings that a rewrite says it answers, else the worst; the metric of one of their formulas must move."""
    numbered = {f"F{number}": finding for number, finding in enumerate(findings, 1)}
    answered = [numbered[b.finding.upper()] for b in beliefs if b.finding.upper() in numbered]
    found: dict[str, Finding] = {}
    for finding in answered or findings[:1]:
        found.setdefault(finding.formula, finding)
    return list(found.values())


def ruling_of(bench: Bench, judgement: Judgement) -> Ruling:
    """A judgement as the model sees it: the outcome and the numbers, not how it was tested."""
    before = kernel_metrics(bench.baseline.kernel, bench.baseline.profile.device)
    later = judgement.after
    after = kernel_metrics(later.kernel, later.profile.device) if later is not None else {}
    if after:
        before, after = _completed(before, after)
    roof = None
    if later is not None:
        roof = at_roof(later.kernel, later.profile.device, later.profile.provenance, bench.facts)
    return Ruling(
        accepted=judgement.accepted,
        facts=tuple(_facts(judgement)),
        speedup=judgement.speedup,
        before=before,
        after=after,
        roof=roof,
    )


def _facts(judgement: Judgement) -> Iterator[str]:
    verdict = judgement.verdict
    if verdict is None:
        yield judgement.reason
        return
    if not verdict.equivalent:
        yield "It compiles, but its results are not those of the source."
        yield from (difference_in_words(m) for m in verdict.mismatches[:_MOST_DIFFERENCES])
        return
    yield "Its results are those of the source."
    if judgement.speedup is not None:
        yield f"It is {judgement.speedup:.3g} times as fast as the source."
    if judgement.metric is not None:
        name, was, now = judgement.metric
        yield f"{name}: {_number(was)} before, {_number(now)} after."
    if judgement.stage is Outcome.PROGRAM_DIFFERS:
        yield judgement.reason
    yield from judgement.notes


def difference_in_words(mismatch: Mismatch) -> str:
    """One difference as a sentence for the model."""
    if mismatch.kind == "fault":
        return f"It faults: {mismatch.message.partition(' with ')[0]}."
    if mismatch.kind in ("sanitizer", "state"):
        told = mismatch.message.partition(" with ")[0].rstrip(".")
        return f"{told[:1].upper()}{told[1:]}."
    what = {
        "wrong_value": "wrong values",
        "less_precise": "less precise than the source",
        "stray_write": "it writes where the source does not",
        "input_changed": "it changes an input",
        "depends_on_poison": "its result depends on unwritten memory",
        "not_deterministic": "its result changes from run to run",
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
