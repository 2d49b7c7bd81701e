"""`initialize`, `initialized`, `shutdown`, `exit`: the session begins, and ends with no child left."""

from __future__ import annotations

import asyncio
import os
import signal

from lsprotocol import types as lsp

from hipscope.server.features.configuration import pull
from hipscope.server.features.documents import restore
from hipscope.server.session.editor_settings import read_settings
from hipscope.server.session.editor_watch import watch_editor
from hipscope.server.session.language_server import HipServer, set_aside_what_stays


def register(server: HipServer) -> None:
    """Hook the handlers into the server."""

    @server.feature(lsp.INITIALIZE)
    async def initialize(ls: HipServer, params: lsp.InitializeParams) -> None:
        options = params.initialization_options
        if isinstance(options, dict):
            ls.initialization_options = options
        ls.settings, _ = read_settings(ls.initialization_options.get("settings", ls.initialization_options))
        _stop_with_editor(ls, params.process_id)

    @server.feature(lsp.INITIALIZED)
    async def initialized(ls: HipServer, _params: lsp.InitializedParams) -> None:
        _stop_on_signal(ls)
        await pull(ls)
        restore(ls)
        set_aside_what_stays()
        ls.status("idle")

    @server.feature(lsp.SHUTDOWN)
    async def shutdown(ls: HipServer, _params: None) -> None:
        ls.folder_watch.close()
        await ls.jobs.close()
        await ls.inspections.close()
        await ls.spare.close()

    @server.feature(lsp.EXIT)
    def leave(ls: HipServer, _params: None) -> None:
        ls.protocol.ended = True


def _stop_on_signal(ls: HipServer) -> None:
    """SIGTERM ends the children first. A plain exit would wait for the thread that reads standard input."""
    loop = asyncio.get_running_loop()
    keep: list[asyncio.Task[None]] = []
    loop.add_signal_handler(signal.SIGTERM, lambda: keep.append(loop.create_task(_stop(ls))))


def _stop_with_editor(ls: HipServer, process_id: int | None) -> None:
    """The same when the editor's process has ended, even if something else keeps standard input open."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        asyncio.run_coroutine_threadsafe(_stop(ls), loop)

    watch_editor(process_id, stdin=ls.over_stdio, stop=stop)


async def _stop(ls: HipServer) -> None:
    await ls.jobs.close()
    await ls.inspections.close()
    await ls.spare.close()
    os._exit(128 + signal.SIGTERM)
