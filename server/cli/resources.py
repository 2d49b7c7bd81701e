"""`hipscope resources`: what each kernel needs of the GPU and what is noted at its source, without running anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import (
    BenchOption,
    DeviceOption,
    Format,
    FormatOption,
    OutputOption,
    Sources,
    sources_or_here,
)
from hipscope.server.console.results import write_result
from hipscope.server.console.terminal import check_output, failures_reported, print_failure, run_task

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.analysis.errors import HipscopeError
    from hipscope.analysis.source.texts import SourceTexts
    from hipscope.server.jobs.tasks import TaskRequest
    from hipscope.server.reports.schema.resources import ResourcesReport, SourceResources

LIMIT_PASSED = 5


def resources(
    sources: Sources = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="LIMITS",
            help="Leave with 5 when a kernel passes one of these, with commas: 'spills>0,vgprs>128,occupancy<4'. "
            "Names: vgprs, agprs, registers, sgprs, spills, scratch, lds, occupancy, notes.",
        ),
    ] = None,
    bench: BenchOption = None,
    device: DeviceOption = None,
    format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Compile only, and show registers, spills, scratch, LDS and occupancy of every kernel and template instance."""
    with failures_reported():
        check_output(output)
        from hipscope.analysis.errors import BuildFailed
        from hipscope.analysis.source.texts import SourceTexts
        from hipscope.server.jobs import tasks
        from hipscope.server.render.resources import render_resources
        from hipscope.server.reports.resource_limits import parse_limits, passed

        limits = parse_limits(fail_on or "")
        texts = SourceTexts()
        asked = [tasks.TaskRequest(s, bench=bench, device=device) for s in sources_or_here(sources)]
        report, failures = _all(asked, texts)
        if len(asked) == 1 and failures:
            raise failures[0]
        report = replace(report, exceeded=passed(limits, report))

        def draw(console: Console) -> None:
            render_resources(report, console)

        write_result(report, draw, format, output)
        for failure in failures:
            print_failure(failure)
        broken = [
            BuildFailed.exit_code for source in report.sources if source.error is not None and source.notes
        ]
        if codes := [*(failure.exit_code for failure in failures), *broken]:
            raise typer.Exit(max(codes))
        if report.exceeded:
            raise typer.Exit(LIMIT_PASSED)


def _all(asked: list[TaskRequest], texts: SourceTexts) -> tuple[ResourcesReport, list[HipscopeError]]:
    """The report of all programs, and what failed: one that does not compile leaves the others."""
    from hipscope.analysis.errors import Cancelled, HipscopeError
    from hipscope.server.jobs import tasks
    from hipscope.server.reports.schema.programs import ProgramError
    from hipscope.server.reports.schema.resources import ResourcesReport, SourceResources

    rows: list[SourceResources] = []
    failures: list[HipscopeError] = []
    device = arch = ""
    for request in asked:
        try:
            one = run_task(tasks.resources, request, texts)
        except Cancelled:
            raise
        except HipscopeError as failure:
            failures.append(failure)
            error = ProgramError(failure.message, failure.hint)
            rows.append(SourceResources(str(request.target), (), (), None, error))
            continue
        device, arch = one.device, one.arch
        rows += one.sources
    return ResourcesReport(device, arch, tuple(rows), ()), failures
