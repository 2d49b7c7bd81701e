"""What the sanitizers found as the `hipscope.check/1` record.

Takes a `CheckResult`, gives the record that the command line prints and the worker sends to the language server.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.runs import check_project
from hipscope.analysis.source.texts import SourceTexts
from hipscope.emulator import sanitize
from hipscope.server.reports.resources_writer import compile_note
from hipscope.server.reports.schema.check import (
    CheckReport,
    CodePosition,
    DefectReport,
    DefectSite,
    KernelStop,
)
from hipscope.server.reports.schema.fields import record_of
from hipscope.server.reports.schema.profile import Program


def check_report(
    result: check_project.CheckResult, notes: Iterable[SourceNote], texts: SourceTexts
) -> CheckReport:
    """The record with what the text itself says is wrong. Paths are absolute, lines and columns count from 1."""
    run = result.run
    return CheckReport(
        checks=tuple(run.checks),
        dispatches=run.dispatches,
        reports=tuple(_report(r) for r in run.reports),
        left_out=run.left_out,
        faults=tuple(record_of(KernelStop, fault) for fault in result.faults),
        program=Program(tuple(result.argv), result.exit_code, result.output, None, None),
        failure=result.failure,
        notes=tuple(compile_note(note, texts) for note in notes),
    )


def _report(report: sanitize.SanitizerReport) -> DefectReport:
    return record_of(
        DefectReport,
        report,
        mangled=report.kernel_symbol,
        at=_access(report.at),
        other=_access(report.other) if report.other else None,
    )


def _access(place: sanitize.AccessPlace) -> DefectSite:
    position = place.position
    return record_of(
        DefectSite,
        place,
        file=str(Path(position.file)) if position else None,
        line=position.line if position else None,
        column=position.column if position else None,
        chain=tuple(record_of(CodePosition, p) for p in place.chain),
    )
