"""`workspace/configuration` and `workspace/didChangeConfiguration`: the settings, however the client gives them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from lsprotocol import types as lsp

from hipscope.server.features.diagnostics import publish_all
from hipscope.server.session.editor_settings import SECTION, read_settings
from hipscope.server.session.language_server import HipServer, path_of

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
            ls.store.recall(key, ls.asked_inputs(key), ls.files_now())
        publish_all(ls)
        await ls.refresh()


async def pull(ls: HipServer) -> None:
    """Ask the client for our section, as it holds everywhere and in each of its folders, if it can be asked.

    The initialization options hold until then.
    """
    if not ls.can("workspace", "configuration"):
        return
    folders = {path_of(f.uri): f.uri for f in ls.workspace.folders.values()}
    scopes = [None, *folders.values()]
    items = [lsp.ConfigurationItem(scope_uri=scope, section=SECTION) for scope in scopes]
    # Shielded: a late answer to a request that was given up would otherwise end the session.
    request = asyncio.ensure_future(ls.workspace_configuration_async(lsp.ConfigurationParams(items=items)))
    try:
        answer = await asyncio.wait_for(asyncio.shield(request), _ANSWER_SECONDS)
    except Exception as error:
        ls.log(f"no settings from the client ({error}); keeping the present ones")
        return
    if answer and answer[0] is not None:
        of_folders = dict(zip(folders, answer[1:], strict=False))
        take(ls, answer[0], {Path(path): data for path, data in of_folders.items() if path and data})


def take(ls: HipServer, data: object, of_folders: Mapping[Path, object] = MappingProxyType({})) -> None:
    """Use these settings from now on and show the user the values that cannot be used."""
    ls.settings, problems = read_settings(data)
    read = {folder: read_settings(own) for folder, own in of_folders.items()}
    ls.folder_settings = {folder: settings for folder, (settings, _) in read.items()}
    for line in dict.fromkeys([*problems, *(line for _, lines in read.values() for line in lines)]):
        ls.tell(line, lsp.MessageType.Warning)
