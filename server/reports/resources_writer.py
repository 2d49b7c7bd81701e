"""What was seen of a program without a run as the `hipscope.resources/1` record.

Takes an `Inspection`, gives the record that the command line prints and the worker sends to the language server.
"""

from __future__ import annotations

from collections.abc import Iterable

from hipscope.analysis.config import Config
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.inspection.kernel_resources import KernelNeeds
from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.runs.inspect_project import Inspection
from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.reports.schema.fields import record_of
from hipscope.server.reports.schema.notes import CompileNote, NotePlace
from hipscope.server.reports.schema.programs import ProgramError
from hipscope.server.reports.schema.resources import KernelResources, ResourcesReport, SourceResources


def resources_report(source: str, found: Inspection, texts: SourceTexts) -> ResourcesReport:
    """The record of one program."""
    kernels = tuple(_kernel(row) for row in found.kernels)
    notes = tuple(compile_note(note, texts) for note in found.notes)
    one = SourceResources(source, kernels, notes, found.left_out, None)
    return ResourcesReport(found.device, found.arch, (one,), ())


def failed_report(
    source: str, config: Config, notes: Iterable[SourceNote], failure: BuildFailed, texts: SourceTexts
) -> ResourcesReport:
    """The record of a program that does not compile: what is noted may be why."""
    error = ProgramError(failure.message, failure.hint)
    shown = tuple(compile_note(note, texts) for note in notes)
    return ResourcesReport(config.device, config.arch, (SourceResources(source, (), shown, None, error),), ())


def compile_note(note: SourceNote, texts: SourceTexts) -> CompileNote:
    """The record of a note."""
    related = tuple(NotePlace(*place) for place in note.related)
    return record_of(CompileNote, note, related=related, sha256=texts.digest(note.file) or "")


def _kernel(row: KernelNeeds) -> KernelResources:
    return record_of(KernelResources, row)
