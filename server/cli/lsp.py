"""`hipscope lsp`: start the language server."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hipscope.server.console.terminal import STOPPED


def lsp(
    tcp: Annotated[
        bool, typer.Option("--tcp", help="Listen on a port instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --tcp.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on, with --tcp.")] = 2087,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Accepted for editors that pass it; the default.")
    ] = False,
) -> None:
    """Start the language server."""
    from hipscope.server.app import serve

    if tcp and stdio:
        raise typer.BadParameter("--tcp and --stdio exclude each other")
    if tcp and not host.strip():
        raise typer.BadParameter("--host is empty: name an address, such as 127.0.0.1")
    try:
        serve((host, port) if tcp else None)
    except OSError as error:
        sys.stderr.write(f"hipscope: cannot listen on {host}:{port}: {error.strerror}\n")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        raise typer.Exit(STOPPED) from None
