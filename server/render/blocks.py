"""Short structured text, written once and shown as Markdown or as plain text.

A document is a list of headings, paragraphs and tables. Paragraphs may use `code` and **bold**, nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """One bold line."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of short cells under a header; the columns in `right` are numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


Block = Heading | Table | str


def to_markdown(blocks: Sequence[Block]) -> str:
    """CommonMark with tables, as editors render it."""
    return "\n\n".join(_markdown(b) for b in blocks)


def to_plain(blocks: Sequence[Block]) -> str:
    """The same for clients that show text as it is."""
    return "\n\n".join(_plain(b) for b in blocks)


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"**{block.text}**"
    if isinstance(block, str):
        return block
    ruler = ["--:" if n in block.right else ":--" for n in range(len(block.header))]
    rows = [block.header, ruler, *block.rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows)


def _plain(block: Block) -> str:
    if isinstance(block, Heading):
        return _bare(block.text)
    if isinstance(block, str):
        return _bare(block)
    rows = [
        [_bare(c) for c in row] for row in ([block.header] if any(block.header) else []) + list(block.rows)
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(len(block.header))]
    return "\n".join(
        "  ".join(
            c.rjust(w) if n in block.right else c.ljust(w)
            for n, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _bare(text: str) -> str:
    return re.sub(r"\*\*|`", "", re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text))
