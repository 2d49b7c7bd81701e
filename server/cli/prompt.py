"""`hipscope prompt`: what a language model would be sent."""

from __future__ import annotations

import sys
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
from hipscope.server.cli.terminal import failures_reported, run_task


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command()(prompt)


def prompt(
    source: Source = Path(),
    program_args: Arguments = None,
    kernel: Annotated[
        str | None, typer.Option(help="This kernel; else the one with the worst finding.", show_default=False)
    ] = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show exactly what the language model would be sent for a kernel. Sends nothing."""
    with failures_reported():
        from hipscope.analysis.system.python_packages import install_extra
        from hipscope.server.jobs import tasks

        request = tasks.TaskRequest(
            source, tuple(program_args or ()), backend=backend.value, device=device, kernel=kernel
        )
        report = run_task(tasks.prompt, request)
        if format is Format.JSON:
            from hipscope.server.render.json import render_json

            sys.stdout.write(render_json(report))
            return
        sys.stdout.write(report.text + "
")
        if not report.complete:
            sys.stderr.write(f"Only the report; with `{install_extra('llm')}` the whole request is shown.
")
        sys.stderr.write(
            f"{report.profile_bytes} bytes of profile in, about {report.tokens} tokens out; nothing was sent\n"
        )
