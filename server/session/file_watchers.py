"""Has the inputs of the known profiles and the files that show something watched: by the client, else by the server."""

from __future__ import annotations

import contextlib
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.uris import from_fs_path

from hipscope.server.session.language_server import HipServer

_REGISTRATION = "hipscope.inputs"


async def watch_inputs(ls: HipServer) -> None:
    """Watch what there is to watch now."""
    files = frozenset(ls.store.inputs().union(*ls.published.values()))
    if files == ls.watched:
        return
    before, ls.watched = ls.watched, files
    # A client without relative patterns watches at most its own folders, and inputs may lie elsewhere.
    ways = ("dynamic_registration", "relative_pattern_support")
    if not all(ls.can("workspace", "did_change_watched_files", way) for way in ways):
        ls.folder_watch.watch(files)
        return
    # Editors miss a file that comes together with its folder.
    absent = {file for file in files if not Path(file).exists()}
    ls.folder_watch.watch(absent)
    if came := {file for file in absent if Path(file).exists()}:
        ls.in_background(ls.when_files_change(came))
    method = lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
    options = lsp.DidChangeWatchedFilesRegistrationOptions(
        watchers=[lsp.FileSystemWatcher(_pattern(Path(file))) for file in sorted(files)]
    )
    with contextlib.suppress(JsonRpcException):
        if before:
            await ls.client_unregister_capability_async(
                lsp.UnregistrationParams(unregisterations=[lsp.Unregistration(_REGISTRATION, method)])
            )
        await ls.client_register_capability_async(
            lsp.RegistrationParams(registrations=[lsp.Registration(_REGISTRATION, method, options)])
        )


def _pattern(file: Path) -> lsp.RelativePattern:
    return lsp.RelativePattern(base_uri=from_fs_path(str(file.parent)) or "", pattern=file.name)
