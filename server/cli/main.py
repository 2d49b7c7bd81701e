"""The command line: `hipscope profile | show | check | optimize | validate | restore | prompt | consent | ...`.

Results go to standard output, progress and errors to standard error. Every failure is one line and an exit code:
0 done, 1 no verified improvement, a defect that `check` found, or kernels that differ, 2 bad input, 3 missing tool,
4 the program or its build failed, 130 stopped, 141 the reader of the output has gone.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hipscope.server.cli import (
    allow,
    cache,
    check,
    consent,
    doctor,
    emulate,
    emulator,
    init,
    lsp,
    optimize,
    profile,
    prompt,
    restore,
    show,
    validate,
)
from hipscope.server.console.terminal import prepare_output

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback(no_args_is_help=True)
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """See where a HIP program waits on the GPU, line by line, and get rewrites that are proved and timed."""


@app.command()
def version() -> None:
    """Print the version."""
    from hipscope.server.app import version as installed

    sys.stdout.write(f"hipscope {installed()}\n")


def main() -> None:
    """The console script."""
    prepare_output()
    app(prog_name="hipscope")


for command in (
    init, profile, show, check, optimize, validate, restore, prompt, consent, allow, emulate, emulator, doctor, cache,
    lsp,
):  # fmt: skip
    command.add(app)
