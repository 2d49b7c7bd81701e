"""Pages that open rendered: what is written about a line or a kernel, and the documentation that travels with hipscope.

Our extension draws Markdown; another client gets the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from hipscope.analysis.system.directories import state_directory, write_atomically
from hipscope.server.features.commands import PAGE
from hipscope.server.render.formula_pages import doc_page, rendered_links
from hipscope.server.session.language_server import HipServer, show_file

_NAME = re.compile(r"(?:[\w-]+/)?[\w-]+\.md")


def register(server: HipServer) -> None:
    """Hook the command into the server."""

    @server.command(PAGE)
    async def page_command(ls: HipServer, arguments: object = None, *_: object) -> dict[str, Any]:
        name = arguments.get("name") if isinstance(arguments, Mapping) else None
        page = doc_page(name) if isinstance(name, str) and _NAME.fullmatch(name) else None
        if page is None:
            raise JsonRpcInvalidParams(
                "the command takes one object with the `name` of a page, as `metrics.md`"
            )
        uri = from_fs_path(str(page)) or ""
        if ls.has_extension:
            ls.protocol.notify("hipscope/page", {"title": page.stem, "uri": uri, "markdown": None})
        else:
            await show_file(ls, page)
        return {"status": "done", "uri": uri}


async def open_text(ls: HipServer, title: str, markdown: str) -> None:
    """Open a text as a page."""
    if ls.has_extension:
        shown = {"title": title, "uri": None, "markdown": rendered_links(markdown)}
        ls.protocol.notify("hipscope/page", shown)
        return
    path = state_directory() / "pages" / f"{re.sub(r'[^A-Za-z0-9]+', '-', title)[:60]}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, markdown.encode())
    if not await show_file(ls, Path(path)):
        ls.tell(f"hipscope: {title} is in {path}")
