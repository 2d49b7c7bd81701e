"""What kernels took before: each profile of the editor becomes a row of its project's history, and is held against one.

Takes a project and its report, gives the profile to compare with: that of the commit that is checked out, or of the one
before where nothing has been changed since. All of this reads a database and asks git, so it never runs on the loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.history.store import (
    HistoryEntry,
    KernelRow,
    commit_of,
    kernel_rows,
    project_of,
)
from hipscope.server.reports.schema.profile import Kernel, Report

SHORT = 7
"""Digits of a commit that are shown."""


@dataclass(frozen=True)
class Baseline:
    """The profile that is compared with: its commit, and the nanoseconds of each kernel by mangled name."""

    commit: str
    times: Mapping[str, float]

    def change(self, kernel: Kernel) -> float | None:
        """-0.64: the kernel takes 64 % less time than then; None where either time is not known."""
        before = self.times.get(kernel.mangled)
        return kernel.time_ns / before - 1.0 if before and kernel.time_ns is not None else None


def checked_out(key: Path) -> tuple[str, bool]:
    """The commit that a project is at, and whether its files differ from it; "" where there is none."""
    with contextlib.suppress(HipscopeError, OSError):
        return commit_of(project_of(key))
    return "", False


def keep_profile(key: Path, report: Report, at: tuple[str, bool]) -> None:
    """Add a profile of a commit to its project's history, unless the settings say no; what cannot be kept is not."""
    from hipscope.server.reports.history_writer import keep_report

    with contextlib.suppress(HipscopeError, OSError):
        keep_report(key, report, None, checked_out=at)


def baseline(key: Path, report: Report, at: tuple[str, bool]) -> Baseline | None:
    """What a report of a commit is held against: profiles of the same device in the same way, of unchanged commits."""
    with contextlib.suppress(HipscopeError, OSError):
        project = project_of(key)
        commit, dirty = at
        ours = {kernel.mangled for kernel in report.kernels}
        kept = [
            (entry, row)
            for entry, row in kernel_rows(project)
            if row.mangled in ours
            and (entry.device, entry.provenance) == (report.device.name, report.provenance)
            and entry.commit_id
            and not entry.dirty
        ]
        of_head = [pair for pair in kept if pair[0].commit_id == commit]
        if not dirty:
            # Of a commit that was profiled before, what came behind it is nothing that it could be slower than.
            kept, of_head = kept[: kept.index(of_head[0])] if of_head else kept, []
        return _last(of_head or kept)
    return None


def entries(key: Path) -> list[tuple[HistoryEntry, list[KernelRow]]]:
    """The profiles of a project with their kernels, newest first. Raises HipscopeError."""
    found: dict[HistoryEntry, list[KernelRow]] = {}
    for entry, row in kernel_rows(project_of(key)):
        found.setdefault(entry, []).append(row)
    return list(found.items())[::-1]


def _last(found: Sequence[tuple[HistoryEntry, KernelRow]]) -> Baseline | None:
    """The newest time of each kernel at the newest commit of those."""
    if not found:
        return None
    commit = found[-1][0].commit_id
    times = {row.mangled: row.time_ns for entry, row in found if entry.commit_id == commit and row.time_ns}
    return Baseline(commit[:SHORT], times)
