"""Streamable HTTP on loopback for agents that do not start a process: one address, one token.

A request without the token gets 401 before anything reads it; the SDK refuses hosts and origins other than loopback.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

from hipscope.analysis.errors import UsageError

HOST = "127.0.0.1"
PATH = "/mcp"
SHORTEST_TOKEN = 16

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def serve_http(server: MCPServer[None], port: int, token: str, tell: Callable[[str], None]) -> None:
    """Serve until it is stopped; `tell` gets the address. Port 0 takes a free one. Raises UsageError."""
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"the token has less than {SHORTEST_TOKEN} characters")
    with socket.socket() as listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((HOST, port))
        except OSError as error:
            raise UsageError(
                f"port {port} of {HOST} cannot be used: {error.strerror}", "name another one"
            ) from None
        app: App = server.streamable_http_app(host=HOST, streamable_http_path=PATH)
        config = uvicorn.Config(with_token(app, token), log_level="warning", access_log=False)
        tell(f"http://{HOST}:{listening.getsockname()[1]}{PATH}")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


def with_token(app: App, token: str) -> App:
    """The application behind its token."""
    wanted = _digest(f"Bearer {token}".encode())

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            given = [value for name, value in scope.get("headers", ()) if name.lower() == b"authorization"]
            if len(given) != 1 or not hmac.compare_digest(_digest(given[0]), wanted):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    return guarded


def _digest(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()
