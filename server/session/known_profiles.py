"""What is known about each project, and what of it still holds for the text in the editor.

A `Known` is the last report of one project with the text it was made from. A `Marks` puts it on the current text of
one file: where each line is now, and which kernels changed since. Nothing here speaks LSP.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import ByteColumn
from hipscope.server.edit.positions import LineMap, digest
from hipscope.server.reports.schema.profile import Inputs, Kernel, Line, Report

PROGRAMS = frozenset({".hip", ".cu", ".cpp", ".cc", ".cxx"})
HEADERS = frozenset({".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc"})
SOURCES = PROGRAMS | HEADERS | {".c"}


@dataclass(frozen=True)
class Problem:
    """A compiler's or a runtime's message with its place."""

    file: str
    line: int
    column: ByteColumn
    severity: str
    message: str
    code: str = ""
    related: tuple[tuple[str, int, str], ...] = ()
    """Other places that belong to it: file, line, what is there."""


@dataclass(frozen=True)
class Checked:
    """What the sanitizers reported for a project, and the texts that were checked."""

    problems: tuple[Problem, ...]
    texts: Mapping[str, str]


class CurrentFiles(Protocol):
    """Files as they are now: the editor's text, else the disk's."""

    def text(self, file: str) -> str | None:
        """The text; None when it is not UTF-8 text."""

    def digest(self, file: str) -> str:
        """SHA-256 of what a build would read; "" when there is no such file."""


@dataclass
class Known:
    """One project's last good report, the texts it is of, and the problems of the last job.

    `texts` are of the files that have something to show, `other_texts` of the other inputs.
    """

    report: Report | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    other_texts: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    checked: Checked | None = None
    told: str = ""
    """The last failure that the user saw, so that it is not repeated on every save."""


@dataclass(frozen=True)
class Marks:
    """A report on the current text of one file.

    `other_headers`: a header of the project that it includes has changed. `other_inputs`: something else that the
    program was built from or ran with has, so that none of its times holds.
    """

    report: Report
    file: str
    profiled: str
    current: str
    other_headers: bool = False
    other_inputs: bool = False

    @cached_property
    def lines(self) -> LineMap:
        """Profiled lines to current lines."""
        return LineMap(self.profiled, self.current)

    @cached_property
    def stale(self) -> frozenset[str]:
        """Mangled names of the kernels of which something has changed: their text, that of a function they call here,
        a constant, macro or type of this file that they use, a header, or an input of the whole program.
        """
        if self.other_inputs:
            return frozenset(k.mangled for k in self.report.kernels)
        if self.profiled == self.current and not self.other_headers:
            return frozenset()
        return frozenset(k.mangled for k in self.report.kernels if self._changed(k))

    def is_stale(self, kernel: Kernel | None) -> bool:
        """Whether that kernel's numbers are of an older text."""
        return kernel is not None and kernel.mangled in self.stale

    def kernels(self) -> Iterator[tuple[Kernel, int]]:
        """The kernels defined in this file with the line they start on now."""
        for kernel, place in self.report.kernels_in(self.file):
            now = self.lines.to_new(place.line) or self._near(place.line)
            if now is not None:
                yield kernel, now

    def hot_lines(self) -> Iterator[tuple[int, float | None, list[tuple[Kernel, Line]]]]:
        """Each line that costs something: its number now, its share of all GPU time (None: unknown), its kernels."""
        rows: dict[int, list[tuple[Kernel, Line]]] = {}
        for kernel in self.report.kernels:
            for row in kernel.lines:
                if row.file == self.file and (now := self.lines.to_new(row.line)) is not None:
                    rows.setdefault(now, []).append((kernel, row))
        for number in sorted(rows):
            shares = [s for k, r in rows[number] if (s := k.gpu_share(r)) is not None]
            yield number, sum(shares) if shares else None, rows[number]

    def _changed(self, kernel: Kernel) -> bool:
        place = kernel.definition
        own = place is not None and place.file == self.file
        if (
            place is not None
            and own
            and (self.other_headers or self.lines.changed(place.start_line, place.end_line))
        ):
            return True
        name = base_name(kernel.name)
        if own and self._declarations[0].get(name) != self._declarations[1].get(name):
            return True
        return any(r.file == self.file and self.lines.to_new(r.line) is None for r in kernel.lines)

    @cached_property
    def _declarations(self) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
        """What each kernel uses of the file around it, as it was profiled and as it is now."""
        from hipscope.analysis.source.declarations import needed_declarations
        from hipscope.analysis.source.parse import parse

        def used(text: str) -> dict[str, list[str]]:
            source = text.encode("utf-8", "surrogatepass")
            return {
                k.name: [" ".join(d.text.split()) for d in needed_declarations(source, k)]
                for k in parse(source).kernels
            }

        return used(self.profiled), used(self.current)

    def _near(self, line: int) -> int | None:
        """The new place of a changed line, from the closest line above that is still there."""
        for above in range(1, 6):
            if (now := self.lines.to_new(line - above)) is not None:
                return now + above
        return None


class Store:
    """All projects of the session, by key."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def project(self, key: str) -> Known:
        """What is known of a project; empty at first."""
        return self._known.setdefault(key, Known())

    def update(self, key: str, report: Report, read: Callable[[str], str | None]) -> Known:
        """Keep a new report. `read` gives a file's text; a text that is not the profiled one is not kept."""
        texts = {f: t for f in report.files() if (t := read(f)) is not None and _is_of(report, f, t)}
        others = {
            f: t
            for f, known in report.inputs.files.items()
            if f not in texts
            and Path(f).suffix in SOURCES
            and (t := read(f)) is not None
            and digest(t) == known
        }
        problems = tuple(
            Problem(f.file, f.line, f.column, "fault", f"{f.message} (kernel {f.kernel})")
            for f in report.faults
        )
        self._known[key] = Known(report, texts, others, problems, self.project(key).checked)
        return self._known[key]

    def fail(self, key: str, problems: tuple[Problem, ...]) -> Known:
        """Keep the last good report and show the problems of a failed job."""
        known = self.project(key)
        known.problems = problems
        return known

    def keep_checks(self, key: str, problems: tuple[Problem, ...], read: Callable[[str], str | None]) -> None:
        """Replace the sanitizers' reports of a project. `read` gives a file's text as it was checked."""
        texts = {f: t for f in {p.file for p in problems} if (t := read(f)) is not None}
        self.project(key).checked = Checked(problems, texts)

    def is_checked(self, file: str) -> bool:
        """Whether some project's last check reported something in that file."""
        return any(
            known.checked is not None and file in known.checked.texts for known in self._known.values()
        )

    def checks(self, file: str, current: str) -> list[Problem]:
        """The sanitizers' reports in that file, on the lines of its current text; those on changed lines are gone."""
        found = []
        for known in self._known.values():
            if known.checked is None or file not in known.checked.texts:
                continue
            lines = LineMap(known.checked.texts[file], current)
            for problem in known.checked.problems:
                now = lines.to_new(problem.line) if problem.file == file else None
                if now is not None:
                    found.append(replace(problem, line=now))
        return found

    def forget(self, key: str) -> None:
        """Drop what is known of a project."""
        self._known.pop(key, None)

    def marks(self, file: str, current: str, now: CurrentFiles) -> Marks | None:
        """The newest report that has something on this file, put on its current text. `now` is what other files are."""
        for known in reversed(self._known.values()):
            report = known.report
            if report is not None and file in known.texts:
                beside = set(report.headers.get(file, ()))
                headers = any(
                    _words(now.text(h) or "") != _words(known.texts[h]) for h in beside & set(known.texts)
                )
                others = report.inputs.files.keys() - beside - {file}
                inputs = any(_differs(known, name, now) for name in others)
                return Marks(report, file, known.texts[file], current, headers, inputs)
        return None

    def including(self, header: str) -> set[str]:
        """The files with marks that include this header of the project."""
        reports = (known.report for known in self._known.values() if known.report is not None)
        return {file for report in reports for file, headers in report.headers.items() if header in headers}

    def owner(self, file: str) -> str | None:
        """The key of the project that was profiled last with that file in it."""
        return next((key for key, known in reversed(self._known.items()) if file in known.texts), None)

    def problems(self, file: str) -> list[Problem]:
        """The problems in that file, over all projects."""
        return [p for known in self._known.values() for p in known.problems if p.file == file]

    def files(self, key: str) -> set[str]:
        """Every file of which a project shows something."""
        known = self.project(key)
        checked = known.checked.problems if known.checked else ()
        return set(known.texts) | {p.file for p in (*known.problems, *checked)}

    def users(self, file: str) -> set[str]:
        """The keys of the projects whose build or run has read that file."""
        return {
            key
            for key, known in self._known.items()
            if known.report is not None and file in known.report.inputs.files
        }

    def inputs(self) -> set[str]:
        """Every file that the build or run of a known profile has read."""
        reports = (known.report for known in self._known.values() if known.report is not None)
        return {file for report in reports for file in report.inputs.files}

    def is_of(self, key: str, asked: Inputs, now: CurrentFiles) -> bool:
        """Whether the last report is of all files as they are `now`, and of what is asked for, files left aside."""
        report = self.project(key).report
        return (
            report is not None
            and replace(report.inputs, files=asked.files) == asked
            and all(now.digest(file) == then for file, then in report.inputs.files.items())
        )

    def is_current(self, key: str, asked: Inputs, now: CurrentFiles) -> bool:
        """The same, and nothing went wrong: another profile would say nothing new."""
        return not self.project(key).problems and self.is_of(key, asked, now)


def hottest(rows: Sequence[tuple[Kernel, Line]]) -> tuple[Kernel, Line]:
    """The kernel that a line matters most to."""
    return max(rows, key=lambda pair: pair[0].gpu_share(pair[1]) or 0.0)


def project_key(path: Path, folders: tuple[Path, ...] = ()) -> Path:
    """What is profiled when this file is asked for: the folder whose `hipscope.toml` builds it, else the file."""
    for folder in path.parents:
        if (folder / "hipscope.toml").is_file():
            return folder if _has_build(folder / "hipscope.toml") else path
        if folder in folders or (folder / ".git").exists():
            break
    return path


def _has_build(config: Path) -> bool:
    try:
        return "build" in tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _differs(known: Known, file: str, now: CurrentFiles) -> bool:
    """Whether an input is another one now. Layout and comments of a source are nothing that a program depends on."""
    assert known.report is not None
    if now.digest(file) == known.report.inputs.files[file]:
        return False
    then = known.texts.get(file, known.other_texts.get(file))
    text = now.text(file) if then is not None else None
    return then is None or text is None or _words(text) != _words(then)


def _words(text: str) -> list[str]:
    """A text without its layout and comments, which no kernel depends on."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).split()


def _is_of(report: Report, file: str, text: str) -> bool:
    known = report.sources.get(file)
    return known is None or known == digest(text)
