"""What is tried for one kernel: recipes for its findings, launch shapes, variants, rewrites of what it calls, a model.

Takes a profiled program and a kernel of it, gives the result of the first candidate that is verified; all others are
attempts. Which kernel is next, and whether there is another round, is the loop's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hipscope.accordo.dispatch.captured import CaptureUnreadable
from hipscope.accordo.replay.replay import ReplayBroken
from hipscope.analysis.errors import BuildFailed, Cancelled, HipscopeError, ProgramFailed, UsageError
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileSession
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import DIAGNOSE, ask_formula, find_formula
from hipscope.formulas.detect.sites import finding_at, kernel_site
from hipscope.formulas.judge.bench import Bench, CannotJudge, open_bench
from hipscope.formulas.judge.gpu_gate import Hardware, time_on_hardware
from hipscope.formulas.judge.judge import Judgement, over_program
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.selection import (
    IN_PROGRAM,
    PASSED_OVER,
    ask_recipes,
    contest,
    unasked_candidates,
    unfinished,
)
from hipscope.formulas.judge.whole_program import Rehearsals, Rehearsed, try_program
from hipscope.formulas.launches.judge_launches import Judged, SharedTimes, judge_launches, time_shared
from hipscope.formulas.launches.numbers import RECIPE
from hipscope.formulas.optimize.earlier_rounds import AcceptedRun, Earlier
from hipscope.formulas.optimize.model_rewrites import ModelProposer, explain_attempt, kernel_findings
from hipscope.formulas.optimize.options import OptimizeOptions
from hipscope.formulas.optimize.records import judged_attempt, sentence, unjudged, verified_result
from hipscope.formulas.optimize.result import Attempt, OptimizeResult
from hipscope.formulas.optimize.variant_search import judge_variants, variants_around
from hipscope.formulas.propose.llm.client import ModelError

_OF_LAUNCHES = "launchConfig"

# What is wrong with one kernel or its file says nothing about the next. A full disk, a missing tool, a stop do.
_OF_ONE_FINDING = (UsageError, BuildFailed, ProgramFailed, CaptureUnreadable, ReplayBroken)


@dataclass(frozen=True)
class Optimizing:
    """One optimization on a profiled run of the program, with the names of the formulas that are asked.

    `hardware` is None where the model's times count. `accepted` takes the run by which an edit is accepted, where
    another round may follow.
    """

    project: Project
    session: ProfileSession
    hardware: Hardware | None
    options: OptimizeOptions
    proposer: ModelProposer | None
    run: Run
    formulas: tuple[str, ...]
    earlier: Earlier | None = None
    accepted: AcceptedRun | None = None

    @property
    def tells_compiler(self) -> bool:
        """Whether kernels are compiled in other ways, too, whatever was found in them."""
        return self.options.rewriter != "llm"

    def edits(self, kind: Literal["kernel", "launch"]) -> bool:
        """Whether edits of this kind are wanted."""
        return kind in self.project.config.optimize.edits

    @property
    def profile(self) -> Profile:
        """The profile whose times count."""
        return self.hardware.profile if self.hardware is not None else self.session.profile


def search_kernel(
    work: Optimizing, kernel: Kernel, findings: Sequence[Finding], attempts: list[Attempt]
) -> OptimizeResult | None:
    """Try the findings of one kernel in turn; attempts are added to the list. None when nothing was verified."""
    later = work.hardware is not None
    try:
        with open_bench(work.project, work.session, kernel, work.run, wait=False, timed_later=later) as bench:
            bench = replace(bench, passed_over=work.options.passed_over)
            if (earlier := work.earlier) is not None:
                here = tuple(f for f in bench.functions if earlier.edits(f.file))
                files = tuple(file for file in bench.other_files if earlier.edits(file))
                bench = replace(bench, functions=here, other_files=files)
                if not earlier.edits(bench.source):
                    return _try_functions(work, bench, kernel, findings, attempts)
            both = work.tells_compiler and work.edits("kernel") and work.edits("launch")
            shared = time_shared(bench, work.run) if both else SharedTimes()
            first = findings[0] if findings else _diagnosis(work, kernel)
            if shared.large:
                result = _first_launched(work, bench, first, shared.judged(bench, work.run), attempts)
                if result is not None:
                    return result
            for finding in findings if work.options.rewriter != "llm" else ():
                try:
                    result = (
                        _try_launches(work, bench, finding, attempts)
                        if finding.formula == _OF_LAUNCHES
                        else None
                    )
                    if result is None and work.edits("kernel"):
                        result = _try_recipes(work, bench, finding, attempts)
                except _OF_ONE_FINDING as reason:
                    attempts.append(_untried(finding, reason))
                    continue
                if result is not None:
                    return result
            if work.tells_compiler and work.edits("kernel"):
                result = _try_variants(work, bench, kernel, findings, attempts)
                if result is not None:
                    return result
            if not shared.large:
                result = _first_launched(work, bench, first, shared.judged(bench, work.run), attempts)
                if result is not None:
                    return result
            if work.tells_compiler and _OF_LAUNCHES not in (f.formula for f in findings):
                result = _try_launches(work, bench, first, attempts)
                if result is not None:
                    return result
            # What rules have made faster is a base for the model, also where nothing is found in it any more.
            # So is a kernel that was asked for by name.
            wanted = findings or _again(work, kernel) or work.options.kernel is not None
            if work.proposer is not None and wanted and work.edits("kernel"):
                return _ask_model(work, work.proposer, bench, kernel, attempts)
    except (CannotJudge, *_OF_ONE_FINDING) as reason:
        tried = {a.formula for a in attempts if a.kernel == kernel.name}
        untried = [finding for finding in findings if finding.formula not in tried]
        # What kept the variants from being tried is said, too, where every finding had its answer.
        attempts += [_untried(finding, reason) for finding in untried or [_diagnosis(work, kernel)]]
    return None


def _untried(finding: Finding, reason: HipscopeError) -> Attempt:
    """A finding for which nothing could be tried, with what to do about it."""
    said = f"{reason.message} ({reason.hint})" if reason.hint else reason.message
    return unjudged(finding, "", Outcome.CANNOT_JUDGE, said, recipe="")


def _try_recipes(
    work: Optimizing, bench: Bench, finding: Finding, attempts: list[Attempt]
) -> OptimizeResult | None:
    """The fastest recipe that is proved and with which the whole program still does the same, or None."""
    offers = ask_recipes(bench, finding)
    for advice in offers.advice:
        said = f"Advice: {advice.title}. Not done here: {advice.reason}."
        attempts.append(unjudged(finding, advice.title, Outcome.ADVICE, said, recipe=advice.recipe))
    for refusal in offers.refused:
        said = f"{refusal.recipe} does not apply: {refusal.reason}."
        attempts.append(unjudged(finding, "", Outcome.NO_RECIPE, said, recipe=refusal.recipe))
    formula = find_formula(finding.formula)
    with Rehearsals(bench, work.run, record=work.accepted is not None) as rehearsals:
        judged = contest(bench, offers, formula, work.run, rehearsals=rehearsals)
        return first_verified(work, bench, finding, judged, rehearsals, attempts)


def _try_launches(
    work: Optimizing, bench: Bench, finding: Finding, attempts: list[Attempt]
) -> OptimizeResult | None:
    """The fastest launch shape that is proved and with which the whole program still does the same, or None."""
    if not work.edits("launch"):
        return None
    judged = judge_launches(bench, work.run)
    if isinstance(judged, str):
        if finding.formula == _OF_LAUNCHES:
            attempts.append(unjudged(finding, "", Outcome.NO_RECIPE, sentence(judged), recipe=RECIPE))
        return None
    return _first_launched(work, bench, finding, judged, attempts)


def _first_launched(
    work: Optimizing, bench: Bench, finding: Finding, judged: Iterable[Judged], attempts: list[Attempt]
) -> OptimizeResult | None:
    """The first accepted launch edit with which the whole program still does the same, or None; each is an attempt."""
    for one in judged:
        judgement = one.judgement
        if judgement.accepted and judgement.candidate.title in bench.passed_over:
            judgement = replace(judgement, stage=Outcome.TRIED_BEFORE, reason=PASSED_OVER)
        if judgement.accepted and one.whole is not None:
            judgement = _confirmed(work, bench, judgement, one.whole)
        attempts.append(judged_attempt(bench, finding, judgement))
        if judgement.accepted:
            _hand_on(work, judgement, one.whole)
            return verified_result(bench, finding, judgement, attempts)
    return None


def _try_variants(
    work: Optimizing, bench: Bench, kernel: Kernel, findings: Sequence[Finding], attempts: list[Attempt]
) -> OptimizeResult | None:
    """The fastest way to compile the kernel's own text that is proved, or None."""
    texts = variants_around(bench)
    finding = findings[0] if findings else _diagnosis(work, kernel)
    with Rehearsals(bench, work.run, record=work.accepted is not None) as rehearsals:
        more = unasked_candidates(bench, {f.formula for f in findings})
        judged = judge_variants(
            bench, texts, work.run, recipes=more, rehearsals=rehearsals, again=_again(work, kernel)
        )
        return first_verified(work, bench, finding, judged, rehearsals, attempts)


def _try_functions(
    work: Optimizing, bench: Bench, kernel: Kernel, findings: Sequence[Finding], attempts: list[Attempt]
) -> OptimizeResult | None:
    """The fastest rewrite of a function that the kernel calls, which is proved; its own text stays as it is."""
    if not (work.tells_compiler and work.edits("kernel")):
        return None
    offered = [c for c in unasked_candidates(bench, ()) if c.function is not None]
    texts = [one for one in variants_around(bench) if one.file is not None]
    finding = findings[0] if findings else _diagnosis(work, kernel)
    with Rehearsals(bench, work.run, record=work.accepted is not None) as rehearsals:
        judged = judge_variants(
            bench, texts, work.run, recipes=offered, rehearsals=rehearsals, again=_again(work, kernel)
        )
        return first_verified(work, bench, finding, judged, rehearsals, attempts)


def _again(work: Optimizing, kernel: Kernel) -> bool:
    """Whether an earlier round has rewritten this kernel."""
    return work.earlier is not None and work.earlier.has_gained(kernel)


def first_verified(
    work: Optimizing,
    bench: Bench,
    finding: Finding,
    judged: Iterable[Judgement],
    rehearsals: Rehearsals,
    attempts: list[Attempt],
) -> OptimizeResult | None:
    """The first accepted candidate with which the whole program still does the same, or None; each is an attempt."""
    whole: Rehearsed | None = None
    for judgement in judged:
        if judgement.accepted:
            work.run.say("running the program with the rewrite")
            candidate = judgement.candidate
            try:
                whole = rehearsals.finish(
                    candidate.text,
                    exact=_bit_exact(judgement),
                    file=candidate.file,
                    unspecified=_but_for_unspecified(judgement),
                )
                judgement = _confirmed(work, bench, judgement, whole)
            except Cancelled:
                attempts.append(judged_attempt(bench, finding, unfinished(judgement, IN_PROGRAM)))
                raise
        attempts.append(judged_attempt(bench, finding, judgement))
        if judgement.accepted:
            _hand_on(work, judgement, whole)
            return verified_result(bench, finding, judgement, attempts)
    return None


def _hand_on(work: Optimizing, judgement: Judgement, whole: Rehearsed | None) -> None:
    """Keep the run that an edit was accepted by for the next round."""
    if work.accepted is not None and whole is not None:
        work.accepted.put(whole.session, judgement.candidate.text)


def _diagnosis(work: Optimizing, kernel: Kernel) -> Finding:
    """What stands for a finding where no formula has one: what bounds the kernel."""
    found = ask_formula(DIAGNOSE, work.session.profile, kernel, work.run.texts)
    if found:
        return found[0]
    return finding_at(DIAGNOSE.name, kernel, kernel_site(kernel), 0.0, "", ())


def _bit_exact(judgement: Judgement) -> bool:
    return judgement.verdict is not None and judgement.verdict.bit_exact


def _but_for_unspecified(judgement: Judgement) -> bool:
    return judgement.verdict is not None and judgement.verdict.unspecified_bytes > 0


def _confirmed(work: Optimizing, bench: Bench, judgement: Judgement, whole: Rehearsed) -> Judgement:
    """What an accepted judgement is after the `whole` program has run."""
    if whole.failure is not None:
        return replace(judgement, stage=Outcome.PROGRAM_DIFFERS, reason=whole.failure)
    judgement = replace(judgement, notes=(*judgement.notes, *whole.notes))
    if work.hardware is None:
        shown = over_program(judgement, whole.times, work.project.config.optimize.min_speedup)
        # A new order of workgroups gains by what caches hold: it says nothing of what others gain.
        if not shown.accepted and judgement.after is not None and not judgement.candidate.only_for:
            bench.lost_gains.add(judgement.candidate.title, judgement.after)
        return shown
    return time_on_hardware(bench, work.hardware, judgement, work.run)


def _ask_model(
    work: Optimizing, proposer: ModelProposer, bench: Bench, kernel: Kernel, attempts: list[Attempt]
) -> OptimizeResult | None:
    """The language model's rewrites of one kernel, judged; beliefs and costs stand in the notes."""
    found = kernel_findings(work.project, bench.session.profile, kernel, work.run.texts, work.formulas)
    findings = found or (_diagnosis(work, kernel),)
    bench.ahead.reference.begin()  # an answer takes as long, and is proved before it is timed

    def confirm(judgement: Judgement, whole: Rehearsed | None) -> Judgement:
        whole = whole or try_program(
            bench,
            judgement.candidate.text,
            work.run,
            exact=_bit_exact(judgement),
            unspecified=_but_for_unspecified(judgement),
        )
        return _confirmed(work, bench, judgement, whole)

    try:
        rewrites = proposer.ask(bench, findings, work.run, confirm=confirm)
    except ModelError as failure:
        if work.options.rewriter == "llm":
            raise
        attempts.append(unjudged(findings[0], proposer.model, Outcome.MODEL_FAILED, str(failure)))
        return None
    if rewrites is None:
        return None
    for tried in rewrites.outcome.attempts:
        judgement = rewrites.judgements.get(tried.number)
        if judgement is None:
            title = f"Answer without a rewrite ({proposer.model}, attempt {tried.number})"
            why = sentence(tried.failure or "")
            attempts.append(unjudged(findings[0], title, Outcome.UNUSABLE, why))
            continue
        finding = rewrites.finding(judgement, findings)
        notes = (*judgement.notes, *explain_attempt(tried))
        attempts.append(judged_attempt(bench, finding, judgement).model_copy(update={"notes": notes}))
    account = rewrites.account(proposer.model)
    accepted = [j for j in rewrites.judgements.values() if j.accepted]
    if accepted:
        best = max(accepted, key=lambda j: j.speedup or 0.0)
        result = verified_result(bench, rewrites.finding(best, findings), best, attempts)
        beliefs = explain_attempt(rewrites.attempt(best))
        return result.model_copy(update={"notes": (*result.notes, *beliefs, account)})
    if not rewrites.outcome.attempts:
        why = sentence(f"Not asked: {rewrites.outcome.stopped}")
        attempts.append(unjudged(findings[0], proposer.model, Outcome.NOT_TRIED, why))
        return None
    attempts[-1] = attempts[-1].model_copy(update={"notes": (*attempts[-1].notes, account)})
    return None
