"""Was the model right? Compares what it believed of its edits with what was measured, and writes the trace.

Takes beliefs and the metrics of the kernel before and after, gives each belief's outcome with the numbers, and how
well the edit rests on the evidence.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from hipscope.analysis.errors import HipscopeError
from hipscope.formulas.base import Finding
from hipscope.formulas.propose.llm.answer_schema import Belief

NOISE_PERCENT = 1.0
"""A change of less than this is none."""

NEARBY_LINES = 2
"""An edit this close to a line of a finding counts as an edit of that line."""


class BeliefOutcome(StrEnum):
    """What the measurement says of a belief."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNTESTED = "untested"


@dataclass(frozen=True)
class CheckedBelief:
    """A belief and its outcome. `change_percent` is signed; `size` compares it with what was expected, factor two."""

    belief: Belief
    outcome: BeliefOutcome
    before: float | None
    after: float | None
    change_percent: float | None
    size: Literal["as expected", "smaller", "larger"] | None
    reason: str


@dataclass(frozen=True)
class Alignment:
    """How the edit rests on the evidence, each 0..1, None where there is nothing to divide by.

    `coverage`: findings that a belief answers, of all findings. `localisation`: changed lines that lie at a finding, of
    all changed lines. `agreement`: confirmed beliefs, of those that could be tested.
    """

    coverage: float | None
    localisation: float | None
    agreement: float | None


def check_beliefs(
    beliefs: Sequence[Belief], before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[CheckedBelief, ...]:
    """Each belief with its outcome. Metrics of both sides must cover the same launches."""
    return tuple(_check(belief, before, after) for belief in beliefs)


def align(
    checked: Sequence[CheckedBelief],
    findings: Sequence[Finding],
    original: str,
    rewritten: str,
    first_line: int,
) -> Alignment:
    """Coverage, localisation and agreement of one rewrite of the kernel whose text starts on `first_line`."""
    answered = {c.belief.finding.upper() for c in checked}
    covered = [f"F{number}" in answered for number in range(1, len(findings) + 1)]
    near = {
        line
        for f in findings
        for start, end in [(f.line, f.end_line), *((r.line, r.line) for r in f.related)]
        for line in range(start - NEARBY_LINES, end + NEARBY_LINES + 1)
    }
    changed = changed_lines(original, rewritten, first_line)
    confirmed = sum(c.outcome is BeliefOutcome.CONFIRMED for c in checked)
    tested = confirmed + sum(c.outcome is BeliefOutcome.REFUTED for c in checked)
    return Alignment(
        coverage=sum(covered) / len(covered) if covered else None,
        localisation=sum(line in near for line in changed) / len(changed) if changed and findings else None,
        agreement=confirmed / tested if tested else None,
    )


def changed_lines(original: str, rewritten: str, first_line: int) -> tuple[int, ...]:
    """The lines of the original that were replaced or removed, or that something was inserted before."""
    old, new = (text.splitlines() for text in (original, rewritten))
    lines: set[int] = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            lines |= set(range(first_line + start, first_line + max(end, start + 1)))
    return tuple(sorted(lines))


class BeliefTrace:
    """What happened in one optimization, one JSON object a line, complete up to the last event.

    Holds prompts, answers and numbers, so it stays in the project's `.hipscope` directory; it never holds a key.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    @classmethod
    def in_project(cls, root: Path, kernel: str) -> BeliefTrace:
        """A new file in `.hipscope/trace`, named after the time and the kernel; Git does not see it.

        Raises `HipscopeError` when the project cannot be written to.
        """
        state = root / ".hipscope"
        name = "".join(c if c.isalnum() else "_" for c in kernel)[:60]
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        try:
            state.mkdir(exist_ok=True)
            ignore = state / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            return cls(state / "trace" / f"{stamp}-{time.time_ns() % 1_000_000:06}-{name}.jsonl")
        except OSError as error:
            raise HipscopeError(
                f"{state}: {error.strerror}", "the trace of the rewrites is kept there"
            ) from error

    def write(self, event: str, **values: Any) -> None:
        """Append one event."""
        if self.path is None:
            return
        line = json.dumps({"time": time.time(), "event": event, **_plain(values)}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def _check(belief: Belief, before: Mapping[str, float], after: Mapping[str, float]) -> CheckedBelief:
    was, now = _find(belief.metric, before), _find(belief.metric, after)
    if was is None or now is None:
        side = "before" if was is None else "after"
        reason = f"{belief.metric} was not recorded {side} the edit"
        return CheckedBelief(belief, BeliefOutcome.UNTESTED, was, now, None, None, reason)
    change = (now - was) / abs(was) * 100 if was else None
    moved = now - was if change is None else change if abs(change) >= NOISE_PERCENT else 0.0
    right = moved < 0 if belief.direction == "down" else moved > 0
    outcome = BeliefOutcome.CONFIRMED if right else BeliefOutcome.REFUTED
    how = "did not change" if not moved else f"went {'down' if moved < 0 else 'up'}"
    amount = f" by {abs(change):.3g} %" if moved and change is not None else ""
    reason = f"{belief.metric} {how}{amount}, from {was:.6g} to {now:.6g}"
    size = _size(belief.expected_percent, change) if right else None
    return CheckedBelief(belief, outcome, was, now, change, size, reason)


def _find(name: str, metrics: Mapping[str, float]) -> float | None:
    """The metric of that name; models put names in quotes or change their case."""
    wanted = name.strip(" `'\"").lower()
    return next((value for key, value in metrics.items() if key.lower() == wanted), None)


def _size(expected: float | None, change: float | None) -> Literal["as expected", "smaller", "larger"] | None:
    if expected is None or change is None or expected <= 0:
        return None
    ratio = abs(change) / expected
    return "smaller" if ratio < 0.5 else "larger" if ratio > 2 else "as expected"


def _plain(value: Any) -> Any:
    """As JSON can hold it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value
