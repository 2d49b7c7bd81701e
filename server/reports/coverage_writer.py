"""What a program needs of the emulator as the `hipscope.coverage/1` record."""

from __future__ import annotations

from hipscope.analysis.runs.coverage import Coverage, NotExecuted
from hipscope.server.reports.schema.fields import record_of
from hipscope.server.reports.schema.machine.coverage import (
    CoverageReport,
    CoveredCode,
    CoveredFunction,
    MissingInstruction,
)


def coverage_report(found: Coverage) -> CoverageReport:
    """The record; `runtime` is None when there is no host binary."""
    codes = (
        record_of(
            CoveredCode,
            code,
            functions=tuple(
                record_of(CoveredFunction, f, not_executed=tuple(map(_missing, f.not_executed)))
                for f in code.functions
            ),
        )
        for code in found.code_objects
    )
    return record_of(CoverageReport, found, code_objects=tuple(codes))


def _missing(instruction: NotExecuted) -> MissingInstruction:
    first = instruction.positions[0] if instruction.positions else None
    return record_of(
        MissingInstruction,
        instruction,
        file=first.file if first else None,
        line=first.line if first else None,
    )
