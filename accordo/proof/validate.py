"""The proof: does a candidate's code object do what the reference does, on the program's own launches and on others?

Takes a replayed reference and the candidate's code object, gives a Verdict. The candidate must leave the same memory as
the reference, with everything it has to write poisoned beforehand, in two different orders of waves, on the captured
inputs and on fresh ones. It must also be free of every kind of defect that the sanitizers do not find in the reference.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.buffers import Errors, Piece, compare_buffer
from hipscope.accordo.compare.double_precision import ROUNDING, ROUNDINGS, less_precise
from hipscope.accordo.dispatch.access_map import ATOMIC, READ, WRITTEN
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.code_properties import own_state, reads_a_clock
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.model.verdict import Mismatch, MismatchKind, Trial, Verdict
from hipscope.accordo.proof.block_compare import agree, blocks
from hipscope.accordo.proof.plan import (
    RUNS_COMPARED,
    Plan,
    Proof,
    Turn,
    allowed,
    in_order,
    is_traced,
    plan_runs,
    with_named,
)
from hipscope.accordo.proof.sanitizers import new_reports
from hipscope.accordo.reference.prepare import CAPTURED, Prepared, Reference
from hipscope.accordo.reference.run import ReferenceRun, piece_tolerance
from hipscope.accordo.replay.background import Ahead
from hipscope.accordo.replay.replay import Replay, Request, replay
from hipscope.emulator.symbolize import Symbolizer, demangle


@dataclass(frozen=True)
class Rejection:
    """What a check found; `failure` when the candidate did not even end."""

    run: ReferenceRun
    found: tuple[Mismatch, ...]
    failure: Replay | None = None


Check = Callable[[Proof, Sequence[Plan], Ahead], Rejection | None]


def validate(
    reference: Reference,
    candidate: Path,
    *,
    exact: bool = False,
    terms: int = 1,
    progress: Callable[[str], None] = lambda _: None,
    cancel: threading.Event | None = None,
) -> Verdict:
    """Judge the code object `candidate`. `exact` asks for bit-equal results (where the reference itself has them).

    `terms` is how many values the candidate adds up into one element in an order of its own.
    """
    if reference.broken is not None:
        return Verdict(outcome="inconclusive", reason=f"It cannot be proved: {reference.broken}.")
    reference.settings.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="candidate_", dir=reference.settings.work) as folder:
        proof = Proof(reference, candidate, exact, progress, cancel, Path(folder), terms=terms)
        if (state := check_state(proof)) is not None:
            return _rejected(proof, state)
        known = with_named(proof)
        plans = [plan_runs(proof, prepared, number) for number, prepared in enumerate(known)]
        with Ahead(reference.settings.tool, in_order(plans), cancel) as replays:
            for check in CHECKS:
                rejection = check(proof, plans, replays)
                if rejection is not None:
                    return _rejected(proof, rejection)
    return _acceptance(reference, proof.trials, proof.errors)


def check_state(proof: Proof) -> Rejection | None:
    """Nothing that makes one launch differ from the next: variables of its own, or a clock. Replays start afresh."""
    if not proof.on("state"):
        return None
    objdump = proof.reference.settings.objdump
    for prepared in proof.reference.prepared:
        original = prepared.dispatch.code_object
        name = ""
        if own := own_state(proof.candidate, original):
            name = f"the device variable `{demangle(own[0])}`"
            message = f"it can keep something in {name} from one launch to the next, which the reference does not have"
        elif reads_a_clock(proof.candidate, objdump) and not reads_a_clock(original, objdump):
            message = "it reads a clock, which the reference does not"
        else:
            continue
        return Rejection(prepared.runs[0], (Mismatch(kind="state", message=message, label=name),))
    return None


def check_same_results(proof: Proof, plans: Sequence[Plan], replays: Ahead) -> Rejection | None:
    """Every run of the reference, and the captured one in a second order: the same memory, within tolerance."""
    for plan in plans:
        prepared = plan.prepared
        proof.progress(f"candidate on dispatch {prepared.dispatch.id}")
        for turn, request in (*plan.captured, *plan.others):
            found, failure = _judge(proof, prepared, turn, _result(proof, request, replays))
            if found:
                again = turn.run is prepared.runs[0] and turn.order > 0
                again = again and found[0].kind in ("wrong_value", "stray_write")
                return Rejection(turn.run, (_depends(found[0]), *found[1:]) if again else found, failure)
            if turn.run is not prepared.runs[0] or turn is plan.captured[-1][0]:
                proof.trials.append(_trial(turn.run, "same"))
        proof.trials += prepared.dropped
        proof.trials += [
            _trial(run, "dropped", "the candidate's launch bounds do not allow it")
            for run in prepared.runs
            if not allowed(proof, run)
        ]
    return None


def check_repeats(proof: Proof, plans: Sequence[Plan], replays: Ahead) -> Rejection | None:
    """More orders of the waves: where the reference always leaves the same bits, so must the candidate."""
    for plan in plans:
        if not plan.repeats:
            continue
        prepared, run = plan.prepared, plan.prepared.repeated
        proof.progress(f"candidate on dispatch {prepared.dispatch.id}, repeated")
        first = proof.bits.get(prepared.dispatch.id)
        for request in plan.repeats:
            result = replays.result(request)
            if result.status != "ok":
                return Rejection(run, (_fault(result, proof.candidate, run),), result)
            now = _digests(run.dispatch, result)
            first = first or now
            if first == now:
                continue
            index = next(i for i, (a, b) in enumerate(zip(first, now, strict=True)) if a != b)
            buffer = run.dispatch.buffers[index]
            name = _label(proof.reference.signature, buffer, run.pieces[buffer.index][0])
            message = f"its results differ from run to run in {name}; those of the reference do not"
            found = Mismatch(kind="not_deterministic", message=message, buffer=buffer.index, label=name)
            return Rejection(run, (found,))
        label = f"{RUNS_COMPARED} runs compared bit by bit"
        proof.trials.append(Trial(dispatch=prepared.dispatch.id, inputs=label, outcome="same"))
    return None


def check_sanitizers(proof: Proof, plans: Sequence[Plan], replays: Ahead) -> Rejection | None:
    """The captured launches and others of them on the same memory: no kind of defect that the reference is free of."""
    for plan in plans:
        proof.progress(f"candidate under the sanitizers on dispatch {plan.prepared.dispatch.id}")
        for turn, request in (*plan.captured, *plan.others):
            if not request.sanitize:
                continue
            settings, checked = proof.reference.settings, replays.result(request)
            if found := new_reports(settings, turn.run, proof.candidate, checked, proof.cancel):
                return Rejection(turn.run, found)
    return None


CHECKS: tuple[Check, ...] = (check_same_results, check_repeats, check_sanitizers)


def check_timed_run(reference: Reference, dispatch: CapturedDispatch, result: Replay) -> str | None:
    """What a run on the captured inputs, made for its time, left wrong; None when nothing is."""
    for prepared in reference.prepared:
        if prepared.dispatch.id == dispatch.id:
            for _, found, _ in _compared(reference, prepared.runs[0], result, exact=False):
                if found:
                    return found[0].message
    return None


def _result(proof: Proof, request: Request, replays: Ahead) -> Replay:
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
    return replay(proof.reference.settings.tool, plain, cancel=proof.cancel)


def _judge(
    proof: Proof, prepared: Prepared, turn: Turn, result: Replay
) -> tuple[tuple[Mismatch, ...], Replay | None]:
    """One run of the candidate against one run of the reference."""
    run, traced = turn.run, is_traced(proof, turn)
    if result.status != "ok":
        return (_fault(result, proof.candidate, run),), result
    found: list[Mismatch] = []
    for buffer, different, wide in _compared(proof.reference, run, result, proof.exact):
        if not proof.exact and _may_be_rounding(run, buffer, different):
            oracle = prepared.oracles.images(run, proof.cancel, asked=True).get(buffer.index)
            if oracle is not None:
                different, wide = _compare(proof.reference, run, buffer, result, exact=False, oracle=oracle)
        found += different
        proof.errors = proof.errors.widened(wide)
        if traced and not different and proof.on("lost_atomics"):
            found += _lost_atomics(proof.reference, run, buffer, result)
        if traced and not different and run.label == CAPTURED and proof.on("written_back"):
            found += _written_back(proof.reference, run, buffer, result)
        if not different:
            found += _less_precise(proof, prepared, run, buffer, result)
    if proof.on("variables"):
        found += _changed_variables(run, result)
    if run is prepared.runs[0] and run is prepared.repeated:
        proof.bits.setdefault(run.dispatch.id, _digests(run.dispatch, result))
    return tuple(found), None


def _may_be_rounding(run: ReferenceRun, buffer: CapturedBuffer, found: Sequence[Mismatch]) -> bool:
    """Whether all differences are of floats and small beside the largest of them, so that double precision may tell."""
    if not found or any(m.kind != "wrong_value" or m.max_ulp is None for m in found):
        return False
    if any(s.exact for s in run.pieces[buffer.index]):
        return False
    expected = run.result.image(buffer)
    floats = [s for s in run.pieces[buffer.index] if s.element.kind == "float"]
    sizes = [np.abs(s.element.numbers(expected[s.start : s.end])) for s in floats]
    largest = max(float(size[np.isfinite(size)].max(initial=0.0)) for size in sizes)
    limit = largest * max(ROUNDING, *(ROUNDINGS * s.element.epsilon for s in floats))
    return all(m.max_absolute is not None and m.max_absolute <= limit for m in found)


def _compared(
    reference: Reference, run: ReferenceRun, result: Replay, exact: bool
) -> Iterator[tuple[CapturedBuffer, tuple[Mismatch, ...], Errors]]:
    for buffer in run.dispatch.buffers:
        yield buffer, *_compare(reference, run, buffer, result, exact)


def _digests(dispatch: CapturedDispatch, result: Replay) -> tuple[str, ...]:
    return tuple(result.digest(b) for b in dispatch.buffers)


def _changed_variables(run: ReferenceRun, result: Replay) -> list[Mismatch]:
    """Device variables that the candidate leaves with another value; one that it does not have keeps its value."""
    for variable in run.dispatch.variables:
        expected = run.result.variable(variable)
        got = result.variable(variable)
        if expected is not None and (variable.before() if got is None else got) != expected:
            name = f"the device variable `{demangle(variable.symbol)}`"
            message = f"it leaves {name} with another value"
            return [Mismatch(kind="wrong_value", message=message, label=name)]
    return []


def _less_precise(
    proof: Proof, prepared: Prepared, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the candidate's floats are farther from the oracle's than the reference's are."""
    floats = any(s.element.kind == "float" for s in run.pieces[buffer.index])
    if proof.reference.settings.less_precise or not floats or run.result.leaves_same(result, buffer):
        return []
    oracle = prepared.oracles.images(run, proof.cancel).get(buffer.index)
    if oracle is None:
        return []
    for segment in run.pieces[buffer.index]:
        by_atomics = run.access[buffer.index].any(ATOMIC, segment.start, segment.end)
        terms = run.dispatch.work_items if by_atomics else proof.terms
        name = _label(proof.reference.signature, buffer, segment)
        if name.strip("`") in proof.reference.settings.tolerances:
            continue  # the user has said what is enough
        parts = partial(_in_double_precision, run, buffer, segment, result, oracle)
        why = less_precise(parts, segment.element.epsilon, terms)
        if why is not None:
            message = (
                f"{name} is less precise than in the reference, measured against double precision: {why}"
            )
            return [Mismatch(kind="less_precise", message=message, buffer=buffer.index, label=name)]
    return []


def _in_double_precision(
    run: ReferenceRun, buffer: CapturedBuffer, segment: Segment, result: Replay, oracle: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], ...]]:
    """The elements that the reference writes: its own, the candidate's, and what they are in double precision."""
    ours, theirs, access = run.result.part(buffer), result.part(buffer), run.access[buffer.index]
    size = segment.element.size
    for start, stop in blocks(segment):
        written = ((access.window(start, stop) & WRITTEN) != 0).reshape(-1, size).all(axis=1)
        if written.any():
            numbers = [segment.element.numbers(part(start, stop))[written] for part in (ours, theirs)]
            yield *numbers, oracle[start // size : stop // size][written]


def _lost_atomics(
    reference: Reference, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the reference updates memory by atomics and the candidate by a load and a store: a race, seen or not."""
    if not run.access[buffer.index].any(ATOMIC):
        return []
    got, was = result.access(buffer.index, buffer.size).whole, run.access[buffer.index].whole
    lost = ((was & ATOMIC) != 0) & ((got & ATOMIC) == 0) & ((got & (WRITTEN | READ)) == (WRITTEN | READ))
    for segment in run.pieces[buffer.index]:
        window = lost[segment.start : segment.end]
        if window.any():
            name = _label(reference.signature, buffer, segment)
            first = int(window.argmax()) // segment.element.size
            message = (
                f"it updates {name}, element {first}, without the atomic operation that the reference uses"
            )
            return [
                Mismatch(
                    kind="not_deterministic",
                    message=message,
                    buffer=buffer.index,
                    label=name,
                    first_index=first,
                )
            ]
    return []


def _written_back(
    reference: Reference, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the candidate writes what is there anyway, and others may write meanwhile: that is not the kernel's own.

    Its own is what the reference writes, and in a buffer that it writes to also what it only reads on this launch. An
    atomic operation that changes nothing disturbs nobody.
    """
    written, usual = result.access(buffer.index, buffer.size), run.access[buffer.index]
    if written.within(usual, WRITTEN):
        return []
    own = np.where(usual.any(WRITTEN), WRITTEN | READ, WRITTEN)
    there, left = (np.frombuffer(image, dtype=np.uint8) for image in (buffer.before(), result.image(buffer)))
    extra = ((written.whole & (WRITTEN | ATOMIC)) == WRITTEN) & ((usual.whole & own) == 0)
    for segment in run.pieces[buffer.index]:
        place = slice(segment.start, segment.end)
        same = (there[place] == left[place]).reshape(-1, segment.element.size).all(axis=1)
        window = extra[place] & np.repeat(same, segment.element.size)
        if window.any():
            name = _label(reference.signature, buffer, segment)
            first = int(window.argmax()) // segment.element.size
            message = f"it writes where the reference does not, with the value that is there: {name}, element {first}"
            return [
                Mismatch(
                    kind="stray_write", message=message, buffer=buffer.index, label=name, first_index=first,
                )
            ]  # fmt: skip
    return []


def _compare(
    reference: Reference,
    run: ReferenceRun,
    buffer: CapturedBuffer,
    result: Replay,
    exact: bool,
    oracle: NDArray[np.float64] | None = None,
) -> tuple[tuple[Mismatch, ...], Errors]:
    """The differences of one buffer; with an `oracle`, what is as near to that as the reference is no difference."""
    if run.result.leaves_same(result, buffer):
        return (), Errors()
    access = run.access[buffer.index]

    def piece(segment: Segment) -> Piece:
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
            (name := _label(reference.signature, buffer, segment)),
            None
            if oracle is None or name.strip("`") in reference.settings.tolerances
            else oracle[segment.start // segment.element.size : segment.end // segment.element.size],
        )

    segments = run.pieces[buffer.index]
    if oracle is None and run.result.same_start(result, buffer):
        ours, theirs = run.result.left(buffer), result.left(buffer)
        if ours is not None and theirs is not None:
            errors = agree(ours, theirs, segments, access, cache(piece))
            if errors is not None:
                return (), errors
    expected, got = run.result.image(buffer), result.image(buffer)
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


def _label(signature: Signature, buffer: CapturedBuffer, segment: Segment) -> str:
    if segment.argument is None:
        return f"buffer {buffer.index}"
    if segment.argument < len(signature.names) and signature.names[segment.argument]:
        return f"`{'.'.join(filter(None, (signature.names[segment.argument], segment.member)))}`"
    return f"argument {segment.argument + 1}"


def _fault(result: Replay, candidate: Path, run: ReferenceRun) -> Mismatch:
    """A run that did not end: what happened and on which source line."""
    where = ""
    address = result.fault.get("address")
    if isinstance(address, int):
        chain = Symbolizer(candidate).positions(address)
        where = f" on line {chain[-1].line} ({chain[0].function or 'kernel'})" if chain else ""
    said = result.message or str(result.fault.get("message") or result.status)
    what = {
        "fault": "it faults",
        "timeout": "it does not end",
        "unsupported": "it uses an instruction that cannot be executed here",
        "launch_error": "it cannot be launched",
    }[result.status]
    return Mismatch(kind="fault", message=f"{what}{where} with {run.label}: {said}")


def _depends(mismatch: Mismatch) -> Mismatch:
    kind: MismatchKind = "depends_on_poison"
    message = f"its result depends on stale memory or on the order of the waves: {mismatch.message}"
    return mismatch.model_copy(update={"kind": kind, "message": message})


def _trial(run: ReferenceRun, outcome: Literal["same", "different", "dropped"], detail: str = "") -> Trial:
    return Trial(dispatch=run.dispatch.id, inputs=run.label, outcome=outcome, detail=detail)


def _rejected(proof: Proof, rejection: Rejection) -> Verdict:
    run, found = rejection.run, rejection.found
    trials = [*proof.trials, _trial(run, "different", found[0].message)]
    where = f"dispatch {run.dispatch.id}, {run.label}"
    return Verdict(
        outcome="different",
        reason=f"Not equivalent: {found[0].message}"
        + ("." if rejection.failure is not None else f" ({where})."),
        dispatches=len({t.dispatch for t in trials}),
        trials=tuple(trials),
        mismatches=found,
        notes=proof.reference.notes,
    )


def _acceptance(reference: Reference, trials: list[Trial], errors: Errors) -> Verdict:
    same = [t for t in trials if t.outcome == "same"]
    count = len({t.dispatch for t in same})
    exact = errors == Errors()
    how = "bit for bit" if exact else f"within tolerance (largest relative difference {errors.relative:.2g})"
    launches = "1 recorded launch" if count == 1 else f"{count} recorded launches"
    others = sum(t.inputs != CAPTURED and "runs compared" not in t.inputs for t in same)
    more = f" and on {others} other inputs and launch shapes" if others else ""
    return Verdict(
        outcome="equivalent",
        reason=f"Equivalent {how} on {launches}{more}.",
        dispatches=count,
        trials=tuple(trials),
        max_absolute=errors.absolute,
        max_relative=errors.relative,
        max_ulp=errors.ulp,
        bit_exact=exact,
        notes=reference.notes,
    )
