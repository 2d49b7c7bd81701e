"""`hipscope check`: run a program under the sanitizers of the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.cli import options, terminal


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command()(check)


def check(
    source: options.Source,
    program_args: options.Arguments = None,
    checks: Annotated[
        str,
        typer.Option(
            help="all, or some of bounds, races, barriers, alignment, stale, uninitialised (with commas)."
        ),
    ] = "all",
    device: options.DeviceOption = None,
    keep_going: options.KeepGoingOption = False,
    format: options.FormatOption = options.Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result to this file.")
    ] = None,
) -> None:
    """Build and run a program and report what its kernels do wrong: stray accesses, races, divergent barriers."""
    with terminal.failures_reported():
        from hipscope.analysis.errors import ProgramFailed
        from hipscope.analysis.source.texts import SourceTexts
        from hipscope.server.jobs import tasks

        request = tasks.TaskRequest(
            source, tuple(program_args or ()), device=device, checks=checks, keep_going=keep_going
        )
        texts = SourceTexts()
        report = terminal.run_task(tasks.check, request, texts)
        with terminal.result_stream(output, format) as stream:
            if format is options.Format.JSON:
                from hipscope.server.render.json import render_json

                stream.write(render_json(report))
            else:
                from hipscope.server.render.check import render_check

                render_check(report, terminal.text_console(stream, output), texts)
        if report.reports:
            raise typer.Exit(1)
        if report.failure or not all(fault.refused for fault in report.faults):
            why = report.failure or "a kernel was stopped by a fault"
            raise ProgramFailed(why, output=report.program.output)
