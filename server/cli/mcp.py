"""`hipscope mcp`: the server for coding agents."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import named_path
from hipscope.server.console.terminal import STOPPED, failures_reported

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            parser=named_path,
            metavar="DIR",
            help="A folder whose files an agent may name; the current directory when none is named. What is built and "
            "run must be allowed, too (`hipscope allow`).",
        ),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            "--http",
            min=0,
            max=65535,
            metavar="PORT",
            help="Serve streamable HTTP on this port of 127.0.0.1 (0: a free one) in place of standard streams; "
            "the token is HIPSCOPE_MCP_TOKEN, or a new one that is printed.",
        ),
    ] = None,
) -> None:
    """Serve coding agents over MCP: profiles, and the judgement of their rewrites."""
    with failures_reported():
        from hipscope.analysis.errors import MissingTool
        from hipscope.analysis.system.python_packages import hipscope_version, install_extra

        try:
            from hipscope.server.agents.serve import make_server
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise MissingTool(
                "hipscope mcp needs the packages of the extra `agent`", install_extra("agent")
            ) from None
        server = make_server(root or [Path.cwd()], hipscope_version())
        try:
            if http is None:
                server.run("stdio")
            else:
                _serve_http(server, http)
        except KeyboardInterrupt:
            raise typer.Exit(STOPPED) from None


def _serve_http(server: MCPServer[None], port: int) -> None:
    """Serve with a token that only the user knows. Raises UsageError."""
    from hipscope.server.agents.http import serve_http

    given = os.environ.get("HIPSCOPE_MCP_TOKEN", "")
    token = given or secrets.token_urlsafe(32)

    def tell(address: str) -> None:
        sys.stderr.write(f"hipscope: {address}\n")
        if not given:
            sys.stderr.write(f"hipscope: Authorization: Bearer {token}\n")
        sys.stderr.flush()

    serve_http(server, port, token, tell)
