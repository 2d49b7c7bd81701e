"""The loop from a finding to a verified edit: propose, judge, try the whole program, keep the best.

Takes a project, gives an OptimizeResult. Nothing on disk changes: the result carries the edit, and `edit.apply_edit`
applies it if the user wants it. A result without an edit says for every attempt why not.
"""

from __future__ import annotations

import difflib
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipscope.analysis.errors import ProgramFailed, UsageError
from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.profilers import MeasuringProfiler, choose_profiler
from hipscope.analysis.runs.profile_project import ProfileOptions, ProfileSession, profile_project
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.sandbox import isolation
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import all_formulas, detect_all, find_formula, measure_all
from hipscope.formulas.judge.bench import Bench, CannotJudge, Progress, open_bench
from hipscope.formulas.judge.gpu_gate import Hardware, time_on_hardware
from hipscope.formulas.judge.judge import Judgement, judge_candidate
from hipscope.formulas.judge.selection import ask_recipes, contest
from hipscope.formulas.judge.timed_replay import Measured
from hipscope.formulas.judge.whole_program import Rehearsals, Rehearsed, try_program
from hipscope.formulas.optimize.model_rewrites import (
    ModelProposer,
    allow_model,
    explain_attempt,
    kernel_findings,
)
from hipscope.formulas.optimize.prepared_cache import forget, prepared_session
from hipscope.formulas.optimize.result import Attempt, OptimizeResult, Side
from hipscope.formulas.optimize.verified_edit import VerifiedEdit, apply_edit, diff_of, edit_between
from hipscope.formulas.propose.llm.client import ModelError

__all__ = [
    "Attempt", "OptimizeOptions", "OptimizeResult", "VerifiedEdit", "apply_edit", "judge_candidate", "open_bench",
    "optimize_project", "try_program",
]  # fmt: skip

_WRONG = ("program_differs", "different", "inconclusive", "implausible", "refused", "not_compiled")
_TELLING = (
    *_WRONG, "metric_not_moved", "occupancy_cliff", "not_faster", "not_measured", "cannot_judge", "advice", "no_recipe",
)  # fmt: skip


@dataclass(frozen=True)
class OptimizeOptions:
    """What to optimize and who proposes. `overlay` holds texts of unsaved files.

    `yes_send` says that the user agrees to send this project's kernels to the configured language model.
    `stored_keys` are the keys for models that an editor keeps, by address; no text form of the options shows them.
    """

    formula: str = "auto"
    kernel: str | None = None
    rewriter: str = "recipes"
    overlay: Mapping[Path, bytes] = field(default_factory=dict)
    yes_send: bool = False
    stored_keys: Mapping[str, str] = field(default_factory=dict, repr=False)


def optimize_project(
    project: Project,
    *,
    options: OptimizeOptions | None = None,
    progress: Progress = lambda _message, _share: None,
    cancel: threading.Event | None = None,
) -> OptimizeResult:
    """Profile, take the worst finding that can be answered, and verify a rewrite for it.

    Raises UsageError for an unknown formula, kernel or rewriter, ConsentNeeded and ModelError of the language model,
    and whatever building and running raise.
    """
    options = options or OptimizeOptions()
    formulas = _formulas(options, project)
    _check_rewriter(options.rewriter)
    proposer = (
        None
        if options.rewriter == "recipes"
        else allow_model(project, yes_send=options.yes_send, stored_keys=options.stored_keys)
    )
    with ThreadPoolExecutor(max_workers=1) as early:
        early.submit(isolation)  # tried out once, and every candidate needs to know
        return _optimize(project, formulas, options, proposer, progress, cancel)


def _optimize(
    project: Project,
    formulas: Sequence[str],
    options: OptimizeOptions,
    proposer: ModelProposer | None,
    progress: Progress,
    cancel: threading.Event | None,
) -> OptimizeResult:
    """On what was prepared, if there is something, else on a new run of the program."""
    hardware = _on_hardware(project, options, progress, cancel)
    with prepared_session(project, options.overlay, cancel) as ready:
        if ready is not None:
            result = _optimize_profiled(
                project, ready, hardware, formulas, options, proposer, progress, cancel
            )
            if not any(a.outcome == "program_differs" for a in result.attempts):
                return result
            forget(ready)  # the program may have got other data: judge it on what it does now
    session = profile_project(
        project,
        options=ProfileOptions(overlay=options.overlay, backend="emulator", capture_dispatches=()),
        progress=progress,
        cancel=cancel,
    )
    try:
        return _optimize_profiled(project, session, hardware, formulas, options, proposer, progress, cancel)
    finally:
        if session.capture_dir is not None:
            shutil.rmtree(
                session.capture_dir, ignore_errors=True
            )  # it holds the program's memory, and is large


def _on_hardware(
    project: Project, options: OptimizeOptions, progress: Progress, cancel: threading.Event | None
) -> Hardware | None:
    """The program's profile on a GPU, when the project is profiled on one: that is where time counts then."""
    profiler = choose_profiler(project.config.backend)
    if not isinstance(profiler, MeasuringProfiler):
        return None
    measured = profile_project(
        project, options=ProfileOptions(overlay=options.overlay), progress=progress, cancel=cancel
    )
    return Hardware(profiler, measured.profile)


def _optimize_profiled(
    project: Project,
    session: ProfileSession,
    hardware: Hardware | None,
    formulas: Sequence[str],
    options: OptimizeOptions,
    proposer: ModelProposer | None,
    progress: Progress,
    cancel: threading.Event | None,
) -> OptimizeResult:
    _check_ended(session.profile)
    profile = hardware.profile if hardware is not None else session.profile
    findings = detect_all(profile, formulas=formulas, min_share=project.config.min_share)
    wanted = _select(findings, profile, options.kernel)
    if not wanted:
        return OptimizeResult(status="nothing_to_do", message=_nothing(profile, options))
    attempts: list[Attempt] = []
    for kernel, group in _by_kernel(wanted, profile):
        result = _optimize_kernel(
            project, session, hardware, kernel, group, options, proposer, attempts, progress, cancel
        )
        if result is not None:
            return result.model_copy(update={"findings": tuple(wanted)})
        if len(attempts) >= project.config.optimize.max_attempts:
            break
    return OptimizeResult(
        status="rejected" if any(a.outcome in _WRONG for a in attempts) else "no_improvement",
        message="No verified improvement. " + _why_not(attempts),
        formula=wanted[0].formula,
        kernel=wanted[0].kernel,
        file=wanted[0].file,
        line=wanted[0].line,
        findings=tuple(wanted),
        attempts=tuple(attempts),
    )


def _check_ended(profile: Profile) -> None:
    """Raises ProgramFailed when a fault left no launch to look at."""
    if profile.kernels or not profile.faults:
        return
    fault = profile.faults[0]
    frame = user_frame(fault.source)
    place = f"{frame.file}:{frame.line}: " if frame else ""
    raise ProgramFailed(
        f"{place}kernel {base_name(fault.kernel)}: {fault.message}", output=profile.program.output
    )


def _optimize_kernel(
    project: Project,
    session: ProfileSession,
    hardware: Hardware | None,
    kernel: Kernel,
    findings: Sequence[Finding],
    options: OptimizeOptions,
    proposer: ModelProposer | None,
    attempts: list[Attempt],
    progress: Progress,
    cancel: threading.Event | None,
) -> OptimizeResult | None:
    """Try the findings of one kernel in turn; attempts are added to the list. None when nothing was verified."""
    try:
        with open_bench(
            project,
            session,
            kernel,
            overlay=options.overlay,
            wait=False,
            timed_later=hardware is not None,
            progress=progress,
            cancel=cancel,
        ) as bench:
            for finding in findings if options.rewriter != "llm" else ():
                result = _try_recipes(bench, hardware, finding, options, attempts, progress, cancel)
                if result is not None:
                    return result
            if proposer is not None:
                return _ask_model(bench, hardware, kernel, options, proposer, attempts, progress, cancel)
    except CannotJudge as reason:
        first = findings[0]
        attempts.append(
            Attempt(
                formula=first.formula,
                kernel=kernel.name,
                recipe="",
                title="",
                outcome="cannot_judge",
                reason=reason.message,
            )
        )
    return None


def _try_recipes(
    bench: Bench,
    hardware: Hardware | None,
    finding: Finding,
    options: OptimizeOptions,
    attempts: list[Attempt],
    progress: Progress,
    cancel: threading.Event | None,
) -> OptimizeResult | None:
    """The fastest recipe that is proved and with which the whole program still does the same, or None."""
    offers = ask_recipes(bench, finding)
    for advice in offers.advice:
        said = f"Advice: {advice.title}. Not done here: {advice.reason}."
        attempts.append(_unjudged(finding, advice.title, "advice", said, recipe=advice.recipe))
    for refusal in offers.refused:
        said = f"{refusal.recipe} does not apply: {refusal.reason}."
        attempts.append(_unjudged(finding, "", "no_recipe", said, recipe=refusal.recipe))
    formula = find_formula(finding.formula)
    with Rehearsals(bench, options.overlay, cancel) as rehearsals:
        for judgement in contest(
            bench, offers, formula, rehearsals=rehearsals, progress=progress, cancel=cancel
        ):
            if judgement.accepted:
                progress("running the program with the rewrite", None)
                whole = rehearsals.finish(judgement.candidate.text, progress, exact=_bit_exact(judgement))
                judgement = _confirmed(bench, hardware, judgement, whole, options, progress, cancel)
            attempts.append(_attempt(bench, finding, judgement))
            if judgement.accepted:
                return _verified(bench, finding, judgement, attempts)
    return None


def _bit_exact(judgement: Judgement) -> bool:
    return judgement.verdict is not None and judgement.verdict.bit_exact


def _confirmed(
    bench: Bench,
    hardware: Hardware | None,
    judgement: Judgement,
    whole: Rehearsed,
    options: OptimizeOptions,
    progress: Progress,
    cancel: threading.Event | None,
) -> Judgement:
    """What an accepted judgement is after the `whole` program has run."""
    if whole.failure is not None:
        return replace(judgement, stage="program_differs", reason=whole.failure)
    judgement = replace(judgement, notes=(*judgement.notes, *whole.notes))
    if hardware is None:
        return judgement
    return time_on_hardware(
        bench, hardware, judgement, overlay=options.overlay, progress=progress, cancel=cancel
    )


def _ask_model(
    bench: Bench,
    hardware: Hardware | None,
    kernel: Kernel,
    options: OptimizeOptions,
    proposer: ModelProposer,
    attempts: list[Attempt],
    progress: Progress,
    cancel: threading.Event | None,
) -> OptimizeResult | None:
    """The language model's rewrites of one kernel, judged; beliefs and costs stand in the notes."""
    formulas = _formulas(options, bench.project)
    findings = kernel_findings(bench.project, bench.session.profile, kernel, formulas)

    def confirm(judgement: Judgement) -> Judgement:
        text = judgement.candidate.text
        whole = try_program(
            bench,
            text,
            exact=_bit_exact(judgement),
            overlay=options.overlay,
            progress=progress,
            cancel=cancel,
        )
        return _confirmed(bench, hardware, judgement, whole, options, progress, cancel)

    try:
        rewrites = proposer.ask(bench, findings, confirm=confirm, progress=progress, cancel=cancel)
    except ModelError as failure:
        if options.rewriter == "llm":
            raise
        attempts.append(_unjudged(findings[0], proposer.model, "model_failed", str(failure)))
        return None
    if rewrites is None:
        return None
    for tried in rewrites.outcome.attempts:
        judgement = rewrites.judgements.get(tried.number)
        if judgement is None:
            title = f"Answer without a rewrite ({proposer.model}, attempt {tried.number})"
            attempts.append(_unjudged(findings[0], title, "unusable", _sentence(tried.failure or "")))
            continue
        finding = rewrites.finding(judgement, findings)
        notes = (*judgement.notes, *explain_attempt(tried))
        attempts.append(_attempt(bench, finding, judgement).model_copy(update={"notes": notes}))
    account = rewrites.account(proposer.model)
    accepted = [j for j in rewrites.judgements.values() if j.accepted]
    if accepted:
        best = max(accepted, key=lambda j: j.speedup or 0.0)
        result = _verified(bench, rewrites.finding(best, findings), best, attempts)
        beliefs = explain_attempt(rewrites.attempt(best))
        return result.model_copy(update={"notes": (*result.notes, *beliefs, account)})
    attempts[-1] = attempts[-1].model_copy(update={"notes": (*attempts[-1].notes, account)})
    return None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _unjudged(finding: Finding, title: str, outcome: str, reason: str, *, recipe: str = "llm") -> Attempt:
    """An answer of a rewriter that could not be judged, or no answer."""
    return Attempt(
        formula=finding.formula,
        kernel=finding.kernel,
        recipe=recipe,
        title=title,
        outcome=outcome,
        reason=reason,
    )


def _attempt(bench: Bench, finding: Finding, judgement: Judgement) -> Attempt:
    candidate = judgement.candidate
    return Attempt(
        formula=finding.formula,
        kernel=finding.kernel,
        recipe=candidate.recipe,
        title=candidate.title,
        expected=candidate.expected,
        outcome=judgement.stage,
        reason=judgement.reason,
        speedup=judgement.speedup,
        after=_after(judgement),
        measured=judgement.measured,
        verdict=judgement.verdict,
        notes=judgement.notes,
        trades=judgement.trades,
        diff=diff_of(_relative(bench), bench.original, candidate.text),
    )


def _verified(bench: Bench, finding: Finding, best: Judgement, attempts: list[Attempt]) -> OptimizeResult:
    return OptimizeResult(
        status="verified",
        message=f"{best.candidate.title}: {best.reason} The whole program gives the same output.",
        formula=finding.formula,
        kernel=finding.kernel,
        file=finding.file,
        line=finding.line,
        diff=diff_of(_relative(bench), bench.original, best.candidate.text),
        speedup=best.speedup,
        before=_side(bench.baseline, best.measured.before_ns if best.measured is not None else None),
        after=_after(best),
        measured=best.measured,
        verdict=best.verdict,
        notes=best.notes,
        trades=best.trades,
        attempts=tuple(attempts),
        isolation=isolation(),
        edit=edit_between(bench.source, bench.original, best.candidate.text),
    )


def _after(judgement: Judgement) -> Side | None:
    times = judgement.measured
    if judgement.after is None:
        return None
    return _side(judgement.after, times.after_ns if times is not None else None)


def _side(measured: Measured, measured_ns: float | None = None) -> Side:
    resources = measured.kernel.resources
    device = measured.profile.device
    metrics = measure_all(measured.kernel, device)
    return Side(
        time_ns=measured.time_ns if measured_ns is None else measured_ns,
        provenance="modelled" if measured_ns is None else "measured",
        metrics=metrics,
        vgprs=resources.vgprs,
        agprs=resources.agprs,
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        scratch_bytes=resources.scratch_bytes,
        occupancy=measured.occupancy,
    )


def _relative(bench: Bench) -> str:
    root = bench.project.root.resolve()
    path = bench.source.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def _formulas(options: OptimizeOptions, project: Project) -> tuple[str, ...]:
    if options.formula == "auto":
        return tuple(project.config.formulas)
    if find_formula(options.formula) is None:
        names = [f.name for f in all_formulas()]
        close = difflib.get_close_matches(options.formula, names, n=1)
        hint = f"did you mean {close[0]}?" if close else "known formulas: " + ", ".join(names)
        raise UsageError(f"unknown formula {options.formula!r}", hint)
    return (options.formula,)


def _check_rewriter(rewriter: str) -> None:
    if rewriter not in ("recipes", "llm", "both"):
        raise UsageError(f"unknown rewriter {rewriter!r}", "choose recipes, llm or both")


def _select(findings: Sequence[Finding], profile: Profile, kernel: str | None) -> list[Finding]:
    """The findings of the named kernel (all without a name). Raises UsageError when there is no such kernel."""
    if kernel is None:
        return list(findings)
    named = [k for k in profile.kernels if kernel in (k.name, k.mangled, base_name(k.name))]
    if not named:
        known = ", ".join(base_name(k.name) for k in profile.kernels)
        raise UsageError(f"the program runs no kernel {kernel!r}", f"it runs: {known}")
    mangled = {k.mangled for k in named}
    return [f for f in findings if f.mangled in mangled]


def _by_kernel(findings: Sequence[Finding], profile: Profile) -> Iterator[tuple[Kernel, list[Finding]]]:
    """The kernels with findings, worst first, each with one finding per formula; of a template its worst instance."""
    seen: set[tuple[str | None, str]] = set()
    for mangled in dict.fromkeys(f.mangled for f in findings):
        kernel = profile.kernel(mangled)
        if kernel is not None and (source := (kernel.file, base_name(kernel.name))) not in seen:
            seen.add(source)
            of_kernel = [f for f in findings if f.mangled == mangled]
            yield kernel, list({f.formula: f for f in reversed(of_kernel)}.values())[::-1]


def _why_not(attempts: Sequence[Attempt]) -> str:
    """The reason that says most: what went wrong with a rewrite before why none was made."""

    def rank(attempt: Attempt) -> int:
        return _TELLING.index(attempt.outcome) if attempt.outcome in _TELLING else len(_TELLING)

    return min(attempts, key=rank).reason if attempts else "No recipe answers what was found."


def _nothing(profile: Profile, options: OptimizeOptions) -> str:
    where = f" in {options.kernel}" if options.kernel else ""
    if not profile.kernels:
        return "The program runs no kernel."
    return f"Nothing to do: no bottleneck was found{where}."
