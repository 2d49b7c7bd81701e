"""`hipscope/proposals` and `hipscope/proposal`: the verified rewrites that wait for a decision, with evidence."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.features.commands.proposal import describe
from hipscope.server.session.language_server import HipServer, path_of

_BRIEF = ("id", "uri", "title", "headline", "kernel", "formula", "speedup", "provenance", "fits")


def register(server: HipServer) -> None:
    """Hook the requests into the server."""

    @server.feature("hipscope/proposals")
    def proposals(ls: HipServer, params: Any) -> list[dict[str, object]]:
        """Those that concern the document `uri`, all without one; newest first, without texts."""
        uri = getattr(params, "uri", None)
        file = path_of(uri) if isinstance(uri, str) else None
        rows = []
        for proposal in ls.proposals.all():
            parts = proposal.found.edit.parts if proposal.found.edit is not None else ()
            if file is None or any(part.file == file for part in parts):
                whole = describe(ls, proposal)
                rows.append({name: whole[name] for name in _BRIEF})
        return rows

    @server.feature("hipscope/proposal")
    def proposal(ls: HipServer, params: Any) -> dict[str, object]:
        """One proposal by `id`, whole."""
        identifier = getattr(params, "id", None)
        found = ls.proposals.get(identifier) if isinstance(identifier, str) else None
        if found is None:
            raise JsonRpcInvalidParams(f"no proposal {identifier!r} is kept: optimize the kernel again")
        return describe(ls, found)
