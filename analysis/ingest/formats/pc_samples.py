"""PC samples as tables: which instruction the waves were at, and why they did not issue.

Takes the host-trap or the stochastic CSV of rocprofv3, gives one trace per launch whose numbers are samples. The CSV
has no addresses, so launch, text and source position identify an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hipscope.analysis.ingest.formats.columns import MISSING
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.tables import read_table
from hipscope.analysis.ingest.formats.traces import Trace, TracedInstruction, source_chain
from hipscope.analysis.profile import Sampled, StallReason

_PREFIX = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
_WORDS = ("Instruction", "Instruction_Comment", "Stall_Reason")
_UNKNOWN_PLACE = "Unrecognized code object"
REASONS: Mapping[str, StallReason] = {
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


def read_samples(path: Path) -> Recorded:
    """One trace per launch. Samples that could not be decoded, or belong to no launch, are counted in the notes."""
    table = read_table(path, {"Dispatch_Id", "Wave_Issued_Instruction", *_WORDS}, frozenset(_WORDS))
    dispatch, issued = table.integers("Dispatch_Id"), table.integers("Wave_Issued_Instruction")
    text, comment, reason = (table.texts(name) for name in _WORDS)
    keys = np.stack([dispatch, text.codes, comment.codes, reason.codes, issued])
    groups, counts = np.unique(keys, axis=1, return_counts=True)
    traces: dict[int, dict[tuple[str, str], TracedInstruction]] = {}
    undecoded = lost = 0
    for (number, code, place, why, was_issued), count in zip(groups.T.tolist(), counts.tolist(), strict=True):
        words, where = text.names[code], comment.names[place]
        if not words or where.startswith(_UNKNOWN_PLACE):
            undecoded += count
            continue
        if number in (MISSING, 0):
            lost += count
            continue
        found = traces.setdefault(number, {})
        instruction = found.setdefault((words, where), _empty(len(found) + 1, words, where))
        add_samples(instruction, count, was_issued == 0, stall_reason(reason.names[why]))
    notes = list(table.damage)
    if undecoded:
        notes.append(f"{undecoded} of {table.length} samples were in code that the tool could not decode")
    if lost:
        notes.append(f"{lost} of {table.length} samples name no launch")
    return Recorded(
        traces=[
            Trace(number, "", "", tuple(instructions.values()), sampled=True)
            for number, instructions in sorted(traces.items())
        ],
        notes=notes,
    )


def stall_reason(name: object) -> StallReason:
    """The reason by its name in rocprofiler-sdk's header, with or without the prefix."""
    return REASONS.get(str(name).removeprefix(_PREFIX), StallReason.OTHER)


def add_samples(instruction: TracedInstruction, count: int, stalled: bool, reason: StallReason) -> None:
    """Count samples at an instruction. A wave that issued, or a host trap, has no reason."""
    before = instruction.samples or Sampled(total=0, stalled=0, reasons={})
    reasons = dict(before.reasons)
    instruction.latency += count
    if stalled:
        instruction.stall += count
        reasons[reason] = reasons.get(reason, 0.0) + count
        instruction.stalls = reasons
    instruction.samples = Sampled(
        total=before.total + count, stalled=before.stalled + (count if stalled else 0), reasons=reasons
    )


def _empty(line: int, text: str, comment: str) -> TracedInstruction:
    return TracedInstruction(
        line=line,
        text=text,
        code_object=0,
        address=0,
        source=source_chain(comment),
        hits=0,
        lanes=0,
        latency=0.0,
        stall=0.0,
    )
