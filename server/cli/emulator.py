"""`hipscope emulator --coverage FILE`: what the emulator can run of a program, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import Format, FormatOption, OutputOption, named_path
from hipscope.server.console.results import failure_written, write_result
from hipscope.server.console.terminal import check_output, failures_reported, work_begun

if TYPE_CHECKING:
    from rich.console import Console


def emulator(
    coverage: Annotated[
        Path,
        typer.Option(
            parser=named_path,
            metavar="FILE|BINARY",
            help="A HIP source or directory (compiled for the device), a program, library, bundle or code object.",
        ),
    ],
    device: Annotated[str | None, typer.Option(help="GPU to compile a source for, such as mi210.")] = None,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """List the instructions and HIP calls that a program uses and that the emulator does not have."""
    with failures_reported():
        check_output(output, [coverage])
        from hipscope.analysis.devices import find_device
        from hipscope.analysis.runs.coverage import examine_file
        from hipscope.analysis.toolchain.project import resolve_config
        from hipscope.server.render.coverage import render_coverage
        from hipscope.server.reports.coverage_writer import coverage_report

        with failure_written(coverage, format, output), work_begun():
            config = resolve_config(coverage)
            if device is not None:
                config = config.model_copy(update={"device": device, "arch": find_device(device).arch})
            found = examine_file(coverage, config)

        def draw(console: Console) -> None:
            render_coverage(found, console)

        write_result(coverage_report(found), draw, format, output)
        if not found.complete:
            raise typer.Exit(1)
