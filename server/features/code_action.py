"""`textDocument/codeAction`: "Optimize kernel ...", on a finding as a quick fix and on a kernel as a rewrite.

Each of these carries a command, not an edit: the rewrite is made, proved and timed first, and the server sends the
edit when that has succeeded. What mends a note of the compile is an edit at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from hipscope.server.edit.positions import byte_range
from hipscope.server.edit.workspace_edit import plain_edit
from hipscope.server.features.commands import CHECK, EXPLAIN, OPTIMIZE
from hipscope.server.features.diagnostics import NOTE_SOURCE, SOURCE
from hipscope.server.reports.schema.profile import Kernel
from hipscope.server.session.known_profiles import Marks
from hipscope.server.session.language_server import HipServer, path_of

KINDS = (lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite, lsp.CodeActionKind.Source)


def register(server: HipServer) -> None:
    """Hook the handler into the server."""

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=False),
    )
    def code_action(ls: HipServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        marks = ls.marks(uri)
        found = build(marks, uri, params.range, params.context) if marks else []
        if marks and _wanted(lsp.CodeActionKind.QuickFix, params.context.only):
            found += explanations(marks, uri, params.range)
        return repairs(ls, uri, params.range, params.context) + found + source_actions(uri, params.context)


def repairs(ls: HipServer, uri: str, span: lsp.Range, context: lsp.CodeActionContext) -> list[lsp.CodeAction]:
    """The changes that mend what is noted in a range without a run; none in a text that is not the noted one."""
    file, text = path_of(uri), None
    if (
        not _wanted(lsp.CodeActionKind.QuickFix, context.only)
        or file is None
        or (text := ls.text(file)) is None
    ):
        return []
    document, found = ls.document(file), []
    for number, note in ls.store.notes(file, text):
        if note.fix is None or ls.store.noted_text(note) != text:
            continue
        if not span.start.line <= number - 1 <= span.end.line:
            continue
        changes = [
            lsp.TextEdit(range=byte_range(text, c.start, c.end, ls.encoding), new_text=c.text)
            for c in note.fix.changes
        ]
        edit = plain_edit(uri, document.version if document else None, changes, ls.edit_side())
        shown = [d for d in context.diagnostics if d.source == NOTE_SOURCE and d.code == note.code]
        here = [d for d in shown if d.message == note.message]
        found.append(
            lsp.CodeAction(
                title=note.fix.title, kind=lsp.CodeActionKind.QuickFix, diagnostics=here or None, edit=edit
            )
        )
    return found


def source_actions(uri: str, context: lsp.CodeActionContext) -> list[lsp.CodeAction]:
    """What concerns the whole file; for clients that ask for source actions by name."""
    if context.only is None or not _wanted(lsp.CodeActionKind.Source, context.only):
        return []
    title = "Check with the sanitizers"
    command = lsp.Command(title=title, command=CHECK, arguments=[{"uri": uri}])
    return [lsp.CodeAction(title=title, kind=lsp.CodeActionKind.Source, command=command)]


def build(marks: Marks, uri: str, span: lsp.Range, context: lsp.CodeActionContext) -> list[lsp.CodeAction]:
    """The actions for a range: a quick fix per finding it touches, and a rewrite of the kernel around it."""
    actions = []
    first, last = span.start.line + 1, span.end.line + 1
    if _wanted(lsp.CodeActionKind.QuickFix, context.only):
        for finding in marks.report.findings_in(marks.file):
            now = marks.lines.to_new(finding.line)
            kernel = marks.report.kernel(finding.mangled) or marks.report.kernel(finding.kernel)
            if now is None or kernel is None or marks.is_stale(kernel):
                continue
            end = now + max(0, finding.end_line - finding.line)
            if now <= last and end >= first:
                actions.append(
                    _action(
                        f"Optimize kernel {marks.report.short_name(kernel)}: {finding.formula}",
                        lsp.CodeActionKind.QuickFix,
                        uri,
                        kernel,
                        finding.formula,
                        _diagnostics(context.diagnostics, finding.formula, now - 1, end - 1),
                    )
                )
    if _wanted(lsp.CodeActionKind.RefactorRewrite, context.only):
        for kernel in kernels_around(marks, first, last):
            title = f"Optimize kernel {marks.report.short_name(kernel)}"
            actions.append(_action(title, lsp.CodeActionKind.RefactorRewrite, uri, kernel, None, []))
    return actions


def explanations(marks: Marks, uri: str, span: lsp.Range) -> list[lsp.CodeAction]:
    """To read why the costliest line of a range takes its time."""
    first, last = span.start.line + 1, span.end.line + 1
    hot = [
        (max(row.share for _, row in rows), at)
        for at, _, rows in marks.hot_lines_of(first, last)
        if not all(marks.is_stale(kernel) for kernel, _ in rows)
    ]
    if not hot:
        return []
    line = max(hot)[1]
    title = f"Explain line {line}"
    arguments = {"uri": uri, "position": {"line": line - 1, "character": 0}}
    command = lsp.Command(title=title, command=EXPLAIN, arguments=[arguments])
    return [lsp.CodeAction(title=title, kind=lsp.CodeActionKind.QuickFix, command=command)]


def kernels_around(marks: Marks, first: int, last: int) -> list[Kernel]:
    """The kernels whose definition touches the present lines `first..last`."""
    found = []
    for kernel, now in marks.kernels():
        place = kernel.definition
        if place is None:
            continue
        end = marks.lines.to_new(place.end_line) or now + max(0, place.end_line - place.line)
        if now <= last and end >= first:
            found.append(kernel)
    return found


def _action(
    title: str,
    kind: lsp.CodeActionKind,
    uri: str,
    kernel: Kernel,
    formula: str | None,
    diagnostics: list[lsp.Diagnostic],
) -> lsp.CodeAction:
    arguments = {"uri": uri, "kernel": kernel.mangled} | ({"formula": formula} if formula else {})
    return lsp.CodeAction(
        title=title,
        kind=kind,
        diagnostics=diagnostics or None,
        command=lsp.Command(title=title, command=OPTIMIZE, arguments=[arguments]),
    )


def _diagnostics(
    shown: Sequence[lsp.Diagnostic], formula: str, first: int, last: int
) -> list[lsp.Diagnostic]:
    """Those of the client's diagnostics that are this finding."""
    return [
        d for d in shown if d.source == SOURCE and d.code == formula and first <= d.range.start.line <= last
    ]


def _wanted(kind: lsp.CodeActionKind, only: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    """Whether the client asked for that kind or one above it."""
    if only is None:
        return True
    names = [k.value if isinstance(k, lsp.CodeActionKind) else k for k in only]
    return any(not n or kind.value == n or kind.value.startswith(n + ".") for n in names)
