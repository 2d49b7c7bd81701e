"""Where the documentation is: a page of this checkout, else of the installed package, else the project's site."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from pathlib import Path

from pygls.uris import from_fs_path


@cache
def formula_page(formula: str) -> str | None:
    """The address of a formula's page, None when there is no page that could be opened."""
    here = Path(__file__).resolve().parent
    for folder in (here.parents[1] / "docs" / "formulas", here / "formulas"):
        if (page := folder / f"{formula}.md").is_file():
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
