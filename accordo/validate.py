"""The proof: does a candidate's code object do what the reference does, on the program's own launches and on others?

Takes a replayed reference and the candidate's code object, gives a Verdict. The candidate must leave the same memory as
the reference, with everything it has to write poisoned beforehand, in two different orders of waves, on the captured
inputs and on fresh ones. It must also be free of every kind of defect that the sanitizers do not find in the reference.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hipscope.accordo.capture import CapturedBuffer, CapturedDispatch
from hipscope.accordo.compare import Errors, Piece, compare_buffer
from hipscope.accordo.dtypes import Segment
from hipscope.accordo.oracle import less_precise
from hipscope.accordo.reference import (
    CAPTURED,
    POISONS,
    Reference,
    ReferenceRun,
    Signature,
    piece_tolerance,
)
from hipscope.accordo.replay import ATOMIC, READ, WRITTEN, Replay, patient, replay
from hipscope.accordo.sanitizers import new_reports
from hipscope.accordo.verdict import Mismatch, MismatchKind, Trial, Verdict
from hipscope.emulator.symbolize import Symbolizer, demangle

_SEEDS = (3, 4)
_MORE_SEEDS = (5, 6, 7)  # with the two above, five runs of the candidate on the captured inputs


@dataclass
class Proof:
    """One candidate on its way through the checks: what it is held against, and what was seen so far."""

    reference: Reference
    candidate: Path
    exact: bool
    progress: Callable[[str], None]
    cancel: threading.Event | None
    trials: list[Trial] = field(default_factory=list)
    errors: Errors = field(default_factory=Errors)
    bits: dict[int, tuple[str, ...]] = field(default_factory=dict)  # dispatch -> digests of its first run
    terms: int = 1

    def on(self, *defences: str) -> bool:
        """True unless all of these defences are switched off."""
        return not self.reference.settings.without.issuperset(defences)


@dataclass(frozen=True)
class Rejection:
    """What a check found; `failure` when the candidate did not even end."""

    run: ReferenceRun
    found: tuple[Mismatch, ...]
    failure: Replay | None = None


Check = Callable[[Proof], Rejection | None]


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
    proof = Proof(reference, candidate, exact, progress, cancel, terms=terms)
    for check in CHECKS:
        rejection = check(proof)
        if rejection is not None:
            return _rejected(proof, rejection)
    return _acceptance(reference, proof.trials, proof.errors)


def check_same_results(proof: Proof) -> Rejection | None:
    """Every run of the reference, and the captured one in a second order: the same memory, within tolerance."""
    for prepared in proof.reference.prepared:
        for number, run in enumerate(prepared.runs):
            proof.progress(f"candidate on dispatch {prepared.dispatch.id}, {run.label}")
            twice = number == 0 and proof.on("other_order")
            for order in range(len(_SEEDS)) if twice else (number % 2,):
                found, failure = _try(proof, run, order)
                if found:
                    again = twice and order > 0 and found[0].kind in ("wrong_value", "stray_write")
                    worded = (_depends(found[0]), *found[1:]) if again else found
                    return Rejection(run, worded, failure)
            proof.trials.append(_trial(run, "same"))
        proof.trials += prepared.dropped
    return None


def check_repeats(proof: Proof) -> Rejection | None:
    """More orders of the waves: where the reference always leaves the same bits, so must the candidate."""
    if not proof.on("repeats"):
        return None
    for prepared in proof.reference.prepared:
        run = prepared.repeated
        if not run.same_bits:
            continue
        proof.progress(f"candidate on dispatch {prepared.dispatch.id}, repeated")
        known = run is prepared.runs[0]  # then its first runs were among the others
        first = proof.bits.get(prepared.dispatch.id) if known else None
        for number, seed in enumerate(_MORE_SEEDS if known else _SEEDS + _MORE_SEEDS):
            result = _run(proof, run, seed, POISONS[number % 2])
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
        label = f"{len(_SEEDS) + len(_MORE_SEEDS)} runs compared bit by bit"
        proof.trials.append(Trial(dispatch=prepared.dispatch.id, inputs=label, outcome="same"))
    return None


def check_sanitizers(proof: Proof) -> Rejection | None:
    """The captured launches and others of them on the same memory: no kind of defect that the reference is free of."""
    settings = proof.reference.settings
    if not settings.sanitize:
        return None
    for prepared in proof.reference.prepared:
        for run in (r for r in prepared.runs if r.inputs is None):
            proof.progress(f"candidate under the sanitizers on dispatch {prepared.dispatch.id}, {run.label}")
            if found := new_reports(settings, run, proof.candidate, proof.cancel):
                return Rejection(run, found)
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


def _run(proof: Proof, run: ReferenceRun, seed: int, poison: int, *, traced: bool = False) -> Replay:
    settings = proof.reference.settings
    out = settings.work / f"dispatch_{run.dispatch.id}" / "candidate"
    shutil.rmtree(out, ignore_errors=True)
    return replay(
        patient(settings.tool, run.result),
        run.dispatch,
        proof.candidate,
        out,
        seed=seed,
        poison=poison if proof.on("poison") else None,
        poison_mask=run.result.directory if proof.on("poison") else None,
        inputs=run.inputs,
        cancel=proof.cancel,
        trace_access=traced,
    )


def _try(proof: Proof, run: ReferenceRun, order: int) -> tuple[tuple[Mismatch, ...], Replay | None]:
    """One run of the candidate against one run of the reference."""
    traced = run.inputs is None and order == 0 and _has_atomics(run) and proof.on("lost_atomics")
    result = _run(proof, run, _SEEDS[order], POISONS[order], traced=traced)
    if result.status != "ok":
        return (_fault(result, proof.candidate, run),), result
    found: list[Mismatch] = []
    for buffer, different, wide in _compared(proof.reference, run, result, proof.exact):
        found += different
        proof.errors = proof.errors.widened(wide)
        if traced and not different:
            found += _lost_atomics(proof.reference, run, buffer, result)
        if not different:
            found += _less_precise(proof, run, buffer, result)
    if proof.on("variables"):
        found += _changed_variables(run, result)
    if run.label == CAPTURED:
        proof.bits.setdefault(run.dispatch.id, _digests(run.dispatch, result))
    return tuple(found), None


def _compared(
    reference: Reference, run: ReferenceRun, result: Replay, exact: bool
) -> Iterator[tuple[CapturedBuffer, tuple[Mismatch, ...], Errors]]:
    for buffer in run.dispatch.buffers:
        yield buffer, *_compare(reference, run, buffer, result, exact)


def _digests(dispatch: CapturedDispatch, result: Replay) -> tuple[str, ...]:
    return tuple(hashlib.sha256(result.image(b)).hexdigest() for b in dispatch.buffers)


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


def _less_precise(proof: Proof, run: ReferenceRun, buffer: CapturedBuffer, result: Replay) -> list[Mismatch]:
    """Where the candidate's floats are farther from the oracle's than the reference's are."""
    oracle = run.oracle.get(buffer.index)
    expected, got = run.result.image(buffer), result.image(buffer)
    if oracle is None or expected == got:
        return []
    for segment in run.pieces[buffer.index]:
        window = slice(segment.start, segment.end)
        access = run.access[buffer.index][window].reshape(-1, segment.element.size)
        written = ((access & WRITTEN) != 0).all(axis=1)
        terms = run.dispatch.work_items if bool((access & ATOMIC).any()) else proof.terms
        name = _label(proof.reference.signature, buffer, segment)
        if name.strip("`") in proof.reference.settings.tolerances:
            continue  # the user has said what is enough
        own, new = (segment.element.numbers(image[window])[written] for image in (expected, got))
        exact = oracle[segment.start // 4 : segment.end // 4][written]
        why = less_precise(own, new, exact, segment.element.epsilon, terms)
        if why is not None:
            message = (
                f"{name} is less precise than in the reference, measured against double precision: {why}"
            )
            return [Mismatch(kind="less_precise", message=message, buffer=buffer.index, label=name)]
    return []


def _has_atomics(run: ReferenceRun) -> bool:
    return any(bool((access & ATOMIC).any()) for access in run.access.values())


def _lost_atomics(
    reference: Reference, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the reference updates memory by atomics and the candidate by a load and a store: a race, seen or not."""
    got, was = result.access(buffer.index, buffer.size), run.access[buffer.index]
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


def _compare(
    reference: Reference,
    run: ReferenceRun,
    buffer: CapturedBuffer,
    result: Replay,
    exact: bool,
) -> tuple[tuple[Mismatch, ...], Errors]:
    expected, got = run.result.image(buffer), result.image(buffer)
    if got == expected:
        return (), Errors()
    access = run.access[buffer.index]
    replaced = run.inputs / f"buffer_{buffer.index}.before" if run.inputs is not None else None
    before = replaced.read_bytes() if replaced is not None and replaced.exists() else buffer.before()
    pieces = tuple(
        Piece(
            segment,
            piece_tolerance(
                segment,
                expected,
                access,
                run.dispatch,
                reference.settings,
                reference.signature,
                spread=run.spread.get((buffer.index, segment.start), 0.0),
                exact=exact,
            ),
            _label(reference.signature, buffer, segment),
        )
        for segment in run.pieces[buffer.index]
    )
    return compare_buffer(
        pieces,
        before=before,
        expected=expected,
        got=got,
        written=(access & WRITTEN) != 0,
        is_input=bool((access & READ).any()) and not (access & WRITTEN).any(),
        buffer=buffer.index,
        without=reference.settings.without,
    )


def _label(signature: Signature, buffer: CapturedBuffer, segment: Segment) -> str:
    if segment.argument is None:
        return f"buffer {buffer.index}"
    if segment.argument < len(signature.names) and signature.names[segment.argument]:
        return f"`{signature.names[segment.argument]}`"
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


def _trial(run: ReferenceRun, outcome: Literal["same", "different"], detail: str = "") -> Trial:
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
