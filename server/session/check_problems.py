"""A `hipscope.check/1` record as problems for the editor.

Takes the record, gives one problem for each report that has a source line. Light: the language server imports it.
"""

from __future__ import annotations

import os

from hipscope.analysis.source.texts import UNKNOWN_COLUMN, ByteColumn
from hipscope.server.reports.schema.check import CheckReport, DefectReport
from hipscope.server.session.known_profiles import Problem

_SECOND = {
    "data-race": "the other access",
    "stale-read": "stored here",
    "uninitialised-read": "loaded here",
    "divergent-barrier": "where the other wave is",
    "wave-synchronous": "the other lane's access",
}
_SHUFFLE = "ds_bpermute"  # the only one that is the other place of an uninitialised read without being a load


def second_place(report: DefectReport) -> str:
    """What the other place of a report is."""
    other = report.other
    if report.defect == "uninitialised-read" and other is not None and other.instruction.startswith(_SHUFFLE):
        return "taken from another lane here"
    return _SECOND.get(report.defect, "the other place")


def check_problems(report: CheckReport) -> tuple[Problem, ...]:
    """Errors for reports and faults; places of allocations and second accesses are related."""
    found = [_defect(row, row.at.file, row.at.line) for row in report.reports if row.at.file and row.at.line]
    for fault in report.faults:
        if fault.position is not None:
            file = os.path.realpath(fault.position.file)
            message = f"{fault.message} (kernel {fault.kernel})"
            found.append(Problem(file, fault.position.line, UNKNOWN_COLUMN, "error", message, "fault"))
    return tuple(found)


def _defect(row: DefectReport, file: str, line: int) -> Problem:
    related = []
    if row.other is not None and row.other.file and row.other.line:
        related.append((os.path.realpath(row.other.file), row.other.line, second_place(row)))
    if row.allocation is not None:
        for what, chain in (
            ("allocated here", row.allocation.allocated_at),
            ("freed here", row.allocation.freed_at),
        ):
            related += [(os.path.realpath(place.file), place.line, what) for place in chain[:1]]
    times = f", {row.count} times" if row.count > 1 else ""
    return Problem(
        os.path.realpath(file),
        line,
        ByteColumn(row.at.column) if row.at.column else UNKNOWN_COLUMN,
        "error",
        f"{row.message} (kernel {row.kernel}{times})",
        row.defect,
        tuple(related),
    )
