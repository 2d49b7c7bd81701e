"""The search for races keeps some accesses for later while their memory is accessed in no other way.

Loads, atomic operations, and stores to words of LDS with a single writer. Stores of one word to a page, in LDS
two of them, end that for the page. So random accesses after such stores, to words that the accesses leave alone, must
be judged like the same accesses without them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.runs.check_project import check_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.sanitize import AccessPlace, SanitizerReport

SOURCE = Path(__file__).with_name("random_accesses.hip")


def who(place: AccessPlace | None) -> tuple[object, ...]:
    if place is None:
        return ()
    line = place.position.line if place.position else None
    return (line, place.workgroup, place.wave, place.lane, place.thread)


def told(report: SanitizerReport) -> tuple[object, ...]:
    """All of a report but where the code lies, and which launch it was."""
    at, other = who(report.at), who(report.other)
    return (report.defect, report.message, report.count, at, other, report.memory)


@pytest.mark.parametrize("seed", range(8))
def test_accesses_kept_for_later_are_judged_like_those_noted_at_once(seed: int) -> None:
    reports = check_project(resolve_project(SOURCE, (str(seed),))).run.reports
    for kernel in ("in_lds", "in_global"):
        kept, at_once = (
            [told(r) for r in reports if f"{kernel}<{own}>" in r.kernel] for own in ("false", "true")
        )
        assert kept == at_once
        assert len(kept) > 10
