"""Kernels by what they cost: symbols of a document and of the workspace, `hipscope/kernels` and `hipscope/project`.

All say of each kernel its time, its share of GPU time and what bounds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from hipscope.server.edit.line_map import split_lines
from hipscope.server.edit.positions import name_range
from hipscope.server.render.explain import bound_words
from hipscope.server.render.words import duration, percent
from hipscope.server.reports.schema.profile import Kernel, Report
from hipscope.server.session.known_profiles import Marks
from hipscope.server.session.language_server import HipServer, path_of


def register(server: HipServer) -> None:
    """Hook the handlers into the server."""

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lsp.DocumentSymbolOptions(label="hipscope"))
    def document_symbol(ls: HipServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        marks = ls.marks(params.text_document.uri)
        return document_symbols(marks, ls) if marks is not None else []

    @server.feature(lsp.WORKSPACE_SYMBOL)
    def workspace_symbol(ls: HipServer, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        wanted = params.query.lower()
        return [
            lsp.WorkspaceSymbol(
                name=f"{row['name']}  {row['summary']}",
                kind=lsp.SymbolKind.Function,
                location=lsp.Location(uri=row["uri"], range=row["range"]),
            )
            for row in kernels(ls)
            if wanted in row["name"].lower()
        ]

    @server.feature("hipscope/kernels")
    def kernels_request(ls: HipServer, params: Any) -> dict[str, object]:
        """The kernels of all profiles, or of those with a kernel in the document `uri`; the costliest first."""
        uri = getattr(params, "uri", None)
        rows = kernels(ls, path_of(uri) if isinstance(uri, str) else None)
        return {"kernels": [row | {"range": _plain(row["range"])} for row in rows]}

    @server.feature("hipscope/project")
    def project_request(ls: HipServer, params: Any) -> dict[str, object] | None:
        """What the program of the document `uri` costs, or the one that was profiled last; null before a profile."""
        uri = getattr(params, "uri", None)
        return project(ls, path_of(uri) if isinstance(uri, str) else None)


def project(ls: HipServer, file: str | None = None) -> dict[str, object] | None:
    """A program's GPU time, the kernel that takes most of it and what binds that one; `stale`: some of it is."""
    shown = {key: report for key in ls.store.projects() if (report := ls.store.report(key)) is not None}
    if not shown:
        return None
    owner = ls.store.owner(file) if file is not None else None
    key = owner if owner in shown else list(shown)[-1]
    report = shown[key]
    rows = {row["mangled"]: row for row in kernels(ls) if ls.store.owner(path_of(row["uri"]) or "") == key}
    stale = {mangled for mangled, row in rows.items() if row["stale"]}
    times = [kernel.time_ns for kernel in report.kernels]
    known = [time for time in times if time is not None]
    top = max(report.kernels, key=lambda kernel: kernel.time_ns or 0.0, default=None)
    total = sum(known) if known and len(known) == len(times) else None
    return {
        "uri": ls.uri(key),
        "name": Path(key).name,
        "timeNs": total,
        "kernels": len(report.kernels),
        "findings": sum(not stale.issuperset(finding.mangled_names) for finding in report.findings),
        "stale": bool(stale),
        "provenance": report.provenance,
        "top": None
        if top is None
        else {
            "name": report.short_name(top),
            "mangled": top.mangled,
            "share": top.share,
            "bound": top.bound,
            "summary": summary(top),
            "uri": rows[top.mangled]["uri"] if top.mangled in rows else None,
            "line": rows[top.mangled]["range"].start.line if top.mangled in rows else None,
        },
        "summary": _in_words(report, total, top),
    }


def _in_words(report: Report, total: float | None, top: Kernel | None) -> str:
    """`1.2 ms · transpose 63 % · LDS bound`, without what is not known."""
    parts = [duration(total)] if total is not None else []
    if top is not None:
        share = percent(top.share) if top.share is not None and len(report.kernels) > 1 else ""
        parts += [f"{report.short_name(top)} {share}".rstrip()]
        parts += [words] if (words := bound_words(top.bound)) else []
    return " · ".join(parts)


def document_symbols(marks: Marks, ls: HipServer) -> list[lsp.DocumentSymbol]:
    """The kernels of a document where they stand now, in its order."""
    lines = split_lines(marks.current)
    symbols = []
    for kernel, line in marks.kernels():
        place = name_range(lines, line - 1, kernel.base_name, ls.encoding) or _line(line)
        end = kernel.definition.end_line if kernel.definition is not None else line
        last = max(place.end.line, (marks.lines.to_new(end) or line) - 1)
        whole = lsp.Range(start=lsp.Position(line=place.start.line, character=0), end=_line(last + 1).end)
        symbols.append(
            lsp.DocumentSymbol(
                name=marks.report.short_name(kernel),
                detail=summary(kernel) + (" · stale" if marks.is_stale(kernel) else ""),
                kind=lsp.SymbolKind.Function,
                range=lsp.Range(start=whole.start, end=max(whole.end, place.end, key=_order)),
                selection_range=place,
            )
        )
    return symbols


def kernels(ls: HipServer, file: str | None = None) -> list[dict[str, Any]]:
    """A row for each kernel of what is shown, of those with a place in `file` when it is given, longest first."""
    return sorted(_rows(ls, file), key=lambda row: -(row["timeNs"] or 0.0))


def _rows(ls: HipServer, file: str | None) -> Iterator[dict[str, Any]]:
    seen = set()
    for key in ls.store.projects():
        for name in sorted(ls.store.project(key).texts):
            marks = ls.marks(ls.uri(name)) if file is None or name == file else None
            for kernel, line in marks.kernels() if marks is not None else ():
                if (name, kernel.mangled) in seen:
                    continue
                seen.add((name, kernel.mangled))
                assert marks is not None
                place = name_range(split_lines(marks.current), line - 1, kernel.base_name, ls.encoding)
                yield {
                    "name": marks.report.short_name(kernel),
                    "mangled": kernel.mangled,
                    "uri": ls.uri(name),
                    "range": place or _line(line),
                    "timeNs": kernel.time_ns,
                    "share": kernel.share,
                    "bound": kernel.bound,
                    "summary": summary(kernel),
                    "stale": marks.is_stale(kernel),
                    "provenance": marks.report.provenance,
                    "findings": [
                        {
                            "formula": finding.formula,
                            "line": (marks.lines.to_new(finding.line) or finding.line) - 1,
                            "share": finding.share,
                        }
                        for finding in marks.report.findings_in(name)
                        if kernel.mangled in finding.mangled_names
                    ],
                }


def summary(kernel: Kernel) -> str:
    """`31.7 us · 63 % · LDS bound`, without what is not known."""
    parts = [duration(kernel.time_ns)] if kernel.time_ns is not None else []
    parts += [percent(kernel.share)] if kernel.share is not None else []
    parts += [words] if (words := bound_words(kernel.bound)) else []
    return " · ".join(parts)


def _line(number: int) -> lsp.Range:
    place = lsp.Position(line=number - 1, character=0)
    return lsp.Range(start=place, end=place)


def _order(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character


def _plain(place: lsp.Range) -> dict[str, dict[str, int]]:
    return {
        name: {"line": position.line, "character": position.character}
        for name, position in (("start", place.start), ("end", place.end))
    }
