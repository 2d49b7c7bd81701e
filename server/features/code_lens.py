"""`textDocument/codeLens`: a line over each kernel with its time, its share, what bounds it, and what can be done."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.edit.line_map import split_lines
from hipscope.server.edit.positions import Encoding, name_range
from hipscope.server.features.commands import BENCH, CHOOSE_BUILD, OPTIMIZE, PROFILE, SET_ARGUMENTS
from hipscope.server.history.baseline import Baseline
from hipscope.server.render.explain import bound_words
from hipscope.server.render.words import duration, percent
from hipscope.server.reports.schema.profile import Kernel, Report
from hipscope.server.session.known_profiles import Marks
from hipscope.server.session.language_server import HipServer, path_of
from hipscope.server.session.project_job import key_of

_NOTICED = 0.005  # a smaller change is not named
_AROUND = 2  # lines above and below that belong to a kernel's lens: its name may stand there


@dataclass
class Kept:
    """The lenses of a report's kernels by mangled name, as they were built last for a document: for `marks`."""

    report: Report
    lenses: dict[str, tuple[int, bool, list[lsp.CodeLens]]]  # of the line, stale or not
    before: Baseline | None = None
    marks: Marks | None = None
    whole: list[lsp.CodeLens] = field(default_factory=list)


_MAIN = re.compile(r"\bmain\s*\(")
_KERNEL = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:extern\s+\"C\"\s+)?(?:static\s+)?__global__\b")


_BOUNDS = re.compile(r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)")
_NAME = re.compile(r"(\w+)\s*(?:<[^()]*>)?\s*\(")
_HEAD = 12  # lines that a kernel's head takes at most


def register(server: HipServer) -> None:
    """Hook the handler into the server."""
    kept: dict[str, Kept] = {}

    def of_kernels(uri: str, marks: Marks) -> list[lsp.CodeLens]:
        if uri not in kept or (kept[uri].report, kept[uri].before) != (marks.report, marks.before):
            kept[uri] = Kept(marks.report, {}, marks.before)
        return build(marks, uri, server.encoding, kept[uri])

    def prepare(uri: str, marks: Marks) -> None:
        if server.settings.code_lens:
            of_kernels(uri, marks)

    server.when_marked = prepare  # the client asks for them next

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=False))
    def code_lens(ls: HipServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        if not ls.settings.code_lens:
            return []
        marks, text = ls.marks(uri), ls.workspace.get_text_document(uri).source
        known: list[lsp.CodeLens] = []
        if marks is not None and any(marks.kernels()):
            known = of_kernels(uri, marks)
        if needs_benches(ls, uri, text):
            profiled = {kernel.base_name for kernel, _ in marks.kernels()} if marks is not None else set()
            return known + build_benches(text, uri, profiled)
        key = key_of(ls, uri)
        report = ls.store.report(str(key)) if key is not None else None
        if key is None or report is None:
            return known or build_unprofiled(text, uri)
        launched = {kernel.base_name for kernel in report.kernels}
        return known + build_unlaunched(text, uri, launched, folder=key.is_dir())


def build(marks: Marks, uri: str, encoding: Encoding, kept: Kept | None = None) -> list[lsp.CodeLens]:
    """A lens with the numbers per kernel definition, and one to optimize where there is a finding.

    A stale kernel has a single one, to profile again. The hover shows what a partial profile leaves out. Those of
    kernels that are where they were come from what is `kept` of the same report, and are kept there.
    """
    if kept is not None and kept.marks is marks:
        return kept.whole
    lines = marks.current_lines
    lenses: list[lsp.CodeLens] = []
    found = frozenset().union(*(finding.mangled_names for finding in marks.report.findings))
    before = kept.lenses if kept is not None else {}
    first, last = _changed(kept.marks if kept is not None else None, marks)
    changed = marks.stale
    for kernel, line in marks.kernels():
        mangled = kernel.mangled
        stale = mangled in changed
        known = before.get(mangled)
        if (
            known is None
            or known[0] != line
            or known[1] is not stale
            or (line + _AROUND >= first and line - _AROUND <= last)
        ):
            place = name_range(lines, line - 1, kernel.base_name, encoding) or _start_of(line - 1)
            own = _lenses(marks, kernel, uri, place, stale=stale, found=mangled in found)
            before[mangled] = known = (line, stale, own)
        lenses += known[2]
    if kept is not None:
        kept.marks, kept.whole = marks, lenses
    return lenses


def _changed(before: Marks | None, now: Marks) -> tuple[int, int]:
    """The first and the last line, from 1, that may be others than before: all, where lines came or went.

    Both texts have the lines of the profiled one in front of and behind what was typed since.
    """
    length = len(now.current_lines)
    if before is None or before.profiled != now.profiled or len(before.current_lines) != length:
        return 1, length
    ends = [(m.lines.head, m.lines.tail) for m in (before, now) if m.lines.head < length]
    return min((head for head, _ in ends), default=length) + 1, length - min(
        (t for _, t in ends), default=length
    )


def _lenses(
    marks: Marks, kernel: Kernel, uri: str, place: lsp.Range, *, stale: bool, found: bool
) -> list[lsp.CodeLens]:
    """Those of one kernel."""
    report = marks.report
    name = report.short_name(kernel)
    which = (
        "" if name == kernel.base_name else name
    )  # an instance of a template stands over the lines of its siblings
    title = summary(report.provenance, kernel, marks.before)
    again = lsp.Command(
        title=f"{which}: {title}" if which else title, command=PROFILE, arguments=[{"uri": uri}]
    )
    if stale:
        again.title = f"stale: profile again (was {again.title})"
        return [lsp.CodeLens(range=place, command=again)]
    if report.partial:
        again.title += " · partial"
    arguments = [{"uri": uri, "kernel": kernel.mangled}]
    optimize = lsp.Command(title=f"Optimize {which}".rstrip(), command=OPTIMIZE, arguments=arguments)
    commands = [again, optimize] if found else [again]
    return [lsp.CodeLens(range=place, command=command) for command in commands]


def build_unprofiled(text: str, uri: str) -> list[lsp.CodeLens]:
    """An offer to profile over each line that opens a kernel, for a file that was not profiled yet."""
    command = lsp.Command(title="Profile with hipscope", command=PROFILE, arguments=[{"uri": uri}])
    return [
        lsp.CodeLens(range=_start_of(n), command=command)
        for n, line in enumerate(split_lines(text))
        if _KERNEL.match(line)
    ]


def build_unlaunched(
    text: str, uri: str, launched: Collection[str], *, folder: bool = False
) -> list[lsp.CodeLens]:
    """Over each kernel that the profiled program did not launch: that it did not, and what may make it.

    `folder`: the program is a folder's, so another one may be built in it.
    """
    ways = [("not launched in the last profile: profile again", PROFILE)]
    ways += [("Choose How It Is Built", CHOOSE_BUILD)] if folder else []
    ways += [("Set Arguments", SET_ARGUMENTS)]
    commands = [
        lsp.Command(title=title, command=command, arguments=[{"uri": uri}]) for title, command in ways
    ]
    lines = split_lines(text)
    return [
        lsp.CodeLens(range=_start_of(n), command=command)
        for n, line in enumerate(lines)
        if _KERNEL.match(line) and (name := _defined_at(lines, n)) is not None and name not in launched
        for command in commands
    ]


def _defined_at(lines: Sequence[str], number: int) -> str | None:
    """The name of the kernel whose definition opens on that line, counted from 0; None for a declaration."""
    opened = " ".join(lines[number : number + _HEAD]).partition("__global__")[2]
    head = _BOUNDS.sub(" ", opened).partition("{")[0]
    found = _NAME.search(head)
    return found[1] if found is not None and ";" not in head else None


def needs_benches(ls: HipServer, uri: str, text: str) -> bool:
    """Whether a document's kernels run by benches alone: it is no program, and part of none that is known."""
    file, key = path_of(uri), key_of(ls, uri)
    return file is not None and key == Path(file) and "__global__" in text and not _MAIN.search(text)


def build_benches(text: str, uri: str, profiled: Collection[str]) -> list[lsp.CodeLens]:
    """An offer over each kernel that was not profiled: to profile through its bench, or to write one."""
    from hipscope.analysis.benches.first_line import kernels_by_bench

    profile = lsp.Command(title="Profile with hipscope", command=PROFILE, arguments=[{"uri": uri}])
    return [
        lsp.CodeLens(
            range=_start_of(kernel.line - 1),
            command=profile
            if kernel.benched
            else lsp.Command(
                title="Profile with...", command=BENCH, arguments=[{"uri": uri, "kernel": kernel.name}]
            ),
        )
        for kernel in kernels_by_bench(text)
        if kernel.name not in profiled
    ]


def summary(provenance: str, kernel: Kernel, before: Baseline | None = None) -> str:
    """`modelled 12.3 us · -64 % since a1b2c3d · 41 % of GPU time · memory bound`, without what is not known."""
    parts = [f"{provenance} {duration(kernel.time_ns)}" if kernel.time_ns is not None else "time unknown"]
    change = before.change(kernel) if before is not None else None
    if before is not None and change is not None and abs(change) >= _NOTICED:
        parts.append(f"{100 * change:+.0f} % since {before.commit}")
    parts.append(f"{percent(kernel.share)} of GPU time")
    if bound := bound_words(kernel.bound):
        parts.append(bound)
    return " · ".join(parts)


def _start_of(line: int) -> lsp.Range:
    place = lsp.Position(line=line, character=0)
    return lsp.Range(start=place, end=place)
