"""`hipscope optimize`: a rewrite that is proved and faster, shown or written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.cli.options import (
    Arguments,
    Backend,
    BackendOption,
    DeviceOption,
    Format,
    FormatOption,
    Rewriter,
    Source,
)
from hipscope.server.cli.terminal import failures_reported, run_task, text_console


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command()(optimize)


def optimize(  # one parameter per option of the command
    source: Source = Path(),
    program_args: Arguments = None,
    formula: Annotated[
        str, typer.Option(help="auto takes the finding with the most time at stake.")
    ] = "auto",
    kernel: Annotated[str | None, typer.Option(help="Only this kernel.", show_default=False)] = None,
    rewriter: Annotated[
        Rewriter | None, typer.Option(help="Who proposes rewrites.", show_default=False)
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=1, help="Rewrite the kernel again on its new text, this often at most, while it gains 3 %."
        ),
    ] = 1,
    test_command: Annotated[
        str | None, typer.Option(help="The project's own tests, as a further gate.", show_default=False)
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write a verified rewrite into the file.")] = False,
    yes_send: Annotated[
        bool,
        typer.Option("--yes-send", help="Agree, from now on, to send this project's kernels to the model."),
    ] = False,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Rewrite the kernel that loses the most time; show the change only if it is proved and faster."""
    with failures_reported():
        from hipscope.server.jobs import tasks

        request = tasks.TaskRequest(
            source,
            tuple(program_args or ()),
            backend=backend.value,
            device=device,
            formula=formula,
            kernel=kernel,
            rewriter=rewriter.value if rewriter else None,
            yes_send=yes_send,
            rounds=rounds,
            test_command=test_command,
        )
        if apply and source.is_file():
            from hipscope.formulas.optimize.verified_edit import check_writable

            check_writable(source.resolve())
        report = run_task(tasks.optimize, request)
        verified = report.status == "verified"
        kept = tasks.apply(report.edit) if apply and verified and report.edit else None
        if format is Format.JSON:
            from hipscope.server.render.json import render_json

            sys.stdout.write(render_json(report))
        else:
            from rich.text import Text

            from hipscope.server.render.text import render_optimization, short_path

            console = text_console(sys.stdout, None)
            render_optimization(report, console)
            if verified and report.edit:
                file = short_path(report.edit.file)
                done = f"Written to {file}; the original is {short_path(str(kept))}."
                console.print(Text(done if kept else f"Not written; --apply writes it to {file}."))
        if report.status not in ("verified", "nothing_to_do"):
            raise typer.Exit(1)
