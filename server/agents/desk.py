"""What one session with an agent keeps: the reports it was told of, and the edits that were verified for it.

An edit has an id that cannot be guessed and is valid for exactly the files that it was judged on.
"""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.file_digests import file_digest
from hipscope.server.agents.answers import short
from hipscope.server.agents.paths import Roots
from hipscope.server.reports.schema.optimize import Edit, Optimization
from hipscope.server.reports.schema.profile import Report

_REPORTS = 16
_EDITS = 64


@dataclass(frozen=True)
class AcceptedEdit:
    """An edit that passed all gates, and the SHA-256 of each file that it was judged on."""

    edit: Edit
    outcome: Optimization
    files: Mapping[str, str]


class Desk:
    """The reports and verified edits of a session, the oldest dropped first."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        self._reports: OrderedDict[str, Report] = OrderedDict()
        self._edits: OrderedDict[str, AcceptedEdit] = OrderedDict()
        self._last = 0

    def keep(self, report: Report) -> str:
        """Keep a report; its id."""
        self._last += 1
        name = f"report-{self._last}"
        self._reports[name] = report
        while len(self._reports) > _REPORTS:
            self._reports.popitem(last=False)
        return name

    def report(self, name: str) -> Report:
        """The report of that id. Raises UsageError when there is none."""
        if name not in self._reports:
            known = ", ".join(self._reports) or "none yet: call profile first"
            raise UsageError(f"there is no report {short(name)!r}", f"known: {known}")
        return self._reports[name]

    @property
    def reports(self) -> Mapping[str, Report]:
        """All reports that are kept, by id."""
        return self._reports

    def source_line(self, report: Report, file: str, line: int) -> str | None:
        """The text of a profiled line, where its file lies below the roots and still is what was profiled.

        A report names its files itself: one that somebody wrote may name any.
        """
        if not file or not self.roots.holds(Path(os.path.realpath(file))):
            return None
        texts = SourceTexts()
        if report.sources.get(file) not in (None, texts.digest(file)):
            return None
        lines = texts.lines(file)
        return short(lines[line - 1].decode("utf-8", "replace").strip()) if 0 < line <= len(lines) else None

    def verified(self, outcome: Optimization, files: Mapping[str, str]) -> str | None:
        """Keep the edit of an outcome that was verified; its id, None for any other outcome."""
        if outcome.status != "verified" or outcome.edit is None:
            return None
        name = f"verified-{secrets.token_hex(12)}"
        self._edits[name] = AcceptedEdit(outcome.edit, outcome, files)
        while len(self._edits) > _EDITS:
            self._edits.popitem(last=False)
        return name

    def take(self, name: str, file: str | None) -> Edit:
        """The edit of that id, to be written now; the id is used up. Raises UsageError for every reason not to."""
        kept = self._edits.get(name)
        if kept is None:
            raise UsageError(
                f"{short(name)!r} is no id of a verified edit: nothing is written",
                "judge_rewrite and optimize give one when all gates have passed; it is good for one use",
            )
        own = Path(kept.edit.file)
        if file is not None and self.roots.existing(file) != own:
            raise UsageError(f"that edit is one of {own}, not of {short(file)}: nothing is written")
        for part in kept.edit.parts:
            self._check_place(Path(part.file))
        changed = sorted(f for f, digest in kept.files.items() if file_digest(f) != digest)
        if changed:  # the id stays good for the files as they were
            raise UsageError(
                f"{changed[0]} has changed since the edit was verified: nothing is written", "judge it again"
            )
        del self._edits[name]
        return kept.edit

    def _check_place(self, file: Path) -> None:
        """Raises UsageError where a file of an edit is no longer what it was: now a link, or outside of the roots."""
        if Path(os.path.realpath(file)) != file or not file.is_file():
            raise UsageError(f"{file} is no longer that file: nothing is written", "judge it again")
        self.roots.runnable(str(file))
