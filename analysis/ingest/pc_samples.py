"""PC-sampling tables: which instruction the waves were at, and why they did not issue.

Takes the host-trap or the stochastic CSV of rocprofv3, gives one trace per kernel whose numbers are samples. The
CSV has no addresses, so kernel, text and source position identify an instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hipscope.analysis.ingest.launches import Launch
from hipscope.analysis.ingest.tables import integer, read_rows
from hipscope.analysis.ingest.traces import Trace, TracedInstruction, source_chain
from hipscope.analysis.profile import StallReason

_PREFIX = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
_REASONS = {
    "NO_INSTRUCTION_AVAILABLE": StallReason.INSTRUCTION_FETCH,
    "ALU_DEPENDENCY": StallReason.DEPENDENCY,
    "WAITCNT": StallReason.OTHER,  # which memory it waits for is not in the sample
    "INTERNAL_INSTRUCTION": StallReason.OTHER,
    "BARRIER_WAIT": StallReason.BARRIER,
    "ARBITER_NOT_WIN": StallReason.ISSUE_CONTENTION,
    "ARBITER_WIN_EX_STALL": StallReason.PIPE_BUSY,
    "OTHER_WAIT": StallReason.OTHER,
    "SLEEP_WAIT": StallReason.SLEEP,
}


def read_samples(path: Path, launches: Sequence[Launch]) -> list[Trace]:
    """One trace per kernel. Samples that could not be decoded or belong to no known launch are left out."""
    kernel_of = {launch.id: launch.kernel for launch in launches}
    kernels: dict[str, dict[tuple[str, str], TracedInstruction]] = {}
    for row in read_rows(path):
        dispatch = integer(row, "Dispatch_Id")
        text = row.get("Instruction", "")
        kernel = kernel_of.get(dispatch) if dispatch is not None else None
        if not text or not kernel:
            continue
        comment = row.get("Instruction_Comment", "")
        instructions = kernels.setdefault(kernel, {})
        key = (text, comment)
        if key not in instructions:
            instructions[key] = TracedInstruction(
                line=len(instructions) + 1,
                text=text,
                code_object=0,
                address=0,
                source=source_chain(comment),
                hits=0,
                lanes=0,
                latency=0.0,
                stall=0.0,
            )
        _count(instructions[key], integer(row, "Wave_Issued_Instruction"), row.get("Stall_Reason", ""))
    return [
        Trace(None, "", kernel, tuple(instructions.values()), sampled=True)
        for kernel, instructions in kernels.items()
    ]


def _count(instruction: TracedInstruction, issued: int | None, reason: str) -> None:
    instruction.latency += 1
    if issued != 0:  # issued, or a host trap, which has no reason
        return
    instruction.stall += 1
    known = _REASONS.get(reason.removeprefix(_PREFIX), StallReason.OTHER)
    instruction.stalls[known] = instruction.stalls.get(known, 0.0) + 1
