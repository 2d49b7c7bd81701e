"""`hipscope validate --kernel NAME REFERENCE CANDIDATE`: are two kernels, in sources or programs, the same function?"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.cli.options import Arguments, DeviceOption, named_path
from hipscope.server.cli.terminal import failures_reported, result_stream, run_task


class VerdictFormat(StrEnum):
    """What the verdict looks like."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


def add(app: typer.Typer) -> None:
    """Register the subcommand."""

    @app.command()
    def validate(  # one parameter per option of the command
        kernel: Annotated[str, typer.Option(help="The kernel's name in the source.")],
        reference: Annotated[
            Path, typer.Argument(parser=named_path, metavar="REFERENCE", help="A program: source or binary.")
        ],
        candidate: Annotated[
            Path,
            typer.Argument(
                parser=named_path,
                metavar="CANDIDATE",
                help="A source, binary or code object with the kernel.",
            ),
        ],
        program_args: Arguments = None,
        tolerance: Annotated[
            list[str] | None,
            typer.Option(metavar="ARG=RTOL[,ATOL]", help="What the floats of one argument may be off."),
        ] = None,
        exact: Annotated[bool, typer.Option("--exact", help="Ask for the same bits.")] = False,
        device: DeviceOption = None,
        format: Annotated[
            VerdictFormat, typer.Option("--format", help="How to show it.")
        ] = VerdictFormat.TEXT,
        output: Annotated[
            Path | None, typer.Option("-o", "--output", help="Write the result to this file.")
        ] = None,
    ) -> None:
        """Run two versions of a kernel on the same launches; exit code 0 if they do the same, 1 if not."""
        with failures_reported():
            from hipscope.accordo.compare.tolerance import parse_tolerance
            from hipscope.analysis.run import Run
            from hipscope.server.jobs import tasks
            from hipscope.server.render import verdict as draw
            from hipscope.server.reports.schema.verdict import VerdictReport

            request = tasks.TaskRequest(reference, tuple(program_args or ()), device=device, kernel=kernel)
            allowed = dict(parse_tolerance(text) for text in tolerance or ())
            comparison = tasks.Comparison(candidate, allowed, exact)

            def work(given: tasks.TaskRequest, run: Run) -> VerdictReport:
                return tasks.validate(given, comparison, run)

            report = run_task(work, request)
            with result_stream(output, format) as stream:
                stream.write(draw.DRAWN[format.value](report))
            sys.stdout.flush()
            if report.outcome != "equivalent":
                raise typer.Exit(1)
