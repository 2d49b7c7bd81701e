"""What the page of an optimization shows: the outcome, both sides, the edit, the proof and every attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hipscope.server.render.words import three
from hipscope.server.reports.schema.optimize import Attempt, Optimization, Side
from hipscope.server.reports.schema.verdict import Verdict

_ROWS = (
    ("vgprs", "VGPRs"),
    ("agprs", "AGPRs"),
    ("sgprs", "SGPRs"),
    ("lds_bytes", "LDS bytes"),
    ("scratch_bytes", "scratch bytes"),
    ("occupancy", "waves per SIMD"),
)
_CLASSES = {"+": "added", "-": "removed", "@": "place"}
_MOST_LINES = 400  # of a diff


def optimize_view(report: Optimization) -> dict[str, Any]:
    """The values that the template of an optimization takes."""
    return {
        "report": report,
        "sides": list(_sides(report.before, report.after)),
        "diff": _diff(report.diff or ""),
        "proof": _proof(report.verdict),
        "attempts": [_attempt(one) for one in report.attempts],
    }


def _attempt(one: Attempt) -> dict[str, Any]:
    return {
        "attempt": one,
        "title": one.title or one.recipe or one.formula or "the whole kernel",
        "outcome": one.outcome.replace("_", " "),
        "diff": _diff(one.diff),
        "proof": _proof(one.verdict),
        "sides": list(_sides(None, one.after)),
    }


def _sides(before: Side | None, after: Side | None) -> Iterator[tuple[str, object, object]]:
    """What is known of both sides beside the time: name, before, after."""
    for key, label in _ROWS:
        was, now = (getattr(side, key) if side is not None else None for side in (before, after))
        if was is not None or now is not None:
            yield label, was, now
    metrics: Mapping[str, float | None] = after.metrics if after is not None else {}
    known: Mapping[str, float | None] = before.metrics if before is not None else {}
    for name in dict.fromkeys((*known, *metrics)):
        was, now = known.get(name), metrics.get(name)
        if was != now and (was is not None or now is not None):
            yield name, _number(was), _number(now)


def _number(value: float | None) -> str | None:
    return None if value is None else three(value)


def _proof(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    counts = Counter((trial.inputs, trial.outcome) for trial in verdict.trials)
    return {"verdict": verdict, "trials": [(i, outcome, count) for (i, outcome), count in counts.items()]}


def _diff(text: str) -> list[tuple[str, str]]:
    """The lines of a diff, each with its class."""
    lines = text.splitlines()
    shown = [(_CLASSES.get(line[:1], ""), line) for line in lines[:_MOST_LINES]]
    return shown + (
        [("place", f"{len(lines) - _MOST_LINES} further lines")] if len(lines) > _MOST_LINES else []
    )
