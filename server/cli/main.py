"""The command line: `hipscope profile | show | check | optimize | validate | restore | prompt | consent | ...`.

Results go to standard output, progress and errors to standard error. Every failure is one line and an exit code:
0 done, 1 no verified improvement, a defect that `check` found, or kernels that differ, 2 bad input, 3 missing tool,
4 the program or its build failed, 5 a limit was passed, 130 stopped, 141 the reader of the output has gone.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hipscope.server.cli import (
    allow,
    cache,
    check,
    compare,
    consent,
    doctor,
    emulate,
    emulator,
    history,
    init,
    llm,
    lsp,
    man,
    mcp,
    optimize,
    profile,
    prompt,
    recipes,
    resources,
    restore,
    show,
    sweep,
    validate,
)
from hipscope.server.console.manner import MANNER, Color, Manner, MannerGroup
from hipscope.server.console.terminal import prepare_output

app = typer.Typer(
    cls=MannerGroup,
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
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Results and failures only: no progress, no notes.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="With all details: every kernel, attempt and trial.")
    ] = False,
    color: Annotated[
        Color, typer.Option("--color", help="Colours; auto: in a terminal without NO_COLOR.")
    ] = Color.AUTO,
) -> None:
    """See where a HIP program waits on the GPU, line by line, and get rewrites that are proved and timed."""
    MANNER.set(Manner(quiet, verbose, color))


@app.command()
def version() -> None:
    """Print the version."""
    from hipscope.analysis.system.python_packages import hipscope_version

    sys.stdout.write(f"hipscope {hipscope_version()}\n")


def main() -> None:
    """The console script."""
    prepare_output()
    app(prog_name="hipscope")


for command in (
    init, profile, show, compare, history, check, resources, optimize, recipes, validate, restore, prompt, consent, llm,
    allow, sweep, emulate, emulator, doctor, cache, lsp, mcp, man,
):  # fmt: skip
    command.add(app)
