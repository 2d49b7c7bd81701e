"""Candidates under the sanitizers: a kernel that gives the right result may still race or read what nobody wrote.

Takes a run of the reference and a candidate, gives what the sanitizers report for the candidate and not for the
reference on the same inputs.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from hipscope.accordo.reference import ReferenceRun, Settings
from hipscope.accordo.replay import Replay, patient, replay
from hipscope.accordo.verdict import Mismatch
from hipscope.emulator.sanitize import DEFECTS, Defect, SanitizerReport, SanitizerRun

_WHAT: dict[Defect, str] = {
    "out-of-bounds": "it accesses memory outside of its allocation",
    "use-after-free": "it uses memory that has been freed",
    "data-race": "two accesses of it race",
    "divergent-barrier": "not all work-items reach the same barrier",
    "misaligned": "it makes a misaligned access",
    "stale-read": "it may read an old value that another XCD has changed",
}


def new_reports(
    settings: Settings, run: ReferenceRun, candidate: Path, cancel: threading.Event | None = None
) -> tuple[Mismatch, ...]:
    """One mismatch for each report of a kind that the reference is free of. Raises ReplayBroken, Cancelled."""
    found = _checked(settings, run, candidate, "candidate_checked", cancel)
    if found is None or not found.reports:
        return ()
    # The reference's own run is only needed, and made once, when a candidate has something to be compared with.
    own = _checked(settings, run, run.dispatch.code_object, "checked", cancel)
    known = {report.defect for report in own.reports} if own is not None else set()
    fresh = sorted((r for r in found.reports if r.defect not in known), key=lambda r: DEFECTS.index(r.defect))
    return tuple(Mismatch(kind="sanitizer", message=_sentence(r, run)) for r in fresh)


def _checked(
    settings: Settings, run: ReferenceRun, code: Path, name: str, cancel: threading.Event | None
) -> SanitizerRun | None:
    out = run.result.directory.with_name(f"{run.result.directory.name}_{name}")
    if name == "checked" and (out / "result.json").exists():
        result = Replay("ok", "", None, out)
    else:
        shutil.rmtree(out, ignore_errors=True)
        result = replay(
            patient(settings.tool, run.result),
            run.dispatch,
            code,
            out,
            inputs=run.inputs,
            sanitize=settings.sanitize,
            cancel=cancel,
        )
    return result.sanitizers(code)


def _sentence(report: SanitizerReport, run: ReferenceRun) -> str:
    lines = [p.position.line for p in (report.at, report.other) if p is not None and p.position is not None]
    where = ""
    if lines:
        where = f" on line {lines[0]}" + (f" (the other on line {lines[1]})" if len(lines) > 1 else "")
    return f"{_WHAT[report.defect]}{where} with {run.label}: {report.message}"
