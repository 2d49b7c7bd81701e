"""Diagnostics, completion and hover of a `hipscope.toml`; the texts are those of docs/configuration.md.

The model that checks the settings is imported with the first such document, not before.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from hipscope.analysis.settings_places import key_places, mistake_place, table_of
from hipscope.server.edit.line_map import split_lines
from hipscope.server.session.language_server import HipServer, path_of

NAME = "hipscope.toml"
_BEGUN = re.compile(r"^\s*[A-Za-z0-9_.-]*$")


def register(server: HipServer) -> None:
    """Hook completion into the server; diagnostics and hover come with those of all documents."""

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["["]))
    def completion(ls: HipServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem] | None:
        text = ls.text(path_of(params.text_document.uri) or "")
        if text is None or not is_settings(params.text_document.uri):
            return None
        return complete(text, params.position)


def is_settings(uri: str) -> bool:
    """Whether a document is a `hipscope.toml`."""
    return Path(path_of(uri) or "").name == NAME


def diagnose(text: str) -> list[lsp.Diagnostic]:
    """Each mistake, on its key; on the last line where the text just ends."""
    from hipscope.analysis.config import read_settings_text

    found = []
    for mistake in read_settings_text(text)[1]:
        at = mistake_place(text, mistake.key, mistake.message)
        found.append(
            lsp.Diagnostic(
                range=_range(at.line, at.start, at.end),
                message=mistake.message,
                severity=lsp.DiagnosticSeverity.Error,
                source="hipscope",
                code="settings",
            )
        )
    return found


def hover(text: str, position: lsp.Position) -> lsp.Hover | None:
    """What the key on a line means, with its default."""
    key = next((k for k in key_places(text) if k.line == position.line), None)
    row = _documented().get(key.path) if key is not None else None
    if key is None or row is None:
        return None
    value = f"**{key.path}** {_default(row[0])}\n\n{row[1]}"
    contents = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=value)
    return lsp.Hover(contents=contents, range=_range(key.line, key.start, key.end))


def complete(text: str, position: lsp.Position) -> list[lsp.CompletionItem]:
    """The keys that may still stand in the table of a line, or behind `[` the tables."""
    lines = split_lines(text)
    before = lines[position.line][: position.character] if position.line < len(lines) else ""
    rows = _documented()
    if before.lstrip().startswith("[") and "]" not in before:
        tables = dict.fromkeys(path.partition(".")[0] for path in rows if "." in path)
        return [lsp.CompletionItem(label=name, kind=lsp.CompletionItemKind.Module) for name in tables]
    if not _BEGUN.match(before):
        return []
    above = [name for line in lines[: position.line] if (name := table_of(line)) is not None]
    table = above[-1] if above else ""
    there = {key.path for key in key_places(text) if key.line != position.line}
    return [
        lsp.CompletionItem(
            label=path.rpartition(".")[2],
            kind=lsp.CompletionItemKind.Property,
            detail=_default(default),
            documentation=lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=description),
            insert_text=f"{path.rpartition('.')[2]} = ",
        )
        for path, (default, description) in rows.items()
        if path.rpartition(".")[0] == table and path not in there
    ]


def _documented() -> dict[str, tuple[Any, str]]:
    from hipscope.analysis.config import config_keys

    return {path: (default, description) for path, default, description in config_keys()}


def _default(default: Any) -> str:
    return "not set" if default is None else f"default `{json.dumps(default)}`"


def _range(line: int, start: int, end: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, start), lsp.Position(line, end))
