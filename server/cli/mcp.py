"""`hipscope mcp`: the server for coding agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.console.options import named_path
from hipscope.server.console.terminal import STOPPED, failures_reported


def add(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command()(mcp)


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            parser=named_path,
            metavar="DIR",
            help="A folder whose files an agent may name; the current directory when none is named. What is built and "
            "run must be allowed, too (`hipscope allow`).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve coding agents over MCP on standard input and output: profiles, and the judgement of their rewrites."""
    with failures_reported():
        from hipscope.analysis.errors import MissingTool
        from hipscope.analysis.system.python_packages import install_extra
        from hipscope.server.app import version

        try:
            from hipscope.server.agents.serve import make_server
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise MissingTool(
                "hipscope mcp needs the packages of the extra `agent`", install_extra("agent")
            ) from None
        server = make_server(root or [Path.cwd()], version())
        try:
            server.run("stdio")
        except KeyboardInterrupt:
            raise typer.Exit(STOPPED) from None
