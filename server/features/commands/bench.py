"""`hipscope.server.bench`: a first bench above a kernel of a file without `main`, for the user to correct."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.features.commands.profile import profile_edited
from hipscope.server.session.language_server import HipServer, path_of
from hipscope.server.session.project_job import Answer, Show

_LABEL = "hipscope: a bench to profile the kernel with"


async def write_bench(ls: HipServer, uri: str, kernel: str, show: Show) -> Answer:
    """Send the editor the first bench of a kernel as an edit, a line above its definition, and profile with it."""
    from hipscope.analysis.benches.first_line import first_bench

    file = path_of(uri)
    text = ls.text(file) if file is not None else None
    found = first_bench(text, kernel) if text is not None else None
    if file is None or found is None:
        message = f"there is no kernel {kernel} in {Path(file or uri).name}"
        ls.tell(f"hipscope: {message}", lsp.MessageType.Warning)
        return {"status": "failed", "applied": False, "message": message}
    place = lsp.Position(line=found.line - 1, character=0)
    insert = lsp.TextEdit(range=lsp.Range(start=place, end=place), new_text=f"{found.comment}\n")
    document = ls.document(file)
    if ls.can("workspace", "workspace_edit", "document_changes") and document is not None:
        of = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=document.version)
        edit = lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(text_document=of, edits=[insert])])
    else:
        edit = lsp.WorkspaceEdit(changes={uri: [insert]})
    params = lsp.ApplyWorkspaceEditParams(edit=edit, label=_LABEL)
    # Shielded: the client may still answer after this request was cancelled.
    reply = await asyncio.shield(asyncio.ensure_future(ls.workspace_apply_edit_async(params)))
    message = f"a bench was written above {kernel} and is profiled: correct its sizes and contents, then save"
    if reply.applied:
        ls.in_background(profile_edited(ls, uri, show, lambda text: found.comment in text))
    if not reply.applied:
        message = f"the editor refused the edit: {reply.failure_reason or 'no reason given'}"
    ls.tell(f"hipscope: {message}.", lsp.MessageType.Info if reply.applied else lsp.MessageType.Warning)
    return {"status": "done" if reply.applied else "failed", "applied": reply.applied, "message": message}
