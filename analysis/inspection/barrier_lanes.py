"""Barriers that only a part of a wave's lanes reached in the run that was profiled.

Takes a kernel whose lanes were counted, gives a note for each such line. A wave that ended as a whole is not missed: it
reaches no barrier, and the hardware counts the waves that are left (CDNA3 ISA, s_barrier).
"""

from __future__ import annotations

from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.profile import Instruction, Kernel
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import Barrier
from hipscope.analysis.source.texts import SourceTexts

_BARRIER = "s_barrier"


def divergent_barriers(kernel: Kernel, texts: SourceTexts) -> list[SourceNote]:
    """One note for each source line with such a barrier, top to bottom; none where lanes were not counted.

    In a launch whose workgroups are no multiple of a wave, the last wave has fewer lanes. Only what is below even that
    counts, so that no barrier is named by mistake.
    """
    least = _fewest_lanes(kernel)
    missing: dict[tuple[str, int], tuple[int, int]] = {}
    for i in kernel.instructions:
        frame = user_frame(i.source)
        lost = i.hits * least - i.lanes
        if frame is None or not i.lanes or lost <= 0 or not _is_barrier(i):
            continue
        known, hits = missing.get((frame.file, frame.line), (0, 0))
        missing[frame.file, frame.line] = (known + lost, hits + i.hits)
    return [_note(kernel, place, *lost, texts) for place, lost in sorted(missing.items())]


def _is_barrier(instruction: Instruction) -> bool:
    return instruction.text.split(" ", 1)[0] == _BARRIER


def _fewest_lanes(kernel: Kernel) -> int:
    """The fewest lanes that a wave of the profiled launches began with; 0 where that is not known."""
    size = kernel.resources.wave_size
    items = [d.workgroup[0] * d.workgroup[1] * d.workgroup[2] for d in kernel.dispatches if d.profiled]
    if size is None:
        return 0
    return min((n % size or min(n, size) for n in items), default=0)


def _note(kernel: Kernel, place: tuple[str, int], lost: int, hits: int, texts: SourceTexts) -> SourceNote:
    file, line = place
    lanes = "1 lane was" if lost == 1 else f"{lost:,} lanes were"
    barrier = _in_source(kernel, file, line, texts)
    why = f": {barrier.divergent.sentence}" if barrier is not None and barrier.divergent is not None else ""
    return SourceNote(
        "divergent-barrier",
        "warning",
        f"some waves reach this barrier with a part of their lanes ({lanes} missing in {hits:,} arrivals of waves)"
        f"{why}. That is undefined in HIP: let every thread of the workgroup reach it, and guard the work instead",
        base_name(kernel.name),
        file,
        line,
    )


def _in_source(kernel: Kernel, file: str, line: int, texts: SourceTexts) -> Barrier | None:
    """The barrier on that line of the kernel, as the text has it."""
    text = texts.read(file)
    syntax = parse(text).kernel(base_name(kernel.name)) if text is not None else None
    return next((b for b in syntax.barriers if b.span.line == line), None) if syntax is not None else None
