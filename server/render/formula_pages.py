"""Where the documentation is: a page of this checkout, else of the installed package, else the project's site."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pygls.uris import from_fs_path


@cache
def formula_page(formula: str) -> str | None:
    """The address of a formula's page, None when there is no page that could be opened."""
    if (page := _files().get(formula)) is not None:
        return from_fs_path(str(page)) or None
    site = _site()
    return f"{site}/docs/formulas/{formula}.md" if site else None


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
    here = Path(__file__).resolve().parent
    for folder in (here.parents[1] / "docs" / "formulas", here / "formulas"):
        if found := {page.stem: page for page in folder.glob("*.md") if page.stem != "README"}:
            return found
    return {}


def _site() -> str | None:
    try:
        urls = importlib.metadata.metadata("hipscope").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    named = dict(u.split(", ", 1) for u in urls if ", " in u)
    return named.get("Documentation", "").rstrip("/") or None
