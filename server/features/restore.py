"""`hipscope.server.restore`: put back the text that a file had before its last rewrite; and keeping that text.

The command takes one object: `uri`, and `force` (true: also when the file has changed since).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.reports.profile_reader import Edit
from hipscope.server.session.language_server import HipServer, path_of

RESTORE = "hipscope.server.restore"
_BOM = b"\xef\xbb\xbf"


def register(server: HipServer) -> None:
    """Hook the command into the server."""

    @server.command(RESTORE)
    async def restore_command(ls: HipServer, arguments: object = None, *_: object) -> dict[str, Any]:
        uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
        file = path_of(uri) if isinstance(uri, str) else None
        if file is None:
            raise JsonRpcInvalidParams("the command takes one object with a string `uri` of a file")
        force = isinstance(arguments, Mapping) and arguments.get("force") is True
        answer = put_back(Path(file), force=force)
        kind = lsp.MessageType.Info if answer["restored"] else lsp.MessageType.Warning
        ls.tell(f"hipscope: {answer['message']}", kind)
        return answer


def put_back(file: Path, *, force: bool) -> dict[str, Any]:
    """Restore the file on disk, where the editor sees it change; what came of it."""
    from hipscope.analysis.errors import HipscopeError
    from hipscope.formulas.optimize.verified_edit import restore

    try:
        kept = restore(file, force=force)
    except HipscopeError as failure:
        return {"restored": False, "message": str(failure)}
    return {"restored": True, "message": f"{file.name} has its text of {kept.name} again"}


def keep(edit: Edit, text: str) -> None:
    """Keep what a document held before an edit that the editor applied. A failure only costs the way back."""
    from hipscope.formulas.optimize.verified_edit import keep_original

    original = text.encode("utf-8", "surrogatepass")
    if hashlib.sha256(original).hexdigest() != edit.original_sha256:
        original = _BOM + original
    changed = original[: edit.start_byte] + edit.new_text.encode() + original[edit.end_byte :]
    keep_original(Path(edit.file).resolve(), original, changed)
