"""`hipscope allow`: folders whose programs an editor may have built and run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.console.options import named_path
from hipscope.server.console.terminal import failures_reported


def allow(
    folder: Annotated[
        Path,
        typer.Argument(parser=named_path, help="The folder, with all that lies in it.", metavar="[FOLDER]"),
    ] = Path(),
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take it back.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Only list what is allowed.")] = False,
) -> None:
    """Let editors build and run the programs of a folder; without it they ask first."""
    with failures_reported():
        from hipscope.analysis.errors import UsageError
        from hipscope.analysis.system.allowed_folders import allow_folder, allowed_folders, forbid_folder

        place = folder.resolve()
        if show:
            sys.stdout.write("".join(f"{one}\n" for one in allowed_folders()) or "no folder is allowed\n")
            return
        if not place.is_dir():
            raise UsageError(f"{folder}: not a folder")
        if withdraw:
            known = forbid_folder(place)
            sys.stdout.write(f"{place} {'is no longer' if known else 'was not'} allowed\n")
            return
        allow_folder(place)
        sys.stdout.write(f"programs in {place} may be built and run by editors\n")
