"""The proof: does a candidate's code object do what the reference does, on the program's own launches and on others?

Takes a replayed reference and the candidate's code object, gives a Verdict. The candidate must leave the same memory as
the reference, with everything it has to write poisoned beforehand, in two different orders of waves, on the captured
inputs and on fresh ones.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from hipscope.accordo.capture import CapturedBuffer
from hipscope.accordo.compare import Errors, Piece, compare_buffer
from hipscope.accordo.dtypes import Segment
from hipscope.accordo.reference import POISONS, Prepared, Reference, ReferenceRun, Signature, piece_tolerance
from hipscope.accordo.replay import ATOMIC, READ, WRITTEN, Replay, patient, replay
from hipscope.accordo.verdict import Mismatch, MismatchKind, Trial, Verdict
from hipscope.emulator.symbolize import Symbolizer

_SEEDS = (3, 4)


def validate(
    reference: Reference,
    candidate: Path,
    *,
    exact: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    cancel: threading.Event | None = None,
) -> Verdict:
    """Judge the code object `candidate`. `exact` asks for bit-equal results (where the reference itself has them)."""
    if reference.broken is not None:
        return Verdict(outcome="inconclusive", reason=f"It cannot be proved: {reference.broken}.")
    trials: list[Trial] = []
    errors = Errors()
    for prepared in reference.prepared:
        for number, run in enumerate(prepared.runs):
            for order in range(len(_SEEDS)) if number == 0 else (number,):
                progress(f"candidate on dispatch {prepared.dispatch.id}, {run.label}")
                found, wide, failure = _try(reference, prepared, run, candidate, order, exact, cancel)
                errors = errors.widened(wide)
                if found:
                    again = number == 0 and order > 0 and found[0].kind in ("wrong_value", "stray_write")
                    worded = (_depends(found[0]), *found[1:]) if again else found
                    trials.append(_trial(run, "different", worded[0].message))
                    return _rejection(reference, run, trials, worded, failure)
            trials.append(_trial(run, "same"))
        trials += prepared.dropped
    return _acceptance(reference, trials, errors)


def _try(
    reference: Reference,
    prepared: Prepared,
    run: ReferenceRun,
    candidate: Path,
    order: int,
    exact: bool,
    cancel: threading.Event | None,
) -> tuple[tuple[Mismatch, ...], Errors, Replay | None]:
    """One run of the candidate against one run of the reference."""
    dispatch, settings = run.dispatch, reference.settings
    traced = run.inputs is None and order == 0 and _has_atomics(run)
    out = settings.work / f"dispatch_{dispatch.id}" / "candidate"
    shutil.rmtree(out, ignore_errors=True)
    result = replay(
        patient(settings.tool, run.result),
        dispatch,
        candidate,
        out,
        seed=_SEEDS[order % 2],
        poison=POISONS[order % 2],
        poison_mask=run.result.directory,
        inputs=run.inputs,
        cancel=cancel,
        trace_access=traced,
    )
    if result.status != "ok":
        return (_fault(result, candidate, run),), Errors(), result
    found: list[Mismatch] = []
    errors = Errors()
    for buffer in dispatch.buffers:
        different, wide = _compare(reference, prepared, run, buffer, result, exact)
        found += different
        errors = errors.widened(wide)
        if traced and not different:
            found += _lost_atomics(reference, prepared, run, buffer, result)
    return tuple(found), errors, None


def _has_atomics(run: ReferenceRun) -> bool:
    return any(bool((access & ATOMIC).any()) for access in run.access.values())


def _lost_atomics(
    reference: Reference, prepared: Prepared, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the reference updates memory by atomics and the candidate by a load and a store: a race, seen or not."""
    got, was = result.access(buffer.index, buffer.size), run.access[buffer.index]
    lost = ((was & ATOMIC) != 0) & ((got & ATOMIC) == 0) & ((got & (WRITTEN | READ)) == (WRITTEN | READ))
    for segment in prepared.pieces[buffer.index]:
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
    prepared: Prepared,
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
                spread=run.spread.get((buffer.index, segment.start), 0.0),
                exact=exact,
            ),
            _label(reference.signature, buffer, segment),
        )
        for segment in prepared.pieces[buffer.index]
    )
    return compare_buffer(
        pieces,
        before=before,
        expected=expected,
        got=got,
        written=(access & WRITTEN) != 0,
        is_input=bool((access & READ).any()) and not (access & WRITTEN).any(),
        buffer=buffer.index,
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


def _rejection(
    reference: Reference,
    run: ReferenceRun,
    trials: list[Trial],
    found: tuple[Mismatch, ...],
    failure: Replay | None,
) -> Verdict:
    where = f"dispatch {run.dispatch.id}, {run.label}"
    return Verdict(
        outcome="different",
        reason=f"Not equivalent: {found[0].message}" + ("." if failure is not None else f" ({where})."),
        dispatches=len({t.dispatch for t in trials}),
        trials=tuple(trials),
        mismatches=found,
        notes=reference.notes,
    )


def _acceptance(reference: Reference, trials: list[Trial], errors: Errors) -> Verdict:
    same = [t for t in trials if t.outcome == "same"]
    count = len({t.dispatch for t in same})
    exact = errors == Errors()
    how = "bit for bit" if exact else f"within tolerance (largest relative difference {errors.relative:.2g})"
    launches = "1 recorded launch" if count == 1 else f"{count} recorded launches"
    others = sum(t.inputs != "captured inputs" for t in same)
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
