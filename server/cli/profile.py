"""`hipscope profile`: build, run, and show what the kernels wait for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.cli.options import (
    Arguments,
    Backend,
    BackendOption,
    DeviceOption,
    Format,
    FormatOption,
    KeepGoingOption,
    Source,
)
from hipscope.server.cli.terminal import failures_reported, result_stream, run_task, text_console

if TYPE_CHECKING:
    from hipscope.server.reports.schema.profile import Report


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command()(profile)


def profile(
    source: Source = Path(),
    program_args: Arguments = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="How many kernels to show.", show_default=False)
    ] = None,
    keep_going: KeepGoingOption = False,
    format: FormatOption = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result to this file.")
    ] = None,
) -> None:
    """Build and run a program and show what its kernels wait for."""
    with failures_reported():
        from hipscope.analysis.errors import ProgramFailed
        from hipscope.analysis.source.texts import SourceTexts
        from hipscope.server.jobs import tasks

        request = tasks.TaskRequest(
            source, tuple(program_args or ()), backend=backend.value, device=device, keep_going=keep_going
        )
        texts = SourceTexts()
        report = run_task(tasks.profile, request, texts)
        if top is not None:
            report = _longest(report, top, all_findings=format is not Format.JSON)
        with result_stream(output, format) as stream:
            if format is Format.JSON:
                from hipscope.server.render.json import render_json

                stream.write(render_json(report))
            else:
                from hipscope.server.render.text import render_profile

                render_profile(report, text_console(stream, output), texts, top)
        if (why := report.failure()) is not None:
            raise ProgramFailed(why, output=report.program.output)


def _longest(report: Report, count: int, *, all_findings: bool) -> Report:
    """The report of the kernels that took longest; `all_findings` keeps those of the others, too."""
    kernels = report.kernels[:count]
    names = {k.name for k in kernels}
    findings = tuple(f for f in report.findings if all_findings or f.kernel in names)
    return replace(report, kernels=kernels, findings=findings)
