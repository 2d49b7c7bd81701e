"""The language server, put together: each feature is named here once.

`create_server()` gives a server that is ready to start; `serve()` runs it over stdio or TCP. Nothing heavy is
imported on this path: what computes runs in child processes.
"""

from __future__ import annotations

import logging
import sys

from hipscope.analysis.system.python_packages import hipscope_version
from hipscope.server.features import (
    code_action,
    code_lens,
    configuration,
    documents,
    execute_command,
    hover,
    inlay_hint,
    lifecycle,
    proposals,
    restore,
    watched_files,
)
from hipscope.server.features.settings_file import document as settings_file
from hipscope.server.features.views import explain, history, isa, metrics, pages, symbols
from hipscope.server.session.language_server import HipServer

FEATURES = (
    lifecycle,
    configuration,
    documents,
    hover,
    code_lens,
    inlay_hint,
    code_action,
    execute_command,
    explain,
    history,
    isa,
    metrics,
    pages,
    proposals,
    restore,
    settings_file,
    symbols,
    watched_files,
)


def create_server() -> HipServer:
    """A server with all features registered."""
    server = HipServer(hipscope_version())
    for feature in FEATURES:
        feature.register(server)
    return server


def serve(tcp: tuple[str, int] | None = None) -> None:
    """Serve one client: over stdio, or the first one that connects to (host, port)."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="hipscope lsp: %(message)s")
    server = create_server()
    if tcp is None:
        server.over_stdio = True
        server.start_io()
    else:
        sys.stderr.write(f"hipscope lsp: waiting for a client on {tcp[0]}:{tcp[1]}\n")
        server.start_tcp(*tcp)
