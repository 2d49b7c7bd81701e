"""`hipscope.programs/1`: the reports of several programs that one command was given; `hipscope.failure/1`: none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.reports.schema.profile import Report

PROGRAMS_SCHEMA = "hipscope.programs/1"
FAILURE_SCHEMA = "hipscope.failure/1"


@dataclass(frozen=True, slots=True)
class ProgramError:
    """Why a program has no report, or what its report says went wrong; `hint` is what to do."""

    message: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class FailureReport:
    """In place of the result of a command on one program: why there is none, and the command's exit code."""

    TAG: ClassVar = ("schema", FAILURE_SCHEMA)
    source: str
    exit_code: int
    error: ProgramError


@dataclass(frozen=True, slots=True)
class ProgramReport:
    """One program; `exit_code` is what the command would have left with for it alone."""

    source: str
    exit_code: int
    error: ProgramError | None
    report: Report | CheckReport | Optimization | None


@dataclass(frozen=True, slots=True)
class ProgramsReport:
    """All programs, in the order of the command line."""

    TAG: ClassVar = ("schema", PROGRAMS_SCHEMA)
    programs: tuple[ProgramReport, ...]
