"""Instructions of a kernel over all its traces and samples, by code object and address.

Takes traces, gives one list in address order. Cycles of traces and counts of samples are evidence of two kinds: they
stand side by side and are never added.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipscope.analysis.ingest.called import placed_at_calls
from hipscope.analysis.ingest.formats.traces import Trace, TracedInstruction
from hipscope.analysis.metrics.memory_patterns import sum_patterns
from hipscope.analysis.metrics.stalls import add_stalls
from hipscope.analysis.profile import Instruction, MemoryPattern, Sampled

_Key = tuple[int, int, str]


def merged_instructions(traces: Sequence[Trace]) -> tuple[tuple[Instruction, ...], bool]:
    """The instructions, and whether their numbers are samples: so where nothing was traced."""
    cycles = [t for t in traces if not t.sampled]
    samples = [t for t in traces if t.sampled]
    traced = any(i.latency for t in cycles for i in t.instructions)
    if not samples or not traced:
        return placed_at_calls(_merge([*cycles, *samples], {})), bool(samples)
    return placed_at_calls(_merge(cycles, _by_place(samples))), False


def _key(instruction: TracedInstruction) -> _Key:
    # Without addresses, instructions differ by their text and position.
    place = instruction.text + repr(instruction.source) if not instruction.address else ""
    return instruction.code_object, instruction.address, place


def _by_place(samples: Sequence[Trace]) -> dict[_Key, list[TracedInstruction]]:
    found: dict[_Key, list[TracedInstruction]] = {}
    for trace in samples:
        for instruction in trace.instructions:
            found.setdefault(_key(instruction), []).append(instruction)
    return found


def _merge(traces: Sequence[Trace], beside: dict[_Key, list[TracedInstruction]]) -> tuple[Instruction, ...]:
    """One list over all traces; `beside` are samples, also of instructions that were not traced."""
    merged: dict[_Key, list[TracedInstruction]] = {}
    keys: list[dict[int, _Key]] = []
    for trace in traces:
        of_line = {}
        for instruction in trace.instructions:
            key = _key(instruction)
            of_line[instruction.line] = key
            merged.setdefault(key, []).append(instruction)
        keys.append(of_line)
    index = {key: number for number, key in enumerate(sorted({*merged, *beside}))}
    waited: dict[int, dict[int, float]] = {}
    for trace, of_line in zip(traces, keys, strict=True):
        for instruction in trace.instructions:
            if not instruction.waited_for:
                continue
            into = waited.setdefault(index[of_line[instruction.line]], {})
            for line, cycles in instruction.waited_for.items():
                if line in of_line:
                    producer = index[of_line[line]]
                    into[producer] = into.get(producer, 0.0) + cycles
    return tuple(
        _instruction(number, key, merged.get(key, []), beside.get(key, []), waited.get(number, {}))
        for key, number in index.items()
    )


def _instruction(
    number: int,
    key: _Key,
    parts: Sequence[TracedInstruction],
    sampled: Sequence[TracedInstruction],
    waited: dict[int, float],
) -> Instruction:
    first = (parts or sampled)[0]
    return Instruction(
        index=number,
        address=first.address,
        code_object=key[0],
        text=first.text,
        source=first.source,
        hits=sum(i.hits for i in parts),
        lanes=sum(i.lanes for i in parts),
        latency=sum(i.latency for i in parts),
        stall=sum(i.stall for i in parts),
        stalls=add_stalls(i.stalls for i in parts),
        waited_for=waited,
        memory=_memory(parts),
        samples=_samples([*parts, *sampled]),
    )


def _memory(parts: Sequence[TracedInstruction]) -> MemoryPattern | None:
    patterns = [part.memory for part in parts if part.memory is not None]
    return sum_patterns(patterns) if patterns else None


def _samples(parts: Sequence[TracedInstruction]) -> Sampled | None:
    known = [part.samples for part in parts if part.samples is not None]
    if not known:
        return None
    return Sampled(
        total=sum(s.total for s in known),
        stalled=sum(s.stalled for s in known),
        reasons=add_stalls(s.reasons for s in known),
    )
