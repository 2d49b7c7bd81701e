"""`hipscope profile`: build, run, and show what the kernels wait for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.history_rows import keep
from hipscope.server.console.manner import MANNER
from hipscope.server.console.options import (
    Backend,
    BackendOption,
    BenchOption,
    DeviceOption,
    FindingsFormatOption,
    Format,
    JobsOption,
    KeepGoingOption,
    OutputOption,
    Sources,
    program_arguments,
    sources_or_here,
)
from hipscope.server.console.programs import refuse_captures, run_programs, write_programs
from hipscope.server.console.results import check_format, failure_written, write_result
from hipscope.server.console.terminal import check_output, failures_reported, run_task

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from hipscope.analysis.run import Run
    from hipscope.server.jobs.tasks import TaskRequest
    from hipscope.server.reports.schema.isa import IsaReport
    from hipscope.server.reports.schema.profile import Report

_EMULATOR_SAYS = "hipscope emulator: kernel "


def profile(
    context: typer.Context,
    sources: Sources = None,
    bench: BenchOption = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    top: Annotated[int | None, typer.Option(min=1, help="How many kernels to show.")] = None,
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="NAME", help="Show this kernel only."),
    ] = None,
    keep_going: KeepGoingOption = False,
    jobs: JobsOption = 1,
    format: FindingsFormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Build and run programs and show what their kernels wait for."""
    with failures_reported():
        check_format(format)
        check_output(output, [*(sources or ()), *program_arguments(context)])
        from hipscope.analysis.source.texts import SourceTexts
        from hipscope.server.jobs import tasks
        from hipscope.server.jobs.opening import of_kernels

        refuse_captures(sources_or_here(sources))
        texts = SourceTexts()
        whole: list[tuple[Path, Report]] = []
        requests = [
            tasks.TaskRequest(
                source,
                program_arguments(context),
                bench=bench,
                backend=backend.value,
                device=device,
                keep_going=keep_going,
                keep_isa=format is Format.HTML or output is not None,
            )
            for source in sources_or_here(sources)
        ]

        def draw(report: Report, console: Console) -> None:
            from hipscope.server.render.text import render_profile

            render_profile(report, console, texts, len(report.kernels) if MANNER.get().verbose else top)

        def task(request: TaskRequest, run: Run) -> Report:
            report = tasks.profile(request, run)
            whole.append((request.target, report))
            report = report if kernel is None else of_kernels(report, kernel)
            return report if top is None else _longest(report, top, all_findings=format is not Format.JSON)

        if len(requests) > 1:
            done = run_programs(task, requests, _raise_failure, jobs, texts)
            try:
                write_programs(done, draw, format, output, texts)
            finally:
                keep(whole, Format.TEXT, None)  # a file of several reports is none of a single one
            return
        with failure_written(requests[0].target, format, output):
            report = run_task(task, requests[0], texts)
        check_output(output, report.inputs.files)  # data that the program read, too
        code = _machine_code(requests[0], report) if format is Format.HTML else None
        write_result(report, lambda console: draw(report, console), format, output, texts, code=code)
        keep(whole, format, output if top is None and kernel is None else None)
        _raise_failure(report, shown=format is Format.TEXT)


def _machine_code(request: TaskRequest, report: Report) -> dict[str, IsaReport]:
    """That of the report's kernels, which the task has kept."""
    from hipscope.server.reports.isa_store import load_isa

    found = {k.mangled: load_isa(request.target, report.inputs, k.mangled) for k in report.kernels}
    return {name: code for name, code in found.items() if code is not None}


def _longest(report: Report, count: int, *, all_findings: bool) -> Report:
    """The report of the kernels that took longest; `all_findings` keeps those of the others, too."""
    kernels = report.kernels[:count]
    names = {k.mangled for k in kernels}
    findings = tuple(f for f in report.findings if all_findings or f.mangled_names & names)
    return replace(report, kernels=kernels, findings=findings)


def _raise_failure(report: Report, *, shown: bool = False) -> None:
    """Raises ProgramFailed when the program that was profiled failed.

    What the emulator printed about a fault is in the report; where that was `shown`, the line only names the fault.
    """
    from hipscope.analysis.errors import ProgramFailed

    if (why := report.failure()) is None:
        return
    output = report.program.output
    if report.faults:
        lines = output.splitlines(keepends=True)
        output = "".join(line for line in lines if not line.startswith(_EMULATOR_SAYS))
        why = why.partition(", in workgroup")[0] if shown else why
    raise ProgramFailed(why, output=output)
