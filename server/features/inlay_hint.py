"""`textDocument/inlayHint`: at the end of each hot line, its share of its kernel and what it waits for most."""

from __future__ import annotations

from lsprotocol import types as lsp

from hipscope.server.edit.positions import Encoding, code_range
from hipscope.server.render.blocks import to_markdown
from hipscope.server.render.explain import explain_line
from hipscope.server.render.words import percent, reason
from hipscope.server.session.editor_settings import EditorSettings
from hipscope.server.session.known_profiles import Marks, hottest
from hipscope.server.session.language_server import HipServer


def register(server: HipServer) -> None:
    """Hook the handler into the server."""

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT, lsp.InlayHintOptions(resolve_provider=False))
    def inlay_hint(ls: HipServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        marks = ls.marks(params.text_document.uri)
        if marks is None or not ls.settings.inlay_hints:
            return []
        return build(marks, params.range, ls.settings, ls.encoding)


def build(marks: Marks, span: lsp.Range, settings: EditorSettings, encoding: Encoding) -> list[lsp.InlayHint]:
    """The hints inside a range of lines, for lines with at least the set share of GPU time."""
    lines = marks.current_lines
    hints = []
    for number, share, rows in marks.hot_lines_of(span.start.line + 1, span.end.line + 1):
        if share is None or share < settings.minimum_share:
            continue
        kernel, row = hottest(rows)
        label = percent(row.share) + (f" · {reason(row.reason)}" if row.reason else "")
        hints.append(
            lsp.InlayHint(
                position=code_range(lines[number - 1], number - 1, encoding).end,
                label=f"{label} (stale)" if marks.is_stale(kernel) else label,
                padding_left=True,
                tooltip=lsp.MarkupContent(
                    kind=lsp.MarkupKind.Markdown, value=to_markdown(explain_line(marks, rows, []))
                ),
            )
        )
    return hints
