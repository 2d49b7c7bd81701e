"""`textDocument/didOpen`, `didChange`, `didSave`, `didClose`: marks follow the text, a save starts a profile."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.features.commands.profile import profile
from hipscope.server.features.diagnostics import publish, publish_project
from hipscope.server.features.heat import send_heat
from hipscope.server.features.project_marks import show_project
from hipscope.server.session.language_server import HipServer, disk_text, path_of
from hipscope.server.session.project_job import HEADERS, key_of
from hipscope.server.session.saved_reports import load_report

PROGRAMS = frozenset({".hip", ".cu", ".cpp", ".cc", ".cxx"})
_GPU_CODE = re.compile(r"__global__|\bhip_runtime\b|<<<")
_MAIN = re.compile(r"\bmain\s*\(")
_QUIET_SECONDS = 0.15


def register(server: HipServer) -> None:
    """Hook the handlers into the server."""
    waiting: dict[str, asyncio.TimerHandle] = {}

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(ls: HipServer, params: lsp.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        restore(ls)
        show(ls, uri)
        if ls.settings.profile_on_open and ls.marks(uri) is None and can_profile(ls, uri):
            await profile(ls, uri, show_project, asked=False)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(ls: HipServer, params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if (timer := waiting.pop(uri, None)) is not None:
            timer.cancel()

        def settle() -> None:
            waiting.pop(uri, None)
            show(ls, uri)
            for file in ls.store.including(path_of(uri) or ""):
                show(ls, ls.uri(file))

        waiting[uri] = asyncio.get_running_loop().call_later(_QUIET_SECONDS, settle)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(ls: HipServer, params: lsp.DidSaveTextDocumentParams) -> None:
        uri = params.text_document.uri
        key = key_of(ls, uri)
        if not ls.settings.profile_on_save or key is None or not can_profile(ls, uri):
            return
        texts = {
            f: t for d in ls.open_documents() if (f := path_of(d.uri)) and (t := disk_text(f)) is not None
        }
        if not ls.store.is_current(
            str(key), {f: t for f, t in texts.items() if f in ls.store.files(str(key))}
        ):
            await profile(ls, uri, show_project, asked=False)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(_ls: HipServer, params: lsp.DidCloseTextDocumentParams) -> None:
        if (timer := waiting.pop(params.text_document.uri, None)) is not None:
            timer.cancel()


def show(ls: HipServer, uri: str) -> None:
    """Publish what is known about a document as it stands now."""
    file = path_of(uri)
    if file and (ls.store.problems(file) or ls.store.is_checked(file) or ls.marks(uri) is not None):
        publish(ls, uri)
        send_heat(ls, uri)


def can_profile(ls: HipServer, uri: str) -> bool:
    """Whether a document is, or belongs to, a GPU program: only then a save starts something by itself."""
    file, key = path_of(uri), key_of(ls, uri)
    if file is None or key is None:
        return False
    if str(key) != file:
        return Path(file).suffix in PROGRAMS | HEADERS
    text = ls.text(file)
    return text is not None and bool(_GPU_CODE.search(text) and _MAIN.search(text))


def restore(ls: HipServer) -> None:
    """Take up the last profile of each open document's project, if the files are still the ones profiled."""
    for document in ls.open_documents():
        key = key_of(ls, document.uri)
        if key is None or ls.store.project(str(key)).report is not None:
            continue
        report = load_report(key)
        if report is not None and all(disk_text(f) is not None for f in report.sources):
            known = ls.store.update(str(key), report, disk_text)
            if set(report.sources) <= set(known.texts):
                publish_project(ls, str(key))
            else:
                ls.store.forget(str(key))
