"""Several programs on one command line: each is one run, and what fails of one leaves the others.

Takes a task and a request per program, gives each program's report or failure, in the order of the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import typer

from hipscope.server.console.options import Format
from hipscope.server.console.results import write_result
from hipscope.server.console.terminal import print_failure, progress_shown, work_begun

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.analysis.errors import HipscopeError
    from hipscope.analysis.run import Run
    from hipscope.analysis.source.texts import SourceTexts
    from hipscope.server.jobs.tasks import TaskRequest
    from hipscope.server.reports.schema.check import CheckReport
    from hipscope.server.reports.schema.optimize import Optimization
    from hipscope.server.reports.schema.profile import Report
    from hipscope.server.reports.schema.programs import ProgramsReport

R = TypeVar("R", "Report", "CheckReport", "Optimization")


@dataclass(frozen=True)
class ProgramResult(Generic[R]):
    """One program: its report, and the failure that ended it or that the report tells. `exit_code` is as if alone."""

    source: Path
    report: R | None
    failure: HipscopeError | None
    exit_code: int


def refuse_captures(paths: Sequence[Path]) -> None:
    """Raises UsageError for a path that is a capture or a saved report, with the command that shows it."""
    from hipscope.analysis.errors import UsageError
    from hipscope.server.jobs.opening import capture_kind

    for path in paths:
        if (kind := capture_kind(path)) is not None:
            raise UsageError(f"{path}: this is a {kind}, not a program", f"hipscope show {path}")


def run_programs(
    task: Callable[[TaskRequest, Run], R],
    requests: Sequence[TaskRequest],
    end: Callable[[R], None],
    jobs: int,
    texts: SourceTexts,
) -> list[ProgramResult[R]]:
    """Do the task for each request, `jobs` at a time. `end` raises what a report means for the exit code.

    Raises Cancelled when the user stops it.
    """
    from hipscope.analysis.errors import Cancelled, HipscopeError
    from hipscope.analysis.run import Run

    def one(request: TaskRequest, run: Run) -> ProgramResult[R]:
        report = None
        try:
            report = task(request, run)
            end(report)
        except Cancelled:
            raise
        except HipscopeError as failure:
            return ProgramResult(request.target, report, failure, failure.exit_code)
        except typer.Exit as left:
            return ProgramResult(request.target, report, None, left.exit_code)
        return ProgramResult(request.target, report, None, 0)

    with work_begun() as cancel, progress_shown() as progress, ThreadPoolExecutor(jobs) as pool:
        run = Run(cancel, progress, texts)
        return list(pool.map(lambda request: one(request, run), requests))


def write_programs(
    results: Sequence[ProgramResult[R]],
    draw: Callable[[R, Console], None],
    format: Format,
    output: Path | None,
    texts: SourceTexts | None = None,
) -> None:
    """Write all reports as one result, then leave with the worst exit code."""

    def draw_all(console: Console) -> None:
        from rich.text import Text

        for result in results:
            console.print(Text(f"{result.source}", "bold underline"))
            if result.report is not None:
                draw(result.report, console)
            if result.failure is not None:
                console.print(Text(f"failed: {result.failure.message}", "red"))
            console.print()

    write_result(programs_report(results), draw_all, format, output, texts)
    leave_with_worst(results)


def programs_report(results: Sequence[ProgramResult[R]]) -> ProgramsReport:
    """All of them as one record."""
    from hipscope.server.reports.schema.programs import ProgramError, ProgramReport, ProgramsReport

    rows = []
    for result in results:
        failure = result.failure
        error = ProgramError(failure.message, failure.hint) if failure is not None else None
        rows.append(ProgramReport(str(result.source), result.exit_code, error, result.report))
    return ProgramsReport(tuple(rows))


def leave_with_worst(results: Sequence[ProgramResult[R]]) -> None:
    """Print each failure, then leave with the worst exit code, if there is one."""
    for result in results:
        if result.failure is not None:
            print_failure(result.failure)
    if code := max(result.exit_code for result in results):
        raise typer.Exit(code)
