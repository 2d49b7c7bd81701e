"""A saved report as rows of a project's history: its kernels, or the attempts of an optimization."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from hipscope.analysis.counters.counter_kinds import kind_of
from hipscope.analysis.counters.metrics import metrics_of
from hipscope.analysis.history.store import (
    METRIC,
    AttemptRow,
    HistoryEntry,
    KernelRow,
    add,
    commit_of,
    packed,
    project_of,
)
from hipscope.analysis.profile import Device
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.file_digests import file_digest
from hipscope.analysis.toolchain.project import resolve_config
from hipscope.server.reports.schema.fields import to_json
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.reports.schema.profile import Kernel, Report


def keep_report(
    target: Path,
    report: object,
    saved: Path | None,
    here: Path | None = None,
    checked_out: tuple[str, bool] | None = None,
) -> None:
    """Add the report of a program to its project's history, unless its settings say no or the program failed.

    `checked_out` is the commit that it is of, and whether files differed from it. Left out it is that of now; a report
    of files that have changed since is then one that differs.

    Raises HipscopeError and OSError where the history cannot be written.
    """
    if not keeps_history(target) or (isinstance(report, Report) and report.failure() is not None):
        return
    project = project_of(target, here)
    if checked_out is None:
        commit, dirty = commit_of(project)
        checked_out = commit, dirty or (isinstance(report, Report) and _has_changed(report, project))
    rows = history_rows(report, saved, project, checked_out)
    if rows is not None and rows[1]:
        add(project, *rows)


def _has_changed(report: Report, project: Path) -> bool:
    """Whether a file of the project is another one than the report is of: saved, or checked out, meanwhile."""
    return any(
        digest and Path(name).is_relative_to(project) and file_digest(name) != digest
        for name, digest in report.inputs.files.items()
    )


def keeps_history(target: Path) -> bool:
    """What the settings of a program say. Raises HipscopeError."""
    return resolve_config(target).history


HistoryRows = tuple[HistoryEntry, list[KernelRow] | list[AttemptRow]]


def history_rows(
    report: object, path: Path | None, project: Path, commit: tuple[str, bool]
) -> HistoryRows | None:
    """The entry and its rows; None for a report of another kind. `path` is where it was saved: that time counts, else
    that of now. `project` is the folder that files are named from.
    """
    saved = datetime.now(UTC) if path is None else datetime.fromtimestamp(path.stat().st_mtime, UTC)
    when = saved.isoformat(timespec="seconds")
    where = "" if path is None else str(path.resolve())
    if isinstance(report, Report):
        inputs = hashlib.sha256(json.dumps(to_json(report.inputs), sort_keys=True).encode()).hexdigest()
        device = Device.model_validate(to_json(report.device))
        entry = HistoryEntry(when, *commit, report.device.name, report.provenance, inputs, where)
        return entry, [
            KernelRow(
                kernel=report.short_name(k),
                mangled=k.mangled,
                time_ns=k.time_ns,
                time_ns_low=k.time_ns_low,
                time_ns_high=k.time_ns_high,
                share=k.share,
                bound=k.bound,
                vgprs=k.resources.vgprs,
                spills=k.resources.vgpr_spills,
                occupancy=k.occupancy.theoretical if k.occupancy is not None else None,
                file=_named_from(project, k.file or ""),
                launch_ns=k.roofline.time_ns / k.profiled if k.profiled else None,
                counters=packed(_of_a_launch(k, device)),
            )
            for k in report.kernels
        ]
    if isinstance(report, Optimization):
        tried = "\n".join(f"{a.kernel} {a.title} {a.diff}" for a in report.attempts)
        inputs = hashlib.sha256(tried.encode("utf-8", "replace")).hexdigest()
        entry = HistoryEntry(when, *commit, "", report.provenance or "modelled", inputs, where)
        return entry, [
            AttemptRow(base_name(a.kernel), a.formula, a.title, a.outcome, a.reason, a.speedup, a.search)
            for a in report.attempts
            if a.outcome != "tried_before"
        ]
    return None


def _of_a_launch(kernel: Kernel, device: Device) -> dict[str, float]:
    """The counters and metrics of one launch, the mean of those that were recorded."""
    if not kernel.profiled:
        return {}
    counters = {
        name: value if kind_of(name) == "ratio" else value / kernel.profiled
        for name, value in kernel.counters.items()
    }
    found = metrics_of(counters, kernel.roofline.time_ns / kernel.profiled, 1, device)
    metrics = {f"{METRIC}{m.metric.key}": m.value for m in found if m.value is not None}
    return {**counters, **metrics}


def _named_from(project: Path, file: str) -> str:
    path, real = Path(file), Path(os.path.realpath(project))
    return path.relative_to(real).as_posix() if file and path.is_relative_to(real) else file
