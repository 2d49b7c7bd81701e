"""The judge of rewrites: what becomes of each candidate that is put on a kernel's bench.

Answers for any new text of the file: refused, wrong, not faster, or accepted, always with the reason. Recipes, the LLM
rewriter and `hipscope validate` all go through `judge_candidate`; none of them decides anything itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.disassembly import mnemonics
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.checks.results import check_timed_run, left_as_recorded
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import Reference
from hipscope.accordo.replay.replay import Replay
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.run import Run
from hipscope.analysis.source.includes import texts_with_types
from hipscope.analysis.source.syntax import KernelSyntax, Span
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.code_object import CodeObject, executes_alike
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.base import Formula
from hipscope.formulas.detect.registry import find_formula
from hipscope.formulas.facts.directives import configurations, configured
from hipscope.formulas.judge.bench import Bench, CannotJudge, open_bench
from hipscope.formulas.judge.guard import (
    adds_no_names,
    changes_helpers,
    check_code_object,
    check_instructions,
    check_pragmas,
    check_source,
    elsewhere,
    others_compiled_differently,
)
from hipscope.formulas.judge.guard_added_code import rewritten_functions
from hipscope.formulas.judge.outcome import MeasuredTimes, Outcome, ProgramTimes, Trade
from hipscope.formulas.judge.physical_limits import beyond_physics, suspicious
from hipscope.formulas.judge.speed_gate import decide, depends_on_assumption, trade_sentence
from hipscope.formulas.judge.timed_replay import (
    Audit,
    Measured,
    Part,
    longest_launch,
    measure,
    speedup_range,
    told_range,
)
from hipscope.formulas.propose.candidate import Candidate

_NEARLY = 0.02  # times as fast: what the times of two texts on a part of the device may be off by


@dataclass(frozen=True)
class Judgement:
    """What came of one candidate. `trades` and `notes` are what a user should know about an accepted one: what it
    costs, and what it assumes.
    """

    candidate: Candidate
    stage: Outcome
    reason: str
    verdict: Verdict | None = None
    after: Measured | None = None
    speedup: float | None = None
    metric: tuple[str, float | None, float | None] | None = None
    notes: tuple[str, ...] = field(default=())
    trades: tuple[Trade, ...] = field(default=())
    measured: MeasuredTimes | None = None
    program: ProgramTimes | None = None

    @property
    def accepted(self) -> bool:
        """Equivalent, faster, and the promised metric moved."""
        return self.stage is Outcome.ACCEPTED


def judge_candidate(
    bench: Bench,
    candidate: Candidate,
    formula: Formula | None = None,
    run: Run | None = None,
    *,
    others: Sequence[Formula] | None = None,
) -> Judgement:
    """Guard, compile, prove, time: the first gate that does not open gives the reason.

    `formula` names the metric that must move, `others` those that may move instead; None asks for speed only. Raises
    Cancelled, and what a broken replay executable raises; never because of what the candidate is.
    """
    run = run or bench.run
    run.say("compiling the candidate")
    compiled = admit(bench, candidate, run)
    if isinstance(compiled, Judgement):
        return compiled
    verdict = prove(bench, candidate, compiled, run)
    if not verdict.equivalent:
        return not_proved(candidate, verdict)
    run.say("timing the candidate")
    after = time_candidate(bench, candidate, compiled, run)
    if isinstance(after, str):
        return Judgement(candidate, Outcome.DIFFERENT, _sentence(f"Not equivalent: {after}"), verdict)
    return over_ranges(bench, weigh(bench, candidate, formula, after, verdict, others=others), compiled, run)


def admit(
    bench: Bench, candidate: Candidate, run: Run, *, configurations_too: bool = True
) -> CodeObject | Judgement:
    """The candidate's machine code, if the guard lets the text and the code pass; else why not. Nothing is executed.

    Without `configurations_too`, `depends_on_place` and `broken_configuration` are for the caller to ask before the
    candidate is accepted.
    """
    original = bench.edited_text(candidate)
    if (garbled := _garbled(original, candidate.text)) is not None:
        return Judgement(candidate, Outcome.REFUSED, garbled)
    if reasons := _text_reasons(bench, candidate, original, run):
        return Judgement(candidate, Outcome.REFUSED, _sentence("Refused: " + "; ".join(reasons)))
    try:
        changed = _with(bench, candidate, candidate.text, run)
        compiled = compile_device(
            bench.project, bench.session.toolchain, bench.source, changed, confined=True
        )
    except BuildFailed as failure:
        return Judgement(candidate, Outcome.NOT_COMPILED, _compiler_words(failure))
    if reasons := _code_reasons(bench, candidate, bench.compiled, compiled):
        return Judgement(candidate, Outcome.REFUSED, _sentence("Refused: " + "; ".join(reasons)))
    if configurations_too and (why := depends_on_place(bench, candidate, compiled, run)) is not None:
        return Judgement(candidate, Outcome.REFUSED, why)
    if configurations_too and (broken := broken_configuration(bench, candidate, run)) is not None:
        return Judgement(candidate, Outcome.NOT_COMPILED, broken)
    return compiled


def _text_reasons(bench: Bench, candidate: Candidate, original: bytes, run: Run) -> tuple[str, ...]:
    """Why the guard refuses the candidate's text."""
    unit = _unit(bench, candidate)
    if unit is None:
        return check_pragmas(original, candidate.text)
    headers = texts_with_types(run.texts, bench.source, bench.project.headers, bench.project.root)
    around = [text for text in headers if text != original]
    disjoint = bench.facts.disjoint if candidate.function is None else ()
    files = {*bench.project.sources, *bench.project.headers}
    others = [t for f in files if (t := run.texts.read(f)) is not None and t != original]
    return check_source(original, candidate.text, unit, disjoint, around, others)


def _unit(bench: Bench, candidate: Candidate) -> KernelSyntax | None:
    """What a candidate changes: a function, or the kernel; None for loops of another file, which are only told more."""
    return candidate.function or (bench.kernel if candidate.file is None else None)


def _units(bench: Bench, candidate: Candidate) -> list[KernelSyntax]:
    """All functions that a candidate changes, as the text before it has them; none for loops of another file."""
    unit = _unit(bench, candidate)
    return [] if unit is None else [unit, *_changed_functions(bench, candidate)]


def _code_reasons(
    bench: Bench, candidate: Candidate, before: CodeObject, after: CodeObject
) -> tuple[str, ...]:
    """Why the guard refuses the machine code of one source."""
    unit = _unit(bench, candidate)
    text = bench.edited_text(candidate)
    shared = unit is not bench.kernel or changes_helpers(text, candidate.text, bench.kernel)
    return check_code_object(
        before,
        after,
        bench.facts_by_symbol,
        proved=shared,
        not_launched=_need_no_proof(bench, candidate, before),
        unknown=bench.not_launched(before),
    ) or check_instructions(*(mnemonics(c.path, bench.session.toolchain.objdump) for c in (before, after)))


def depends_on_place(bench: Bench, candidate: Candidate, compiled: CodeObject, run: Run) -> str | None:
    """Why the candidate is refused when another file name, line or time makes other machine code of it; else None.

    Where the original depends on them, or does not compile elsewhere, this cannot be told and counts as None.
    """
    unit, text = _unit(bench, candidate), bench.edited_text(candidate)
    if adds_no_names(text, candidate.text, unit):
        return None
    start = min((u.span.start for u in _units(bench, candidate)), default=0)

    def moved(text: bytes) -> CodeObject | None:
        changed = _with(bench, candidate, elsewhere(text, start), run)
        try:
            return compile_device(
                bench.project, bench.session.toolchain, bench.source, changed, confined=True
            )
        except BuildFailed:
            return None

    there = moved(candidate.text)
    if there is None or executes_alike(there.path, compiled.path):
        return None
    original = moved(text)
    if original is None or not executes_alike(original.path, bench.compiled.path):
        return None
    return "Refused: its machine code depends on the file name, the line or the time of its compilation."


def _garbled(original: bytes, text: bytes) -> str | None:
    """Why the text may not be written in place of a file that holds bytes that are not UTF-8; None where it may."""
    broken = "\N{REPLACEMENT CHARACTER}"
    before, after = (data.decode("utf-8", "replace").count(broken) for data in (original, text))
    if not before or (before == after and text.count(broken.encode()) == original.count(broken.encode())):
        return None
    return "Refused: it would change text that is not UTF-8. Save the file as UTF-8."


def broken_configuration(bench: Bench, candidate: Candidate, run: Run) -> str | None:
    """The configuration that the kernel's text names and that the candidate breaks; None when it breaks none.

    One in which the original does not compile either is no configuration of the program.
    """
    text = bench.edited_text(candidate)
    spans = [u.span for u in _units(bench, candidate)] or [Span(0, len(text), 1, 1)]
    for macro in configurations(b"\n".join(text[s.start : s.end] for s in spans), text):
        for defined in (True, False):
            changed = _with(bench, candidate, configured(candidate.text, macro, defined=defined), run)
            failure = _failure_of(bench, changed)
            original = _with(bench, candidate, configured(text, macro, defined=defined), run)
            if failure is not None and _failure_of(bench, original) is None:
                return f"{'With' if defined else 'Without'} {macro}: {_compiler_words(failure)}"
    return None


def _with(bench: Bench, candidate: Candidate, text: bytes, run: Run) -> Run:
    """The run with a text in place of the file that the candidate changes."""
    return run.replacing(candidate.file or bench.source, text)


def _failure_of(bench: Bench, changed: Run) -> BuildFailed | None:
    """What the compiler says against the texts of a run."""
    try:
        compile_device(bench.project, bench.session.toolchain, bench.source, changed, confined=True)
    except BuildFailed as failure:
        return failure
    return None


def prove(bench: Bench, candidate: Candidate, compiled: CodeObject, run: Run) -> Verdict:
    """Hold the candidate's machine code against the reference; that of other kernels, too, where a helper changed, and
    of every other source that the file is compiled into.
    """
    verdict = validate(bench.reference, compiled.path, run, exact=candidate.exact, terms=candidate.terms)
    if verdict.equivalent:
        others = others_compiled_differently(
            bench.compiled, compiled, bench.facts_by_symbol, code=bool(_changed_functions(bench, candidate))
        )
        verdict = _with_all(bench, verdict, others, candidate, compiled, run)
    for source in bench.other_sources(candidate):
        if verdict.equivalent:
            verdict = _with_source(bench, verdict, source, candidate, run)
    return verdict


def _changed_functions(bench: Bench, candidate: Candidate) -> list[KernelSyntax]:
    """The functions that other kernels may run as well: an unroll pragma in another one changes no result."""
    if candidate.function is not None or candidate.file is not None:
        return [candidate.function] if candidate.function is not None else []
    return [f for f, _ in rewritten_functions(bench.original, candidate.text, bench.kernel, ()).changed]


def _with_source(bench: Bench, so_far: Verdict, source: Path, candidate: Candidate, run: Run) -> Verdict:
    """The verdict so far, with that on the candidate where its file is compiled into another source."""
    changed = _with(bench, candidate, candidate.text, run)
    project, toolchain = bench.project, bench.session.toolchain
    try:
        before = compile_device(project, toolchain, source, run)
        after = compile_device(project, toolchain, source, changed, confined=True)
    except BuildFailed as failure:
        reason = f"In {source.name}, which reads the same file: {_compiler_words(failure)}"
        return Verdict(outcome="inconclusive", reason=reason)
    if reasons := _code_reasons(bench, candidate, before, after):
        reason = f"In {source.name}, which reads the same file: {'; '.join(reasons)}"
        return Verdict(outcome="inconclusive", reason=_sentence(reason))
    # A pragma before a loop of another function changes no result.
    differ = others_compiled_differently(before, after, (), code=_unit(bench, candidate) is not None)
    return _with_all(bench, so_far, differ, candidate, after, run)


def _with_all(
    bench: Bench,
    so_far: Verdict,
    symbols: Iterable[str],
    candidate: Candidate,
    compiled: CodeObject,
    run: Run,
) -> Verdict:
    """The verdict so far and those on these kernels, but for those that need no proof: the first one that is not
    "equivalent", or that with the bytes that all of them leave out.
    """
    free = _need_no_proof(bench, candidate, compiled)
    for symbol in (s for s in symbols if s not in free):
        if not so_far.equivalent:
            break
        other = _verdict_on(bench, symbol, candidate, compiled, run)
        left_out = so_far.unspecified_bytes + other.unspecified_bytes
        so_far = so_far.model_copy(update={"unspecified_bytes": left_out}) if other.equivalent else other
    return so_far


def _need_no_proof(bench: Bench, candidate: Candidate, compiled: CodeObject) -> frozenset[str]:
    """The instances of the kernel's template that are not launched, where the rewrite keeps every bit and relies on
    nothing that only launches show: what recipes know of types holds for these instances as well.
    """
    return bench.not_launched(compiled) if candidate.exact and not candidate.assumes else frozenset()


def _note_on_instances(bench: Bench, candidate: Candidate, compiled: CodeObject) -> tuple[str, ...]:
    """What a user should know of instances that were not proved."""
    differ = others_compiled_differently(bench.compiled, compiled, bench.facts_by_symbol)
    count = len(_need_no_proof(bench, candidate, bench.compiled).intersection(differ))
    if not count:
        return ()
    return (f"not proved, because the program does not launch them: {count} other instances of the template",)


def _verdict_on(bench: Bench, symbol: str, candidate: Candidate, compiled: CodeObject, run: Run) -> Verdict:
    """Whether another kernel that the candidate changes, as it calls the same helper, does the same as before; this one
    where another source has it as well.
    """
    if symbol in bench.symbols:
        return _held_against(bench.reference, symbol, candidate, compiled, run)
    kernel = bench.session.profile.kernel(symbol)
    if kernel is None:
        why = (
            f"another kernel, {demangle(symbol)}, is compiled differently, and the program does not launch it"
        )
        return Verdict(outcome="inconclusive", reason=_sentence(f"Not proved: {why}"))
    try:
        with open_bench(bench.project, bench.session, kernel, run.quietly()) as there:
            verdict = _held_against(there.reference, symbol, candidate, compiled, run)
    except (CannotJudge, BuildFailed) as failure:
        return Verdict(outcome="inconclusive", reason=_sentence(f"Not proved: {failure.message}"))
    why = f"Another kernel, {there.name}, which calls the same function: {verdict.reason}"
    return verdict.model_copy(update={"reason": why})


def _held_against(
    reference: Reference, symbol: str, candidate: Candidate, compiled: CodeObject, run: Run
) -> Verdict:
    """The verdict on one symbol, by its own launches: a code object need not hold all instances of a template."""
    own = tuple(p for p in reference.prepared if p.dispatch.kernel == symbol)
    if not own:
        return Verdict(
            outcome="inconclusive", reason=f"Not proved: no launch of {demangle(symbol)} was recorded."
        )
    only = replace(reference, prepared=own)
    return validate(only, compiled.path, run, exact=candidate.exact, terms=candidate.terms)


def not_proved(candidate: Candidate, verdict: Verdict) -> Judgement:
    """The judgement of a candidate whose verdict is not "equivalent"."""
    stage = Outcome.DIFFERENT if verdict.outcome == "different" else Outcome.INCONCLUSIVE
    return Judgement(candidate, stage, verdict.reason, verdict)


def time_candidate(
    bench: Bench,
    candidate: Candidate,
    compiled: CodeObject,
    run: Run,
    *,
    work: str = "candidate",
    part: Part | None = None,
) -> Measured | str:
    """Profile the candidate's machine code on the recorded launches; a str says what failed.

    What the timed runs leave is checked as `audit_of` says: most candidates are too slow to wait for the reference.
    On a `part` of the device they leave nothing that could be.
    """
    changed, audit = _with(bench, candidate, candidate.text, run), audit_of(bench)
    device = bench.project.config.device
    if part is not None:
        small, at = bool(part.constants), bench.work / work
        return measure(part.tool, part.launches, compiled.path, at, device, changed, timed_only=small)
    return measure(bench.tool, bench.dispatches, compiled.path, bench.work / work, device, changed, audit)


def audit_of(bench: Bench, *, wait: bool = False) -> Audit:
    """Checks what timed runs leave: against the program's own run, then against the reference if that is ready.

    `wait`: until it is ready, so that there is an answer.
    """
    recorded = {dispatch.id: dispatch for dispatch in bench.dispatches}

    def audit(dispatch: CapturedDispatch, result: Replay) -> str | None:
        if left_as_recorded(recorded[dispatch.id], result):
            return ""
        if not wait and not bench.ahead.reference.done():
            return None
        return check_timed_run(bench.reference, dispatch, result) or ""

    return audit


def with_checked_times(bench: Bench, weighed: Judgement, compiled: CodeObject, run: Run) -> Judgement:
    """A timed and proved candidate; its timed runs are made again where the reference was not ready to check them."""
    if weighed.after is None or weighed.after.checked:
        return weighed
    again = time_candidate(bench, weighed.candidate, compiled, run, work="checked")
    wrong = again if isinstance(again, str) else again.wrong
    return replace(weighed, after=replace(weighed.after, wrong=wrong, checked=True))


def weigh(
    bench: Bench,
    candidate: Candidate,
    formula: Formula | None,
    after: Measured,
    verdict: Verdict | None,
    *,
    others: Sequence[Formula] | None = None,
    part: Part | None = None,
) -> Judgement:
    """The gate's decision on a timed candidate. Without a verdict it is only the timing that was judged.

    Timed on a `part` of the device, it has to be nearly fast enough: then it is timed in full.
    """
    if candidate.only_for:
        formula, others = find_formula(candidate.only_for), None
    wanted = bench.project.config.optimize.min_speedup
    decision = decide(
        bench.baseline if part is None else part.before,
        after,
        formula,
        min_speedup=0.0 if bench.timed_later else wanted if part is None else wanted - _NEARLY,
        where=_where(part),
        min_share=bench.project.config.min_share,
        proved=verdict is not None,
        others=others,
    )
    accepted = decision.stage is Outcome.ACCEPTED
    notes = tuple(trade_sentence(t) for t in decision.trades)
    notes += tuple(f"it assumes that {text}" for text in candidate.assumes) if accepted else ()
    if accepted and (note := suspicious(decision.speedup)) is not None:
        notes = (note, *notes)
    weighed = Judgement(
        candidate=candidate,
        stage=decision.stage,
        reason=decision.reason,
        after=after,
        speedup=decision.speedup,
        metric=decision.metric,
        notes=notes,
        trades=decision.trades,
    )
    return weighed if verdict is None else with_proof(bench, weighed, verdict)


def _where(part: Part | None) -> str:
    if part is None:
        return "modelled"
    return f"modelled, on {'a part of the device' if part.constants else 'the longest launches'}"


def with_proof(bench: Bench, weighed: Judgement, verdict: Verdict) -> Judgement:
    """The decision on a timed candidate, now that it is proved."""
    candidate, after = weighed.candidate, weighed.after
    if after is not None and after.wrong is not None:
        reason = _sentence(f"Not equivalent: {after.wrong}")
        return Judgement(candidate, Outcome.DIFFERENT, reason, verdict, after)
    if after is not None and (why := beyond_physics(after, bench.reference)) is not None:
        return Judgement(candidate, Outcome.IMPLAUSIBLE, _sentence(f"Refused: {why}"), verdict, after)
    reason = f"{weighed.reason} {verdict.reason}" if weighed.accepted else weighed.reason
    return replace(weighed, verdict=verdict, reason=reason)


def over_ranges(bench: Bench, judgement: Judgement, compiled: CodeObject, run: Run) -> Judgement:
    """An accepted candidate once more with the model's uncertain constants at both ends of their ranges.

    Left to the GPU where one decides about time. The notes say which instances of a template were not proved.
    """
    if not judgement.accepted:
        return judgement
    unproved = _note_on_instances(bench, judgement.candidate, compiled)
    judgement = replace(judgement, notes=(*judgement.notes, *unproved))
    if bench.timed_later or not bench.tool.batches:
        return judgement
    work, device = bench.work / "ranges", bench.project.config.device
    part = (bench.part.constants or None) if bench.part is not None else None
    longest = longest_launch(bench.baseline, bench.dispatches)
    found = speedup_range(bench.tool, longest, compiled.path, work, device, run, part, bench.times_at)
    if found is None:
        return judgement
    wanted, proved = bench.project.config.optimize.min_speedup, judgement.verdict is not None
    if (reason := depends_on_assumption(found, wanted, proved=proved)) is not None:
        return replace(judgement, stage=Outcome.NOT_FASTER, reason=reason, notes=(), trades=())
    note = told_range(found, bench.baseline, judgement.after)
    if found.low < 1 and found.independent is not None:
        note += f", at least {found.independent:.2f}x when they err independently of each other"
    return replace(judgement, notes=(*judgement.notes, note))


def over_program(judgement: Judgement, times: ProgramTimes | None, min_speedup: float) -> Judgement:
    """An accepted candidate by what all launches of its kernels take in a run of the program: the replayed ones are a
    choice, one for each class of launches, and count alike. Unknown `times` change nothing.
    """
    if times is None:
        return judgement
    if times.times_as_fast < min_speedup:
        reason = (
            f"Equivalent, but its gain on the replayed launches ({judgement.speedup or 0.0:.2f}x) does not show in the "
            f"program: all launches take {times.before_ns / 1e3:.4g} us before, {times.after_ns / 1e3:.4g} us after "
            f"(modelled), {times.times_as_fast:.3f}x; at least {min_speedup:g}x is asked for."
        )
        return replace(judgement, stage=Outcome.NOT_FASTER, reason=reason, notes=(), trades=())
    return replace(judgement, speedup=times.times_as_fast, program=times)


def _compiler_words(failure: BuildFailed) -> str:
    errors = [d for d in failure.diagnostics if d.severity == "error"]
    if errors:
        return f"It does not compile: line {errors[0].line}: {errors[0].message}"
    return f"It does not compile: {failure.message}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else text + "."
