"""Single views of a report that is shown in a terminal: one source line in words, one kernel's machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hipscope.analysis.errors import UsageError
from hipscope.server.render import words
from hipscope.server.render.blocks import Block, Heading
from hipscope.server.render.views.explanation import explanation
from hipscope.server.reports.schema.isa import IsaInstruction, IsaReport
from hipscope.server.reports.schema.profile import Report

_TEXT_WIDTH = 60


def line_blocks(report: Report, place: str) -> list[Block]:
    """What a line costs in each kernel, and why. `place` is FILE:LINE, of which FILE may be the end of a path.

    Raises UsageError for a place that is none, and for a line that costs nothing.
    """
    name, _, number = place.rpartition(":")
    if not name or not number.isdecimal():
        raise UsageError(f"{place!r} is no line", "name it as FILE:LINE, such as transpose.hip:12")
    file, line = _file_with_costs(report, name), int(number)
    rows = next((hot.costs for hot in report.hot_lines(file) if hot.number == line), ())
    if not rows:
        hot = sorted(report.hot_lines(file), key=lambda one: -(one.share or 0.0))[:5]
        raise UsageError(
            f"{place}: the line takes no time in this profile",
            f"the costliest lines are {', '.join(str(one.number) for one in hot)}",
        )
    blocks: list[Block] = []
    for kernel, row in rows:
        own = [f for f in report.findings_in(file) if f.line == line and kernel.mangled in f.mangled_names]
        blocks.append(Heading(f"Line {line} of {report.short_name(kernel)}"))
        blocks += explanation(report, kernel, row, own, (), None)
    return blocks


def _file_with_costs(report: Report, name: str) -> str:
    files = sorted({line.file for kernel in report.kernels for line in kernel.lines if line.file})
    ending = f"/{name.removeprefix('./').removeprefix('/')}"
    found = [name] if name in files else [file for file in files if file.endswith(ending)]
    if len(found) != 1:
        raise UsageError(
            f"the profile has {'no' if not found else 'several'} files {name!r} with costs",
            f"its files: {', '.join(files[:8]) or 'none: it has no costs of single lines'}",
        )
    return found[0]


def isa_lines(code: IsaReport) -> list[str]:
    """Assembler with comments: share of the kernel's time, what it waits for, whom for, and the source line."""
    places = {one.index: row for row, one in enumerate(code.instructions, 2)}
    unit = "samples" if code.sampled else "cycles"
    head = f"; {code.kernel}: {len(code.instructions)} instructions, {code.provenance} {unit}"
    return [head, *(_instruction(one, places) for one in code.instructions)]


def _instruction(one: IsaInstruction, places: Mapping[int, int]) -> str:
    others = {name: cycles for name, cycles in one.waited_for.items() if int(name) != one.index}
    producer = max(others, key=lambda name: others[name]) if others else None
    waited = places.get(int(producer)) if producer is not None else None
    notes = instruction_notes(one.share, one.stalls, waited)
    if one.file:
        notes.append(f"{one.file.rpartition('/')[2]}:{one.line}")
    return commented(one.text, notes)


def instruction_notes(share: float, stalls: Mapping[str, float], waited: int | None) -> list[str]:
    """An instruction's share, what it waits for most, and the line of the listing that makes it."""
    notes = [words.percent(share)] if share >= 0.005 else []
    if stalls:
        reason = max(stalls, key=lambda name: stalls[name])
        notes += [words.reason(reason)] if stalls[reason] else []
    return notes + ([f"waits for line {waited}"] if waited is not None else [])


def commented(text: str, notes: Sequence[str]) -> str:
    """An instruction with its comment."""
    comment = f"; {' · '.join(notes)}" if notes else ""
    return f"{text:<{_TEXT_WIDTH}} {comment}".rstrip()
