"""One key of a `hipscope.toml`, written by an edit of the editor: the file is made where it is not there."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.edit.positions import Encoding, byte_range
from hipscope.server.edit.workspace_edit import plain_edit
from hipscope.server.session.language_server import HipServer, disk_text, show_file

_LABEL = "hipscope: settings of the project"
_SAVED_WITHIN = 100  # looks, 50 ms apart, for the editor to save the settings


async def edit_setting(ls: HipServer, file: Path, name: str, value: object) -> bool:
    """Have the editor write a key of the top level; whether it counts now: the file with it is saved."""
    text = ls.text(str(file))
    change = setting_change(text or "", name, value, ls.encoding)
    if change is None:
        ls.tell(f"hipscope: `{name}` in {file.name} could not be changed: write it by hand.")
        await show_file(ls, file)
        return False
    wrote = await (write_new(ls, file, change.new_text) if text is None else _change(ls, file, change))
    return wrote and await saved(ls, file, lambda found: tomllib.loads(found).get(name) == value)


def setting_change(text: str, name: str, value: object, encoding: Encoding) -> lsp.TextEdit | None:
    """The edit that gives a key of the top level a value; None where that would change anything else."""
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    found = re.search(rf"^{re.escape(name)}[ \t]*=[^\n]*$", text, re.MULTILINE)
    start, end = found.span() if found is not None else (0, 0)
    new = line if found is not None else f"{line}\n"
    try:
        before = tomllib.loads(text)
        if tomllib.loads(text[:start] + new + text[end:]) != {**before, name: value}:
            return None
    except ValueError:
        return None
    first, last = (len(text[:at].encode("utf-8", "surrogatepass")) for at in (start, end))
    return lsp.TextEdit(byte_range(text, first, last, encoding), new)


async def write_new(ls: HipServer, file: Path, text: str, label: str = _LABEL) -> bool:
    """Have the editor make a file; whether it did."""
    uri = ls.uri(str(file))
    start = lsp.Position(0, 0)
    insert = lsp.TextEdit(lsp.Range(start, start), text)
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
    return await _applied(ls, file, edit, label)


async def saved(ls: HipServer, file: Path, holds: Callable[[str], bool]) -> bool:
    """Whether the disk has the settings: our extension saves them; in other editors the user sees the file and does."""
    if not ls.has_extension:
        await show_file(ls, file)
        ls.tell(f"hipscope: save {file.name} to build and profile with it.")
        return False
    ls.protocol.notify("hipscope/save", {"uri": ls.uri(str(file))})
    for _ in range(_SAVED_WITHIN):
        if (found := disk_text(str(file))) and holds(found):
            return True
        await asyncio.sleep(0.05)
    return False


async def _change(ls: HipServer, file: Path, change: lsp.TextEdit) -> bool:
    document = ls.document(str(file))
    version = document.version if document else None
    edit = plain_edit(ls.uri(str(file)), version, [change], ls.edit_side())
    return await _applied(ls, file, edit, _LABEL)


async def _applied(ls: HipServer, file: Path, edit: lsp.WorkspaceEdit, label: str) -> bool:
    params = lsp.ApplyWorkspaceEditParams(edit=edit, label=label)
    # Shielded: the client may still answer after the job was cancelled.
    reply = await asyncio.shield(asyncio.ensure_future(ls.workspace_apply_edit_async(params)))
    if not reply.applied:
        why = reply.failure_reason or "no reason given"
        ls.tell(f"hipscope: the editor refused to write {file.name}: {why}.", lsp.MessageType.Warning)
    return bool(reply.applied)
