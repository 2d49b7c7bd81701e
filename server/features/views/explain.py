"""`hipscope/explain` and `hipscope.server.explain`: one line in words, its instructions and its roofline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.features.commands import EXPLAIN
from hipscope.server.features.views.isa import listed_of
from hipscope.server.features.views.pages import open_text
from hipscope.server.pictures.roofline import roofline_drawing
from hipscope.server.render.blocks import Block, Heading, to_markdown, to_plain
from hipscope.server.render.formula_pages import with_pages
from hipscope.server.render.views.explanation import explanation, waiting_of
from hipscope.server.reports.schema.profile import Finding, Kernel, Line
from hipscope.server.session.known_profiles import Marks
from hipscope.server.session.language_server import HipServer


@dataclass(frozen=True)
class Explained:
    """A line and what is known of it."""

    title: str
    kernel: Kernel
    line: int
    blocks: list[Block]


def register(server: HipServer) -> None:
    """Hook the request and the command into the server."""

    @server.feature("hipscope/explain")
    def explain_request(ls: HipServer, params: object) -> dict[str, Any]:
        found = explain(ls, getattr(params, "_asdict", dict)())
        return {
            "title": found.title,
            "kernel": found.kernel.mangled,
            "line": found.line,
            "markdown": to_markdown(found.blocks),
            "plain": to_plain(found.blocks),
        }

    @server.command(EXPLAIN)
    async def explain_command(ls: HipServer, arguments: object = None, *_: object) -> dict[str, Any]:
        found = explain(ls, arguments if isinstance(arguments, Mapping) else {})
        await open_text(ls, found.title, to_markdown([Heading(found.title), *with_pages(found.blocks)]))
        return {"status": "done", "title": found.title}


def explain(ls: HipServer, asked: Mapping[str, Any]) -> Explained:
    """The line of a document at `position` in words; the hottest one of the document without a position.

    Raises JsonRpcInvalidParams where no profile has the line, with what to do.
    """
    uri = asked.get("uri")
    marks = ls.marks(uri) if isinstance(uri, str) else None
    if marks is None or not isinstance(uri, str):
        raise JsonRpcInvalidParams("no profile of this document is known: profile it first")
    line = _line_of(marks, asked.get("position"))
    rows = next((rows for _, _, rows in marks.hot_lines_of(line + 1, line + 1)), [])
    of_line = [f for f in marks.report.findings_in(marks.file) if marks.lines.to_new(f.line) == line + 1]
    kernel, row = _costliest(marks, rows, of_line)
    if kernel is None:
        raise JsonRpcInvalidParams(
            f"line {line + 1} takes no time in this profile: choose one that is marked"
        )
    code = listed_of(ls, uri, kernel)
    own = [f for f in of_line if kernel.mangled in f.mangled_names]
    blocks = explanation(
        marks.report, kernel, row, own or of_line, waiting_of(code, ls.uri(marks.file), line), code
    )
    drawing = roofline_drawing(marks.report, kernel, image=ls.has_extension)
    name = marks.report.short_name(kernel)
    return Explained(
        f"Line {line + 1} of {name}", kernel, line, [*blocks, *([drawing] if drawing is not None else [])]
    )


def _line_of(marks: Marks, position: object) -> int:
    """The line that is asked for, from 0; the hottest one of the document where none is."""
    if position is None:
        found = [(max(row.share for _, row in rows), at) for at, _, rows in marks.hot_lines_of(1, 1 << 30)]
        return max(found)[1] - 1 if found else 0
    given = position.get("line") if isinstance(position, Mapping) else getattr(position, "line", None)
    return int(given or 0)


def _costliest(
    marks: Marks, rows: Sequence[tuple[Kernel, Line]], findings: Sequence[Finding]
) -> tuple[Kernel | None, Line | None]:
    if rows:
        return max(rows, key=lambda pair: pair[0].gpu_share(pair[1]) or 0.0)
    return next((marks.report.kernel(f.mangled) for f in findings), None), None
