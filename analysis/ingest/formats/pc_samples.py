"""PC samples as tables: which instruction the waves were at, and why they did not issue.

Takes the host-trap or the stochastic CSV of rocprofv3, gives one trace per launch whose numbers are samples. The CSV
has no addresses, so launch, text and source position identify an instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from hipscope.analysis.ingest.formats.columns import MISSING, grouped
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.tables import CsvTable, Misread, read_parts, read_table
from hipscope.analysis.ingest.formats.traces import Trace, TracedInstruction, source_chain
from hipscope.analysis.profile import Sampled, StallReason

_KINDS = tuple(StallReason)
_PLACES: Mapping[StallReason, int] = {kind: place for place, kind in enumerate(_KINDS)}
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
    wanted = {"Dispatch_Id", "Wave_Issued_Instruction", *_WORDS}
    try:
        counts, samples, notes = _counted(read_parts(path, wanted, frozenset(_WORDS)))
    except Misread:
        counts, samples, notes = _counted([read_table(path, wanted)])
    traces: dict[int, list[TracedInstruction]] = {}
    undecoded = lost = 0
    for (number, words, where), of_reasons in sorted(counts.items(), key=lambda item: item[0][0]):
        count = sum(of_reasons)
        if not words or where.startswith(_UNKNOWN_PLACE):
            undecoded += count
            continue
        if number in (MISSING, 0):
            lost += count
            continue
        found = traces.setdefault(number, [])
        instruction = _empty(len(found) + 1, words, where)
        told = {kind: float(n) for kind, n in zip(_KINDS, of_reasons, strict=False) if n}
        waiting = sum(told.values())
        instruction.latency, instruction.stall, instruction.stalls = float(count), waiting, told
        instruction.samples = Sampled(total=count, stalled=int(waiting), reasons=told)
        found.append(instruction)
    if undecoded:
        notes.append(f"{undecoded} of {samples} samples were in code that the tool could not decode")
    if lost:
        notes.append(f"{lost} of {samples} samples name no launch")
    return Recorded(
        traces=[
            Trace(number, "", "", tuple(instructions), sampled=True)
            for number, instructions in sorted(traces.items())
        ],
        notes=notes,
    )


_Counts = dict[tuple[int, str, str], list[int]]


def _counted(parts: Iterable[CsvTable]) -> tuple[_Counts, int, list[str]]:
    """Samples by launch, text and place: a number for each reason, and at the end that of waves that issued."""
    found: _Counts = {}
    samples = 0
    notes: list[str] = []
    for table in parts:
        samples += table.length
        notes += table.damage
        issued = table.integers("Wave_Issued_Instruction")
        text, comment, reason = (table.texts(name) for name in _WORDS)
        (numbers, codes, places), row = grouped([table.integers("Dispatch_Id"), text.codes, comment.codes])
        kinds = np.array([_PLACES[stall_reason(name)] for name in reason.names], dtype=np.int64)
        width = len(_KINDS) + 1
        kind = np.where(issued == 0, kinds[reason.codes], len(_KINDS)) if len(kinds) else reason.codes
        counts = np.bincount(row * width + kind, minlength=len(numbers) * width).reshape(len(numbers), width)
        for number, code, place, told in zip(numbers, codes, places, counts.tolist(), strict=True):
            key = number, text.names[code], comment.names[place]
            before = found.get(key)
            found[key] = told if before is None else [a + b for a, b in zip(before, told, strict=True)]
    return found, samples, notes


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


class AddressedSamples:
    """Samples whose instructions are known by their place in a code object, by launch."""

    def __init__(self) -> None:
        self.launches: dict[int, dict[tuple[int, int], TracedInstruction]] = {}

    def add(
        self,
        launch: int,
        place: tuple[int, int],
        text: str,
        comment: str,
        *,
        count: int,
        stalled: bool,
        reason: str,
    ) -> None:
        """Samples of one launch at one place. `text` and `comment` count where the place is new."""
        known = self.launches.setdefault(launch, {})
        if place not in known:
            known[place] = _empty(len(known) + 1, text, comment, *place)
        add_samples(known[place], count, stalled, stall_reason(reason))

    def traces(self, kernels: Mapping[int, str]) -> Iterator[Trace]:
        """One for each launch; `kernels` has their names, as far as they are known."""
        for launch, instructions in sorted(self.launches.items()):
            yield Trace(launch, "", kernels.get(launch, ""), tuple(instructions.values()), sampled=True)


def _empty(line: int, text: str, comment: str, code_object: int = 0, address: int = 0) -> TracedInstruction:
    return TracedInstruction(
        line=line,
        text=text,
        code_object=code_object,
        address=address,
        source=source_chain(comment),
        hits=0,
        lanes=0,
        latency=0.0,
        stall=0.0,
    )
