"""`hipscope doctor`: the tools that were found, and how to get what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.cli.options import Format, FormatOption, named_path
from hipscope.server.cli.terminal import failures_reported, text_console


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
) -> None:
    """Show the tools that were found, what works with them, and how to get what is missing."""
    with failures_reported():
        from hipscope.analysis.config import load_config
        from hipscope.analysis.runs.doctor import examine, works
        from hipscope.analysis.runs.library_calls import not_emulated, sentence
        from hipscope.server.render.doctor import render_tools, tools_object
        from hipscope.server.render.json import render_json

        said = sentence(program, not_emulated(program)) if program is not None else None
        tools = examine(load_config(Path.cwd()))
        if format is Format.JSON:
            sys.stdout.write(render_json(tools_object(tools, said)))
        else:
            render_tools(tools, text_console(sys.stdout, None))
            sys.stdout.write(f"{said}\n" if said is not None else "")
        if not works(tools):
            raise typer.Exit(3)
