"""Hot lines are findings: narrow accesses, division of doubles, and causes agree with findings."""

from __future__ import annotations

from typing import Any

import pytest

from hipscope.analysis.profile import Frame, Instruction, Kernel, MemoryPattern, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.causes import time_by_cause
from hipscope.formulas.detect.registry import detect_all
from tests.formulas.detect.test_dataflow import kernel_of
from tests.formulas.hand_made import modelled_profile

FILE = "/k.hip"


def kernel(*rows: tuple[str, int, float, dict[str, Any]]) -> Kernel:
    """Instructions as text, line, cycles of waiting, and more."""
    code = tuple(
        Instruction(
            index=n,
            address=8 * n,
            text=text,
            lanes=64,
            hits=int(more.get("hits", 1)),
            latency=waits + 4,
            stall=waits,
            source=(Frame(file=FILE, line=line, column=3),),
            **{name: value for name, value in more.items() if name != "hits"},
        )
        for n, (text, line, waits, more) in enumerate(rows)
    )
    return kernel_of().model_copy(update={"instructions": code})


def found(subject: Kernel, formula: str) -> list[Finding]:
    return detect_all(modelled_profile(subject), SourceTexts(), formulas=[formula])


def access(size: int, kind: str = "load") -> dict[str, Any]:
    pattern = MemoryPattern(
        space="global", kind=kind, bytes_per_lane=size, accesses=1, lanes=64, lines_used=1, lines_needed=1,
        distinct_lines=1,
    )  # fmt: skip
    return {"memory": pattern, "stalls": {StallReason.GLOBAL_MEMORY: 900.0}}


@pytest.mark.parametrize(("size", "share"), [(1, 15 / 16), (2, 7 / 8), (4, None), (16, None)])
def test_loads_of_one_or_two_bytes_per_lane_are_a_finding_of_their_own(
    size: int, share: float | None
) -> None:
    subject = kernel(("global_load_ushort v1, v0, s[0:1]", 7, 900.0, access(size)))
    findings = found(subject, "narrowAccess")
    assert [f.line for f in findings] == ([] if share is None else [7])
    for one in findings:
        assert one.share == pytest.approx(share, abs=0.01)
        assert f"{size} byte" in one.message


def test_a_division_of_doubles_is_a_finding_also_where_it_is_waited_for_more_than_issued() -> None:
    texts = (
        "v_div_scale_f64 v[0:1], vcc, v[2:3]",
        "v_rcp_f64_e32 v[0:1], v[2:3]",
        "v_fma_f64 v[0:1], v[2:3]",
    )
    waits = {"stalls": {StallReason.DEPENDENCY: 900.0}}
    division = [(text, 9, 900.0, dict(waits)) for text in (*texts * 4, "v_div_fixup_f64 v[0:1], v[2:3]")]
    rest: list[tuple[str, int, float, dict[str, Any]]] = [("v_add_f32 v4, v4, v5", 8, 0.0, {})] * 400
    (one,) = found(kernel(*division, *rest), "doubleDivision")
    assert one.line == 9
    assert "divides or takes roots in double precision" in one.message
    assert one.share == pytest.approx(0.7, abs=0.1)


def test_what_waits_for_conflicts_is_what_bank_conflict_has_at_stake() -> None:
    pattern = MemoryPattern(
        space="lds",
        kind="load",
        bytes_per_lane=4,
        accesses=1,
        lanes=64,
        lds_cycles=4e6,
        lds_conflict_cycles=3e6,
    )
    waits = {"memory": pattern, "stalls": {StallReason.LDS: 900.0}}
    subject = kernel(("ds_read_b32 v1, v0", 3, 900.0, waits))
    profile = modelled_profile(subject)
    told = time_by_cause(profile, subject).get("bank conflicts", 0.0)
    (one,) = detect_all(profile, SourceTexts(), formulas=["bankConflict"], min_share=0.0)
    assert told == pytest.approx(one.share, abs=0.005)
