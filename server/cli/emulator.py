"""`hipscope emulator --coverage FILE`: what the emulator can run of a program, before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.cli.options import Format, FormatOption
from hipscope.server.cli.terminal import failures_reported, text_console


def add(app: typer.Typer) -> None:
    """Register the subcommand."""

    @app.command()
    def emulator(
        coverage: Annotated[
            Path,
            typer.Option(
                metavar="FILE|BINARY",
                help="A HIP source or directory (compiled for the device), a program, library, bundle or code object.",
            ),
        ],
        device: Annotated[
            str | None, typer.Option(help="GPU to compile a source for, such as mi210.", show_default=False)
        ] = None,
        format: FormatOption = Format.TEXT,
    ) -> None:
        """List the instructions and HIP calls that a program uses and that the emulator does not have."""
        with failures_reported():
            from hipscope.analysis.devices import find_device
            from hipscope.analysis.runs.coverage import examine_file
            from hipscope.analysis.toolchain.project import resolve_config

            config = resolve_config(coverage)
            if device is not None:
                config = config.model_copy(update={"device": device, "arch": find_device(device).arch})
            found = examine_file(coverage, config)
            if format is Format.JSON:
                from hipscope.server.render.json import render_json
                from hipscope.server.reports.coverage_writer import coverage_report

                sys.stdout.write(render_json(coverage_report(found)))
            else:
                from hipscope.server.render.coverage import render_coverage

                render_coverage(found, text_console(sys.stdout, None))
            if not found.complete:
                raise typer.Exit(1)
