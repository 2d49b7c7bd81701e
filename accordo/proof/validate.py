"""The proof: does a candidate's code object do what the reference does, on the program's own launches and on others?

Takes a replayed reference and the candidate's code object, gives a Verdict. The candidate must leave the same memory as
the reference, with everything it has to write poisoned beforehand, in two different orders of waves, on the captured
inputs and on fresh ones. It must also be free of every kind of defect that the sanitizers do not find in the reference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hipscope.accordo.compare.buffers import Errors
from hipscope.accordo.dispatch.launch_classes import launch_coverage
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.checks.beyond_32_bits import check_beyond_32_bits
from hipscope.accordo.proof.checks.own_code import taken_alike, told_by_code
from hipscope.accordo.proof.checks.plan import Proof, in_order, plan_runs, with_named
from hipscope.accordo.proof.checks.rejection import Check, Rejection, trial
from hipscope.accordo.proof.checks.repeats import check_repeats
from hipscope.accordo.proof.checks.results import check_same_results
from hipscope.accordo.proof.checks.sanitizers import check_sanitizers
from hipscope.accordo.proof.checks.state import check_state
from hipscope.accordo.reference.held_runs import HELD
from hipscope.accordo.reference.input_coverage import BEYOND, VariedInput
from hipscope.accordo.reference.prepare import CAPTURED, Reference
from hipscope.accordo.replay.background import BackgroundReplays
from hipscope.accordo.trials.other_launch import NO_SUCH_LAUNCH, Relaunch, as_it_is
from hipscope.analysis.run import Run

CHECKS: tuple[Check, ...] = (check_same_results, check_repeats, check_sanitizers)


def validate(
    reference: Reference,
    candidate: Path,
    run: Run | None = None,
    *,
    exact: bool = False,
    terms: int = 1,
    relaunch: Relaunch = as_it_is,
) -> Verdict:
    """Judge the code object `candidate`. `exact` asks for bit-equal results (where the reference itself has them).

    `terms` is how many values the candidate adds up into one element in an order of its own. `relaunch` gives the
    launch that the candidate's program makes in place of one of the reference's, over the same memory.
    """
    if reference.broken is not None:
        return Verdict(outcome="inconclusive", reason=f"It cannot be proved: {reference.broken}.")
    reference.settings.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="candidate_", dir=reference.settings.work) as folder:
        run = run or Run()
        proof = Proof(reference, candidate, exact, run, Path(folder), terms=terms, relaunch=relaunch)
        if (state := check_state(proof)) is not None:
            return _rejected(proof, state)
        known = with_named(proof)
        proof.unproved += told_by_code(proof, reference.prepared[0].dispatch)
        plans = [plan_runs(proof, prepared, number) for number, prepared in enumerate(known)]
        with BackgroundReplays(reference.settings.tool, in_order(plans), run.cancel) as replays:
            for check in CHECKS:
                rejection = check(proof, plans, replays)
                if rejection is not None:
                    return _rejected(proof, rejection)
        if relaunch is as_it_is and (far := check_beyond_32_bits(proof, reference.prepared[0])) is not None:
            return _rejected(proof, far)
    if relaunch is not as_it_is and not any(
        t.outcome == "same" and t.inputs != CAPTURED for t in proof.trials
    ):
        return Verdict(
            outcome="inconclusive", reason=f"It cannot be proved on other inputs: {NO_SUCH_LAUNCH}."
        )
    if reference.settings.require_all and (unproved := _never_varied(_inputs(reference), proof.unproved)):
        asked = '`accordo.require` is "all"'
        return Verdict(
            outcome="inconclusive",
            reason=f"It cannot be proved for all inputs ({asked}): equivalent on what was tried{unproved}.",
            trials=tuple(proof.trials),
            inputs=(*map(str, _inputs(reference)), *proof.unproved),
        )
    return _acceptance(proof)


def _rejected(proof: Proof, rejection: Rejection) -> Verdict:
    run, found = rejection.run, rejection.found
    trials = [*proof.trials, trial(run, "different", found[0].message)]
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


def _how_near(errors: Errors) -> str:
    told = (
        [f"largest relative difference {errors.relative:.2g}"]
        if errors.relative or not errors.by_truth
        else []
    )
    truth = ["in part as near to double precision as the original"] if errors.by_truth else []
    return ", ".join(told + truth)


def _acceptance(proof: Proof) -> Verdict:
    reference, trials, errors = proof.reference, proof.trials, proof.errors
    same = [t for t in trials if t.outcome == "same"]
    count = len({t.dispatch for t in same})
    exact = errors == Errors()
    inputs = _inputs(reference)
    alike = taken_alike(proof, reference.prepared[0].dispatch, [one.name for one in inputs if not one.trials])
    unproved = _never_varied([one for one in inputs if one.name not in alike], proof.unproved)
    how = "bit for bit" if exact else f"within tolerance ({_how_near(errors)})"
    launches = "1 recorded launch" if count == 1 else f"{count} recorded launches"
    others = sum(t.inputs not in (CAPTURED, HELD) and "runs compared" not in t.inputs for t in same)
    more = f" and on {others} other inputs and launch shapes" if others else ""
    covered = launch_coverage([p.dispatch for p in reference.prepared])
    if covered is not None and covered.all_launches > 1:
        more += f" ({covered} replayed)"
    return Verdict(
        outcome="equivalent",
        reason=f"Equivalent {how} on {launches}{more}{unproved}{_not_compared(reference)}.",
        dispatches=count,
        trials=tuple(trials),
        max_absolute=errors.absolute,
        max_relative=errors.relative,
        max_ulp=errors.ulp,
        bit_exact=exact,
        notes=(*reference.notes, *proof.notes),
        inputs=(*map(str, inputs), *proof.unproved),
        unspecified_bytes=reference.unspecified[0],
    )


def _inputs(reference: Reference) -> list[VariedInput]:
    """Each input of the kernel once, with the trials of all launches together."""
    found: dict[str, VariedInput] = {}
    for one in (i for prepared in reference.prepared for i in prepared.inputs):
        known = found.get(one.name, one)
        trials = one.trials + (known.trials if known is not one else 0)
        found[one.name] = VariedInput(one.name, trials, "" if trials else one.why)
    return list(found.values())


def _not_compared(reference: Reference) -> str:
    some, written = reference.unspecified
    return (
        f"; {some:,} of {written:,} bytes were left out, in which the original leaves what nothing wrote"
        if some
        else ""
    )


def _never_varied(inputs: Sequence[VariedInput], unproved: Sequence[str]) -> str:
    """The end of the sentence: what is not proved, by name. `unproved` is what the candidate's own code asks for."""
    told = "".join(f"; {what}" for what in unproved)
    names = [one.name for one in inputs if not one.trials]
    varied = [name for name in names if name != BEYOND]
    more = f"; never with {BEYOND}" if BEYOND in names else ""
    if not varied:
        return more + told
    *first, last = varied
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"; {listed} {'were' if first else 'was'} never varied{more}{told}"
