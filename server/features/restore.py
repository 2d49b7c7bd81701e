"""`hipscope.server.restore`: put back the text that a file had before its last rewrite.

The command takes one object: `uri`, and `force` (true: also when the file has changed since).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.edit.positions import change_between
from hipscope.server.edit.workspace_edit import DocumentChange, edit_of_documents
from hipscope.server.session.language_server import HipServer, path_of

if TYPE_CHECKING:
    from hipscope.formulas.optimize.verified_edit import KeptText

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
        answer = await put_back(ls, Path(file), force=force)
        kind = lsp.MessageType.Info if answer["restored"] else lsp.MessageType.Warning
        ls.tell(f"hipscope: {answer['message']}", kind)
        return answer


async def put_back(ls: HipServer, file: Path, *, force: bool) -> dict[str, Any]:
    """Restore a file with the others of its last rewrite; what came of it.

    Where one of them is open, all are an edit in the editor, saved or not; else they are written.
    """
    from hipscope.analysis.errors import HipscopeError
    from hipscope.formulas.optimize.verified_edit import kept_originals, restore

    def content(path: Path) -> bytes:
        text = ls.text(str(path))
        now = b"" if text is None else text.encode("utf-8", "surrogatepass")
        marked = path.is_file() and path.read_bytes().startswith(_BOM)  # which editors leave out of the text
        return _BOM + now if marked and not now.startswith(_BOM) else now

    try:
        parts = kept_originals(file, content, force=force)
        if all(ls.document(str(part.file)) is None for part in parts):
            return {"restored": True, "message": _restored(restore(file, force=force))}
    except HipscopeError as failure:
        return {"restored": False, "message": str(failure)}
    refused = await _applied(ls, f"hipscope: restore {file.name}", parts)
    if refused is not None:
        return {"restored": False, "message": f"the editor refused the edit: {refused}"}
    return {
        "restored": True,
        "message": f"{_restored(part.kept for part in parts)}; it is not saved yet",
    }


async def _applied(ls: HipServer, label: str, parts: Sequence[KeptText]) -> str | None:
    """Ask the editor to put these texts back; why it refused, or None."""
    changes = []
    for part in parts:
        before, after = (
            t.removeprefix(_BOM).decode("utf-8", "surrogatepass") for t in (part.now, part.original)
        )
        document = ls.document(str(part.file))
        change = change_between(before, after, ls.encoding)
        changes.append(DocumentChange(change, ls.uri(str(part.file)), document.version if document else None))
    edit = edit_of_documents(changes, label, label, ls.edit_side())
    # Shielded: the client may still answer after this request was cancelled.
    asked = ls.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit=edit, label=label))
    reply = await asyncio.shield(asyncio.ensure_future(asked))
    return None if reply.applied else reply.failure_reason or "no reason given"


def _restored(kept: Iterable[Path]) -> str:
    """Which files have which text again; a kept text has the name of its file, and a part of its hash behind it."""
    return ", ".join(f"{path.stem} has its text of {path.name} again" for path in kept)
