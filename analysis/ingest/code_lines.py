"""Source lines for captures whose code was built without them, from the same code where it was built with them.

Takes the traces of a capture, its code objects and those of programs on this machine; gives the traces with the lines
of the line tables. Code is the same by its build id, where both have one, else by its instructions and constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.ingest.formats.traces import DAMAGE, Trace, TracedInstruction
from hipscope.analysis.profile import Frame
from hipscope.analysis.toolchain.code_object import machine_code
from hipscope.emulator.symbolize import Symbolizer

_NUMBER = re.compile(r"code_object_id_(\d+)\.out$")
_UNREADABLE = (HipscopeError, ELFError, OSError, *DAMAGE)


@dataclass(frozen=True)
class ProgramCode:
    """A code object of a program on this machine. The file is there until the next one is asked for."""

    program: Path
    file: Path


def with_lines(
    traces: Sequence[Trace], code_objects: Iterable[Path], programs: Iterable[ProgramCode]
) -> tuple[list[Trace], list[str]]:
    """The traces, and in words where lines came from. `programs` are looked at only where lines are missing."""
    wanted = _without_lines(traces)
    captured = {int(m[1]): p for p in code_objects if (m := _NUMBER.search(p.name)) and int(m[1]) in wanted}
    if not captured:
        return list(traces), []
    found: dict[int, Symbolizer] = {}
    notes: list[str] = []
    identities: dict[int, _Identity] = {}
    for number, path in captured.items():
        try:
            lines = Symbolizer(path)
            identities[number] = _Identity.of(path)
        except _UNREADABLE:
            continue  # a cut file: its line among the files of the capture says so
        if _knows_lines(lines, traces, number):
            found[number] = lines
            notes.append(f"lines are those of {path.name}: the trace has none")
    missing = {n: i for n, i in identities.items() if n not in found}
    for number, program, lines in _same_code(missing, programs, traces):
        found[number] = lines
        notes.append(
            f"lines of code object {number} are those of {program}: it holds the same code, with line tables"
        )
    return [_placed(trace, found) for trace in traces], notes


@dataclass(frozen=True)
class _Identity:
    """What tells whether two code objects are the same code."""

    build_id: str
    code: bytes

    @classmethod
    def of(cls, path: Path) -> _Identity:
        with path.open("rb") as stream:
            sections = ELFFile(stream).iter_sections()
            notes = [n for s in sections if isinstance(s, NoteSection) for n in s.iter_notes()]
        ids = [str(n["n_desc"]) for n in notes if n["n_type"] == "NT_GNU_BUILD_ID"]
        return cls(ids[0] if ids else "", machine_code(path))

    def is_same(self, other: _Identity) -> bool:
        if self.build_id and other.build_id:
            return self.build_id == other.build_id
        return bool(self.code) and self.code == other.code


def _same_code(
    missing: Mapping[int, _Identity], programs: Iterable[ProgramCode], traces: Sequence[Trace]
) -> Iterator[tuple[int, Path, Symbolizer]]:
    left = dict(missing)
    if not left:
        return
    for code in programs:
        try:
            identity, lines = _Identity.of(code.file), Symbolizer(code.file)
        except _UNREADABLE:
            continue  # no code object, or a damaged one
        for number in [n for n, other in left.items() if identity.is_same(other)]:
            if _knows_lines(lines, traces, number):
                del left[number]
                yield number, code.program, lines
        if not left:
            return


def _without_lines(traces: Sequence[Trace]) -> set[int]:
    """The code objects of which no instruction has a line."""
    placed: dict[int, bool] = {}
    for instruction in (i for t in traces for i in t.instructions if i.address):
        number = instruction.code_object
        placed[number] = placed.get(number, False) or bool(instruction.source)
    return {number for number, is_placed in placed.items() if not is_placed}


def _knows_lines(lines: Symbolizer, traces: Sequence[Trace], number: int) -> bool:
    return any(
        lines.positions(i.address)
        for t in traces
        for i in t.instructions
        if i.code_object == number and i.address
    )


def _placed(trace: Trace, found: Mapping[int, Symbolizer]) -> Trace:
    return replace(trace, instructions=tuple(_of(i, found.get(i.code_object)) for i in trace.instructions))


def _of(instruction: TracedInstruction, lines: Symbolizer | None) -> TracedInstruction:
    if lines is None or instruction.source or not instruction.address:
        return instruction
    chain = lines.positions(instruction.address)
    frames = tuple(Frame(file=p.file, line=p.line, column=p.column, function=p.function) for p in chain)
    return replace(instruction, source=frames)
