"""`hipscope doctor`: the tools that were found, and how to get what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import Format, FormatOption, OutputOption, named_path
from hipscope.server.console.results import write_result
from hipscope.server.console.terminal import (
    check_output,
    failures_reported,
    progress_shown,
    say,
    told,
    work_begun,
)

if TYPE_CHECKING:
    from rich.console import Console

REPORT = "hipscope-gpu-report.json"


def doctor(
    program: Annotated[
        Path | None,
        typer.Argument(
            parser=named_path,
            metavar="PROGRAM",
            help="A compiled program: also say which of its libraries are not emulated.",
        ),
    ] = None,
    gpu: Annotated[
        bool,
        typer.Option(
            "--gpu",
            help="Try each step of a measured profile on this machine's AMD GPU, and compare six kernels with the "
            f"emulator; {REPORT} is the report to send, or the file that -o names.",
        ),
    ] = False,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Show the tools that were found, what works with them, and how to get what is missing."""
    with failures_reported():
        check_output(output, [program] if program else [])
        if gpu:
            _check_gpu(format, output)
            return
        from rich.text import Text

        from hipscope.analysis.config import load_config
        from hipscope.analysis.runs.doctor import examine, works
        from hipscope.analysis.runs.library_calls import not_emulated, sentence
        from hipscope.server.render.doctor import doctor_report, render_tools

        said = sentence(program, not_emulated(program)) if program is not None else None
        tools = examine(load_config(Path.cwd()))

        def draw(console: Console) -> None:
            render_tools(tools, console)
            if said is not None:
                console.print(Text(said), soft_wrap=True)

        write_result(doctor_report(tools, said), draw, format, output)
        if not works(tools):
            raise typer.Exit(3)


def _check_gpu(format: Format, output: Path | None) -> None:
    """Show the check, and leave its record in a file to send."""
    from hipscope.analysis.run import Run
    from hipscope.analysis.runs.gpu_check import check_gpu
    from hipscope.server.render.doctor import gpu_check_report, render_gpu_check

    with work_begun() as cancel, progress_shown() as progress:
        check = check_gpu(Run(cancel, progress, tell=told))
    report = gpu_check_report(check)

    def draw(console: Console) -> None:
        render_gpu_check(check, console)

    if format is Format.TEXT:
        file = output or Path(REPORT)
        write_result(report, draw, Format.JSON, file)
        write_result(report, draw, format, None)
        say(f"the report to send is {file}: it has no variables, no user's name and none of the machine")
    else:
        write_result(report, draw, format, output)
    if not check.works:
        raise typer.Exit(1)
