"""`hipscope validate --kernel NAME REFERENCE CANDIDATE`: are two kernels, in sources or programs, the same function?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.console.manner import MANNER
from hipscope.server.console.options import (
    Backend,
    BackendOption,
    BenchOption,
    DeviceOption,
    Format,
    FormatOption,
    OutputOption,
    emulator_only,
    named_path,
    program_arguments,
)
from hipscope.server.console.results import failure_written
from hipscope.server.console.terminal import check_output, failures_reported, result_stream, run_task


def validate(  # one parameter per option of the command
    context: typer.Context,
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
    tolerance: Annotated[
        list[str] | None,
        typer.Option(metavar="ARG=RTOL[,ATOL]", help="What the floats of one argument may be off."),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Ask for the same bits.")] = False,
    bench: BenchOption = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Run two versions of a kernel on the same launches; exit code 0 if they do the same, 1 if not."""
    with failures_reported():
        check_output(output, [reference, candidate, *program_arguments(context)])
        emulator_only(backend, "validate")
        from hipscope.accordo.compare.tolerance import parse_tolerance
        from hipscope.analysis.run import Run
        from hipscope.server.jobs import tasks
        from hipscope.server.render import verdict as draw
        from hipscope.server.reports.schema.verdict import VerdictReport

        request = tasks.TaskRequest(
            reference, program_arguments(context), bench=bench, device=device, kernel=kernel
        )
        allowed = dict(parse_tolerance(text) for text in tolerance or ())
        comparison = tasks.Comparison(candidate, allowed, exact)

        def work(given: tasks.TaskRequest, run: Run) -> VerdictReport:
            return tasks.validate(given, comparison, run)

        with failure_written(reference, format, output):
            report = run_task(work, request)
        with result_stream(output, format) as stream:
            stream.write(draw.drawn(report, format.value, verbose=MANNER.get().verbose))
        sys.stdout.flush()
        if report.outcome != "equivalent":
            raise typer.Exit(1)
