"""Candidates under the sanitizers: a kernel that gives the right result may still race or read unwritten memory.

Only what they do not say of the reference on the same inputs counts.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hipscope.accordo.model.verdict import Mismatch
from hipscope.accordo.proof.checks.plan import Plan, Proof
from hipscope.accordo.proof.checks.rejection import Rejection
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.background import BackgroundReplays
from hipscope.accordo.replay.replay import Replay, replay
from hipscope.emulator.sanitize import DEFECTS, Defect, SanitizerReport

_WHAT: dict[Defect, str] = {
    "out-of-bounds": "it accesses memory outside of its allocation",
    "use-after-free": "it uses memory that has been freed",
    "data-race": "two accesses of it race",
    "divergent-barrier": "not all work-items reach the same barrier",
    "misaligned": "it makes a misaligned access",
    "stale-read": "it may read an old value that another XCD has changed",
    "uninitialised-read": "it uses an unwritten value",
}


def check_sanitizers(proof: Proof, plans: Sequence[Plan], replays: BackgroundReplays) -> Rejection | None:
    """The captured launches and others of them on the same memory: no kind of defect that the reference is free of."""
    for plan in plans:
        proof.run.say(f"candidate under the sanitizers on dispatch {plan.prepared.dispatch.id}")
        for turn, request in (*plan.captured, *plan.others):
            if not request.sanitize:
                continue
            settings, checked = proof.reference.settings, replays.result(request)
            found = _new_reports(settings, turn.run, proof.candidate, checked, proof.run.cancel)
            if racing := [r for r in found if not _looks_at_atomics(r)]:
                return Rejection(
                    turn.run,
                    tuple(Mismatch(kind="sanitizer", message=_sentence(r, turn.run)) for r in racing),
                )
            told = dict.fromkeys(
                f"never with every order of {_load(r)} and the atomics that race with it" for r in found
            )
            proof.unproved += [one for one in told if one not in proof.unproved]
    return None


def _looks_at_atomics(report: SanitizerReport) -> bool:
    """Whether a plain load meets an atomic operation, as where it is asked first whether that would change anything.

    What such a load finds depends on the order of the waves, of which several give the right result.
    """
    if report.defect != "data-race" or report.other is None:
        return False
    (load, atomic) = sorted((report.at.instruction, report.other.instruction), key=_is_atomic)
    return "_load_" in load and not _is_atomic(load) and _is_atomic(atomic)


def _is_atomic(instruction: str) -> bool:
    return "_atomic_" in instruction


def _load(report: SanitizerReport) -> str:
    places = [p for p in (report.at, report.other) if p is not None and not _is_atomic(p.instruction)]
    line = next((p.position.line for p in places if p.position is not None), None)
    return "a plain load" if line is None else f"the plain load on line {line}"


def _new_reports(
    settings: ReferenceSettings,
    run: ReferenceRun,
    candidate: Path,
    checked: Replay,
    cancel: threading.Event | None,
) -> list[SanitizerReport]:
    """The reports of kinds that the reference is free of. Raises ReplayBroken, Cancelled."""
    found = checked.sanitizers(candidate)
    if found is None or not found.reports:
        return []
    # The reference's own run is only needed, and made once, when a candidate has something to be compared with.
    assert checked.request is not None
    code, kept = run.dispatch.code_object, run.result.directory
    out = settings.work / "checked" / f"{kept.parent.name}_{kept.name}"
    request = replace(checked.request, dispatch=run.dispatch, code_object=code, out=out, trace_access=False)
    if (request.out / "result.json").exists():
        own = Replay("ok", "", None, request.out).sanitizers(code)
    else:
        own = replay(settings.tool, request, cancel=cancel).sanitizers(code)
    known = {report.defect for report in own.reports} if own is not None else set()
    return sorted((r for r in found.reports if r.defect not in known), key=lambda r: DEFECTS.index(r.defect))


def _sentence(report: SanitizerReport, run: ReferenceRun) -> str:
    return f"{_WHAT[report.defect]}{_lines(report)} with {run.label}: {report.message}"


def _lines(report: SanitizerReport) -> str:
    lines = [p.position.line for p in (report.at, report.other) if p is not None and p.position is not None]
    if not lines:
        return ""
    return f" on line {lines[0]}" + (f" (the other on line {lines[1]})" if len(lines) > 1 else "")
