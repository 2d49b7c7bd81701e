"""What a check found wrong with a candidate, and the words that all checks share: arguments by name, runs, faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.model.verdict import Mismatch, Trial
from hipscope.accordo.proof.checks.plan import Plan, Proof
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.replay.background import BackgroundReplays
from hipscope.accordo.replay.replay import Replay
from hipscope.emulator.symbolize import symbolizer_of


@dataclass(frozen=True)
class Rejection:
    """What a check found; `failure` when the candidate did not even end."""

    run: ReferenceRun
    found: tuple[Mismatch, ...]
    failure: Replay | None = None


Check = Callable[[Proof, Sequence[Plan], BackgroundReplays], Rejection | None]


def label(signature: Signature, buffer: CapturedBuffer, segment: Segment) -> str:
    """What messages call a part of a buffer: the argument that leads there, by its name in the source."""
    if segment.argument is None:
        return f"buffer {buffer.index}"
    if segment.argument < len(signature.names) and signature.names[segment.argument]:
        return f"`{'.'.join(filter(None, (signature.names[segment.argument], segment.member)))}`"
    return f"argument {segment.argument + 1}"


def fault(result: Replay, candidate: Path, run: ReferenceRun) -> Mismatch:
    """A run that did not end: what happened and on which source line."""
    where = ""
    address = result.fault.get("address")
    if isinstance(address, int):
        chain = symbolizer_of(candidate).positions(address)
        where = f" on line {chain[-1].line} ({chain[0].function or 'kernel'})" if chain else ""
    said = result.message or str(result.fault.get("message") or result.status)
    what = {
        "fault": "it faults",
        "timeout": "it does not end",
        "unsupported": "it uses an instruction that cannot be executed here",
        "launch_error": "it cannot be launched",
    }[result.status]
    return Mismatch(kind="fault", message=f"{what}{where} with {run.label}: {said}")


def trial(run: ReferenceRun, outcome: Literal["same", "different", "dropped"], detail: str = "") -> Trial:
    """What came of one run, for the verdict."""
    return Trial(dispatch=run.dispatch.id, inputs=run.label, outcome=outcome, detail=detail)
