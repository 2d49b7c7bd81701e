"""`workspace/didChangeWatchedFiles`, `didDeleteFiles`, `didRenameFiles`, `didChangeWorkspaceFolders`: what changes on
disk, or leaves the workspace, while no document tells.

Which files the client watches is asked for in `session/file_watchers.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.features.configuration import pull
from hipscope.server.features.diagnostics import publish, publish_project
from hipscope.server.features.documents import profile_again, recall, show, show_users
from hipscope.server.features.heat import send_heat
from hipscope.server.session.file_watchers import watch_inputs
from hipscope.server.session.known_profiles import SOURCES
from hipscope.server.session.language_server import HipServer, path_of

_FILES = lsp.FileOperationRegistrationOptions(
    filters=[lsp.FileOperationFilter(lsp.FileOperationPattern(glob="**/*"), scheme="file")]
)


def register(server: HipServer) -> None:
    """Hook the handlers into the server."""

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(ls: HipServer, params: lsp.DidChangeWatchedFilesParams) -> None:
        await show_all_changed(ls, [event.uri for event in params.changes])

    async def files_changed(files: Set[str]) -> None:
        await show_all_changed(server, [server.uri(file) for file in sorted(files)])

    server.when_files_change = files_changed

    @server.feature(lsp.WORKSPACE_DID_DELETE_FILES, _FILES)
    async def did_delete_files(ls: HipServer, params: lsp.DeleteFilesParams) -> None:
        for deleted in params.files:
            show_changed(ls, deleted.uri)
        await ls.refresh()

    @server.feature(lsp.WORKSPACE_DID_RENAME_FILES, _FILES)
    async def did_rename_files(ls: HipServer, params: lsp.RenameFilesParams) -> None:
        for renamed in params.files:
            carry(ls, renamed.old_uri, renamed.new_uri)
            show_changed(ls, renamed.old_uri)
            show_changed(ls, renamed.new_uri)
        await ls.refresh()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_workspace_folders(
        ls: HipServer, params: lsp.DidChangeWorkspaceFoldersParams
    ) -> None:
        removed = [folder for f in params.event.removed if (folder := path_of(f.uri))]
        for key in {*ls.store.projects(), *ls.published, *ls.jobs.keys()}:
            if _is_below(key, removed) and not _is_below(key, [str(f) for f in ls.folders()]):
                ls.jobs.cancel(key)
                ls.store.forget(key)
                publish_project(ls, key)
                ls.store.forget(key)
                ls.published.pop(key)
        ls.in_background(watch_inputs(ls))
        await pull(ls)
        for document in ls.open_documents():
            send_heat(ls, document.uri)
        await ls.refresh()


def carry(ls: HipServer, old_uri: str, new_uri: str) -> None:
    """Show what is known of programs under their new names; the old ones, which are no more, have nothing to show."""
    old, new = path_of(old_uri), path_of(new_uri)
    if old is None or new is None or Path(old).exists() or not ls.store.rename(old, new):
        return
    for key in [k for k in (*ls.published, *ls.jobs.keys()) if k == old or k.startswith(old + os.sep)]:
        ls.jobs.cancel(key)
        for file in ls.published.pop(key, set()):
            publish(ls, ls.uri(file))
    for key in ls.store.projects():
        if key == new or key.startswith(new + os.sep):
            publish_project(ls, key)
    for document in ls.open_documents():
        send_heat(ls, document.uri)
    ls.in_background(watch_inputs(ls))


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


async def show_all_changed(ls: HipServer, uris: Sequence[str]) -> None:
    """Publish again what files that changed on disk have to do with, and profile again with other settings or data."""
    for uri in uris:
        show_changed(ls, uri)
    await ls.refresh()
    for uri in uris:
        file = path_of(uri)
        # A document that is open has its own save; a source that changes by itself, as by a checkout, can wait.
        if file and Path(file).suffix not in SOURCES and Path(file).is_file() and not ls.document(file):
            await profile_again(ls, uri)


def show_changed(ls: HipServer, uri: str) -> None:
    """Publish again what a changed or missing file or folder has to do with."""
    changed = path_of(uri)
    if changed is None:
        return
    known = ls.store.inputs().union(*ls.published.values())
    recall(ls, changed)
    for file in sorted(f for f in known if f == changed or f.startswith(changed + os.sep)):
        if Path(file).is_file():
            show(ls, ls.uri(file))
        else:
            for name in {ls.uri(file), uri if file == changed else ls.uri(file)}:
                publish(ls, name)
        show_users(ls, file)
