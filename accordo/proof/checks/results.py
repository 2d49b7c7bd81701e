"""Does a candidate leave the same memory as the reference, within tolerance, on everything that is tried?"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.buffers import Errors, Piece, compare_buffer
from hipscope.accordo.dispatch.access_map import READ, WRITTEN
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.model.verdict import Mismatch, MismatchKind
from hipscope.accordo.proof.checks.atomics import lost_atomics, written_back
from hipscope.accordo.proof.checks.block_compare import agree
from hipscope.accordo.proof.checks.enough_workgroups import NOTE, as_far_as, with_enough_workgroups
from hipscope.accordo.proof.checks.nan_bits import but_for_nans
from hipscope.accordo.proof.checks.plan import Plan, Proof, Turn, allowed, is_traced
from hipscope.accordo.proof.checks.precision import (
    are_small,
    biased,
    less_precise,
    may_be_rounding,
    other_zeros,
    too_few,
)
from hipscope.accordo.proof.checks.printed import other_words
from hipscope.accordo.proof.checks.rejection import Rejection, fault, label, trial
from hipscope.accordo.proof.checks.repeats import digests
from hipscope.accordo.reference.held_runs import HELD
from hipscope.accordo.reference.prepare import CAPTURED, Prepared, Reference
from hipscope.accordo.reference.run import ReferenceRun, compare_variable, piece_tolerance
from hipscope.accordo.replay.background import BackgroundReplays
from hipscope.accordo.replay.replay import Replay, ReplayRequest, replay
from hipscope.accordo.trials.fresh_inputs import LOWEST, NOT_FINITE, describe
from hipscope.accordo.trials.other_launch import NO_SUCH_LAUNCH, as_it_is
from hipscope.emulator.symbolize import demangle

NOTHING: NDArray[np.float64] = np.zeros(0)  # no double precision
_MOST_LOOKED_AT = 256 << 20  # bytes
_INFINITE = (describe(NOT_FINITE), describe(LOWEST))


def check_same_results(proof: Proof, plans: Sequence[Plan], replays: BackgroundReplays) -> Rejection | None:
    """Every run of the reference, and the captured one in a second order: the same memory, within tolerance."""
    for plan in plans:
        prepared = plan.prepared
        proof.run.say(f"candidate on dispatch {prepared.dispatch.id}")
        for turn, request in (*plan.captured, *plan.others, *plan.held):
            result = _result(proof, request, replays)
            found, failure = _judge(proof, prepared, turn, result)
            if found and failure is None and _right_with_enough(proof, prepared, turn, result):
                found = ()
            if found:
                again = turn.held is not None or (turn.run is prepared.runs[0] and turn.order > 0)
                again = again and found[0].kind in ("wrong_value", "stray_write")
                return Rejection(_named(turn), (_depends(found[0]), *found[1:]) if again else found, failure)
            if turn.held is None and (turn.run is not prepared.runs[0] or turn is plan.captured[-1][0]):
                proof.trials.append(trial(turn.run, "same"))
        if plan.held:
            proof.trials.append(trial(replace(plan.held[0][0].run, label=HELD), "same"))
        proof.trials += prepared.dropped
        why = (
            "the candidate's launch bounds do not allow it" if proof.relaunch is as_it_is else NO_SUCH_LAUNCH
        )
        proof.trials += [trial(run, "dropped", why) for run in prepared.runs if not allowed(proof, run)]
    return None


def _named(turn: Turn) -> ReferenceRun:
    """The run under the name of what is tried in it."""
    return turn.run if turn.held is None else replace(turn.run, label=str(turn.held))


def _right_with_enough(proof: Proof, prepared: Prepared, turn: Turn, result: Replay) -> bool:
    """Whether a run left what the original leaves with as many workgroups as its sizes ask for, or, of work-items with
    several elements each, a part of that beside what it leaves with these. The verdict says it.
    """
    enough = with_enough_workgroups(proof, prepared, turn.run)
    if enough is None:
        return False
    if _judge(proof, prepared, replace(turn, run=enough), result)[0]:
        part = replace(turn, run=as_far_as(result, turn.run, enough))
        if _judge(proof, prepared, part, result)[0]:
            return False
    if NOTE not in proof.notes:
        proof.notes.append(NOTE)
    return True


def check_timed_run(reference: Reference, dispatch: CapturedDispatch, result: Replay) -> str | None:
    """What a run on the captured inputs, made for its time, left wrong; None when nothing is."""
    for prepared in reference.prepared:
        if prepared.dispatch.id == dispatch.id:
            run = prepared.runs[0]
            for buffer, found, wide in _compared(reference, run, result, exact=False):
                if may_be_rounding(run, buffer, found):
                    found, _ = _beside_the_truth(reference, prepared, run, buffer, result, found) or (
                        found,
                        wide,
                    )
                if found:
                    return found[0].message
    return None


def left_as_recorded(dispatch: CapturedDispatch, result: Replay) -> bool | None:
    """Whether a run left every bit as the program's own run did; None where that is too much to be looked at.

    Where it did, nothing of the reference is needed to tell that it is right.
    """
    if sum(buffer.size for buffer in dispatch.buffers) > _MOST_LOOKED_AT or not dispatch.complete:
        return None
    same = all(result.variable(v) in (None, v.after()) for v in dispatch.variables)
    return same and all(result.image(buffer) == buffer.after() for buffer in dispatch.buffers)


def _result(proof: Proof, request: ReplayRequest, replays: BackgroundReplays) -> Replay:
    """The replay, to be compared. The sanitizers leave out what they refuse, and take their time: where they have
    something to say or do not come to the end, another run without them has to be right, too.
    """
    result = replays.result(request)
    if not request.sanitize:
        return result
    if result.status == "ok":
        found = result.sanitizers(proof.candidate)
        if found is not None and not found.reports:
            return result
    plain = replace(request, out=request.out.with_name(f"{request.out.name}_plain"), sanitize="")
    return replay(proof.reference.settings.tool, plain, cancel=proof.run.cancel)


def _judge(
    proof: Proof, prepared: Prepared, turn: Turn, result: Replay
) -> tuple[tuple[Mismatch, ...], Replay | None]:
    """One run of the candidate against one run of the reference."""
    run, traced = turn.run, is_traced(proof, turn)
    if result.status != "ok":
        return (fault(result, proof.candidate, run),), result
    found: list[Mismatch] = []
    for buffer, different, wide in _compared(proof.reference, run, result, proof.exact):
        if not proof.exact and may_be_rounding(run, buffer, different):
            beside = _beside_the_truth(
                proof.reference, prepared, run, buffer, result, different, proof.notes, proof.run.cancel
            )
            different, wide = beside or (different, wide)
            if different and too_few(run, buffer, different):
                continue
            if different and not proof.exact and run.label.endswith(_INFINITE):
                # Which of two infinities cancel, or meet a 0, depends on the order of the operations.
                without, wider = _compare(proof.reference, run, buffer, result, False, infinite_for_nan=True)
                if not without:
                    different, wide = without, wider
                    _note(
                        proof,
                        run,
                        buffer,
                        "never held to NaN, for which infinite inputs leave infinity in {}",
                    )
        if different:
            settings, cancel = proof.reference.settings, proof.run.cancel
            different = but_for_nans(settings, run, buffer, result, different, cancel)
        found += different
        proof.errors = proof.errors.widened(wide)
        if traced and not different and proof.on("lost_atomics"):
            found += lost_atomics(proof.reference, run, buffer, result)
        if traced and not different and run.label == CAPTURED and proof.on("written_back"):
            found += written_back(proof.reference, run, buffer, result)
        if not different:
            found += less_precise(proof, prepared, run, buffer, result)
            found += biased(proof, run, buffer, result)
            if other_zeros(run, buffer, result):
                # Zeros count as equal whatever their sign; the verdict tells it.
                _note(proof, run, buffer, "never held to the signs of zeros, which differ in {}")
    if proof.on("variables"):
        found += _changed_variables(proof, run, result)
    if proof.on("printed") and (said := other_words(run, result)) is not None:
        found.append(said)
    if run is prepared.runs[0] and run is prepared.repeated:
        proof.bits.setdefault(run.dispatch.id, digests(run, result))
    return tuple(found), None


def _note(proof: Proof, run: ReferenceRun, buffer: CapturedBuffer, what: str) -> None:
    """Name once what a buffer is not held to."""
    told = what.format(label(proof.reference.signature, buffer, run.pieces[buffer.index][0]))
    if told not in proof.unproved:
        proof.unproved.append(told)


def _beside_the_truth(
    reference: Reference,
    prepared: Prepared,
    run: ReferenceRun,
    buffer: CapturedBuffer,
    result: Replay,
    found: Sequence[Mismatch],
    notes: list[str] | None = None,
    cancel: threading.Event | None = None,
) -> tuple[tuple[Mismatch, ...], Errors] | None:
    """The differences beside double precision, of doubles beside what rounding makes; None where there is neither.

    Those `found` may be small beside the largest number. Larger ones have to be what rounding makes where terms cancel.
    """
    oracles, small = prepared.oracles, are_small(run, buffer, found)
    compared = partial(_compare, reference, run, buffer, result, exact=False)
    oracle = oracles.images(run, cancel, asked=True).get(buffer.index) if small else None
    if oracle is not None:
        for more in (False, True):
            rounding = oracles.roundings(run, cancel, more=more).get(buffer.index)
            different, wide = compared(truth=(oracle, rounding))
            if not different or rounding is None:
                break
        return tuple(_judged(d, run, buffer, result, oracle) for d in different), wide
    if (truth := oracles.truths(run, cancel).get(buffer.index)) is not None:
        different, wide = compared(truth=(truth.exact, truth.rounding))
        if not different:
            _note_cancelled(reference, notes, run, buffer)
        return tuple(_judged(d, run, buffer, result, truth.exact) for d in different), wide
    rounding = oracles.double_roundings(run, cancel).get(buffer.index) if small else None
    if rounding is None:
        return None
    own = np.frombuffer(run.compared(run.result, buffer), dtype="<f8")
    return compared(truth=(own, rounding))


def _note_cancelled(
    reference: Reference, notes: list[str] | None, run: ReferenceRun, buffer: CapturedBuffer
) -> None:
    """The reader of the verdict sees large differences: here is why."""
    name = label(reference.signature, buffer, run.pieces[buffer.index][0])
    note = f"dispatch {run.dispatch.id}, {run.label}: terms cancel, in part only rounding is left of {name}"
    if notes is not None and note not in notes:
        notes.append(note)


def _judged(
    found: Mismatch, run: ReferenceRun, buffer: CapturedBuffer, result: Replay, oracle: NDArray[np.float64]
) -> Mismatch:
    """A wrong float, with which of both is nearer to double precision."""
    at = found.byte_offset
    segment = next((s for s in run.pieces[buffer.index] if at is not None and s.start <= at < s.end), None)
    if at is None or segment is None or segment.element.kind != "float":
        return found
    size = segment.element.size
    ours, theirs = (
        float(segment.element.numbers(i.image(buffer)[at : at + size])[0]) for i in (run.result, result)
    )
    exact = float(oracle[at // size])
    nearer = "rewrite" if abs(theirs - exact) < abs(ours - exact) else "original"
    if ours == theirs or not np.isfinite([ours, theirs, exact]).all():
        return found
    message = f"{found.message}; in double precision it is {exact:.9g}, to which the {nearer} is nearer"
    return found.model_copy(update={"message": message})


def _changed_variables(proof: Proof, run: ReferenceRun, result: Replay) -> list[Mismatch]:
    """Device variables that the candidate leaves with another value; one that it does not have keeps its value."""
    for variable in run.dispatch.variables:
        expected = run.result.variable(variable)
        got = result.variable(variable)
        left = variable.before() if got is None else got
        settings = proof.reference.settings
        if expected is None:
            continue
        wrong, wide = compare_variable(
            variable, expected, left, run.result, settings, run.dispatch, exact=proof.exact
        )
        proof.errors = proof.errors.widened(wide)
        if wrong:
            name = f"the device variable `{demangle(variable.symbol)}`"
            message = f"it leaves {name} with another value"
            return [Mismatch(kind="wrong_value", message=message, label=name)]
    return []


def _depends(mismatch: Mismatch) -> Mismatch:
    kind: MismatchKind = "depends_on_poison"
    message = f"its result depends on stale memory or on the order of the waves: {mismatch.message}"
    return mismatch.model_copy(update={"kind": kind, "message": message})


def _compared(
    reference: Reference, run: ReferenceRun, result: Replay, exact: bool
) -> Iterator[tuple[CapturedBuffer, tuple[Mismatch, ...], Errors]]:
    for buffer in run.dispatch.buffers:
        yield buffer, *_compare(reference, run, buffer, result, exact)


def _compare(
    reference: Reference,
    run: ReferenceRun,
    buffer: CapturedBuffer,
    result: Replay,
    exact: bool,
    truth: tuple[NDArray[np.float64], NDArray[np.float64] | None] = (NOTHING, None),
    *,
    infinite_for_nan: bool = False,
) -> tuple[tuple[Mismatch, ...], Errors]:
    """The differences of one buffer; with the `truth`, what is as near to that as the reference is no difference.

    It is what the elements are in double precision, and how far they move with the last places of the inputs.
    """
    if run.leaves_same(result, buffer):
        return (), Errors()
    access = run.access[buffer.index]
    oracle, rounding = (None, None) if truth[0] is NOTHING else truth
    name_of = partial(label, reference.signature, buffer)

    def piece(segment: Segment) -> Piece:
        known = oracle is not None and name_of(segment).strip("`") not in reference.settings.tolerances
        part = slice(segment.start // segment.element.size, segment.end // segment.element.size)
        return Piece(
            segment,
            piece_tolerance(
                segment,
                lambda: run.size_of(buffer, segment),
                access,
                run.dispatch,
                reference.settings,
                reference.signature,
                spread=run.spread.get((buffer.index, segment.start), 0.0),
                exact=exact,
            ),
            name_of(segment),
            oracle[part] if oracle is not None and known else None,
            rounding[part] if rounding is not None and known else None,
            reference.settings.finite_only,
            infinite_for_nan,
        )

    segments = run.results[buffer.index]
    compared_in_whole = oracle is not None or buffer.index in run.unspecified
    if not compared_in_whole and run.result.same_start(result, buffer):
        ours, theirs = run.result.left(buffer), result.left(buffer)
        if ours is not None and theirs is not None:
            errors = agree(ours, theirs, segments, access, cache(piece))
            if errors is not None:
                return (), errors
    expected, got = run.compared(run.result, buffer), run.compared(result, buffer)
    replaced = replacement(run.inputs, buffer.index)
    before = buffer.before() if replaced is None else replaced_contents(replaced, buffer.before)
    return compare_buffer(
        tuple(piece(segment) for segment in segments),
        before=before,
        expected=expected,
        got=got,
        written=(access.whole & WRITTEN) != 0,
        is_input=access.any(READ) and not access.any(WRITTEN),
        buffer=buffer.index,
        without=reference.settings.without,
    )
