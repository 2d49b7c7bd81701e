"""`textDocument/hover`: what a line costs and why, or a kernel's numbers, from the last profile."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from hipscope.server.edit.positions import Encoding, code_range, units
from hipscope.server.features.diagnostics import finding_range
from hipscope.server.features.settings_file.document import hover as of_settings
from hipscope.server.features.settings_file.document import is_settings
from hipscope.server.features.views.metrics import link_to_all, shown_metrics
from hipscope.server.pictures.roofline import roofline_drawing
from hipscope.server.render.blocks import Block, Table, to_markdown, to_plain
from hipscope.server.render.explain import explain_kernel, explain_line
from hipscope.server.render.formula_pages import rendered_links, with_pages
from hipscope.server.reports.schema.profile import Kernel
from hipscope.server.session.known_profiles import Marks
from hipscope.server.session.language_server import HipServer, path_of

_WIDTH = 520  # pixels of a picture
_WORD = re.compile(r"[A-Za-z_]\w*")


def register(server: HipServer) -> None:
    """Hook the handler into the server."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(ls: HipServer, params: lsp.HoverParams) -> lsp.Hover | None:
        if is_settings(params.text_document.uri):
            text = ls.text(path_of(params.text_document.uri) or "")
            return of_settings(text, params.position) if text is not None else None
        marks = ls.marks(params.text_document.uri)
        formats = ls.can("text_document", "hover", "content_format") or [lsp.MarkupKind.Markdown]
        if marks is None:
            return None
        return build(marks, params.position, formats[0], ls.encoding, extension=ls.has_extension)


def build(
    marks: Marks,
    position: lsp.Position,
    kind: lsp.MarkupKind,
    encoding: Encoding,
    *,
    extension: bool = False,
) -> lsp.Hover | None:
    """The hover at a position: of the kernel whose name stands there, else of the line, else None.

    Our `extension` draws images, and opens pages by its own command.
    """
    lines = marks.current_lines
    if position.line >= len(lines):
        return None
    line = lines[position.line]
    if (found := _kernel_at(marks, line, position, encoding, images=extension)) is not None:
        return _hover(*found, kind, extension=extension)
    number = position.line + 1
    rows = next((rows for _, _, rows in marks.hot_lines_of(number, number)), [])
    findings = [f for f in marks.report.findings_in(marks.file) if marks.lines.to_new(f.line) == number]
    told = [f for f in marks.report.told_in(marks.file) if marks.lines.to_new(f.line) == number]
    if not rows and not findings:
        return None
    # VS Code shows the messages of the marks at the position above the hover.
    above = [
        f for f in findings if extension and _covers(finding_range(f, number, lines, encoding), position)
    ]
    blocks = explain_line(marks, rows, findings, told, above)
    return _hover(blocks, code_range(line, position.line, encoding), kind, extension=extension)


def _covers(span: lsp.Range, position: lsp.Position) -> bool:
    start, end = ((place.line, place.character) for place in (span.start, span.end))
    return start <= (position.line, position.character) <= end


def _kernel_at(
    marks: Marks, line: str, position: lsp.Position, encoding: Encoding, *, images: bool
) -> tuple[list[Block], lsp.Range] | None:
    for word in _WORD.finditer(line):
        start, end = units(line[: word.start()], encoding), units(line[: word.end()], encoding)
        if not start <= position.character <= end:
            continue
        kernels = marks.report.kernels_called(word.group())
        if kernels:
            span = lsp.Range(
                start=lsp.Position(line=position.line, character=start),
                end=lsp.Position(line=position.line, character=end),
            )
            return [b for k in kernels for b in _of_kernel(marks, k, images=images)], span
    return None


def _of_kernel(marks: Marks, kernel: Kernel, *, images: bool) -> list[Block]:
    """What is said of a kernel, with its place under the roofs behind its numbers."""
    blocks = explain_kernel(marks.report, kernel, marks.is_stale(kernel))
    if (drawing := roofline_drawing(marks.report, kernel, image=images, width=_WIDTH)) is not None:
        place = next((n for n, block in enumerate(blocks) if isinstance(block, Table)), 0)
        blocks.insert(place + 1, drawing)
    link = link_to_all(from_fs_path(marks.file) or "", kernel) if images else ""
    return [*blocks[:-1], *shown_metrics(marks.report, kernel, link), blocks[-1]]


def _hover(blocks: Sequence[Block], span: lsp.Range, kind: lsp.MarkupKind, *, extension: bool) -> lsp.Hover:
    markdown = kind == lsp.MarkupKind.Markdown
    if markdown and extension:
        text = rendered_links(to_markdown(with_pages(blocks)))
    else:
        text = to_markdown(blocks) if markdown else to_plain(blocks)
    kind = lsp.MarkupKind.Markdown if markdown else lsp.MarkupKind.PlainText
    return lsp.Hover(contents=lsp.MarkupContent(kind=kind, value=text), range=span)
