"""`hipscope restore FILE`: take back the rewrite that hipscope wrote into a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.console.options import named_path
from hipscope.server.console.terminal import failures_reported


def restore(
    file: Annotated[Path, typer.Argument(parser=named_path, metavar="FILE", help="The file to restore.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also if it has changed since; later changes are lost.")
    ] = False,
) -> None:
    """Put back the text that a file had before its last rewrite, from where hipscope kept it."""
    with failures_reported():
        from hipscope.formulas.optimize import verified_edit

        kept = verified_edit.restore(file, force=force)
        own, *others = (path.name for path in kept)
        sys.stdout.write(f"{file} has its text of {own} again\n")
        for name in others:
            sys.stdout.write(f"and a file of the same rewrite that of {name}\n")
