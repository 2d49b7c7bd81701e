"""`hipscope prompt`: what a language model would be sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import (
    Backend,
    BackendOption,
    BenchOption,
    DeviceOption,
    Format,
    FormatOption,
    OutputOption,
    Source,
    program_arguments,
)
from hipscope.server.console.results import failure_written, write_result
from hipscope.server.console.terminal import check_output, failures_reported, run_task, say

if TYPE_CHECKING:
    from rich.console import Console


def prompt(
    context: typer.Context,
    source: Source = Path(),
    kernel: Annotated[
        str | None, typer.Option(help="This kernel; else the one with the worst finding.")
    ] = None,
    bench: BenchOption = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Show exactly what the language model would be sent for a kernel. Sends nothing."""
    with failures_reported():
        check_output(output, [source, *program_arguments(context)])
        from hipscope.analysis.system.python_packages import install_extra
        from hipscope.server.jobs import tasks

        request = tasks.TaskRequest(
            source,
            program_arguments(context),
            bench=bench,
            backend=backend.value,
            device=device,
            kernel=kernel,
        )
        with failure_written(source, format, output):
            report = run_task(tasks.prompt, request)

        def draw(console: Console) -> None:
            console.file.write(report.text + "\n")

        write_result(report, draw, format, output)
        if format is Format.JSON:
            return
        if not report.complete:
            say(f"Only the report; with `{install_extra('llm')}` the whole request is shown.")
        say(f"{report.profile_bytes} bytes of profile in, about {report.tokens} tokens out; nothing was sent")
