"""`hipscope init`: a `hipscope.toml` for a directory, from its Makefile, its CMakeLists.txt or its sources."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.console.options import named_path
from hipscope.server.console.terminal import failures_reported


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command()(init)


def init(
    directory: Annotated[
        Path,
        typer.Argument(parser=named_path, metavar="DIR", help="The directory whose program is described."),
    ] = Path(),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the file; write nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a hipscope.toml that is there.")] = False,
) -> None:
    """Write a hipscope.toml: how the program of a directory is built and run, as its build files say."""
    with failures_reported():
        from hipscope.analysis.config import CONFIG_FILE
        from hipscope.analysis.errors import UsageError
        from hipscope.analysis.system.directories import write_atomically
        from hipscope.analysis.toolchain.build_files import propose_build

        if not directory.is_dir():
            raise UsageError(f"{directory}: not a directory", "name the one with the Makefile or the sources")
        file = directory / CONFIG_FILE
        if file.exists() and not (force or dry_run):
            raise UsageError(
                f"{file} is there already", "--force replaces it, --dry-run only shows the new one"
            )
        found = propose_build(directory)
        if found is None:
            raise UsageError(
                f"{directory}: neither a Makefile or CMakeLists.txt that builds a program, nor one source with `main`",
                f"write `build` and `run` into {CONFIG_FILE} by hand, or name the directory of one program",
            )
        settings = found.lines or (
            f"# {found.origin} is a program of one source: it needs no `build`.",
            "args = []",
        )
        text = "\n".join([f"# Written by `hipscope init` from {found.origin}.", *settings, ""])
        if not dry_run:
            write_atomically(file, text.encode())
        sys.stdout.write(text)
        for note in found.notes:
            sys.stderr.write(f"hipscope: {note}\n")
        sys.stderr.write(f"hipscope: {'would write' if dry_run else 'wrote'} {file}\n")
