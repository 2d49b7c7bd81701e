"""Short structured text, written once and shown as Markdown or as plain text.

A document is a list of headings, paragraphs, tables and drawings. Paragraphs may use `code` and **bold**, nothing else.
What comes from a program or a tool (names, messages) goes through `literal`.
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


@dataclass(frozen=True)
class Drawing:
    """Lines of characters that keep their columns; `image` is the same as an address, where images are drawn."""

    title: str
    lines: tuple[str, ...]
    image: str | None = None


Block = Heading | Table | Drawing | str

_CODE_OR_MARK = re.compile(r"`[^`\n]+`|[\\`*_\[\]<>~&#]")
_ESCAPED_OR_MARKUP = re.compile(r"\\([\\`*_\[\]<>~&#])|\*\*|`")
_LINK = re.compile(r"(?<!\\)\[([^\]]+)\]\([^)]*\)")


def literal(text: str) -> str:
    """A text whose stars, underscores and brackets mean themselves: `f(float*, int**)`. What it marks as code stays."""
    return _CODE_OR_MARK.sub(lambda m: m[0] if len(m[0]) > 1 else f"\\{m[0]}", text)


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
    if isinstance(block, Drawing):
        shown = f"![{block.title}]({block.image})" if block.image else ""
        return shown or "\n".join(["```text", *block.lines, "```"])
    ruler = ["--:" if n in block.right else ":--" for n in range(len(block.header))]
    rows = [block.header, ruler, *block.rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows)


def _plain(block: Block) -> str:
    if isinstance(block, Heading):
        return _bare(block.text)
    if isinstance(block, str):
        return _bare(block)
    if isinstance(block, Drawing):
        return "\n".join(block.lines)
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
    return _ESCAPED_OR_MARKUP.sub(lambda m: m[1] or "", _LINK.sub(r"\1", text))
