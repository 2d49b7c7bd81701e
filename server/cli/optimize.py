"""`hipscope optimize`: a rewrite that is proved and faster, shown or written."""

from __future__ import annotations

import sys
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
    ProgramCommand,
    Rewriter,
    Source,
    program_arguments,
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


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command(cls=ProgramCommand)(optimize)


def optimize(  # one parameter per option of the command
    context: typer.Context,
    source: Source = Path(),
    formula: Annotated[
        str, typer.Option(help="auto takes the finding with the most time at stake.")
    ] = "auto",
    kernel: Annotated[str | None, typer.Option(help="Only this kernel.", show_default=False)] = None,
    rewriter: Annotated[
        Rewriter | None, typer.Option(help="Who proposes rewrites.", show_default=False)
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rewrite the file again on its new text, so many times in all at most, each time the kernel "
            "that is expected to save most then. Left out: 3 of each kernel with recipes and modelled times, else 1.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="End the search after so long, with the best verified rewrite so far; as the first Ctrl-C does.",
            show_default=False,
        ),
    ] = None,
    test_command: Annotated[
        str | None, typer.Option(help="The project's own tests, as a further gate.", show_default=False)
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
        check_output(output, [source, *program_arguments(context)])
        from hipscope.analysis.run import Run
        from hipscope.server.jobs import tasks

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
