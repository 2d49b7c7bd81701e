"""`textDocument/didOpen`, `didChange`, `didSave`, `didClose`: marks follow the text, a save starts a profile."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.features.commands.build_choice import awaits_build
from hipscope.server.features.commands.inspect import inspect
from hipscope.server.features.commands.profile import hold_against, profile
from hipscope.server.features.diagnostics import publish, publish_project
from hipscope.server.features.heat import send_heat
from hipscope.server.features.project_marks import show_project
from hipscope.server.features.settings_file.document import is_settings
from hipscope.server.session.file_watchers import watch_inputs
from hipscope.server.session.known_profiles import HEADERS, PROGRAMS, project_key
from hipscope.server.session.language_server import (
    FilesNow,
    HipServer,
    disk_text,
    path_of,
    set_aside_what_stays,
)
from hipscope.server.session.project_job import is_program, key_of
from hipscope.server.session.saved_reports import load_report, load_reports

_QUIET_SECONDS = 0.15


def register(server: HipServer) -> None:
    """Hook the handlers into the server."""
    waiting: dict[str, asyncio.TimerHandle] = {}

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(ls: HipServer, params: lsp.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        restore(ls)
        show(ls, uri)
        ls.in_background(watch_inputs(ls))
        if (
            ls.settings_of(path_of(uri) or "").profile_on_open
            and ls.marks(uri) is None
            and can_profile(ls, uri)
        ):
            await profile(ls, uri, show_project, asked=False)
        elif can_inspect(ls, uri) and not ls.store.is_inspected(path_of(uri) or ""):
            await inspect(ls, uri, show_project)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(ls: HipServer, params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if (timer := waiting.pop(uri, None)) is not None:
            timer.cancel()

        def settle() -> None:
            waiting.pop(uri, None)
            recall(ls, path_of(uri) or "")
            show(ls, uri)
            show_users(ls, path_of(uri) or "")

        waiting[uri] = asyncio.get_running_loop().call_later(_QUIET_SECONDS, settle)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(ls: HipServer, params: lsp.DidSaveTextDocumentParams) -> None:
        uri = params.text_document.uri
        recall(ls, path_of(uri) or "")
        show_users(ls, path_of(uri) or "")
        if not await profile_again(ls, uri) and can_inspect(ls, uri):
            await inspect(ls, uri, show_project)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: HipServer, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if (timer := waiting.pop(uri, None)) is not None:
            timer.cancel()
        # What was not saved is lost: the text is the disk's again.
        recall(ls, path_of(uri) or "")
        show(ls, uri)
        show_users(ls, path_of(uri) or "")


def show(ls: HipServer, uri: str) -> None:
    """Publish what is known about a document as it stands now."""
    file = path_of(uri)
    known = file and (ls.store.problems(file) or ls.store.is_checked(file) or ls.store.is_inspected(file))
    if file and (known or is_settings(uri) or ls.marks(uri) is not None):
        publish(ls, uri)
        send_heat(ls, uri)


def show_users(ls: HipServer, file: str) -> None:
    """Publish again the other files of all programs that were built from this one or ran with it."""
    files = {shown for key in ls.store.users(file) for shown in ls.store.files(key)}
    for other in sorted(files - {file}):
        show(ls, ls.uri(other))


def recall(ls: HipServer, file: str) -> None:
    """Show kept profiles again of programs that have all inputs as they are now, after this one of them has changed."""
    now = ls.files_now()
    for key in ls.store.users(file):
        asked = ls.asked_inputs(key)
        shown = ls.store.project(key).shown
        if shown is None or shown.is_of(asked, now):
            continue
        found = ls.store.recall(key, asked, now)
        if not found:
            files = {name: now.digest(name) for name in shown.report.inputs.files}
            report = load_report(Path(key), replace(asked, files=files))
            found = report is not None
            if report is not None:
                ls.store.update(key, report, now.text)
        known = ls.store.project(key).shown
        if found and known is not None:
            ls.in_background(show_project(ls, Path(key)))
            ls.in_background(hold_against(ls, Path(key), known.report, show_project))


async def profile_again(ls: HipServer, uri: str) -> bool:
    """Profile the programs that a saved file belongs to, unless their profiles are of the files as they are.

    Whether there was any to profile: each looks at the code, too, as soon as it compiles.
    """
    file = path_of(uri)
    if file is None or not ls.settings_of(file).profile_on_save:
        return False
    programs = {key: ls.uri(key) for key in ls.store.users(file)}
    for name in programs:
        if project_key(Path(name), ls.folders()) != Path(name):
            # Other settings build it now: its failure is no longer true, and the new project has its own.
            ls.store.fail(name, ())
            publish_project(ls, name)
    parts: set[str] = set()
    if (key := key_of(ls, uri)) is not None and can_profile(ls, uri):
        if str(key) == file and str(key) not in programs and not is_program(ls, key):
            parts.add(str(key))
        programs[str(key)] = uri
    now = ls.files_now()
    again = {
        key: of for key, of in programs.items() if not ls.store.is_current(key, ls.asked_inputs(key), now)
    }
    await asyncio.gather(
        *(profile(ls, of, show_project, asked=False, part=key in parts) for key, of in sorted(again.items()))
    )
    return bool(again)


def can_inspect(ls: HipServer, uri: str) -> bool:
    """Whether a document has, or belongs to a program with, device code to look at, and the user wants that."""
    file, key = path_of(uri), key_of(ls, uri)
    if not ls.settings.notes_without_run or file is None or key is None:
        return False
    text = ls.text(file) or ""
    return "__global__" in text or (str(key) != file and Path(file).suffix in PROGRAMS | HEADERS)


def can_profile(ls: HipServer, uri: str) -> bool:
    """Whether a document is, or belongs to, a GPU program: only then a save starts something by itself."""
    file, key = path_of(uri), key_of(ls, uri)
    if file is None or key is None:
        return False
    if str(key) != file:
        return Path(file).suffix in PROGRAMS | HEADERS
    return is_program(ls, key) or awaits_build(ls, key)


def restore(ls: HipServer) -> None:
    """Take up a kept profile of each open document's project, if its inputs are those on disk and in the editor now."""
    for document in ls.open_documents():
        key = key_of(ls, document.uri)
        if key is None or ls.store.project(str(key)).shown is not None:
            continue
        for report in load_reports(key):
            if all(disk_text(f) is not None for f in report.sources):
                profiled = ls.store.update(str(key), report, disk_text)
                set_aside_what_stays()
                of_disk = profiled.is_of(ls.asked_inputs(str(key)), FilesNow({}))
                if set(report.sources) <= set(profiled.texts) and of_disk:
                    publish_project(ls, str(key))
                    ls.in_background(hold_against(ls, key, report, show_project))
                    break
            ls.store.forget(str(key))
