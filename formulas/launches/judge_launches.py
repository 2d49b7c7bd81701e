"""The judge of launch edits: each shape timed on the recorded launches, the best few proved in whole programs.

Takes a bench, gives judgements with what the whole program says. A launch edit is accepted when every kernel that it
launches otherwise is proved: on the recorded launches and on other inputs, with the grid, workgroup and numbers that
the program with the edit really passes; and when the program prints, leaves in memory and copies to the host the same.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.trials.other_launch import groups_of, relaunching, reshaped
from hipscope.analysis.errors import BuildFailed, Cancelled, HipscopeError, MissingTool, ProgramFailed
from hipscope.analysis.profile import Kernel
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileSession
from hipscope.analysis.semantics.records import KernelLaunch
from hipscope.analysis.semantics.units import NotReadable
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.cores import usable_cores
from hipscope.analysis.toolchain.build import compile_device, source_command
from hipscope.analysis.toolchain.code_object import CodeObject, machine_code
from hipscope.analysis.toolchain.libclang import units_for
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.judge.bench import Bench, CannotJudge, open_bench
from hipscope.formulas.judge.guard import others_compiled_differently
from hipscope.formulas.judge.judge import Judgement, audit_of, not_proved, weigh
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.selection import PROVED, unfinished
from hipscope.formulas.judge.timed_replay import Measured, measure, time_of
from hipscope.formulas.judge.whole_program import Rehearsals, Rehearsed
from hipscope.formulas.launches.numbers import RECIPE, LaunchEdit, Shapes, Sides, launch_edits
from hipscope.formulas.launches.shared_edits import NAME as SHARED_ITEMS
from hipscope.formulas.launches.shared_edits import shared_edits, shared_ways
from hipscope.formulas.propose.candidate import Candidate

_NUMBERS = re.compile(r"(?<![\w.])\d+")
_MOST_TIMED = 12
_MOST_IN_FULL = 3  # of those that were ranked on the longest launches
_MOST_PROVED = 2
_MOST_OTHERS = 3  # kernels that an edit launches otherwise, beside the one that it is for
_LEAST_GAIN = (
    1.05  # below it, what another shape brings depends on the size of the problem more than on the shape
)
_NEARLY = 0.02  # times as fast: what some launches may say otherwise than all
_LARGE_GAIN = 3.0  # what other edits of the kernel bring alone is mostly less
_SECONDS = 40.0  # after that no further shape is begun to be timed
_SHARE = 0.25  # of the time that a limit leaves: the rest is for the proof


@dataclass(frozen=True)
class Judged:
    """One launch edit: the decision, and what the whole program says; None where it was not asked."""

    judgement: Judgement
    whole: Rehearsed | None = None


@dataclass(frozen=True)
class _InShape:
    """Recorded launches in the shapes that an edit is expected to make; `symbols` as `symbols_in` gives them."""

    candidate: Candidate
    compiled: CodeObject
    symbols: Mapping[str, str]
    launched: tuple[CapturedDispatch, ...]
    after: Measured


@dataclass(frozen=True)
class _Timed:
    """A launch edit that was timed with the shapes that it is expected to make; `symbols` are those of `symbols_in`."""

    edit: LaunchEdit
    candidate: Candidate
    compiled: CodeObject
    quick: Judgement
    symbols: Mapping[str, str]
    launched: tuple[CapturedDispatch, ...]


def judge_launches(bench: Bench, run: Run) -> Iterator[Judged] | str:
    """The launch edits of the bench's kernel, fastest first, each proved when asked for; a str says why there is none.

    Raises Cancelled, and what the reference of a bench raises.
    """
    if isinstance(launched := launched_by(bench, run), str):
        return launched
    edits = launch_edits(
        bench.kernel.name, launched.launches, program_texts(bench, run), launched.shapes(bench)
    )
    if isinstance(edits, str):
        return edits
    fair = [edit for edit in edits if not _starves(bench, edit)]
    if not fair:
        return f"every other shape of the launch of `{bench.kernel.name}` leaves more CUs without work"
    return _judged(bench, fair, run)


@dataclass(frozen=True)
class SharedTimes:
    """The timed edits by which several lanes share a work-item, and how many times as fast the best one is."""

    timed: tuple[_Timed, ...] = ()
    best: float = 0.0

    @property
    def large(self) -> bool:
        """Whether it gains so much that it comes before everything else."""
        return self.best >= _LARGE_GAIN

    def judged(self, bench: Bench, run: Run) -> Iterator[Judged]:
        """As `judge_launches`."""
        return _best_proved(bench, self.timed, run)


def time_shared(bench: Bench, run: Run) -> SharedTimes:
    """The edits of kernel and launch by which several lanes share a work-item; none where there is no such edit."""
    seen = shapes_of(bench)
    if isinstance(ways := shared_ways(bench, seen), str):
        return SharedTimes()
    if isinstance(launched := launched_by(bench, run), str):
        return SharedTimes()
    edits = shared_edits(bench, ways, launched.launches, seen, launched.seeing)
    if isinstance(edits, str):
        return SharedTimes()
    kept = tuple(t for t in _timed(bench, edits, run) if isinstance(t, _Timed))
    return SharedTimes(kept, max((_speed(t) for t in _hopeful(kept)), default=0.0))


@dataclass(frozen=True)
class Launched:
    """The launches of a kernel in all sources of the program, and the text of what runs with it."""

    launches: list[KernelLaunch]
    code: bytes
    seeing: frozenset[Path]  # the sources that the kernel's own text is compiled with

    def shapes(self, bench: Bench) -> Shapes:
        """The recorded launches, and what the code allows."""
        return Shapes(shapes_of(bench), self.code, _largest(bench))


def launched_by(bench: Bench, run: Run) -> Launched | str:
    """The launches of a bench's kernel, or why nothing is known of them."""
    if bench.project.subject is not None:
        return f"`{bench.kernel.name}` is launched by its bench, whose numbers are yours to change"
    try:
        return Launched(*_asked(bench, run))
    except (MissingTool, NotReadable, BuildFailed) as reason:
        return f"the compiler does not say how `{bench.kernel.name}` is launched: {reason.message}"


def program_texts(bench: Bench, run: Run) -> dict[Path, bytes]:
    """All sources and headers of a bench's program."""
    files = {f.absolute() for f in (*bench.project.sources, *bench.project.headers)}
    return {f: text for f in files if (text := run.texts.read(f)) is not None}


def shapes_of(bench: Bench) -> tuple[tuple[Sides, Sides], ...]:
    """The recorded launches: workgroups, and the shape of one."""
    return tuple(dict.fromkeys((groups_of(d), d.workgroup) for d in bench.dispatches))


def _starves(bench: Bench, edit: LaunchEdit) -> bool:
    """Whether a launch that leaves CUs without work would leave more: that may pay at one size, at no larger one."""
    units = bench.session.profile.device.compute_units or 0
    counts = [(math.prod(was), math.prod(now)) for (was, _), (now, _) in edit.shapes.items()]
    return any(now < was < units for was, now in counts)


def _asked(bench: Bench, run: Run) -> tuple[list[KernelLaunch], bytes, frozenset[Path]]:
    """The launches of the kernel in all sources, the text of what runs with it, and who reads its file."""
    units = units_for(bench.session.toolchain.clang)
    launches: dict[KernelLaunch, None] = {}
    code: dict[tuple[Path, tuple[int, int]], None] = {}
    seeing: set[Path] = set()
    name = bench.kernel.name.encode()
    for source in dict.fromkeys((bench.source, *bench.project.sources)):
        if name not in (run.texts.read(source) or b""):
            continue
        command = source_command(bench.project, bench.session.toolchain, source, run)
        meaning = units.meaning(run.texts, command, sorted(bench.symbols))
        for symbol in bench.symbols:
            launches.update(dict.fromkeys(meaning.launches(symbol)))
            reached = [f.place for f in meaning.reachable(symbol)]
            code.update(dict.fromkeys((place.file, place.span) for place in reached))
            if any(place.file.resolve() == bench.source.resolve() for place in reached):
                seeing.add(source.resolve())
    text = b"\n".join((run.texts.read(file) or b"")[slice(*span)] for file, span in code)
    return list(launches), text, frozenset(seeing)


def _largest(bench: Bench) -> int:
    """The most work-items that a workgroup of the kernel may have."""
    found = [
        k.max_flat_workgroup_size for s in bench.symbols if (k := bench.compiled.kernels.get(s)) is not None
    ]
    return min(found, default=1024)


def judge_edit(bench: Bench, edit: LaunchEdit, run: Run) -> Judged:
    """One launch edit: timed, proved, and the whole program. Raises Cancelled."""
    bench.ahead.reference.begin()
    run.say(f"timing `{bench.kernel.name}` in another launch")
    work = bench.work / f"launch_{hashlib.sha256(b''.join(text for _, text in edit.texts)).hexdigest()[:16]}"
    timed = _time(bench, edit, work / "timed", run)
    if isinstance(timed, Judgement):
        return Judged(timed)
    if not _hopeful([timed]):
        return Judged(_too_little(timed.quick))
    return _relying(bench, timed, work, run) or _proved(bench, timed, work, run)


def _judged(bench: Bench, edits: Sequence[LaunchEdit], run: Run) -> Iterator[Judged]:
    found = _timed(bench, edits, run)
    kept = [t for t in found if isinstance(t, _Timed)]
    if not _hopeful(kept):
        dropped = [t for t in found if isinstance(t, Judgement)]
        if kept:
            best = max(kept, key=_speed).quick
            fastest = f"It is the fastest of {len(kept)} launch shapes."
            yield Judged(_too_little(replace(best, reason=f"{best.reason} {fastest}")))
        elif dropped:
            yield Judged(dropped[0])
    yield from _best_proved(bench, kept, run)


def _timed(bench: Bench, edits: Sequence[LaunchEdit], run: Run) -> list[_Timed | Judgement | None]:
    """The edits, side by side; None for those that no time was left for."""
    run.say(f"timing {min(len(edits), _MOST_TIMED)} launch shapes of `{bench.kernel.name}`")
    begun, seconds = time.monotonic(), min(_SECONDS, run.seconds_left * _SHARE)

    def timed(numbered: tuple[int, LaunchEdit]) -> _Timed | Judgement | None:
        number, edit = numbered
        if time.monotonic() - begun > seconds:
            return None
        return _time(bench, edit, bench.work / f"launch_{number}", run)

    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        tried = _fastest(bench, edits[:_MOST_TIMED], pool, run)
        return list(pool.map(timed, enumerate(tried)))


def _fastest(
    bench: Bench, edits: Sequence[LaunchEdit], pool: ThreadPoolExecutor, run: Run
) -> Sequence[LaunchEdit]:
    """Those that may be fast enough by the launches that take most of the time, where these are not all launches; at
    least one.
    """
    if len(edits) < 2 or (part := bench.part) is None:
        return edits
    launches = part.launches
    if len(launches) == sum(not d.variant for d in bench.dispatches):
        return edits

    def nanoseconds(numbered: tuple[int, LaunchEdit]) -> float:
        number, edit = numbered
        found = _in_shape(bench, edit, bench.work / f"ranked_{number}", run, launches)
        return math.inf if isinstance(found, Judgement) else found.after.time_ns

    taken = list(pool.map(nanoseconds, enumerate(edits)))
    most = time_of(bench.baseline, bench.dispatches, launches) / (_LEAST_GAIN - _NEARLY)
    ranked = sorted(range(len(edits)), key=taken.__getitem__)[:_MOST_IN_FULL]
    return [edits[number] for number in ranked if number == ranked[0] or taken[number] <= most]


def _hopeful(kept: Sequence[_Timed]) -> list[_Timed]:
    """Those that are fast enough to be proved, the fastest first."""
    fast = (t for t in kept if t.quick.accepted and _speed(t) >= _LEAST_GAIN)
    return sorted(fast, key=lambda t: -_speed(t))


def _best_proved(bench: Bench, kept: Sequence[_Timed], run: Run) -> Iterator[Judged]:
    """The fastest ones, each proved when it is asked for."""
    hopeful = _hopeful(kept)
    if hopeful:
        bench.ahead.reference.begin()
    for number, one in enumerate(hopeful[:_MOST_PROVED]):
        work = bench.work / f"launched_{number}"
        try:
            judged = _relying(bench, one, work, run) or _proved(bench, one, work, run)
        except Cancelled:
            yield from (Judged(unfinished(left.quick, PROVED)) for left in hopeful[number:_MOST_PROVED])
            raise
        yield judged
        if judged.judgement.stage is Outcome.PROGRAM_DIFFERS:
            yield from _at_own_launches(bench, one, number, run)


def _at_own_launches(bench: Bench, one: _Timed, number: int, run: Run) -> Iterator[Judged]:
    """The same shape for this kernel alone, where another kernel with the same number would be slower in it."""
    own = (
        _time(bench, one.edit.own, bench.work / f"own_launch_{number}", run)
        if one.edit.own is not None
        else None
    )
    if isinstance(own, _Timed) and own.quick.accepted and _speed(own) >= _LEAST_GAIN:
        work = bench.work / f"own_launched_{number}"
        yield _relying(bench, own, work, run) or _proved(bench, own, work, run)


def _relying(bench: Bench, one: _Timed, work: Path, run: Run) -> Judged | None:
    """The judgement of a shape in which the kernel does something else, where its timed run was not checked yet."""
    if one.quick.after is None or one.quick.after.checked:
        return None
    changed = run.replacing_all(one.edit.texts)
    after = _measured(bench, one.launched, one.compiled, work / "checked", changed, wait=True)
    wrong = after if isinstance(after, str) else after.wrong
    return Judged(_own_shape(bench, one.candidate, wrong)) if wrong is not None else None


def _too_little(judgement: Judgement) -> Judgement:
    """What is faster, but not by as much as a launch edit has to be."""
    if not judgement.accepted:
        return judgement
    reason = f"{judgement.reason} A launch edit has to bring {_LEAST_GAIN:g}x."
    return replace(judgement, stage=Outcome.NOT_FASTER, reason=reason)


def _speed(one: _Timed) -> float:
    return one.quick.speedup or 0.0


def _time(bench: Bench, edit: LaunchEdit, work: Path, run: Run) -> _Timed | Judgement:
    """The recorded launches in the shapes that the edit is expected to make; a Judgement says what failed."""
    launches = [d for d in bench.dispatches if not d.variant]
    found = _in_shape(bench, edit, work, run, launches)
    if isinstance(found, Judgement):
        return found
    quick = weigh(bench, found.candidate, None, found.after, None)
    return _Timed(edit, found.candidate, found.compiled, quick, found.symbols, found.launched)


def _in_shape(
    bench: Bench, edit: LaunchEdit, work: Path, run: Run, launches: Sequence[CapturedDispatch]
) -> _InShape | Judgement:
    """Some recorded launches in the shapes of the edit, timed; a Judgement says what failed."""
    changed = run.replacing_all(edit.texts)
    candidate = Candidate(
        edit.recipe,
        edit.title,
        edit.text,
        edit.expected,
        exact=False,
        assumes=edit.assumes,
        file=edit.file,
        also=edit.also,
    )
    try:
        compiled = (
            bench.compiled
            if edit.host_only and not _takes_numbers(bench)
            else compile_device(
                bench.project, bench.session.toolchain, bench.source, changed, confined=edit.confined
            )
        )
    except BuildFailed as failure:
        return Judgement(candidate, Outcome.NOT_COMPILED, f"It does not compile: {failure.message}")
    symbols = symbols_in(bench, compiled)
    if symbols is None:
        reason = (
            "Refused: the size is a part of the kernel's type, and which kernel it becomes is not certain."
        )
        return Judgement(candidate, Outcome.REFUSED, reason)
    launched = []
    for dispatch in launches:
        groups, workgroup = edit.shapes[groups_of(dispatch), dispatch.workgroup]
        kernel = symbols.get(dispatch.kernel, dispatch.kernel)
        launched.append(reshaped(dispatch, groups, workgroup, work / f"shape_{dispatch.id}", kernel))
    after = _measured(bench, launched, compiled, work / "timed", changed)
    if isinstance(after, str):
        return _own_shape(bench, candidate, after)
    if after.wrong is not None:
        return _own_shape(bench, candidate, after.wrong)
    return _InShape(candidate, compiled, symbols, tuple(launched), after)


def _own_shape(bench: Bench, candidate: Candidate, failure: str) -> Judgement:
    """The judgement of a shape in which the kernel does something else: nothing is wrong with any text of ours."""
    if candidate.recipe not in (RECIPE, SHARED_ITEMS):
        return Judgement(candidate, Outcome.DIFFERENT, f"Not equivalent: {failure}.")
    relies = f"`{bench.kernel.name}` relies on the shape of its launches. {candidate.title}: "
    if candidate.recipe == SHARED_ITEMS:  # its text does, too, and may add up in another order
        relies = ""
    reason = f"{candidate.recipe} does not apply: {relies}{failure}."
    return Judgement(candidate, Outcome.NO_RECIPE, reason)


def _takes_numbers(bench: Bench) -> bool:
    """Whether a kernel of the program is compiled for numbers or functions that host code gives it."""
    return any(re.search(r"<[^(]*\d|lambda|\$_", demangle(symbol)) for symbol in bench.compiled.kernels)


def symbols_in(bench: Bench, compiled: CodeObject) -> dict[str, str] | None:
    """The launched kernels that have another symbol in the candidate, by the old one: sizes in a template's arguments.

    The new one is the only one of the same name and other arguments. None where that is not so.
    """
    launched = {d.kernel for d in bench.dispatches}
    launched |= {k.mangled for k in bench.session.profile.kernels if k.mangled in bench.compiled.kernels}
    fresh = {
        symbol: _without_numbers(symbol)
        for symbol in compiled.kernels
        if symbol not in bench.compiled.kernels
    }
    found: dict[str, str] = {}
    for old in launched - compiled.kernels.keys():
        same = [symbol for symbol, name in fresh.items() if name == _without_numbers(old)]
        if len(same) != 1 or same[0] in found.values():
            return None
        found[old] = same[0]
    return found


def _without_numbers(symbol: str) -> str:
    return _NUMBERS.sub("0", demangle(symbol))


def _measured(
    bench: Bench,
    launched: Sequence[CapturedDispatch],
    compiled: CodeObject,
    work: Path,
    changed: Run,
    *,
    wait: bool = False,
) -> Measured | str:
    """`wait` as for `audit_of`."""
    device, audit = bench.project.config.device, audit_of(bench, wait=wait)
    return measure(bench.tool, launched, compiled.path, work, device, changed, audit)


def _proved(bench: Bench, one: _Timed, work: Path, run: Run) -> Judged:
    """The whole program with the edit, then the proof of each kernel that it launches otherwise."""
    candidate, edit = one.candidate, one.edit
    run.say(f"running the program with {edit.title[:1].lower()}{edit.title[1:]}")
    renamed = {new: old for old, new in one.symbols.items()}
    with Rehearsals(bench, run, file=edit.file, also=edit.also, record=True, renamed=renamed) as rehearsals:
        try:
            session = rehearsals.session(edit.text)
        except (BuildFailed, ProgramFailed) as failure:
            return Judged(replace(one.quick, stage=Outcome.PROGRAM_DIFFERS, reason=f"{failure.message}."))
        left_out = bench.reference.unspecified[0] > 0
        whole = rehearsals.finish(edit.text, exact=False, unspecified=left_out)
        if whole.failure is not None:
            return Judged(replace(one.quick, stage=Outcome.PROGRAM_DIFFERS, reason=whole.failure))
        recorded = _recorded(session)
        if not all(d.id in recorded for d in bench.dispatches):
            reason = "It cannot be proved: with it the program makes other launches."
            return Judged(Judgement(candidate, Outcome.INCONCLUSIVE, reason))
        relaunch = relaunching(bench.dispatches, recorded, work, edit.becomes)
        launched = [made for d in bench.dispatches if not d.variant and (made := relaunch(d)) is not None]
        changed = run.replacing_all(edit.texts)
        after = _measured(bench, launched, one.compiled, work / "timed", changed, wait=True)
        if isinstance(after, str):
            return Judged(Judgement(candidate, Outcome.DIFFERENT, f"Not equivalent: {after}."))
        quick = weigh(bench, candidate, None, after, None)
        if not quick.accepted or (quick.speedup or 0.0) < _LEAST_GAIN:
            return Judged(_too_little(quick))
        run.say("proving the launch")
        verdict = validate(bench.reference, one.compiled.path, run, relaunch=relaunch)
        if verdict.equivalent:
            verdict = _others(bench, one, session, recorded, work, run) or verdict
        if not verdict.equivalent:
            return Judged(not_proved(candidate, verdict))
        judgement = weigh(bench, candidate, None, after, verdict)
        if verdict.bit_exact:
            whole = rehearsals.finish(edit.text, exact=True, unspecified=left_out)
        return Judged(replace(judgement, notes=(*judgement.notes, _this_size(bench, launched))), whole)


def _recorded(session: ProfileSession) -> dict[int, CapturedDispatch]:
    return {d.id: d for d in read_capture_set(session.capture_dir)} if session.capture_dir is not None else {}


def _others(
    bench: Bench,
    one: _Timed,
    session: ProfileSession,
    recorded: Mapping[int, CapturedDispatch],
    work: Path,
    run: Run,
) -> Verdict | None:
    """The verdict on another kernel that is launched or compiled otherwise with the edit, unless all are equivalent."""
    changed = [
        kernel
        for kernel in bench.session.profile.kernels
        if kernel.mangled not in bench.symbols
        and (
            _other_code(bench, one, kernel.mangled)
            or _launched(kernel) != _launched(session.profile.kernel(kernel.mangled))
        )
    ]
    names = list(dict.fromkeys(base_name(k.name) for k in changed))
    if len(names) > _MOST_OTHERS:
        reason = f"It cannot be proved: it also changes {len(names)} other kernels or their launches."
        return Verdict(outcome="inconclusive", reason=reason)
    for number, name in enumerate(names):
        kernel = next(k for k in changed if base_name(k.name) == name)
        run.say(f"proving `{name}`, which the edit changes, too")
        try:
            with open_bench(bench.project, bench.session, kernel, run, wait=False) as other:
                edited = run.replacing_all(one.edit.texts)
                code = compile_device(
                    bench.project, bench.session.toolchain, other.source, edited, confined=one.edit.confined
                )
                relaunch = relaunching(other.dispatches, recorded, work / f"other_{number}")
                verdict = validate(other.reference, code.path, run, relaunch=relaunch)
        except (CannotJudge, BuildFailed) as reason:
            return _unproved(name, reason)
        if not verdict.equivalent:
            return verdict.model_copy(update={"reason": f"`{name}`, which it changes, too: {verdict.reason}"})
    return None


def _other_code(bench: Bench, one: _Timed, symbol: str) -> bool:
    """Whether another kernel may be compiled otherwise: in another code object it may as soon as this one differs."""
    before, after = bench.compiled, one.compiled
    if symbol not in before.kernels or symbol not in after.kernels:
        return machine_code(before.path) != machine_code(after.path)
    return symbol in others_compiled_differently(before, after, bench.facts_by_symbol, code=True)


def _unproved(name: str, reason: HipscopeError) -> Verdict:
    text = f"It cannot be proved for `{name}`, which it changes, too: {reason.message}."
    return Verdict(outcome="inconclusive", reason=text)


def _launched(kernel: Kernel | None) -> list[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    return [(d.grid, d.workgroup) for d in kernel.dispatches] if kernel is not None else []


def _this_size(bench: Bench, launched: Sequence[CapturedDispatch]) -> str:
    """What the time was measured at: at other sizes another shape may be faster."""
    device = bench.session.profile.device
    largest = max(launched, key=lambda d: math.prod(groups_of(d)))
    return (
        f"timed at this size of the problem, with {math.prod(groups_of(largest)):,} workgroups of "
        f"{math.prod(largest.workgroup)} work-items on the {device.compute_units} CUs of {device.name}; another size "
        "or device may want another shape"
    )
