"""`workspace/didChangeWatchedFiles`, `didDeleteFiles`, `didRenameFiles`: what changes on disk while no document tells.

Which files the client watches is asked for in `session/file_watchers.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.features.diagnostics import publish
from hipscope.server.features.documents import profile_again, show, show_users
from hipscope.server.session.known_profiles import SOURCES
from hipscope.server.session.language_server import HipServer, path_of

_FILES = lsp.FileOperationRegistrationOptions(
    filters=[lsp.FileOperationFilter(lsp.FileOperationPattern(glob="**/*"), scheme="file")]
)


def register(server: HipServer) -> None:
    """Hook the handlers into the server."""

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(ls: HipServer, params: lsp.DidChangeWatchedFilesParams) -> None:
        for event in params.changes:
            show_changed(ls, event.uri)
        await ls.refresh()
        for event in params.changes:
            file = path_of(event.uri)
            # A document that is open has its own save; a source that changes by itself, as by a checkout, can wait.
            if file and Path(file).suffix not in SOURCES and Path(file).is_file() and not ls.document(file):
                await profile_again(ls, event.uri)

    @server.feature(lsp.WORKSPACE_DID_DELETE_FILES, _FILES)
    async def did_delete_files(ls: HipServer, params: lsp.DeleteFilesParams) -> None:
        for deleted in params.files:
            show_changed(ls, deleted.uri)
        await ls.refresh()

    @server.feature(lsp.WORKSPACE_DID_RENAME_FILES, _FILES)
    async def did_rename_files(ls: HipServer, params: lsp.RenameFilesParams) -> None:
        for renamed in params.files:
            show_changed(ls, renamed.old_uri)
            show_changed(ls, renamed.new_uri)
        await ls.refresh()


def show_changed(ls: HipServer, uri: str) -> None:
    """Publish again what a changed or missing file or folder has to do with."""
    changed = path_of(uri)
    if changed is None:
        return
    known = ls.store.inputs().union(*ls.published.values())
    for file in sorted(f for f in known if f == changed or f.startswith(changed + os.sep)):
        if Path(file).is_file():
            show(ls, ls.uri(file))
        else:
            for name in {ls.uri(file), uri if file == changed else ls.uri(file)}:
                publish(ls, name)
        show_users(ls, file)
