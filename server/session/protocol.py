"""pygls' protocol with commands as real tasks, and silent once the client is gone.

In pygls 2.1 a command runs beside its request: cancelling the request leaves the command running, and a command
that is cancelled is never answered. As a coroutine the request is the command, and both end together.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol, lsp_method


class HipscopeProtocol(LanguageServerProtocol):
    """Answers `workspace/executeCommand` in one task, so that `$/cancelRequest` reaches it."""

    ended = False
    """Whether the client has said `exit`."""

    def _send_data(self, data: Any) -> None:
        """What a cancelled job has to say after `exit` reaches nobody; pygls would report by sending that it failed."""
        if not self.ended:
            super()._send_data(data)

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: lsp.ExecuteCommandParams) -> Any:  # type: ignore[override]
        """Run the command with its arguments as the client sent them."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"unknown command {params.command!r}")
        return await handler(*(params.arguments or ()))
