"""`hipscope check`: run programs under the sanitizers of the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import (
    Backend,
    BackendOption,
    BenchOption,
    DeviceOption,
    FindingsFormatOption,
    Format,
    JobsOption,
    KeepGoingOption,
    OutputOption,
    Sources,
    emulator_only,
    program_arguments,
    sources_or_here,
)
from hipscope.server.console.programs import run_programs, write_programs
from hipscope.server.console.results import failure_written, write_result
from hipscope.server.console.terminal import check_output, failures_reported, run_task

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.server.reports.schema.check import CheckReport


def check(
    context: typer.Context,
    sources: Sources = None,
    checks: Annotated[
        str,
        typer.Option(
            help="all, or some of bounds, races, barriers, alignment, stale, uninitialised (with commas)."
        ),
    ] = "all",
    bench: BenchOption = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    keep_going: KeepGoingOption = False,
    jobs: JobsOption = 1,
    format: FindingsFormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Build and run programs and report what their kernels do wrong: stray accesses, races, divergent barriers."""
    with failures_reported():
        check_output(output, [*(sources or ()), *program_arguments(context)])
        emulator_only(backend, "check")
        from hipscope.analysis.source.texts import SourceTexts
        from hipscope.server.jobs import tasks

        texts = SourceTexts()
        requests = [
            tasks.TaskRequest(
                source,
                program_arguments(context),
                bench=bench,
                device=device,
                checks=checks,
                keep_going=keep_going,
            )
            for source in sources_or_here(sources)
        ]

        def draw(report: CheckReport, console: Console) -> None:
            from hipscope.server.render.check import render_check

            render_check(report, console, texts)

        if len(requests) > 1:
            write_programs(
                run_programs(tasks.check, requests, _end, jobs, texts), draw, format, output, texts
            )
            return
        with failure_written(requests[0].target, format, output):
            report = run_task(tasks.check, requests[0], texts)
        write_result(report, lambda console: draw(report, console), format, output, texts)
        _end(report)


def _end(report: CheckReport) -> None:
    """Leaves with 1 when there is a defect; raises ProgramFailed when the program failed without one."""
    from hipscope.analysis.errors import ProgramFailed

    if report.reports or report.notes:
        raise typer.Exit(1)
    if report.failure or not all(fault.refused for fault in report.faults):
        why = report.failure or "a kernel was stopped by a fault"
        raise ProgramFailed(why, output=report.program.output)
