"""What is known about each project, and what of it still holds for the text in the editor.

A `Known` is the last report of one project with the text it was made from. A `Marks` puts it on the current text of
one file: where each line is now, and which kernels changed since. Nothing here speaks LSP.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from hipscope.analysis.benches.comments import has_benches
from hipscope.analysis.source.texts import ByteColumn
from hipscope.analysis.system.places import place_of
from hipscope.server.edit.line_map import LineMap, digest, split_lines
from hipscope.server.history.baseline import Baseline
from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.profile import HotLine, Inputs, Kernel, Line, Report

PROGRAMS = frozenset({".hip", ".cu", ".cpp", ".cc", ".cxx", ".C", ".c++"})
HEADERS = frozenset({".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc"})
SOURCES = PROGRAMS | HEADERS | {".c"}
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|//[^\n]*|/\*.*?\*/', re.DOTALL)
KEPT = 8
"""Profiles of a project that are kept, each of other inputs: as many steps of undo show theirs again."""


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


@dataclass(frozen=True)
class Inspected:
    """What was seen of a project's code without a run, and the texts that it is of."""

    notes: tuple[CompileNote, ...]
    texts: Mapping[str, str]


class CurrentFiles(Protocol):
    """Files as they are now: the editor's text, else the disk's."""

    def text(self, file: str) -> str | None:
        """The text; None when it is not UTF-8 text."""

    def digest(self, file: str) -> str:
        """SHA-256 of what a build would read; "" when there is no such file."""


@dataclass(frozen=True)
class Profiled:
    """A report with the texts it is of: `texts` of the files that have something to show, `others` of other inputs.

    `opened`: it is of a capture or a saved report, so that no setting of this session has to do with it.
    """

    report: Report
    texts: Mapping[str, str]
    others: Mapping[str, str]
    opened: bool = False

    def is_of(self, asked: Inputs, now: CurrentFiles) -> bool:
        """Whether it is of all files as they are `now`, and of what is asked for, files left aside."""
        return (self.opened or is_asked(self.report, asked)) and all(
            now.digest(file) == then for file, then in self.report.inputs.files.items()
        )


@dataclass
class Known:
    """One project's last good reports, the one that is shown first, and the problems of the last job."""

    profiled: tuple[Profiled, ...] = ()
    problems: tuple[Problem, ...] = ()
    checked: Checked | None = None
    inspected: Inspected | None = None
    told: str = ""
    """The last failure that the user saw, so that it is not repeated on every save."""
    repairs: frozenset[str] = frozenset()
    """Files that can mend the last failure when they appear or change: settings that say how to build."""

    @property
    def shown(self) -> Profiled | None:
        """What is shown: the last profile, or an earlier one of the inputs as they are again."""
        return self.profiled[0] if self.profiled else None

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of the files that have something to show."""
        return self.profiled[0].texts if self.profiled else {}


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
    before: Baseline | None = None
    """The profile that this one is held against."""

    @cached_property
    def lines(self) -> LineMap:
        """Profiled lines to current lines."""
        return LineMap(self.profiled, self.current)

    @cached_property
    def stale(self) -> frozenset[str]:
        """Mangled names of the kernels whose numbers may be others now.

        What changed inside a kernel is its own affair. All else in this file, host code, functions and constants, may
        matter to every kernel, as other inputs of the program do. Comments and layout are nobody's.
        """
        everything = frozenset(k.mangled for k in self.report.kernels)
        if self.other_inputs or self.other_headers:
            return everything
        found: set[str] = set()
        for first, old, new in self.lines.changes():
            continued = any(
                line.rstrip().endswith("\\") for line in (self.lines.line_before(first), *old, *new)
            )
            if not continued and _words("\n".join(old)) == _words("\n".join(new)):
                continue
            # Where nothing was replaced, what is new stands before line `first`.
            within = (first, first + len(old) - 1) if old else (first - 1, first)
            owners = [k for k in self.report.kernels if self._defined_around(k, *within)]
            if not owners:
                return everything
            found |= {k.mangled for k in owners}
        return frozenset(found)

    def _defined_around(self, kernel: Kernel, first: int, last: int) -> bool:
        """Whether these profiled lines all are in the kernel's definition."""
        place = kernel.definition
        inside = place is not None and place.start_line <= first and last <= place.end_line
        return place is not None and place.file == self.file and inside

    def is_stale(self, kernel: Kernel | None) -> bool:
        """Whether that kernel's numbers are of an older text."""
        return kernel is not None and kernel.mangled in self.stale

    def kernels(self) -> Iterator[tuple[Kernel, int]]:
        """The kernels defined in this file with the line they start on now."""
        to_new = self.lines.to_new
        for kernel, place in self.report.kernels_in(self.file):
            now = to_new(place.line) or self._near(place.line)
            if now is not None:
                yield kernel, now

    @cached_property
    def current_lines(self) -> Sequence[str]:
        """The lines of the text as it is now."""
        return split_lines(self.current)

    def hot_lines_of(self, first: int, last: int) -> Sequence[HotLine]:
        """Those of the lines from `first` to `last`."""
        begin = bisect_left(self.hot_lines, first, key=lambda hot: hot.number)
        end = bisect_right(self.hot_lines, last, key=lambda hot: hot.number)
        return self.hot_lines[begin:end]

    @cached_property
    def hot_lines(self) -> Sequence[HotLine]:
        """The lines of this file that cost something, with their numbers now; without those that were changed."""
        placed = ((self.lines.to_new(hot.number), hot) for hot in self.report.hot_lines(self.file))
        return [
            hot if now == hot.number else hot._replace(number=now) for now, hot in placed if now is not None
        ]

    def prepare(self) -> None:
        """Find now what a hover or a lens looks up, so that the first of them does not wait for it."""
        self.report.prepare()
        _ = self.hot_lines, self.stale, self.current_lines

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

    def projects(self) -> tuple[str, ...]:
        """The projects of which something is known."""
        return tuple(self._known)

    def report(self, key: str) -> Report | None:
        """The report of a project that is shown."""
        known = self._known.get(key)
        return known.shown.report if known is not None and known.shown is not None else None

    def update(
        self, key: str, report: Report, read: Callable[[str], str | None], *, opened: bool = False
    ) -> Profiled:
        """Keep a new report and show it. `read` gives a file's text; one that is not the profiled text is not kept."""
        texts = {f: t for f in report.files() if (t := read(f)) is not None and _is_of(report, f, t)}
        others = {
            f: t
            for f, known in report.inputs.files.items()
            if f not in texts
            and Path(f).suffix in SOURCES
            and (t := read(f)) is not None
            and digest(t) == known
        }
        new, before = Profiled(report, texts, others, opened), self.project(key)
        earlier = [p for p in before.profiled if p.report.inputs != report.inputs]
        self._known.pop(key)  # the newest of all projects comes last
        profiled = (new, *earlier[: KEPT - 1])
        self._known[key] = Known(profiled, _faults(report), before.checked, before.inspected)
        return new

    def recall(self, key: str, asked: Inputs, now: CurrentFiles) -> bool:
        """Show the kept profile of the inputs as they are `now` when the one that is shown is of others.

        Whether what is shown has changed: after an undo, a checkout of another branch, another setting and back.
        """
        known = self.project(key)
        if known.shown is None or known.shown.is_of(asked, now):
            return False
        found = next((p for p in known.profiled[1:] if p.is_of(asked, now)), None)
        if found is None:
            return False
        known.profiled = (found, *(p for p in known.profiled if p is not found))
        known.problems = _faults(found.report)
        return True

    def fail(self, key: str, problems: tuple[Problem, ...], repairs: Iterable[str] = ()) -> Known:
        """Keep the last good report and show the problems of a failed job, which the files `repairs` can mend."""
        known = self.project(key)
        known.problems = problems
        known.repairs = frozenset(repairs)
        return known

    def keep_checks(self, key: str, problems: tuple[Problem, ...], read: Callable[[str], str | None]) -> None:
        """Replace the sanitizers' reports of a project. `read` gives a file's text as it was checked."""
        texts = {f: t for f in {p.file for p in problems} if (t := read(f)) is not None}
        self.project(key).checked = Checked(problems, texts)

    def keep_notes(self, key: str, notes: Sequence[CompileNote], read: Callable[[str], str | None]) -> None:
        """Replace what was seen of a project's code. `read` gives a file's text; notes of another text are left out."""
        texts = {n.file: t for n in notes if (t := read(n.file)) is not None and digest(t) == n.sha256}
        self.project(key).inspected = Inspected(tuple(n for n in notes if n.file in texts), texts)

    def is_inspected(self, file: str) -> bool:
        """Whether some project has a note in that file, or none in any of its own."""
        return any(
            known.inspected is not None and (file in known.inspected.texts or file == key)
            for key, known in self._known.items()
        )

    def notes(self, file: str, current: str) -> list[tuple[int, CompileNote]]:
        """The notes in that file with their lines in its current text; those on changed lines are gone."""
        found: dict[tuple[int, CompileNote], None] = {}
        for known in self._known.values():
            if known.inspected is None or file not in known.inspected.texts:
                continue
            lines = LineMap(known.inspected.texts[file], current)
            for note in known.inspected.notes:
                now = lines.to_new(note.line) if note.file == file else None
                if now is not None:
                    found[now, note] = None
        return list(found)

    def noted_text(self, note: CompileNote) -> str | None:
        """The text that a note is of."""
        for known in self._known.values():
            if known.inspected is not None and note in known.inspected.notes:
                return known.inspected.texts[note.file]
        return None

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

    def rename(self, old: str, new: str) -> bool:
        """A file or folder has another name: what is known of the programs in it is known of them there.

        Whether there was any. Not where a program's inputs stay behind under names that its build may look for: a
        file of several, or a folder in another one.
        """
        if Path(old).parent != Path(new).parent:
            return False
        moved = [key for key in self._known if key == old or key.startswith(old + os.sep)]
        for key in moved:
            self._known[str(_renamed(key, old, new))] = _renamed(self._known.pop(key), old, new)
        return bool(moved)

    def forget(self, key: str) -> None:
        """Drop what is known of a project."""
        self._known.pop(key, None)

    def marks(
        self, file: str, current: str, asked: Callable[[str], Inputs], now: CurrentFiles
    ) -> Marks | None:
        """The newest report that has something on this file, put on its current text.

        `asked` gives what a profile of that project would be asked for now, files left aside; `now` is what other
        files are.
        """
        for key, known in reversed(self._known.items()):
            shown = known.shown
            if shown is not None and file in shown.texts:
                report = shown.report
                beside = set(report.headers.get(file, ()))
                headers = any(
                    _words(now.text(h) or "") != _words(shown.texts[h]) for h in beside & set(shown.texts)
                )
                others = report.inputs.files.keys() - beside - {file}
                asked_for = shown.opened or is_asked(report, asked(key))
                inputs = not asked_for or any(_differs(shown, name, now) for name in others)
                return Marks(report, file, shown.texts[file], current, headers, inputs)
        return None

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
        noted = known.inspected.texts if known.inspected else ()
        return set(known.texts) | {p.file for p in (*known.problems, *checked)} | set(noted)

    def users(self, file: str) -> set[str]:
        """The keys of the projects whose build or run has read that file, or that it can mend."""
        return {
            key
            for key, known in self._known.items()
            if file in known.repairs or any(file in p.report.inputs.files for p in known.profiled)
        }

    def inputs(self) -> set[str]:
        """Every file that the build or run of a known profile has read, or that can mend one that failed."""
        known = self._known.values()
        return {f for k in known for p in k.profiled for f in p.report.inputs.files}.union(
            *(k.repairs for k in known)
        )

    def is_current(self, key: str, asked: Inputs, now: CurrentFiles) -> bool:
        """Whether another profile would say nothing new: what is shown is of all as it is now, nothing went wrong."""
        known = self.project(key)
        return known.shown is not None and not known.problems and known.shown.is_of(asked, now)


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


def settings_files(key: Path, folders: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Where a `hipscope.toml` of that project is or would be: beside it and above, up to the workspace's folder.

    Above a file that is in no workspace folder and no repository, only the one beside it.
    """
    if key.suffix not in SOURCES:
        return (key / "hipscope.toml",)
    found = []
    for folder in key.parents:
        found.append(folder / "hipscope.toml")
        if folder in folders or (folder / ".git").exists():
            return tuple(found)
    return tuple(found[:1])


def has_bench(path: Path, text: str) -> bool:
    """Whether there is a bench for a file with this text: in a comment, or in the nearest `hipscope.toml`."""
    if has_benches(text):
        return True
    home = place_of(path, "hipscope.toml").holder
    benches = toml_settings(home / "hipscope.toml").get("bench", []) if home is not None else []
    return home is not None and any(
        isinstance(bench, dict) and (home / str(bench.get("file"))).resolve() == path for bench in benches
    )


def _has_build(config: Path) -> bool:
    return "build" in toml_settings(config)


def toml_settings(config: Path) -> dict[str, Any]:
    """The top of a `hipscope.toml` as it is on disk; nothing where it cannot be read."""
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def is_asked(report: Report, asked: Inputs) -> bool:
    """Whether a report is of what is asked for, files left aside."""
    return replace(report.inputs, files=asked.files) == asked


def _faults(report: Report) -> tuple[Problem, ...]:
    return tuple(
        Problem(f.file, f.line, f.column, "fault", f"{f.message} (kernel {f.kernel})") for f in report.faults
    )


def _renamed(value: Any, old: str, new: str) -> Any:
    """The record with the path in place of another, and of those below it."""
    if isinstance(value, str):
        below = value == old or value.startswith(old + os.sep)
        return type(value)(new + value[len(old) :]) if below else value
    if isinstance(value, Mapping):
        return {_renamed(k, old, new): _renamed(v, old, new) for k, v in value.items()}
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_renamed(item, old, new) for item in value)
    if isinstance(value, tuple):
        return type(value)(*(_renamed(item, old, new) for item in value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (f.name for f in dataclasses.fields(value) if f.init)
        return replace(value, **{name: _renamed(getattr(value, name), old, new) for name in fields})
    return value


def _differs(profiled: Profiled, file: str, now: CurrentFiles) -> bool:
    """Whether an input is another one now. Layout and comments of a source are nothing that a program depends on."""
    if now.digest(file) == profiled.report.inputs.files[file]:
        return False
    then = profiled.texts.get(file, profiled.others.get(file))
    text = now.text(file) if then is not None else None
    return then is None or text is None or _words(text) != _words(then)


def _words(text: str) -> list[str]:
    """A text without its layout and comments, which no kernel depends on."""
    return _COMMENT.sub(lambda found: found[1] or " ", text).split()


def _is_of(report: Report, file: str, text: str) -> bool:
    known = report.sources.get(file)
    return known is None or known == digest(text)
