"""`textDocument/publishDiagnostics`: findings, stalled lines, compiler errors and faults on their lines.

Pushed, because results appear when a profile ends and not when the client asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from hipscope.server.edit.line_map import split_lines
from hipscope.server.edit.positions import Encoding, code_range, name_range, span_range, word_range
from hipscope.server.features.settings_file.document import diagnose, is_settings
from hipscope.server.render.explain import instances_sentence
from hipscope.server.render.formula_pages import formula_page
from hipscope.server.render.words import duration, percent, reason, top_reasons, uncertain_reason
from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.profile import Finding, Kernel, Line
from hipscope.server.session.editor_settings import EditorSettings
from hipscope.server.session.known_profiles import Marks, Problem, hottest
from hipscope.server.session.language_server import HipServer, path_of

SOURCE = "hipscope"
CHECK_SOURCE = "hipscope check"
NOTE_SOURCE = "hipscope compile"
WARNING_SHARE = 0.25
INFORMATION_SHARE = 0.10
SLOWER = 0.05
"""Growth of a kernel's time since the commit that it is compared with, from which it is marked."""

_TEXT_ALONE = ("wave-size",)

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "fault": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


@dataclass(frozen=True)
class ClientSide:
    """What the client can do with a diagnostic, and its units."""

    encoding: Encoding = lsp.PositionEncodingKind.Utf16
    related: bool = False
    links: bool = False


def build(
    marks: Marks | None, problems: Sequence[Problem], text: str, settings: EditorSettings, client: ClientSide
) -> list[lsp.Diagnostic]:
    """All diagnostics of one document, top to bottom."""
    lines = split_lines(text)
    found = [_problem(p, lines, client) for p in problems]
    if marks is not None:
        found += _defects(marks, lines, client)
        found += _slower(marks, lines, client)
        covered = set()
        for finding in marks.report.findings_in(marks.file):
            now = marks.lines.to_new(finding.line)
            if now is not None:
                covered.add(now)
                found.append(_finding(finding, now, lines, marks, client))
        if settings.stalled_lines:
            for number, share, rows in marks.hot_lines:
                stalled = _stalled(number, share, rows, lines, marks, client)
                if stalled and number not in covered:
                    found.append(stalled)
    return sorted(found, key=lambda d: (d.range.start.line, d.range.start.character, d.severity or 4))


def _slower(marks: Marks, lines: Sequence[str], client: ClientSide) -> list[lsp.Diagnostic]:
    """The kernels that take longer than at the commit that they are compared with."""
    before, shown = marks.before, []
    for kernel, line in marks.kernels() if before is not None else ():
        change = before.change(kernel) if before is not None else None
        if before is None or change is None or change <= SLOWER or marks.is_stale(kernel):
            continue
        then = duration(before.times[kernel.mangled])
        name = marks.report.short_name(kernel)
        said = f"{name} is {100 * change:.0f} % slower than at {before.commit}: {duration(kernel.time_ns)}, was {then}"
        place = name_range(lines, line - 1, kernel.base_name, client.encoding)
        shown.append(
            lsp.Diagnostic(
                range=place or code_range(lines[line - 1], line - 1, client.encoding),
                message=f"{said} ({marks.report.provenance})",
                severity=lsp.DiagnosticSeverity.Information,
                code="slower",
                source=SOURCE,
                data={"kernel": kernel.mangled, "change": round(change, 4), "since": before.commit},
            )
        )
    return shown


def build_checks(found: Sequence[Problem], text: str, client: ClientSide) -> list[lsp.Diagnostic]:
    """The sanitizers' reports of one document, with the second place of each as related information."""
    lines = split_lines(text)
    shown = []
    for problem in found:
        item = _problem(problem, lines, client)
        item.source, item.code = CHECK_SOURCE, problem.code
        if client.related and problem.related:
            item.related_information = [
                lsp.DiagnosticRelatedInformation(
                    location=lsp.Location(
                        uri=from_fs_path(file) or "",
                        range=lsp.Range(
                            start=lsp.Position(line=max(0, line - 1), character=0),
                            end=lsp.Position(line=max(0, line - 1), character=0),
                        ),
                    ),
                    message=what,
                )
                for file, line, what in problem.related
            ]
        shown.append(item)
    return sorted(shown, key=lambda d: d.range.start.line)


def build_notes(
    found: Sequence[tuple[int, CompileNote]], text: str, client: ClientSide
) -> list[lsp.Diagnostic]:
    """What was seen of the code without a run, each with its line in the text as it is."""
    lines = split_lines(text)
    shown = _notes(found, lines, client)
    return sorted(shown, key=lambda d: (d.range.start.line, d.range.start.character))


def _notes(
    found: Iterable[tuple[int, CompileNote]], lines: Sequence[str], client: ClientSide
) -> list[lsp.Diagnostic]:
    shown = []
    for number, note in found:
        kernel = note.kernel.rpartition("::")[2].partition("(")[0].partition("<")[0].split(" ")[-1]
        span = span_range(lines, number - 1, number - 1, note.column, note.end_column, client.encoding)
        named = None if note.column else name_range(lines, number - 1, kernel, client.encoding)
        shown.append(
            lsp.Diagnostic(
                range=named if named is not None and named.start.line == number - 1 else span,
                message=note.message,
                severity=_SEVERITIES["warning" if note.severity == "warning" else "note"],
                code=note.code,
                source=NOTE_SOURCE,
                related_information=[
                    lsp.DiagnosticRelatedInformation(
                        location=lsp.Location(
                            uri=from_fs_path(place.file) or "",
                            range=lsp.Range(
                                start=lsp.Position(line=max(0, place.line - 1), character=0),
                                end=lsp.Position(line=max(0, place.line - 1), character=0),
                            ),
                        ),
                        message=place.message,
                    )
                    for place in note.related
                ]
                if client.related and note.related
                else None,
            )
        )
    return shown


def severity(share: float | None) -> lsp.DiagnosticSeverity:
    """How loud a finding with that share of all GPU time is; None: it is not known."""
    if share is None:
        return lsp.DiagnosticSeverity.Information
    if share >= WARNING_SHARE:
        return lsp.DiagnosticSeverity.Warning
    return lsp.DiagnosticSeverity.Information if share >= INFORMATION_SHARE else lsp.DiagnosticSeverity.Hint


def publish(ls: HipServer, uri: str) -> None:
    """Send the diagnostics of one document as it is now; of a file that is no longer there, that it has none."""
    file = path_of(uri)
    if file is None:
        return
    text = ls.text(file) if Path(file).is_file() else None
    if text is None:
        ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[]))
        return
    document = ls.document(file)
    if is_settings(uri):
        version = document.version if document else None
        mistakes = diagnose(text) if document else []
        ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, mistakes, version))
        return
    client = ClientSide(
        encoding=ls.encoding,
        related=bool(ls.can("text_document", "publish_diagnostics", "related_information")),
        links=bool(ls.can("text_document", "publish_diagnostics", "code_description_support")),
    )
    marks = ls.marks(uri)
    items = build(marks, ls.store.problems(file), text, ls.settings, client)
    items += build_checks(ls.store.checks(file, text), text, client)
    items += build_notes(ls.store.notes(file, text), text, client)
    ls.text_document_publish_diagnostics(
        lsp.PublishDiagnosticsParams(
            uri=uri, diagnostics=items, version=document.version if document else None
        )
    )
    if marks is not None and document is not None:
        marks.prepare()  # behind the marks themselves: a hover comes when these are seen
        ls.when_marked(uri, marks)


def publish_project(ls: HipServer, key: str) -> None:
    """Send the diagnostics of all files of a project, and clear those that have nothing any more."""
    files = ls.store.files(key)
    for file in sorted(files | ls.published.get(key, set())):
        publish(ls, ls.uri(file))
    ls.published[key] = files


def publish_all(ls: HipServer) -> None:
    """Send everything again, as after a change of the settings."""
    for key in list(ls.published):
        publish_project(ls, key)


def _defects(marks: Marks, lines: Sequence[str], client: ClientSide) -> list[lsp.Diagnostic]:
    """What the profiled run showed to be wrong. What the text alone shows is published as soon as it compiles."""
    rows = [
        (now, note)
        for note in marks.report.defects
        if note.file == marks.file and note.code not in _TEXT_ALONE
        if (now := marks.lines.to_new(note.line)) is not None
    ]
    shown = _notes(rows, lines, client)
    for one in shown:
        one.source = SOURCE
    return shown


def finding_range(finding: Finding, now: int, lines: Sequence[str], encoding: Encoding) -> lsp.Range:
    """What the mark of a finding covers, whose first line is `now` (from 1) in the current text."""
    last = min(now + max(0, finding.end_line - finding.line), len(lines))
    return span_range(lines, now - 1, last - 1, finding.column, finding.end_column, encoding)


def _finding(
    finding: Finding, now: int, lines: Sequence[str], marks: Marks, client: ClientSide
) -> lsp.Diagnostic:
    kernel = marks.report.kernel(finding.mangled) or marks.report.kernel(finding.kernel)
    stale = marks.is_stale(kernel)
    share = marks.report.gpu_share(finding)
    page = formula_page(finding.formula) if client.links else None
    instances = instances_sentence(marks.report, finding)
    where = f" {instances}" if instances else ""
    text = f"{finding.message} [{percent(share)} of GPU time at stake{where}, {marks.report.provenance}]"
    return lsp.Diagnostic(
        range=finding_range(finding, now, lines, client.encoding),
        message=f"stale, profile again: {text}" if stale else text,
        severity=lsp.DiagnosticSeverity.Hint if stale else severity(share),
        code=finding.formula,
        code_description=lsp.CodeDescription(href=page) if page else None,
        source=SOURCE,
        related_information=_related(finding, marks, client),
        data={
            "formula": finding.formula,
            "kernel": finding.mangled or finding.kernel,
            "share": None if share is None else round(share, 4),
            "stale": stale,
        },
    )


def _related(
    finding: Finding, marks: Marks, client: ClientSide
) -> list[lsp.DiagnosticRelatedInformation] | None:
    if not client.related:
        return None
    found = []
    for place in finding.related:
        now = marks.lines.to_new(place.line) if place.file == marks.file else place.line
        if now is None:
            continue
        found.append(
            lsp.DiagnosticRelatedInformation(
                location=lsp.Location(
                    uri=from_fs_path(place.file) or "", range=_whole_line(now, place.file, marks, client)
                ),
                message=place.message,
            )
        )
    return found or None


def _stalled(
    number: int,
    share: float | None,
    rows: Sequence[tuple[Kernel, Line]],
    lines: Sequence[str],
    marks: Marks,
    client: ClientSide,
) -> lsp.Diagnostic | None:
    """A line that waits much without a formula for it: worth knowing, nothing to complain about."""
    kernel, row = hottest(rows)
    if share is None or share < INFORMATION_SHARE or row.stall <= 0 or number > len(lines):
        return None
    reasons = ", ".join(f"{reason(n)} {percent(p)}" for n, p in top_reasons(row.stalls, row.stall))
    stale = marks.is_stale(kernel)
    text = f"{percent(share)} of GPU time ({marks.report.provenance}) is spent here, waiting for: {reasons}"
    text += f" ({uncertain_reason(row.reason_may_be)})" if row.reason_may_be else ""
    return lsp.Diagnostic(
        range=code_range(lines[number - 1], number - 1, client.encoding),
        message=f"stale, profile again: {text}" if stale else text,
        severity=lsp.DiagnosticSeverity.Hint,
        code="stall",
        source=SOURCE,
        data={"kernel": kernel.mangled, "share": round(share, 4), "stale": stale},
    )


def _problem(problem: Problem, lines: Sequence[str], client: ClientSide) -> lsp.Diagnostic:
    number = min(max(problem.line, 1), len(lines))
    span = code_range(lines[number - 1], number - 1, client.encoding)
    if problem.column:
        span = word_range(lines[number - 1], number - 1, problem.column, client.encoding)
    return lsp.Diagnostic(
        range=span,
        message=problem.message,
        severity=_SEVERITIES.get(problem.severity, lsp.DiagnosticSeverity.Error),
        code="fault" if problem.severity == "fault" else "compile",
        source=SOURCE,
    )


def _whole_line(number: int, file: str, marks: Marks, client: ClientSide) -> lsp.Range:
    if file == marks.file:
        lines = split_lines(marks.current)
        if number <= len(lines):
            return code_range(lines[number - 1], number - 1, client.encoding)
    place = lsp.Position(line=number - 1, character=0)
    return lsp.Range(start=place, end=place)
