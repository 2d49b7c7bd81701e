"""`hipscope doctor`: the tools that were found, and how to get what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import Format, FormatOption, OutputOption, named_path
from hipscope.server.console.results import write_result
from hipscope.server.console.terminal import check_output, failures_reported

if TYPE_CHECKING:
    from rich.console import Console


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command()(doctor)


def doctor(
    program: Annotated[
        Path | None,
        typer.Argument(
            parser=named_path,
            metavar="PROGRAM",
            help="A compiled program: also say which of its libraries are not emulated.",
        ),
    ] = None,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Show the tools that were found, what works with them, and how to get what is missing."""
    with failures_reported():
        check_output(output, [program] if program else [])
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
