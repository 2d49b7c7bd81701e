"""`window/workDoneProgress`: a bar in the editor for one job, with a cancel button that works."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable

from lsprotocol import types as lsp

from hipscope.analysis.run import Progress
from hipscope.server.session.language_server import HipServer

_CREATE_SECONDS = 5.0


@contextlib.asynccontextmanager
async def progress_bar(ls: HipServer, title: str, cancel: Callable[[], object]) -> AsyncIterator[Progress]:
    """A function that reports a message and a fraction (0..1, None: unknown) while the block runs.

    `cancel` is called when the user presses the button. For a client without progress the reports go nowhere.
    """
    token = f"hipscope-{uuid.uuid4()}"
    if not ls.can("window", "work_done_progress") or not await _create(ls, token):
        yield _nowhere
        return
    bar = ls.work_done_progress
    bar.begin(token, lsp.WorkDoneProgressBegin(title=title, cancellable=True, percentage=0))
    loop = asyncio.get_running_loop()
    bar.tokens[token].add_done_callback(lambda f: f.cancelled() and loop.call_soon_threadsafe(cancel))

    def report(message: str, fraction: float | None) -> None:
        percentage = None if fraction is None else round(100 * min(1.0, max(0.0, fraction)))
        bar.report(
            token, lsp.WorkDoneProgressReport(message=message, percentage=percentage, cancellable=True)
        )

    try:
        yield report
    finally:
        bar.end(token, lsp.WorkDoneProgressEnd())
        bar.tokens.pop(token, None)


def _nowhere(_message: str, _fraction: float | None) -> None:
    """Where reports go for a client that shows no progress."""


async def _create(ls: HipServer, token: str) -> bool:
    # Shielded: cancelling a request that the client will still answer would break the session.
    creating = asyncio.ensure_future(ls.work_done_progress.create_async(token))
    try:
        await asyncio.wait_for(asyncio.shield(creating), _CREATE_SECONDS)
    except (TimeoutError, Exception):
        return False
    return True
