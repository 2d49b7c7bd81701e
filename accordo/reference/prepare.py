"""The reference, replayed: what it writes, what it leaves alone, how far two of its own runs differ.

Takes captured dispatches, gives the measure that any number of candidates are held against. The same replays serve all
candidates of one kernel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hipscope.accordo.compare.device_effects import KnownMemory
from hipscope.accordo.dispatch.access_map import READ, WRITTEN
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch, CapturedVariable
from hipscope.accordo.dispatch.element_types import Pointees, argument_types, demangle, pieces_of
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.dispatch.stored_numbers import with_stored_numbers
from hipscope.accordo.model.verdict import Trial
from hipscope.accordo.reference.double_precision import Oracles
from hipscope.accordo.reference.held_runs import HELD, held_patience
from hipscope.accordo.reference.input_coverage import VariedInput, varied_inputs
from hipscope.accordo.reference.run import (
    OtherRun,
    ReferenceRun,
    Spread,
    access_of,
    difference_of,
    floats_by_atomics,
    same_bits,
    unless_same,
    untyped_floats,
    variables_by_atomics,
    widen_spread,
)
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.reference.trials import (
    Planned,
    Reason,
    Trials,
    permuted_in_full,
    plan,
    plan_instead,
    plan_variant,
    thrice,
    twice,
)
from hipscope.accordo.reference.unspecified import (
    NONE,
    Computed,
    Unspecified,
    count,
    find_unspecified,
    keep_unspecified,
)
from hipscope.accordo.replay.replay import Replay, ReplayRequest, replay, replay_all
from hipscope.accordo.trials import fresh_inputs
from hipscope.accordo.trials.launch_variants import shorter_launch, smaller_launch
from hipscope.accordo.trials.sparse_launch import SparseLaunch
from hipscope.analysis.run import Run
from hipscope.analysis.system.cores import usable_cores

CAPTURED = "captured inputs"
TOLD = tuple(fresh_inputs.describe(n) for n in (fresh_inputs.PERMUTED, fresh_inputs.SCALED))
"""The trials that are compared in double precision, beside the captured inputs."""

_FINITE_ONLY = (
    "the program is compiled to have neither NaN nor infinity (`-ffast-math`): no input has them, and where both "
    "results are one of them, they count as equal"
)


@dataclass(frozen=True)
class Prepared:
    """What the reference did with one dispatch; `repeated` is the run that candidates repeat in more orders.

    `inputs` says of each input of a dispatch that is no variant in how many of the runs it is another one. `far` gets
    the runs with element numbers beyond 32 bits when the first candidate asks for them, `enough` those with more
    workgroups than a trial has (by its launch and its inputs). `held_s` are the seconds that a run of `repeated`
    deserves in which waves are stopped; None where the reference is not defined in such orders.
    """

    dispatch: CapturedDispatch
    runs: tuple[ReferenceRun, ...]
    repeated: ReferenceRun
    dropped: tuple[Trial, ...]
    oracles: Oracles
    inputs: tuple[VariedInput, ...] = ()
    held_s: float | None = None
    far: list[tuple[tuple[SparseLaunch, Replay], ...]] = field(default_factory=list)
    enough: dict[tuple[Path, Path | None], ReferenceRun | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Reference:
    """The replayed reference, ready to judge any number of candidates. `broken` says why it cannot."""

    settings: ReferenceSettings
    signature: Signature
    prepared: tuple[Prepared, ...]
    broken: str | None = None
    own_notes: tuple[str, ...] = field(default=())

    @property
    def unspecified(self) -> tuple[int, int]:
        """The bytes that are not compared on the recorded inputs, as they hold what nothing wrote, and all written."""
        runs = [p.runs[0] for p in self.prepared]
        written = sum(access.count(WRITTEN) for run in runs for access in run.access.values())
        return sum(count(run.unspecified) for run in runs), written

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a verdict should know; more when a candidate has asked for double precision."""
        oracles = tuple(
            f"dispatch {p.dispatch.id}: no comparison in double precision: {p.oracles.why}"
            for p in self.prepared
            if p.oracles.why
        )
        return self.own_notes + oracles


def known_memory(reference: Reference) -> tuple[KnownMemory, ...]:
    """The buffers of the recorded launches, with what the kernel leaves in them."""
    return tuple(
        KnownMemory(buffer.address, run.results[buffer.index])
        for run in (prepared.runs[0] for prepared in reference.prepared)
        for buffer in run.dispatch.buffers
    )


_AS_MUCH = 0.5  # of what all workgroups access
_RUNS_OF_A_TRIAL = 3.0  # two, of which the sanitizers make one twice as long (libor, dslash, dpid)
_OTHERWISE = " when its waves run in another order, with other values in memory that it wrote before it read"


class _NotReproducible(Exception):
    """The reference cannot be the measure; the message says why."""


def prepare_reference(
    dispatches: Sequence[CapturedDispatch],
    settings: ReferenceSettings,
    signature: Signature | None = None,
    run: Run | None = None,
    progress: Callable[[float], None] = lambda _part: None,
) -> Reference:
    """Replay the reference on its own dispatches and on fresh inputs; `progress` is told which part of them is through.

    A reference that does not reproduce its own recorded result, or writes nothing, cannot judge: `broken` says so.
    """
    signature, run = signature or Signature(), run or Run()
    if not dispatches:
        return Reference(settings, signature, (), "no launch of the kernel was recorded")
    prepared: list[Prepared] = []
    notes: list[str] = [_FINITE_ONLY] if settings.finite_only else []
    chosen = dispatches if "all_dispatches" not in settings.without else dispatches[:1]
    for number, dispatch in enumerate(chosen, 1):
        run.say(f"replay of dispatch {dispatch.id}")

        def planned(part: float, before: int = number - 1) -> None:
            progress((before + part) / len(chosen))

        try:
            one = _prepare(dispatch, settings, signature, run.cancel, planned)
        except _NotReproducible as reason:
            return Reference(settings, signature, (), str(reason))
        prepared.append(one)
        progress(number / len(chosen))
        if not dispatch.complete:
            notes.append(
                f"dispatch {dispatch.id} was recorded in part: {dispatch.reason or 'too much memory'}"
            )
        if dispatch.note is not None:
            notes.append(f"dispatch {dispatch.id}: {dispatch.note}")
        notes += [f"dispatch {dispatch.id}, {t.inputs}: dropped, {t.detail}" for t in one.dropped]
        notes += (f"dispatch {dispatch.id}: {told}" for told in _not_a_number(one.runs[0], signature))
    if not any(_writes(run) for p in prepared for run in p.runs):
        return Reference(settings, signature, (), "the kernel wrote nothing that could be compared")
    if not any(_writes(p.runs[0]) for p in prepared):
        notes.append("on the recorded inputs the kernel wrote nothing; what it writes on others was compared")
    return Reference(settings, signature, tuple(prepared), None, tuple(notes))


def _prepare(
    dispatch: CapturedDispatch,
    settings: ReferenceSettings,
    signature: Signature,
    cancel: threading.Event | None,
    progress: Callable[[float], None],
) -> Prepared:
    begun = time.monotonic()
    demangled = demangle(dispatch.kernel, settings.cxxfilt)
    types = signature.pointees(dispatch.kernel, demangled)
    work = settings.work / f"dispatch_{dispatch.id}"
    requests = twice(dispatch, work / "reference")
    (made,) = replay_all(settings.tool, [requests], cancel=cancel)
    if made[0].status == "ok" and untyped_floats(
        made[0], dispatch, pieces_of(dispatch, types), settings.objdump
    ):
        traced = replay(settings.tool, replace(requests[0], number_kinds=True), cancel=cancel)
        made = [traced, *made[1:]]
    try:
        captured = _captured(dispatch, made, types, settings, signature)
    except _NotReproducible as reason:
        captured = _but_for_unspecified(dispatch, types, settings, signature, cancel, reason)
    trials = Trials(captured, types, settings, signature, cancel)
    parameters = argument_types(demangled) or list(signature.types)
    # Most trials vary a launch of few workgroups, so that they are quick; the captured one if it is small.
    smaller = smaller_launch(dispatch, work / "part", captured.result.instructions)
    few = () if smaller is None else _few_workgroups(captured, smaller, parameters, trials, work)
    part = few[0] if few else captured
    if dispatch.variant:
        planned = plan_variant(part, settings, work)
    else:
        planned = plan(captured, part, parameters, settings, work, cancel)
    spent, jobs = time.monotonic() - begun, min(usable_cores(), max(1, len(planned)))
    progress(spent / (spent + seconds_of(planned, captured, part) / jobs))
    seen = trials.run(planned, work)
    if not dispatch.variant and (less := plan_instead(part, planned, seen, parameters, settings, work)):
        planned, seen = [*planned, *less], seen + trials.run(less, work / "instead")
    if part is not captured and not dispatch.variant and not any(_in_full(one, captured) for one in seen):
        more = permuted_in_full(captured, settings, work / "full")
        planned, seen = [*planned, *more], seen + trials.run(more, work / "full")
    held = held_patience(part, settings, signature, work, cancel)
    undefined = (Reason(HELD, held),) if isinstance(held, str) else ()
    return Prepared(
        dispatch,
        (captured, *few[1:], *(run for run in seen if isinstance(run, ReferenceRun))),
        part,
        tuple(
            Trial(dispatch=dispatch.id, inputs=one.label, outcome="dropped", detail=one.text)
            for one in (*seen, *undefined)
            if isinstance(one, Reason)
        ),
        Oracles(settings, captured, TOLD, work),
        () if dispatch.variant else varied_inputs(part, zip(planned, seen, strict=True), signature),
        held if isinstance(held, float) else None,
    )


def _few_workgroups(
    captured: ReferenceRun, smaller: CapturedDispatch, parameters: Sequence[str], trials: Trials, work: Path
) -> tuple[ReferenceRun, ...]:
    """The reference on launches of few workgroups, the one that does least first; none where it is undefined there."""

    def tried(label: str, launch: CapturedDispatch, folder: str) -> tuple[ReferenceRun, ...]:
        (found,) = trials.run([Planned("other_workgroups", label, launch, None)], work / folder)
        return () if isinstance(found, Reason) else (found,)

    few = tried("few workgroups", smaller, "part_run")
    if not few or not _does_as_much(few[0], captured):
        return few
    launch = shorter_launch(captured.dispatch, parameters, work / "shorter", captured.result.instructions)
    shorter = tried("few workgroups that do less", launch, "shorter_run") if launch is not None else ()
    less = [run for run in shorter if _writes(run) and not _does_as_much(run, captured)]
    return (*less, *few)


def _does_as_much(part: ReferenceRun, captured: ReferenceRun) -> bool:
    """Whether few workgroups access about as much memory as all did: each of them does the work of many."""
    few, all_ = (
        sum(access.count(flag) for access in run.access.values() for flag in (READ, WRITTEN))
        for run in (part, captured)
    )
    return few >= _AS_MUCH * all_


def seconds_of(planned: Sequence[Planned], captured: ReferenceRun, part: ReferenceRun) -> float:
    """What trials will take one after the other, by what their launches took on the captured inputs."""
    in_full = sum(one.dispatch is captured.dispatch for one in planned)
    runs = in_full * captured.result.seconds + (len(planned) - in_full) * part.result.seconds
    return _RUNS_OF_A_TRIAL * runs


def _in_full(one: ReferenceRun | Reason, captured: ReferenceRun) -> bool:
    return isinstance(one, ReferenceRun) and one.dispatch is captured.dispatch


def _captured(
    dispatch: CapturedDispatch,
    runs: Sequence[Replay],
    types: Pointees,
    settings: ReferenceSettings,
    signature: Signature,
    unspecified: Unspecified = NONE,
) -> ReferenceRun:
    """The reference on the captured inputs. Raises _NotReproducible."""
    for run, other in zip(runs, ("", _OTHERWISE), strict=True):
        if run.status != "ok":
            part = (
                ""
                if dispatch.complete
                else f"; it was recorded in part: {dispatch.reason or 'too much memory'}"
            )
            raise _NotReproducible(
                f"dispatch {dispatch.id} cannot be replayed ({run.status}){other}: {run.message}{part}"
            )
    first, second = runs
    pieces = pieces_of(dispatch, types)
    access = access_of(first, dispatch)
    results = with_stored_numbers(pieces, access)
    spread: Spread = {}
    widen_spread(spread, dispatch, results, first, second)
    own = OtherRun(CapturedBuffer.after, CapturedVariable.after, unspecified)
    for what, again in (
        ("its replay differs from the program's own run", own),
        ("two replays of it differ", OtherRun(unless_same(first, second), second.variable)),
    ):
        difference = difference_of(dispatch, results, access, first, again, settings, signature)
        if difference is not None:
            where = f"{what} (dispatch {dispatch.id})"
            raise _NotReproducible(f"the kernel is not reproducible: {where}: {difference}")
    by_atomics = floats_by_atomics(dispatch, results, access) or variables_by_atomics(dispatch, first)
    steady = not by_atomics and same_bits(dispatch, first, second)
    return ReferenceRun(
        CAPTURED,
        dispatch,
        None,
        pieces,
        first,
        access,
        spread,
        steady,
        same_words=first.printed == second.printed,
        unspecified=unspecified,
    )


def _but_for_unspecified(
    dispatch: CapturedDispatch,
    types: Pointees,
    settings: ReferenceSettings,
    signature: Signature,
    cancel: threading.Event | None,
    reason: _NotReproducible,
) -> ReferenceRun:
    """The reference on the captured inputs, where it is reproducible but for bytes that hold what nothing wrote.

    Raises _NotReproducible, for the `reason` that is known where there are no such bytes, with a race that explains it.
    """
    traced, *others = thrice(dispatch, settings.work / f"dispatch_{dispatch.id}" / "unspecified")
    requests = (replace(traced, number_kinds=True), *others)
    (runs,) = replay_all(settings.tool, [requests], cancel=cancel)
    if len(runs) < len(requests) or any(run.status != "ok" for run in runs):
        raise _NotReproducible(f"{reason}{_race(dispatch, settings, cancel)}")
    first, inverted, again = runs
    try:
        unspecified = find_unspecified(dispatch, access_of(first, dispatch), first, inverted)
    except Computed as computed:
        raise _NotReproducible(f"{reason}; {computed}{_race(dispatch, settings, cancel)}") from None
    if not unspecified:
        raise _NotReproducible(f"{reason}{_race(dispatch, settings, cancel)}")
    keep_unspecified(unspecified, first.directory)
    try:
        return _captured(dispatch, (first, again), types, settings, signature, unspecified)
    except _NotReproducible as further:
        raise _NotReproducible(f"{further}{_race(dispatch, settings, cancel)}") from None


def _race(dispatch: CapturedDispatch, settings: ReferenceSettings, cancel: threading.Event | None) -> str:
    """The first race of the recorded launch, as the end of a sentence; empty where the sanitizers report none."""
    out = settings.work / f"dispatch_{dispatch.id}" / "raced"
    request = ReplayRequest(dispatch, dispatch.code_object, out, sanitize="all")
    found = replay(settings.tool, request, cancel=cancel).sanitizers(dispatch.code_object)
    races = [r for r in found.reports if r.defect == "data-race"] if found is not None else []
    if not races:
        return ""
    places = (p.position for p in (races[0].at, races[0].other) if p is not None)
    lines = " and ".join(str(p.line) for p in places if p is not None)
    return f"; it races{f' on lines {lines}' if lines else ''} ({races[0].message}): `hipscope check` shows each race"


def _not_a_number(run: ReferenceRun, signature: Signature) -> Iterator[str]:
    """Outputs in which every float that the kernel writes is NaN: whatever computes NaN as well has the same."""
    for buffer in run.dispatch.buffers:
        access = run.access[buffer.index]
        for piece in run.pieces[buffer.index]:
            if (
                piece.element.kind != "float"
                or piece.stride
                or not access.any(WRITTEN, piece.start, piece.end)
            ):
                continue
            written = (
                (access.window(piece.start, piece.end) & WRITTEN).reshape(-1, piece.element.size).any(axis=1)
            )
            numbers = piece.element.numbers(run.result.part(buffer)(piece.start, piece.end))[written]
            if np.isnan(numbers).all():
                names, argument = signature.names, piece.argument
                name = (
                    names[argument]
                    if argument is not None and argument < len(names)
                    else f"buffer {buffer.index}"
                )
                yield f"every number that the kernel writes to {name} ({len(numbers)}) is NaN; that proves little"


def _writes(run: ReferenceRun) -> bool:
    return any(a.any(WRITTEN) for a in run.access.values()) or any(
        run.result.variable(v) not in (None, v.before()) for v in run.dispatch.variables
    )
