"""Does a candidate leave the same bits in every order of its waves, where the reference does?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hipscope.accordo.model.verdict import Mismatch, Trial
from hipscope.accordo.proof.checks.plan import RUNS_COMPARED, Plan, Proof
from hipscope.accordo.proof.checks.rejection import Rejection, fault, label
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.replay.background import BackgroundReplays
from hipscope.accordo.replay.replay import Replay


def check_repeats(proof: Proof, plans: Sequence[Plan], replays: BackgroundReplays) -> Rejection | None:
    """More orders of the waves: where the reference always leaves the same bits, so must the candidate."""
    for plan in plans:
        if not plan.repeats:
            continue
        prepared, run = plan.prepared, plan.prepared.repeated
        proof.run.say(f"candidate on dispatch {prepared.dispatch.id}, repeated")
        first = proof.bits.get(prepared.dispatch.id)
        for request in plan.repeats:
            result = replays.result(request)
            if result.status != "ok":
                return Rejection(run, (fault(result, proof.candidate, run),), result)
            now = digests(run, result)
            first = first or now
            if first == now:
                continue
            index = next(i for i, (a, b) in enumerate(zip(first, now, strict=True)) if a != b)
            buffer = run.dispatch.buffers[index]
            name = label(proof.reference.signature, buffer, run.pieces[buffer.index][0])
            message = f"its results differ from run to run in {name}; those of the reference do not"
            found = Mismatch(kind="not_deterministic", message=message, buffer=buffer.index, label=name)
            return Rejection(run, (found,))
        inputs = f"{RUNS_COMPARED} runs compared bit by bit"
        proof.trials.append(Trial(dispatch=prepared.dispatch.id, inputs=inputs, outcome="same"))
    return None


def digests(run: ReferenceRun, result: Replay) -> tuple[str, ...]:
    """The bits that a candidate left on a launch, buffer by buffer, but for those that are not compared."""
    return tuple(
        hashlib.sha256(run.compared(result, b)).hexdigest()
        if b.index in run.unspecified
        else result.digest(b)
        for b in run.dispatch.buffers
    )
