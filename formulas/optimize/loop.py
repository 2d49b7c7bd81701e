"""The loop from a program to a verified edit: profile, search one kernel after another, again on what was rewritten.

Takes a project, gives an OptimizeResult. Nothing on disk changes: the result carries the edit, and `edit.apply_edit`
applies it if the user wants it. A result without an edit says for every attempt why not.
"""

from __future__ import annotations

import difflib
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.analysis.errors import Cancelled, ProgramFailed, UsageError
from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.profilers import MeasuringProfiler, Profiler, ProfilerChoice, choose_profiler
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, ProfileSession, profile_project, program_of
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.sandbox import isolation
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.devices import device_table
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import all_formulas, detect_all, find_formula
from hipscope.formulas.judge.bench import of_a_library
from hipscope.formulas.judge.gpu_gate import Hardware
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize.earlier_rounds import AcceptedRun, Earlier, after_rounds
from hipscope.formulas.optimize.given_rewrite import judge_given
from hipscope.formulas.optimize.kernel_search import Optimizing, search_kernel
from hipscope.formulas.optimize.known_losses import lost
from hipscope.formulas.optimize.model_rewrites import ModelProposer, allow_model
from hipscope.formulas.optimize.options import OptimizeOptions
from hipscope.formulas.optimize.prepared_cache import forget, prepared_session
from hipscope.formulas.optimize.records import nothing_to_do, with_measured_gains
from hipscope.formulas.optimize.result import Attempt, OptimizeResult
from hipscope.formulas.optimize.rounds import joined
from hipscope.formulas.optimize.search_end import ended_sentence, nothing_begun, reason_of, too_late, with_end
from hipscope.formulas.optimize.verified_edit import VerifiedEdit, apply_edit

__all__ = [
    "Attempt",
    "Earlier",
    "OptimizeOptions",
    "OptimizeResult",
    "VerifiedEdit",
    "apply_edit",
    "optimize_project",
]

_NO_CANDIDATE = (Outcome.ADVICE, Outcome.NO_RECIPE, Outcome.CANNOT_JUDGE, Outcome.TRIED_BEFORE)
_ROUNDS = 3  # of one kernel: each costs a profile and a search; what was tried on public programs
_ALL_ROUNDS = 10  # of all kernels
_SHORTEST_ROUND = 0.5  # of the time of the round before: what is left of a limit must be that at least
_HOT_KERNEL = 0.05  # of the GPU's time: the share below which nothing is a finding either
_NEXT_KERNEL = 0.1  # of the GPU's time: what another search must be able to pay for
_AMPLE = 600.0  # seconds: what is left of a limit that has kept nothing from being tried
_MOST_KERNELS = 3  # that are searched one after another without success


def optimize_project(
    project: Project, run: Run | None = None, *, options: OptimizeOptions | None = None
) -> OptimizeResult:
    """Profile, take the worst finding that can be answered, and verify a rewrite for it.

    Raises UsageError for an unknown formula, kernel or rewriter and for a search that ended before there was a profile,
    ConsentNeeded and ModelError of the language model, and whatever building and running raise.
    """
    run, options = run or Run(), options or OptimizeOptions()
    run = run if options.end is None else run.until(options.end)
    _formulas(options, project)
    _check_rewriter(options.rewriter)
    proposer = (
        None
        if options.rewriter == "recipes"
        else allow_model(project, yes_send=options.yes_send, stored_keys=options.stored_keys)
    )
    with ThreadPoolExecutor(max_workers=1) as early:
        early.submit(isolation)  # tried out once, and every candidate needs to know
        result = _go_on(project, options, proposer, run)
    return result.model_copy(update={"compiles": run.compiles.number, "replays": run.replays.number})


@dataclass(frozen=True)
class _Round:
    """What a round is asked for: `earlier` is what those before it came to, `accepted` takes the run by which its edit
    is accepted, where another round may follow. On a GPU, times are those of the `hardware`.
    """

    options: OptimizeOptions
    proposer: ModelProposer | None
    accepted: AcceptedRun | None
    earlier: Earlier | None = None
    hardware: Hardware | None = None


def _go_on(
    project: Project, options: OptimizeOptions, proposer: ModelProposer | None, run: Run
) -> OptimizeResult:
    """Optimize, again on the text that the edit left, each time what is expected to save most then, until nothing more
    is gained or the search ends.
    """
    accepted = AcceptedRun()
    try:
        return _rounds(project, options, proposer, run, accepted)
    finally:
        accepted.drop()


def _rounds(
    project: Project,
    options: OptimizeOptions,
    proposer: ModelProposer | None,
    run: Run,
    accepted: AcceptedRun,
) -> OptimizeResult:
    """One round after the other; each begins with the run that the edit before was `accepted` by."""
    begun = time.monotonic()
    further = (
        options.rounds != 1 and options.rewriter != "llm"
    )  # the model itself goes on until its target or budget
    asked = _Round(options, proposer, accepted if further else None)
    try:
        result = _optimize(project, asked, run)
    except Cancelled as cancelled:
        raise nothing_begun(options.end, cancelled) from None
    rounds: list[OptimizeResult] = [result]
    before: dict[Path, bytes] = {}  # the texts of the files that were edited, the kernel's first
    after: dict[Path, bytes] = {}
    most = _ALL_ROUNDS if further and result.measured is None else 1
    while result.status == "verified" and result.edit is not None:
        file = Path(result.edit.file)
        for part in result.edit.parts:
            was = run.texts.needed(part.file)
            before.setdefault(Path(part.file), was)
            after[Path(part.file)] = part.applied_to(was)
        if len(rounds) >= (options.rounds or most):
            return joined(project, rounds, None, before, after)
        taken, begun = time.monotonic() - begun, time.monotonic()
        if run.seconds_left < taken * _SHORTEST_ROUND:
            return with_end(
                joined(project, rounds, None, before, after), too_late(len(rounds) + 1, taken, run)
            )
        run.say(f"round {len(rounds) + 1}: going on with the rewrite")
        run = run.replacing_all(after.items())
        # The model goes on where the rules find nothing more, so these go on until then.
        each = _ROUNDS if options.rounds is None and proposer is None else None
        asked = replace(asked, earlier=after_rounds(file, rounds, each))
        try:
            result = _optimize(project, asked, run, accepted.take(after[file]))
        except Cancelled as cancelled:
            reason = f"{reason_of(options.end, cancelled)}, in round {len(rounds) + 1}."
            return with_end(joined(project, rounds, None, before, after), reason)
        if result.status == "verified" and result.edit is not None and Path(result.edit.file) == file:
            rounds.append(result)
        else:
            return with_end(joined(project, rounds, result, before, after), result.ended)
    return result


def _optimize(
    project: Project, asked: _Round, run: Run, begun: ProfileSession | None = None
) -> OptimizeResult:
    """One round, on a GPU where the project is profiled on one; it may begin with a recorded run of the program.

    `notes` say why `auto` did not take the GPU of this machine.
    """
    project, choice = _for_the_gpu(project)
    if (hardware := _on_hardware(choice.profiler, project, run)) is not None:
        asked = replace(asked, hardware=hardware, accepted=None)
    if begun is not None:
        result = _optimize_recorded(project, begun, asked, run)
    else:
        result = _optimize_session(project, asked, run)
    notes = result.notes if choice.note is None else (choice.note, *result.notes)
    return result.model_copy(update={"notes": notes})


def _for_the_gpu(project: Project) -> tuple[Project, ProfilerChoice]:
    """The project for the architecture of the GPU that it is profiled on, and for the modelled device of that.

    Candidates are proved on the emulator: for a GPU whose architecture it does not have, the project stays as it is.
    """
    config = project.config
    choice = choose_profiler(config.backend, config.wanted_arch, environment=config.env)
    if choice.arch in (None, config.arch):
        return project, choice
    device = next((name for name, row in device_table().items() if row["arch"] == choice.arch), None)
    if device is None or config.wanted_arch is not None:
        return project, choose_profiler(config.backend, config.arch, environment=config.env)
    changed = config.model_copy(update={"arch": choice.arch, "device": device})
    return replace(project, config=changed), choice


def _optimize_session(project: Project, asked: _Round, run: Run) -> OptimizeResult:
    """On what was prepared, if there is something, else on a new run of the program."""
    with prepared_session(project, run) as ready:
        if ready is not None:
            result = _optimize_profiled(_work_on(project, ready, asked, run))
            differs = any(a.outcome is Outcome.PROGRAM_DIFFERS for a in result.attempts)
            if not differs or result.ended is not None:
                return result
            forget(ready)  # the program may have got other data: judge it on what it does now
    recorded = ProfileOptions(backend="emulator", capture_dispatches=(), waves=False)
    return _optimize_recorded(project, profile_project(project, run, options=recorded), asked, run)


def _optimize_recorded(project: Project, session: ProfileSession, asked: _Round, run: Run) -> OptimizeResult:
    """On a recorded run of the program. The recording is removed in the end: it holds the program's memory."""
    try:
        return _optimize_profiled(_work_on(project, session, asked, run))
    finally:
        if session.capture_dir is not None:
            shutil.rmtree(session.capture_dir, ignore_errors=True)


def _work_on(project: Project, session: ProfileSession, asked: _Round, run: Run) -> Optimizing:
    formulas = _formulas(asked.options, project)
    built, run = program_of(session, project, run)
    return Optimizing(
        built,
        session,
        asked.hardware,
        asked.options,
        asked.proposer,
        run,
        formulas,
        asked.earlier,
        asked.accepted,
    )


def _on_hardware(profiler: Profiler, project: Project, run: Run) -> Hardware | None:
    """The program's profile on a GPU, when the project is profiled on one: that is where time counts then."""
    if not isinstance(profiler, MeasuringProfiler):
        return None
    return Hardware(profiler, profile_project(project, run).profile)


def _optimize_profiled(work: Optimizing) -> OptimizeResult:
    _check_ended(work.session.profile)
    if work.options.given is not None:
        return judge_given(work, work.options.given)
    config = work.project.config
    asked = work.options.formula != "auto"  # by name: then however little is at stake
    findings = detect_all(
        work.profile, work.run.texts, formulas=work.formulas, min_share=0.0 if asked else config.min_share
    )
    wanted = _select(findings, work.profile, work.options.kernel)
    hot = [*_by_kernel(wanted, work.profile), *_hot_kernels(work, wanted)]
    kernels = own_first(_in_turn(work, hot), work.run.texts)
    if not kernels:
        return OptimizeResult(status="nothing_to_do", message=_nothing(work))
    kernels, attempts = _not_tried_before(work, kernels)
    ended = None
    for number, (kernel, group) in enumerate(kernels):
        judged = [a for a in attempts if a.outcome not in _NO_CANDIDATE]
        enough = len(judged) >= config.optimize.max_attempts
        if enough and (number >= _MOST_KERNELS or _share(work, kernel) < _NEXT_KERNEL):
            break
        before = len(attempts)
        try:
            result = search_kernel(work, kernel, group, attempts)
        except Cancelled as cancelled:
            reason = reason_of(work.options.end, cancelled)
            left = [k.name for k, _ in kernels[number:] if not of_a_library(k, work.run.texts)]
            ended = ended_sentence(reason, left, attempts)
            break
        if result is not None:
            if work.hardware is not None:
                result = with_measured_gains(result, work.hardware.profile)
            return result.model_copy(update={"findings": tuple(wanted)})
        whole = not work.options.passed_over  # a search that leaves some out has lost nothing
        if whole and work.proposer is None and work.run.seconds_left > _AMPLE:
            attempts[before:] = lost(attempts[before:], _search(work, kernel))
    if ended is None and not wanted:
        message = " ".join(
            [
                _nothing(work),
                *(_why_not(attempts) for _ in attempts[:1]),
            ]
        )
        return OptimizeResult(status="nothing_to_do", message=message, attempts=tuple(attempts))
    result = OptimizeResult(
        status="rejected" if any(a.outcome.wrong for a in attempts) else "no_improvement",
        message="No verified improvement." + (f" {_why_not(attempts)}" if ended is None else ""),
        findings=tuple(wanted),
        attempts=tuple(attempts),
    )
    if wanted:
        worst = wanted[0]
        place = {"formula": worst.formula, "kernel": worst.kernel, "file": worst.file, "line": worst.line}
        result = result.model_copy(update=place)
    return with_end(result, ended)


def _not_tried_before(
    work: Optimizing, kernels: Sequence[tuple[Kernel, list[Finding]]]
) -> tuple[list[tuple[Kernel, list[Finding]]], list[Attempt]]:
    """The kernels that are worth a search, and what stands for the search of the others: a model may answer anew."""
    if work.proposer is not None:
        return list(kernels), []
    left: list[tuple[Kernel, list[Finding]]] = []
    known: list[Attempt] = []
    for kernel, group in kernels:
        formula = group[0].formula if group else ""
        attempt = work.options.losses.attempt(kernel, formula, _search(work, kernel))
        if attempt is None:
            left.append((kernel, group))
        else:
            known.append(attempt)
    return left, known


def _search(work: Optimizing, kernel: Kernel) -> str:
    """The digest of the search for rewrites of a kernel."""
    return work.options.losses.digest(
        work.project,
        work.run,
        kernel,
        work.session.toolchain.identity,
        work.options.formula,
        work.formulas,
        work.hardware is not None,
        work.earlier is not None and work.earlier.has_gained(kernel),
    )


def own_first(
    kernels: Iterable[tuple[Kernel, list[Finding]]], texts: SourceTexts
) -> list[tuple[Kernel, list[Finding]]]:
    """These kernels, those of libraries last: none of them is edited, and a search ends after a few kernels."""
    return sorted(kernels, key=lambda one: of_a_library(one[0], texts))


def _in_turn(
    work: Optimizing, kernels: Sequence[tuple[Kernel, list[Finding]]]
) -> list[tuple[Kernel, list[Finding]]]:
    """These kernels; in a later round first what is expected to save most of the GPU's time, as it is by now: of those
    that gained nothing yet the ones that can pay for another search.
    """
    if (earlier := work.earlier) is None:
        return list(kernels)
    left = [
        one
        for one in kernels
        if earlier.allows(one[0]) and (earlier.has_gained(one[0]) or _share(work, one[0]) >= _NEXT_KERNEL)
    ]
    return sorted(left, key=lambda one: -_share(work, one[0]) * earlier.expected(one[0]))


def _share(work: Optimizing, kernel: Kernel) -> float:
    """The part of the GPU's time that a kernel takes, all instances of its template together."""
    kernels = work.profile.kernels
    name = base_name(kernel.name)
    own = sum(k.time_ns for k in kernels if base_name(k.name) == name and k.file == kernel.file)
    total = sum(k.time_ns for k in kernels)
    return own / total if total else 0.0


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
    mangled = {k.mangled for k in _named(profile, kernel)}
    return [f for f in findings if f.mangled in mangled]


def _named(profile: Profile, kernel: str | None) -> list[Kernel]:
    """The kernels of that name, all without one. Raises UsageError when there is none."""
    if kernel is None:
        return list(profile.kernels)
    named = [k for k in profile.kernels if kernel in (k.name, k.mangled, base_name(k.name))]
    if not named:
        known = ", ".join(base_name(k.name) for k in profile.kernels)
        raise UsageError(f"the program runs no kernel {kernel!r}", f"it runs: {known}")
    return named


def _by_kernel(findings: Sequence[Finding], profile: Profile) -> Iterator[tuple[Kernel, list[Finding]]]:
    """The kernels with findings, worst first, each with one finding per formula; of a template its worst instance."""
    seen: set[tuple[str | None, str]] = set()
    for mangled in dict.fromkeys(f.mangled for f in findings):
        kernel = profile.kernel(mangled)
        if kernel is not None and (source := (kernel.file, base_name(kernel.name))) not in seen:
            seen.add(source)
            of_kernel = [f for f in findings if f.mangled == mangled]
            yield kernel, list({f.formula: f for f in reversed(of_kernel)}.values())[::-1]


def _hot_kernels(work: Optimizing, findings: Sequence[Finding]) -> Iterator[tuple[Kernel, list[Finding]]]:
    """The kernels without a finding that take a share of the GPU's time, longest first: no formula, but variants.

    Of a template its longest instance, if all of them together take it.
    """
    by_name = work.proposer is not None and work.options.kernel is not None
    if not (work.tells_compiler or by_name) or work.options.formula != "auto":
        return
    kernels = work.profile.kernels
    named = {k.mangled for k in _named(work.profile, work.options.kernel)}
    seen = {(k.file, base_name(k.name)) for k in kernels if k.mangled in {f.mangled for f in findings}}
    for kernel in sorted(kernels, key=lambda k: -k.time_ns):
        source = (kernel.file, base_name(kernel.name))
        if kernel.mangled in named and source not in seen and _share(work, kernel) >= _HOT_KERNEL:
            seen.add(source)
            yield kernel, []


def _why_not(attempts: Sequence[Attempt]) -> str:
    """The reason of the attempt that came furthest: the fastest that was proved, then what went wrong, then why
    there is none.
    """

    def order(attempt: Attempt) -> tuple[bool, int, float]:
        speedup = attempt.speedup or 0.0
        proved = attempt.verdict is not None and attempt.verdict.equivalent and speedup > 1
        return not proved, attempt.outcome.rank if not proved else 0, -speedup

    most = min(attempts, key=order, default=None)
    return "No recipe answers what was found." if most is None else most.reason


def _nothing(work: Optimizing) -> str:
    named = work.options.kernel
    return nothing_to_do(work.profile, _named(work.profile, named), named)
