"""One question instead of a `hipscope.toml`: a program that does not build alone was built as its build files say.

*Use it* writes these settings by `workspace/applyEdit`, so Undo takes them back; *Edit* does so and leaves them to be
changed; *Only this file* compiles the source alone from then on. Asked once for each folder.
"""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.features.commands.profile import profile
from hipscope.server.session.build_choices import BuildChoice, choice_of, keep_choice
from hipscope.server.session.language_server import HipServer
from hipscope.server.session.project_job import Show

CHOICES: dict[str, BuildChoice] = {"Use it": "use", "Edit": "edit", "Only this file": "alone"}
_LABEL = "hipscope: how the program is built and run"


async def ask_about_build(ls: HipServer, key: Path, settings: str, show: Show) -> None:
    """Ask what to do about the settings that a source was built with, unless the folder has been asked about."""
    folder = key.parent
    file = folder / "hipscope.toml"
    if choice_of(folder) is not None or file.exists() or not ls.can_ask:
        return
    keep_choice(folder, "none")  # of two programs in it, one asks
    said = tomllib.loads(settings)
    question = lsp.ShowMessageRequestParams(
        type=lsp.MessageType.Info,
        message=f"hipscope: {key.name} does not build alone. Builds with `{said['build']}`, runs `{said['run']}`.",
        actions=[lsp.MessageActionItem(title=title) for title in CHOICES],
    )
    chosen = await ls.window_show_message_request_async(question)
    choice = CHOICES.get(chosen.title) if chosen is not None else None
    if choice is None:
        return
    keep_choice(folder, choice)
    if choice == "alone":
        await profile(ls, ls.uri(str(key)), show, asked=True)
    elif await _write(ls, file, settings):
        await _saved_or_shown(ls, ls.uri(str(file)), choice)


async def _write(ls: HipServer, file: Path, settings: str) -> bool:
    """Have the editor make the file; whether it did."""
    uri = ls.uri(str(file))
    start = lsp.Position(0, 0)
    insert = lsp.TextEdit(lsp.Range(start, start), settings)
    operations = ls.can("workspace", "workspace_edit", "resource_operations") or ()
    if ls.edit_side().document_changes and lsp.ResourceOperationKind.Create in operations:
        document = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=None)
        edit = lsp.WorkspaceEdit(
            document_changes=[
                lsp.CreateFile(uri=uri, options=lsp.CreateFileOptions(ignore_if_exists=True)),
                lsp.TextDocumentEdit(text_document=document, edits=[insert]),
            ]
        )
    else:
        edit = lsp.WorkspaceEdit(changes={uri: [insert]})
    params = lsp.ApplyWorkspaceEditParams(edit=edit, label=_LABEL)
    # Shielded: the client may still answer after the job was cancelled.
    reply = await asyncio.shield(asyncio.ensure_future(ls.workspace_apply_edit_async(params)))
    if not reply.applied:
        why = reply.failure_reason or "no reason given"
        ls.tell(f"hipscope: the editor refused to write {file.name}: {why}.", lsp.MessageType.Warning)
    return bool(reply.applied)


async def _saved_or_shown(ls: HipServer, uri: str, choice: BuildChoice) -> None:
    """Settings count when they are saved: our extension does that; others, and who wants to edit, see the file."""
    if choice == "use" and ls.has_extension:
        ls.protocol.notify("hipscope/save", {"uri": uri})
        return
    support = ls.can("window", "show_document")
    if support is not None and support.support:
        await ls.window_show_document_async(lsp.ShowDocumentParams(uri=uri, take_focus=True))
    ls.tell("hipscope: save hipscope.toml to build and profile with it.")
