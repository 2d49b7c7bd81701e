"""The defects of kernels as notes at their places: what `check` finds of them, and code that takes a wave for 32 lanes.

Takes a project and the names of kernels, gives notes. The program is built and run once more, under the sanitizers.
"""

from __future__ import annotations

from collections.abc import Collection

from hipscope.analysis.errors import Cancelled, HipscopeError
from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.run import Run
from hipscope.analysis.runs.check_project import check_project
from hipscope.analysis.runs.inspect_project import wave_notes
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.sanitize import AccessPlace, SanitizerReport


def wave_defects(project: Project, run: Run) -> list[SourceNote]:
    """Code of the project that takes a wave for 32 lanes, where the text says so for certain."""
    return [note for note in wave_notes(project, run) if note.severity == "warning"]


def kernel_defects(
    project: Project, kernels: Collection[str], run: Run, stop: Run
) -> tuple[list[SourceNote], str | None]:
    """What is wrong with the kernels of these names, and why it is not known whether more is, if so.

    The run under the sanitizers ends with `stop`. Raises Cancelled when the request itself is cancelled.
    """
    notes = wave_defects(project, run)
    names = {base_name(name) for name in kernels}
    try:
        found = check_project(project, stop)
    except Cancelled:
        run.check()
        return notes, "the time was up before the kernel was checked for defects: hipscope check"
    except HipscopeError as error:
        return notes, f"the kernel was not checked for defects: {error.message}"
    reports = [r for r in found.run.reports if base_name(r.kernel) in names]
    return [*filter(None, map(_note, reports)), *notes], None


def _note(report: SanitizerReport) -> SourceNote | None:
    """A report of the sanitizers at its line; None without one."""
    place = report.at.position
    if place is None:
        return None
    times = f" ({report.count:,} times)" if report.count > 1 else ""
    name = base_name(report.kernel)
    other = _other(report.other)
    message = f"{report.message}{times}"
    return SourceNote(
        report.defect, "warning", message, name, place.file, place.line, place.column, related=other
    )


def _other(place: AccessPlace | None) -> tuple[tuple[str, int, str], ...]:
    position = place.position if place is not None else None
    return ((position.file, position.line, "the other place"),) if position is not None else ()
