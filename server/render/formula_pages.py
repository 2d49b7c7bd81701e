"""Where the documentation is: a page of this checkout when there is one, else the project's site, else nothing."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from pathlib import Path

from pygls.uris import from_fs_path


@cache
def formula_page(formula: str) -> str | None:
    """The address of a formula's page, None when there is no page that could be opened."""
    page = Path(__file__).resolve().parents[2] / "docs" / "formulas" / f"{formula}.md"
    if page.is_file():
        return from_fs_path(str(page)) or None
    site = _site()
    return f"{site}/docs/formulas/{formula}.md" if site else None


def _site() -> str | None:
    try:
        urls = importlib.metadata.metadata("hipscope").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    named = dict(u.split(", ", 1) for u in urls if ", " in u)
    return named.get("Documentation", "").rstrip("/") or None
