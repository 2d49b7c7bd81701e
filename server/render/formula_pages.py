"""Where the documentation is: a page of this checkout, else of the installed package, else the project's site."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import quote

from pygls.uris import from_fs_path

from hipscope.server.render.blocks import Block, Table

OPEN_PAGE = "hipscope.openPage"
"""The command of our extension that opens the page of an address."""
_WAITS = "waits.md"
_BOUND = re.compile(
    r"\b(?:memory unit|memory|compute|LDS|atomic|L2|issue|launch|latency) bound(?:, few waves)?\b"
)
_PAGE_LINK = re.compile(r"\]\((file:[^)\s]+\.md(?:#[\w-]+)?)\)")


@cache
def formula_page(formula: str) -> str | None:
    """The address of a formula's page, None when there is no page that could be opened."""
    if (page := _files().get(formula)) is not None:
        return from_fs_path(str(page)) or None
    site = _site()
    return f"{site}/docs/formulas/{formula}.md" if site else None


def rendered_links(markdown: str) -> str:
    """A text whose links to pages are our extension's command, which opens them rendered."""
    return _PAGE_LINK.sub(lambda m: f"](command:{OPEN_PAGE}?{quote(json.dumps([m[1]]))})", markdown)


def with_pages(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in which each wait reason and the bound of the kernel lead to what they mean."""
    page = doc_page(_WAITS)
    address = from_fs_path(str(page)) if page is not None else None
    return [_with_page(block, address) for block in blocks] if address else list(blocks)


def _with_page(block: Block, address: str) -> Block:
    if isinstance(block, str):
        return _BOUND.sub(lambda m: _linked(m[0], address), block, count=1)
    if not isinstance(block, Table):
        return block
    if "waits for" in block.header:
        place = block.header.index("waits for")
        rows = [
            tuple(_linked(c, address) if n == place and c else c for n, c in enumerate(row))
            for row in block.rows
        ]
        return replace(block, rows=tuple(rows))
    rows = [(row[0], _linked(row[1], address)) if row[0] == "limited by" else row for row in block.rows]
    return replace(block, rows=tuple(rows))


def _linked(words: str, address: str) -> str:
    return f"[{words}]({address}#{anchor(words)})"


def anchor(title: str) -> str:
    """The anchor of a heading, as Markdown previews make it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def doc_page(name: str) -> Path | None:
    """The file of a page, such as `metrics.md`; None when it is not here."""
    return next((folder / name for folder in _folders() if (folder / name).is_file()), None)


def pages() -> tuple[str, ...]:
    """The formulas that have a page here."""
    return tuple(sorted(_files()))


def page_text(formula: str) -> str | None:
    """The text of a formula's page, None when there is none here."""
    page = _files().get(formula)
    return None if page is None else page.read_text(encoding="utf-8")


@cache
def _files() -> Mapping[str, Path]:
    """The pages by formula: those of this checkout, else of the installed package."""
    for folder in _folders():
        if found := {p.stem: p for p in (folder / "formulas").glob("*.md") if p.stem != "README"}:
            return found
    return {}


def _folders() -> tuple[Path, ...]:
    here = Path(__file__).resolve().parent
    return here.parents[1] / "docs", here / "docs"


def _site() -> str | None:
    try:
        urls = importlib.metadata.metadata("hipscope").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    named = dict(u.split(", ", 1) for u in urls if ", " in u)
    return named.get("Documentation", "").rstrip("/") or None
