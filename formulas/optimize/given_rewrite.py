"""A rewrite that somebody else wrote, an agent or a person: it passes the gates that hipscope's own rewrites pass.

Takes a profiled program and the new text of one of its files, gives an OptimizeResult with the one attempt. Nothing is
decided here: the judge, the gate of the whole program and the GPU are those of the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hipscope.accordo.dispatch.captured import CaptureUnreadable
from hipscope.accordo.replay.replay import ReplayBroken
from hipscope.analysis.errors import BuildFailed, ProgramFailed, UsageError
from hipscope.analysis.profile import Kernel
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import DIAGNOSE, find_formula
from hipscope.formulas.detect.sites import finding_at, kernel_site
from hipscope.formulas.judge.bench import Bench, CannotJudge, find_source, open_bench
from hipscope.formulas.judge.guard_added_code import rewritten_functions
from hipscope.formulas.judge.judge import Judgement, judge_candidate
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.whole_program import Rehearsals
from hipscope.formulas.optimize.kernel_search import Optimizing, first_verified
from hipscope.formulas.optimize.model_rewrites import kernel_findings
from hipscope.formulas.optimize.options import GivenRewrite
from hipscope.formulas.optimize.result import Attempt, OptimizeResult
from hipscope.formulas.optimize.verified_edit import VerifiedEdit, edit_between
from hipscope.formulas.propose.candidate import Candidate

RECIPE = "given"
TITLE = "The given rewrite"
LARGEST = 4 << 20
"""Bytes of a text that is judged."""
_MOST_BENCHES = 3  # kernels that are asked whether they call the function that changes

_NO_JUDGEMENT = (CannotJudge, UsageError, BuildFailed, ProgramFailed, CaptureUnreadable, ReplayBroken)


def judge_given(work: Optimizing, given: GivenRewrite) -> OptimizeResult:
    """What comes of the rewrite: its verified edit, or the reason of the first gate that did not open.

    Raises UsageError for a file that cannot be read and Cancelled.
    """
    file = Path(given.file).resolve()
    original = work.run.texts.needed(file)
    if (why := _unreadable(given.text, original)) is not None:
        return _refused(why)
    try:
        edit = edit_between(file, original, given.text)
    except UnicodeDecodeError as error:
        return _refused(
            f"Refused: the text is no UTF-8: {error.reason} at byte {error.start} of what is new."
        )
    kernels = list(_kernels(work, file, edit))
    if not kernels:
        return _refused(
            f"Refused: {file.name} has changes, but in no kernel that the program runs and in no function that one "
            "of its hot kernels calls."
        )
    answer = _refused("Refused: it changes text outside of the kernels that run and of what they call.")
    for kernel in kernels[:_MOST_BENCHES]:
        attempts: list[Attempt] = []
        try:
            with open_bench(
                work.project,
                work.session,
                kernel,
                work.run,
                wait=False,
                timed_later=work.hardware is not None,
            ) as bench:
                found = _candidate(bench, file, given, edit)
                if found is None:
                    continue
                return _judged(work, bench, kernel, found, attempts)
        except _NO_JUDGEMENT as reason:
            said = f"{reason.message} ({reason.hint})" if reason.hint else reason.message
            answer = _refused(said, Outcome.CANNOT_JUDGE, kernel.name)
    return answer


def _unreadable(text: bytes, original: bytes) -> str | None:
    if len(text) > LARGEST:
        return f"Refused: the text has {len(text)} bytes, more than the {LARGEST} that are judged."
    if text == original:
        return "Refused: the candidate is the original, byte for byte."
    if b"\0" in text:
        return "Refused: the text has a zero byte in it."
    return None


def _kernels(work: Optimizing, file: Path, edit: VerifiedEdit) -> Iterator[Kernel]:
    """The kernels that the edit touches, the longest of each template; then those that may call what it touches.

    The named kernel, where one is named, is the only one.
    """
    named = work.options.kernel
    seen: set[tuple[Path, str]] = set()
    touched: list[Kernel] = []
    others: list[Kernel] = []
    for kernel in sorted(work.session.profile.kernels, key=lambda k: -k.time_ns):
        if named is not None and named not in (kernel.name, kernel.mangled, base_name(kernel.name)):
            continue
        try:
            found = find_source(work.project, kernel, work.run.texts)
        except CannotJudge:
            continue
        key = (found.file.resolve(), found.syntax.name)
        if key in seen:
            continue
        seen.add(key)
        span = found.syntax.span
        inside = key[0] == file and span.start <= edit.end_byte and edit.start_byte <= span.end
        (touched if inside else others).append(kernel)
    yield from touched or others


def _candidate(
    bench: Bench, file: Path, given: GivenRewrite, edit: VerifiedEdit
) -> Candidate | Judgement | None:
    """The rewrite of the bench's kernel or of a function that it calls; None when it is one of neither."""
    own = file == bench.source.resolve()
    plain = Candidate(recipe=RECIPE, title=TITLE, text=given.text, expected="", exact=False)
    span = bench.kernel.span
    if own and span.start <= edit.end_byte and edit.start_byte <= span.end:
        return plain
    for function in bench.functions:
        span = function.syntax.span
        inside = span.start <= edit.start_byte and edit.end_byte <= span.end
        if function.file.resolve() != file or not inside:
            continue
        changed = replace(plain, file=None if own else function.file, function=function.syntax)
        if why := function.fixed or function.host:
            return Judgement(changed, Outcome.REFUSED, f"Refused: `{function.syntax.name}`: {why}.")
        return changed
    # Several functions at once: the guard says which of them may change.
    several = own and rewritten_functions(bench.original, given.text, bench.kernel, ()).changed
    return plain if several else None


def _judged(
    work: Optimizing, bench: Bench, kernel: Kernel, found: Candidate | Judgement, attempts: list[Attempt]
) -> OptimizeResult:
    findings = kernel_findings(work.project, work.session.profile, kernel, work.run.texts, work.formulas)
    finding = findings[0] if findings else _of_the_kernel(kernel)
    if isinstance(found, Judgement):
        judgement = found
    else:
        bench.ahead.reference.begin()
        # It promises no metric: what explains a gain may be the objective of any finding of the kernel.
        formula, *others = [find_formula(f.formula) for f in findings] or [None]
        more = [other for other in others if other is not None]
        judgement = judge_candidate(bench, found, formula, work.run, others=more)
    with Rehearsals(bench, work.run) as rehearsals:
        result = first_verified(work, bench, finding, [judgement], rehearsals, attempts)
    return result if result is not None else _not_verified(attempts, finding)


def _of_the_kernel(kernel: Kernel) -> Finding:
    """What stands for a finding where no formula has one."""
    return finding_at(DIAGNOSE.name, kernel, kernel_site(kernel), 0.0, "", ())


def _not_verified(attempts: list[Attempt], finding: Finding) -> OptimizeResult:
    last = attempts[-1]
    return OptimizeResult(
        status="rejected" if last.outcome.wrong else "no_improvement",
        message=last.reason,
        kernel=last.kernel,
        file=finding.file,
        line=finding.line,
        attempts=tuple(attempts),
    )


def _refused(reason: str, outcome: Outcome = Outcome.REFUSED, kernel: str = "") -> OptimizeResult:
    attempt = Attempt(formula="", kernel=kernel, recipe=RECIPE, title=TITLE, outcome=outcome, reason=reason)
    status = "rejected" if outcome.wrong else "no_improvement"
    return OptimizeResult(status=status, message=reason, attempts=(attempt,))
