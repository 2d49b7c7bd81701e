"""Everything that a client is shown of a project, sent again: diagnostics, heat, lenses and hints."""

from __future__ import annotations

from pathlib import Path

from hipscope.server.features.diagnostics import publish_project
from hipscope.server.features.heat import send_heat
from hipscope.server.session.file_watchers import watch_inputs
from hipscope.server.session.language_server import HipServer, path_of


async def show_project(ls: HipServer, key: Path) -> None:
    """Send what is known of a project now."""
    publish_project(ls, str(key))
    for document in ls.open_documents():
        if path_of(document.uri) in ls.store.files(str(key)):
            send_heat(ls, document.uri)
    await ls.refresh()
    ls.in_background(watch_inputs(ls))
