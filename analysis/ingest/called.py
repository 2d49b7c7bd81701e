"""Library code without lines stands where it is called: `printf`, `assert`, `malloc`, functions of a device library.

Takes a kernel's instructions in address order, gives them with the source of the call where all calls of their
function come from one line of the program. Targets of calls are known where the address is computed from the program
counter (`s_getpc_b64`, `s_add_u32`), as the compiler does within a code object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hipscope.analysis.profile import Frame, Instruction

_COUNTER = re.compile(r"s_getpc_b64 (s\[\d+:\d+\])")
_OFFSET = re.compile(r"s_add_u32 s\d+, s\d+, (0x[0-9a-f]+|-?\d+)\b")
_MOVE = re.compile(r"s_mov_b64 (s\[\d+:\d+\]), (s\[\d+:\d+\])")
_CALL = re.compile(r"s_swappc_b64 s\[\d+:\d+\], (s\[\d+:\d+\])")

_Place = tuple[int, int]  # code object, address
_Source = tuple[Frame, ...]


def placed_at_calls(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """The instructions; those without a source get the one of the line that calls their function, if it is one."""
    if all(i.source for i in instructions):
        return tuple(instructions)
    calls = _calls(instructions)
    if not calls:
        return tuple(instructions)
    function = _functions(instructions, {target for target in calls.values() if target})
    callers: dict[_Place, list[Instruction]] = {}
    for index, target in calls.items():
        callers.setdefault(target, []).append(instructions[index])

    def sources(start: _Place, above: frozenset[_Place]) -> set[_Source]:
        found: set[_Source] = set()
        for call in callers.get(start, ()):
            if call.source:
                found.add(call.source)
            elif (outer := function.get(call.index)) is not None and outer not in above:
                found |= sources(outer, above | {outer})
        return found

    places = {start: sources(start, frozenset({start})) for start in set(function.values())}
    return tuple(
        _placed(i, places.get(function[i.index], set()) if i.index in function else set())
        for i in instructions
    )


def _placed(instruction: Instruction, sources: set[_Source]) -> Instruction:
    lines = {(frame.file, frame.line) for source in sources for frame in source[-1:]}
    if instruction.source or len(lines) != 1:
        return instruction
    return instruction.model_copy(update={"source": min(sources, key=lambda s: (len(s), repr(s)))})


def _calls(instructions: Sequence[Instruction]) -> Mapping[int, _Place]:
    """Where calls go, by index of the call."""
    calls: dict[int, _Place] = {}
    held: dict[str, _Place] = {}
    for before, i in zip((None, *instructions), instructions, strict=False):
        if (
            (offset := _OFFSET.match(i.text))
            and before is not None
            and (counter := _COUNTER.match(before.text))
        ):
            low = int(offset[1], 0)
            distance = low - (1 << 32) if low >= 1 << 31 else low
            # s_getpc_b64 gives the address of the instruction behind it; s_add_u32 is told the distance from its
            # literal, which lies 4 bytes on.
            held[counter[1]] = (i.code_object, i.address + distance)
        elif (move := _MOVE.match(i.text)) and move[2] in held:
            held[move[1]] = held[move[2]]
        elif (call := _CALL.match(i.text)) and call[1] in held:
            calls[i.index] = held[call[1]]
    return calls


def _functions(instructions: Sequence[Instruction], starts: set[_Place]) -> Mapping[int, _Place]:
    """The called function in which an instruction without a source lies, by the instruction's index."""
    found: dict[int, _Place] = {}
    current: _Place | None = None
    for i in instructions:
        if (i.code_object, i.address) in starts:
            current = (i.code_object, i.address)
        if i.source or (current is not None and current[0] != i.code_object):
            current = None
        elif current is not None:
            found[i.index] = current
    return found
