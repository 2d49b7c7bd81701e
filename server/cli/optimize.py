"""`hipscope optimize`: a rewrite that is proved and faster, shown or written."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.history_rows import keep, lost_before
from hipscope.server.console.manner import MANNER
from hipscope.server.console.options import (
    Backend,
    BackendOption,
    BenchOption,
    DeviceOption,
    FindingsFormatOption,
    Format,
    OutputOption,
    Rewriter,
    Sources,
    program_arguments,
    sources_or_here,
)
from hipscope.server.console.results import failure_written, write_result
from hipscope.server.console.terminal import (
    STOPPED,
    check_output,
    failures_reported,
    progress_shown,
    work_begun,
)

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.server.jobs.tasks import TaskRequest
    from hipscope.server.reports.schema.optimize import Optimization


def optimize(  # one parameter per option of the command
    context: typer.Context,
    sources: Sources = None,
    formula: Annotated[
        str, typer.Option(help="auto takes the finding with the most time at stake.")
    ] = "auto",
    kernel: Annotated[str | None, typer.Option(help="Only this kernel.")] = None,
    rewriter: Annotated[Rewriter | None, typer.Option(help="Who proposes rewrites.")] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rewrite the file again on its new text, so many times in all at most, each time the kernel "
            "that is expected to save most then. Left out: with recipes and modelled times 3 of each kernel, with a "
            "model beside them until neither gains; else 1.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="End the search after so long, with the best verified rewrite so far; as the first Ctrl-C does.",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Optimize all these programs, and those of folders, first what gains most; as with --budget.",
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="For --all: how long it may take, such as 2h or 1h30m."),
    ] = None,
    test_command: Annotated[
        str | None, typer.Option(help="The project's own tests, as a further gate.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also try what the log of attempts says has lost on the same text."),
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Write a verified rewrite into the file.")] = False,
    yes_send: Annotated[
        bool,
        typer.Option("--yes-send", help="Agree, from now on, to send this project's kernels to the model."),
    ] = False,
    bench: BenchOption = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: FindingsFormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Rewrite the kernel that loses the most time; show the change only if it is proved and faster."""
    with failures_reported():
        named = sources_or_here(sources)
        check_output(output, [*named, *program_arguments(context)])
        from hipscope.analysis.run import Run
        from hipscope.server.jobs import tasks

        source = named[0]
        request = tasks.TaskRequest(
            source,
            program_arguments(context),
            bench=bench,
            backend=backend.value,
            device=device,
            formula=formula,
            kernel=kernel,
            rewriter=rewriter.value if rewriter else None,
            yes_send=yes_send,
            rounds=rounds,
            time_limit_s=time_limit,
            test_command=test_command,
        )
        if len(named) > 1 and not every and budget is None:
            raise typer.BadParameter("several programs need --all; arguments of the program stand after `--`")
        if every or budget is not None:
            _optimize_all(named, request, budget, format, output, apply=apply)
            return
        if apply:
            tasks.check_writable(request)
        # The first stop ends the search, with what it has by then; the second one ends the command.
        with failure_written(source, format, output), work_begun() as ended, progress_shown() as progress:
            lost = None if again else lost_before(source)
            report = tasks.optimize(request, Run(progress=progress), ended, lost=lost)
        edit = report.edit if report.status == "verified" else None

        def draw(console: Console) -> None:
            from hipscope.server.render.text import render_optimization

            render_optimization(report, console, verbose=MANNER.get().verbose)

        # What was proved is shown before anything is written: a write that fails must not lose it.
        write_result(report, draw, format, output)
        keep([(source, report)], format, output)
        kept = tasks.apply(edit) if apply and edit is not None else None
        if edit is not None and format is Format.TEXT:
            from hipscope.server.render.notes import short_path
            from hipscope.server.render.text import listed

            files = listed(short_path(part.file) for part in edit.parts)
            originals = listed(short_path(str(path)) for path in kept or ())
            verb = "originals are" if edit.also else "original is"
            done = f"Written to {files}; the {verb} {originals}."
            sys.stdout.write((done if kept else f"Not written; --apply writes it to {files}.") + "\n")
        if report.status not in ("verified", "nothing_to_do"):
            raise typer.Exit(STOPPED if ended.is_set() else 1)


def _optimize_all(
    sources: list[Path],
    request: TaskRequest,
    budget: str | None,
    format: Format,
    output: Path | None,
    *,
    apply: bool,
) -> None:
    """Optimize all programs within the budget; each verified edit is kept, and written with `apply`, at once."""
    from hipscope.analysis.errors import UsageError
    from hipscope.analysis.run import Run
    from hipscope.server.console.optimize_programs import (
        draw_gains,
        optimize_programs,
        programs_below,
        read_budget,
    )
    from hipscope.server.console.programs import ProgramResult, leave_with_worst, programs_report
    from hipscope.server.jobs import tasks

    seconds = read_budget(budget) if budget is not None else math.inf
    if not (programs := programs_below(sources)):
        raise UsageError(
            "there is no program with a kernel in these folders", "name one, or a folder of some"
        )

    def each(result: ProgramResult[Optimization]) -> None:
        if result.report is not None:
            keep([(result.source, result.report)], Format.TEXT, None)
            if apply and result.report.status == "verified" and result.report.edit is not None:
                tasks.apply(result.report.edit)

    requests = [replace(request, target=program) for program in programs]
    with work_begun() as ended, progress_shown() as progress:
        found = optimize_programs(requests, seconds, Run(progress=progress), ended, each)
    write_result(programs_report(found), lambda console: draw_gains(found, console), format, output)
    leave_with_worst(found)
