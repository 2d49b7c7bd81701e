"""`textDocument/codeLens`: a line over each kernel with its time, its share, what bounds it, and what can be done."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from hipscope.server.edit.positions import Encoding, name_range, split_lines
from hipscope.server.features.commands import OPTIMIZE, PROFILE
from hipscope.server.render.explain import bound_words
from hipscope.server.render.words import duration, percent
from hipscope.server.reports.schema.profile import Kernel
from hipscope.server.session.known_profiles import Marks
from hipscope.server.session.language_server import HipServer

_KERNEL = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:extern\s+\"C\"\s+)?(?:static\s+)?__global__\b")


def register(server: HipServer) -> None:
    """Hook the handler into the server."""

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=False))
    def code_lens(ls: HipServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        if not ls.settings.code_lens:
            return []
        marks = ls.marks(uri)
        if marks is not None and any(marks.kernels()):
            return build(marks, uri, ls.encoding)
        return build_unprofiled(ls.workspace.get_text_document(uri).source, uri)


def build(marks: Marks, uri: str, encoding: Encoding) -> list[lsp.CodeLens]:
    """A lens with the numbers per kernel definition, and one to optimize where there is a finding.

    A stale kernel has a single one, to profile again. The hover shows what a partial profile leaves out.
    """
    lines = split_lines(marks.current)
    lenses = []
    for kernel, line in marks.kernels():
        place = name_range(lines, line - 1, kernel.base_name, encoding) or _start_of(line - 1)
        again = lsp.Command(title="", command=PROFILE, arguments=[{"uri": uri}])
        if marks.is_stale(kernel):
            again.title = f"stale: profile again (was {summary(marks.report.provenance, kernel)})"
            lenses.append(lsp.CodeLens(range=place, command=again))
            continue
        again.title = summary(marks.report.provenance, kernel)
        if marks.report.partial:
            again.title += " · partial"
        arguments = [{"uri": uri, "kernel": kernel.mangled}]
        optimize = lsp.Command(title="Optimize", command=OPTIMIZE, arguments=arguments)
        lenses.append(lsp.CodeLens(range=place, command=again))
        if any(kernel.mangled in f.mangled_names for f in marks.report.findings):
            lenses.append(lsp.CodeLens(range=place, command=optimize))
    return lenses


def build_unprofiled(text: str, uri: str) -> list[lsp.CodeLens]:
    """An offer to profile over each line that opens a kernel, for a file that was not profiled yet."""
    command = lsp.Command(title="Profile with hipscope", command=PROFILE, arguments=[{"uri": uri}])
    return [
        lsp.CodeLens(range=_start_of(n), command=command)
        for n, line in enumerate(split_lines(text))
        if _KERNEL.match(line)
    ]


def summary(provenance: str, kernel: Kernel) -> str:
    """`modelled 12.3 us · 41 % of GPU time · memory bound`, without what is not known."""
    parts = [f"{provenance} {duration(kernel.time_ns)}" if kernel.time_ns is not None else "time unknown"]
    parts.append(f"{percent(kernel.share)} of GPU time")
    if bound := bound_words(kernel.bound):
        parts.append(bound)
    return " · ".join(parts)


def _start_of(line: int) -> lsp.Range:
    place = lsp.Position(line=line, character=0)
    return lsp.Range(start=place, end=place)
