"""`hipscope.server.restore`: put back the text that a file had before its last rewrite.

The command takes one object: `uri`, and `force` (true: also when the file has changed since).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.session.language_server import HipServer, path_of

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
