"""A coding agent: the official client of the SDK, over standard input and output of a real `hipscope mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from hipscope.analysis.system.allowed_folders import allow_folder
from tests.server import warm
from tests.server.command_line import Cli


class Agent:
    """Calls tools; an answer is its JSON object, a refusal has the key `error`."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.heard: list[str] = []

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            self.heard.append(message or "")

        result = await self.client.call_tool(tool, arguments, progress_callback=heard)
        text = result.content[0].text  # type: ignore[union-attr]
        if not result.is_error:
            found: dict[str, Any] = json.loads(text)
            return found
        start = text.find("{")
        return json.loads(text[start:]) if start >= 0 else {"error": text}


@contextlib.asynccontextmanager
async def http_agent(cli: Cli, root: Path, token: str, worker: Path) -> AsyncIterator[tuple[Agent, str]]:
    """An agent of a server over HTTP, and the server's address."""
    state = {"XDG_STATE_HOME": str(cli.folder / "state"), "HIPSCOPE_WORKER": str(worker)}
    allow_folder(root, state)
    options = ("mcp", "--root", str(root), "--http", "0")
    process = cli.start(*options, **state, HIPSCOPE_MCP_TOKEN=token)
    try:
        assert process.stderr is not None
        address = (await asyncio.to_thread(process.stderr.readline)).split()[-1]
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            yield Agent(client), address
    finally:
        process.terminate()
        process.communicate(timeout=30)
    cli.assert_nothing_left()


@contextlib.asynccontextmanager
async def agent(
    cli: Cli, *roots: Path, allowed: bool = True, worker: Path | None = None
) -> AsyncIterator[Agent]:
    """An agent of a server with these roots; when it goes, nothing that was started for it is left."""
    state = cli.folder / "state"
    for root in roots if allowed else ():
        allow_folder(root, {"XDG_STATE_HOME": str(state)})
    other = {} if worker is None else {"HIPSCOPE_WORKER": str(worker)}
    options = [word for root in roots for word in ("--root", str(root))]
    warm.started()
    command = warm.command("mcp", *options)
    server = StdioServerParameters(
        command=command[0],
        args=command[1:],
        env={**cli.environment, **warm.SOCKET, "XDG_STATE_HOME": str(state), **other},
        cwd=cli.folder,
    )
    async with Client(stdio_client(server)) as client:
        yield Agent(client)
    cli.assert_nothing_left()
