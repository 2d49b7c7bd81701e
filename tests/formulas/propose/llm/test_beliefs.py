"""Checking what the model believed against the numbers, how an edit rests on the evidence, and the trace."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from hipscope.analysis.errors import HipscopeError
from hipscope.formulas.propose.llm.answer_schema import Belief
from hipscope.formulas.propose.llm.beliefs import BeliefTrace, align, changed_lines, check_beliefs
from hipscope.formulas.propose.llm.client import Usage


def belief(metric: str = "lds_cycles", direction: str = "down", percent: float | None = 50) -> Belief:
    return Belief.model_validate(
        {
            "finding": "F1", "edit": "pad", "mechanism": "other banks", "metric": metric, "direction": direction,
            "expected_percent": percent,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("direction", "before", "after", "outcome"),
    [
        ("down", 100.0, 40.0, "confirmed"),
        ("down", 100.0, 140.0, "refuted"),
        ("down", 100.0, 99.5, "refuted"),
        ("up", 100.0, 140.0, "confirmed"),
        ("up", 100.0, 100.0, "refuted"),
        ("up", 0.0, 3.0, "confirmed"),
        ("down", 0.0, 0.0, "refuted"),
    ],
)
def test_a_belief_is_held_against_the_numbers(
    direction: str, before: float, after: float, outcome: str
) -> None:
    (checked,) = check_beliefs([belief(direction=direction)], {"lds_cycles": before}, {"lds_cycles": after})
    assert checked.outcome == outcome
    assert (checked.before, checked.after) == (before, after)
    assert f"from {before:g} to {after:g}" in checked.reason


def test_what_was_not_measured_is_untested_and_says_where() -> None:
    (one,) = check_beliefs([belief()], {}, {"lds_cycles": 1.0})
    (two,) = check_beliefs([belief()], {"lds_cycles": 1.0}, {})
    (three,) = check_beliefs([belief("speed of light")], {"lds_cycles": 1.0}, {"lds_cycles": 1.0})
    assert {c.outcome for c in (one, two, three)} == {"untested"}
    assert ("before" in one.reason, "after" in two.reason) == (True, True)


@pytest.mark.parametrize("name", ["`lds_cycles`", "LDS_CYCLES", " lds_cycles "])
def test_names_are_recognised_as_models_write_them(name: str) -> None:
    (checked,) = check_beliefs([belief(name)], {"lds_cycles": 2.0}, {"lds_cycles": 1.0})
    assert checked.outcome == "confirmed"


@pytest.mark.parametrize(
    ("expected", "size"), [(50, "as expected"), (90, "as expected"), (10, "larger"), (None, None)]
)
def test_the_expected_size_is_compared(expected: float | None, size: str | None) -> None:
    (checked,) = check_beliefs([belief(percent=expected)], {"lds_cycles": 100.0}, {"lds_cycles": 45.0})
    assert checked.size == size


def test_changed_lines_are_those_of_the_original() -> None:
    old = "a\nb\nc\nd"
    assert changed_lines(old, "a\nB\nc\nd", 10) == (11,)
    assert changed_lines(old, "a\nc\nd", 10) == (11,)
    assert changed_lines(old, "a\nb\nx\ny\nc\nd", 10) == (12,)
    assert changed_lines(old, old, 10) == ()


def test_alignment_counts_findings_lines_and_outcomes(given: ModuleType) -> None:
    subject = given.subject()
    checked = check_beliefs(
        [belief(), belief("time_ns", "up"), belief("unknown")],
        {"lds_cycles": 9.0, "time_ns": 9.0},
        {"lds_cycles": 1.0, "time_ns": 1.0},
    )
    span = subject.syntax.span
    original = subject.source[span.start : span.end].decode()
    found = align(checked, subject.findings, original, given.FASTER, span.line)
    assert found.coverage == 0.5
    assert found.agreement == 0.5
    assert found.localisation == 1.0
    far = align(
        checked, subject.findings[:1], original, original.replace("{\n", "{ // far\n", 1), span.line - 30
    )
    assert far.localisation == 0.0


def test_alignment_without_findings_or_numbers_is_unknown(given: ModuleType) -> None:
    found = align([], (), "a", "b", 1)
    assert (found.coverage, found.localisation, found.agreement) == (None, None, None)


def test_the_trace_is_one_object_a_line_in_the_project(tmp_path: Path) -> None:
    trace = BeliefTrace.in_project(tmp_path, "turn<float>(int)")
    trace.write("prompt", report="a\nb", usage=Usage(1, 2, None))
    trace.write("judged", beliefs=check_beliefs([belief()], {}, {}), data=b"\xff")
    assert trace.path is not None
    assert trace.path.parent == tmp_path / ".hipscope" / "trace"
    assert "turn_float" in trace.path.name
    events = [json.loads(line) for line in trace.path.read_text().splitlines()]
    assert [e["event"] for e in events] == ["prompt", "judged"]
    assert events[0]["usage"] == {"sent": 1, "received": 2, "cost": None, "calls": 0}
    assert events[1]["beliefs"][0]["belief"]["metric"] == "lds_cycles"
    assert (tmp_path / ".hipscope" / ".gitignore").read_text() == "*\n"


def test_a_project_that_cannot_hold_a_trace_is_named(tmp_path: Path) -> None:
    (tmp_path / ".hipscope").write_text("a file")
    with pytest.raises(HipscopeError, match=r"\.hipscope: .*the trace of the rewrites"):
        BeliefTrace.in_project(tmp_path, "turn")


def test_a_trace_without_a_place_writes_nothing(tmp_path: Path) -> None:
    BeliefTrace(None).write("prompt")
    assert list(tmp_path.iterdir()) == []
