"""The command line: `hipscope profile | show | check | optimize | validate | restore | prompt | consent | ...`.

Results go to standard output, progress and errors to standard error. Every failure is one line and an exit code:
0 done, 1 no verified improvement, a defect that `check` found, or kernels that differ, 2 bad input, 3 missing tool,
4 the program or its build failed, 5 a limit was passed, 130 stopped, 141 the reader of the output has gone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from hipscope.server.cli import emulate
from hipscope.server.cli.allow import allow
from hipscope.server.cli.cache import cache
from hipscope.server.cli.check import check
from hipscope.server.cli.compare import compare
from hipscope.server.cli.consent import consent
from hipscope.server.cli.doctor import doctor
from hipscope.server.cli.emulator import emulator
from hipscope.server.cli.history import attempts, history
from hipscope.server.cli.init import init
from hipscope.server.cli.llm import llm
from hipscope.server.cli.lsp import lsp
from hipscope.server.cli.man import man
from hipscope.server.cli.mcp import mcp
from hipscope.server.cli.optimize import optimize
from hipscope.server.cli.profile import profile
from hipscope.server.cli.prompt import prompt
from hipscope.server.cli.recipes import recipes
from hipscope.server.cli.resources import resources
from hipscope.server.cli.restore import restore
from hipscope.server.cli.show import show
from hipscope.server.cli.sweep import sweep
from hipscope.server.cli.validate import validate
from hipscope.server.console.manner import MANNER, Color, Manner, MannerGroup
from hipscope.server.console.options import ProgramCommand
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


command: Callable[..., None]
# What follows `--` is the program's.
_OF_A_PROGRAM = (init, profile, compare, check, optimize, validate, prompt)
for command in (
    init, profile, show, compare, history, attempts, check, resources, optimize, recipes, validate, restore, prompt,
    consent, llm, allow, sweep,
):  # fmt: skip
    app.command(cls=ProgramCommand if command in _OF_A_PROGRAM else None)(command)
emulate.add(app)
for command in (emulator, doctor, cache, lsp, mcp, man):
    app.command()(command)
