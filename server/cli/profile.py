"""`hipscope profile`: build, run, and show what the kernels wait for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.cli.options import (
    Arguments,
    Backend,
    BackendOption,
    DeviceOption,
    Format,
    FormatOption,
    Source,
)
from hipscope.server.cli.terminal import failures_reported, result_stream, run_task, text_console


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
        from hipscope.server.reports.profile_reader import read_report

        request = tasks.Request(source, tuple(program_args or ()), backend=backend.value, device=device)
        texts = SourceTexts()
        report = run_task(tasks.profile, request, texts)
        if top is not None:
            report["kernels"] = report["kernels"][:top]
            shown = {k["name"] for k in report["kernels"]} if format is Format.JSON else None
            report["findings"] = [f for f in report["findings"] if shown is None or f["kernel"] in shown]
        view = read_report(report)
        with result_stream(output, format) as stream:
            if format is Format.JSON:
                from hipscope.server.render.json import render_json

                stream.write(render_json(report))
            else:
                from hipscope.server.render.text import render_profile

                render_profile(view, text_console(stream, output), texts, top)
        if (why := view.failure()) is not None:
            raise ProgramFailed(why, output=str(view.program.get("output", "")))
