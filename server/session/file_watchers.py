"""Asks the client to watch the inputs of the known profiles and the files that show something."""

from __future__ import annotations

import contextlib
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.uris import from_fs_path

from hipscope.server.session.language_server import HipServer

_REGISTRATION = "hipscope.inputs"


async def watch_inputs(ls: HipServer) -> None:
    """Ask the client to watch what there is to watch now, if it can be asked."""
    files = frozenset(ls.store.inputs().union(*ls.published.values()))
    if files == ls.watched or not ls.can("workspace", "did_change_watched_files", "dynamic_registration"):
        return
    before, ls.watched = ls.watched, files
    method = lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
    relative = bool(ls.can("workspace", "did_change_watched_files", "relative_pattern_support"))
    options = lsp.DidChangeWatchedFilesRegistrationOptions(
        watchers=[lsp.FileSystemWatcher(_pattern(Path(file), relative=relative)) for file in sorted(files)]
    )
    with contextlib.suppress(JsonRpcException):
        if before:
            await ls.client_unregister_capability_async(
                lsp.UnregistrationParams(unregisterations=[lsp.Unregistration(_REGISTRATION, method)])
            )
        await ls.client_register_capability_async(
            lsp.RegistrationParams(registrations=[lsp.Registration(_REGISTRATION, method, options)])
        )


def _pattern(file: Path, *, relative: bool) -> str | lsp.RelativePattern:
    if not relative:
        return str(file)
    return lsp.RelativePattern(base_uri=from_fs_path(str(file.parent)) or "", pattern=file.name)
