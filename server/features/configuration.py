"""`workspace/configuration` and `workspace/didChangeConfiguration`: the settings, however the client gives them."""

from __future__ import annotations

import asyncio

from lsprotocol import types as lsp

from hipscope.server.features.diagnostics import publish_all
from hipscope.server.session.editor_settings import SECTION, read_settings
from hipscope.server.session.language_server import HipServer

_ANSWER_SECONDS = 5.0


def register(server: HipServer) -> None:
    """Hook the handler into the server."""

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(ls: HipServer, params: lsp.DidChangeConfigurationParams) -> None:
        if ls.can("workspace", "configuration"):
            await pull(ls)
        elif params.settings:
            take(ls, params.settings)
        for key in ls.store.projects():
            ls.store.recall(key, ls.asked_inputs(), ls.files_now())
        publish_all(ls)
        await ls.refresh()


async def pull(ls: HipServer) -> None:
    """Ask the client for our section, if it can be asked; the initialization options hold until then."""
    if not ls.can("workspace", "configuration"):
        return
    item = lsp.ConfigurationItem(section=SECTION)
    # Shielded: a late answer to a request that was given up would otherwise end the session.
    request = asyncio.ensure_future(ls.workspace_configuration_async(lsp.ConfigurationParams(items=[item])))
    try:
        answer = await asyncio.wait_for(asyncio.shield(request), _ANSWER_SECONDS)
    except Exception as error:
        ls.log(f"no settings from the client ({error}); keeping the present ones")
        return
    if answer and answer[0] is not None:
        take(ls, answer[0])


def take(ls: HipServer, data: object) -> None:
    """Use these settings from now on and show the user the values that cannot be used."""
    ls.settings, problems = read_settings(data)
    for line in problems:
        ls.tell(line, lsp.MessageType.Warning)
