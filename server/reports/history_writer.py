"""A saved report as rows of a project's history: its kernels, or the attempts of an optimization."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from hipscope.analysis.history.store import AttemptRow, HistoryEntry, KernelRow
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.server.reports.schema.fields import to_json
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.reports.schema.profile import Report


def history_rows(
    report: object, path: Path, commit: tuple[str, bool]
) -> tuple[HistoryEntry, list[KernelRow] | list[AttemptRow]] | None:
    """The entry and its rows; None for a report of another kind. `path` is where it was saved: its time counts."""
    when = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    where = str(path.resolve())
    if isinstance(report, Report):
        inputs = hashlib.sha256(json.dumps(to_json(report.inputs), sort_keys=True).encode()).hexdigest()
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
            )
            for k in report.kernels
        ]
    if isinstance(report, Optimization):
        inputs = hashlib.sha256("\n".join(a.diff for a in report.attempts).encode()).hexdigest()
        entry = HistoryEntry(when, *commit, "", report.provenance or "modelled", inputs, where)
        return entry, [
            AttemptRow(base_name(a.kernel), a.formula, a.title, a.outcome, a.reason, a.speedup)
            for a in report.attempts
        ]
    return None
