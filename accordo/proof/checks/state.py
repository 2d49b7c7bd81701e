"""Does a candidate hold anything that makes one launch differ from the next? Replays start afresh and never show it."""

from __future__ import annotations

from hipscope.accordo.dispatch.code_properties import own_hardware_reads, own_state, reads_a_clock
from hipscope.accordo.model.verdict import Mismatch
from hipscope.accordo.proof.checks.plan import Proof
from hipscope.accordo.proof.checks.rejection import Rejection
from hipscope.emulator.symbolize import demangle


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
        elif own := own_hardware_reads(proof.candidate, original, objdump):
            message = f"it reads {own[0]}, which the reference does not"
        elif reads_a_clock(proof.candidate, objdump) and not reads_a_clock(original, objdump):
            message = "it reads a clock, which the reference does not"
        else:
            continue
        return Rejection(prepared.runs[0], (Mismatch(kind="state", message=message, label=name),))
    return None
