"""`hipscope.server.restore`: put back the text that a file had before its last rewrite.

The command takes one object: `uri`, and `force` (true: also when the file has changed since).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.edit.positions import change_between
from hipscope.server.edit.workspace_edit import edit_of_document
from hipscope.server.session.language_server import HipServer, path_of

_BOM = b"\xef\xbb\xbf"
RESTORE = "hipscope.server.restore"


def register(server: HipServer) -> None:
    """Hook the command into the server."""

    @server.command(RESTORE)
    async def restore_command(ls: HipServer, arguments: object = None, *_: object) -> dict[str, Any]:
        uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
        file = path_of(uri) if isinstance(uri, str) else None
        if file is None:
            raise JsonRpcInvalidParams("the command takes one object with a string `uri` of a file")
        force = isinstance(arguments, Mapping) and arguments.get("force") is True
        if ls.document(file) is None:
            answer = put_back(Path(file), force=force)
        else:
            answer = await put_back_in_editor(ls, Path(file), force=force)
        kind = lsp.MessageType.Info if answer["restored"] else lsp.MessageType.Warning
        ls.tell(f"hipscope: {answer['message']}", kind)
        return answer


async def put_back_in_editor(ls: HipServer, file: Path, *, force: bool) -> dict[str, Any]:
    """Restore the text of a document as an edit of it, saved or not; what came of it."""
    from hipscope.analysis.errors import HipscopeError
    from hipscope.formulas.optimize.verified_edit import kept_original

    document = ls.document(str(file))
    assert document is not None
    text = document.source
    now = text.encode("utf-8", "surrogatepass")
    if file.is_file() and file.read_bytes().startswith(_BOM) and not now.startswith(_BOM):
        now = _BOM + now  # which editors leave out of the text
    try:
        original, kept = kept_original(file, now, force=force)
    except HipscopeError as failure:
        return {"restored": False, "message": str(failure)}
    label = f"hipscope: restore {file.name}"
    change = change_between(text, original.removeprefix(_BOM).decode("utf-8", "surrogatepass"), ls.encoding)
    edit = edit_of_document(change, document.uri, document.version, label, label, ls.edit_side())
    # Shielded: the client may still answer after this request was cancelled.
    asked = ls.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit=edit, label=label))
    reply = await asyncio.shield(asyncio.ensure_future(asked))
    if not reply.applied:
        reason = reply.failure_reason or "no reason given"
        return {"restored": False, "message": f"the editor refused the edit: {reason}"}
    return {
        "restored": True,
        "message": f"{file.name} has its text of {kept.name} again; it is not saved yet",
    }


def put_back(file: Path, *, force: bool) -> dict[str, Any]:
    """Restore a file on disk that is not open; what came of it."""
    from hipscope.analysis.errors import HipscopeError
    from hipscope.formulas.optimize.verified_edit import restore

    try:
        kept = restore(file, force=force)
    except HipscopeError as failure:
        return {"restored": False, "message": str(failure)}
    return {"restored": True, "message": f"{file.name} has its text of {kept.name} again"}
