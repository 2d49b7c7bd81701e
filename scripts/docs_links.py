"""A hook of mkdocs: links of a page that leave docs/ become the name of the file, as the site has no copy of it."""

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?P<target>[^)#\s]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page's text with `[text](../FILE)` as its text alone, where FILE is not a page of docs/."""
    depth = page.file.src_uri.count("/")

    def without_link(match: re.Match[str]) -> str:
        leaves = match.group(0).partition("](")[2].count("../") > depth
        return match.group(1) if leaves else match.group(0)

    return _OUTSIDE.sub(without_link, markdown)
