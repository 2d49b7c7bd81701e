"""Lines whose longest wait depends on assumed constants of the time model."""

from __future__ import annotations

import pytest

from hipscope.analysis.profile import Instruction, StallReason
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, SourceTexts
from hipscope.analysis.timeline.records import KernelPath, LongestPath, Timeline
from hipscope.emulator.devices import device_constants
from hipscope.formulas.base import Finding
from hipscope.server.reports import profile_writer
from hipscope.server.reports.profile_writer import other_reason, profile_report
from hipscope.server.reports.schema.profile import Inputs
from tests.formulas.detect.test_dataflow import kernel_of
from tests.formulas.hand_made import modelled_profile


def test_a_wait_far_ahead_of_the_others_is_certain() -> None:
    assert other_reason({StallReason.GLOBAL_MEMORY: 90, StallReason.PIPE_BUSY: 10}) is None


def test_a_wait_that_another_may_overtake_is_not() -> None:
    assert other_reason({StallReason.GLOBAL_MEMORY: 60, StallReason.PIPE_BUSY: 40}) is StallReason.PIPE_BUSY


def test_the_one_that_may_be_longest_is_named_not_the_second() -> None:
    stalls = {StallReason.GLOBAL_MEMORY: 50, StallReason.BARRIER: 30, StallReason.ATOMIC: 25}
    assert other_reason(stalls) is StallReason.ATOMIC


def test_waits_that_no_assumed_constant_decides_keep_their_order() -> None:
    assert other_reason({StallReason.BARRIER: 51, StallReason.SLEEP: 49}) is None


def test_a_line_that_does_not_wait_has_none() -> None:
    assert other_reason({}) is None
    assert other_reason({StallReason.LDS: 10}) is None


@pytest.mark.parametrize("part", [0.0, 0.9])
def test_what_a_fence_may_take_is_in_the_interval_of_a_time(part: float) -> None:
    waits = {StallReason.GLOBAL_MEMORY: 1000 * part}
    fence = Instruction(
        index=0, address=0, text="buffer_wbl2 sc1", latency=1000 * part, stall=1000 * part, stalls=waits
    )
    work = Instruction(index=1, address=8, text="v_add_f32_e32 v0, v1, v2", latency=1000 * (1 - part))
    kernel = kernel_of("s_endpgm").model_copy(update={"instructions": (fence, work), "bound_by": "latency"})
    inputs = Inputs({}, (), None, None, "auto")
    report = profile_report(modelled_profile(kernel), None, 0.05, SourceTexts(), inputs)
    (row,) = report.kernels
    assert row.time_ns is not None
    constant = device_constants()["mi300x"]["fence_release_cycles"]
    assert constant.range is not None
    least = 0.84 * (1 - part) + part * constant.range[0] / float(constant.value)
    assert row.time_ns_low == pytest.approx(row.time_ns * least)


def test_findings_of_what_the_run_waits_for_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str, share: float) -> Finding:
        return Finding(
            "bankConflict", name, name, "a.hip", 1, 1, UNKNOWN_COLUMN, UNKNOWN_COLUMN, share, "", ()
        )

    in_turn = [found("beside", 0.9), found("small", 0.2), found("large", 0.6)]
    kernels = [
        KernelPath("large", 400, 1, 0),
        KernelPath("small", 500, 1, 0),
        KernelPath("beside", 0, 0, 300),
    ]
    path = LongestPath(1000, 900, 0, 0, 100, 0, True, tuple(kernels))
    time = Timeline(1000, (), (), 0, (), (), path, (), "gpu", (), "")
    monkeypatch.setattr(profile_writer, "findings_and_hints", lambda *_, **__: (in_turn, []))
    inputs = Inputs({}, (), None, None, "auto")

    def order(time: Timeline | None) -> list[str]:
        monkeypatch.setattr(profile_writer, "timeline", lambda _: time)
        report = profile_report(modelled_profile(kernel_of("s_endpgm")), None, 0.05, SourceTexts(), inputs)
        return [f.kernel for f in report.findings]

    assert order(None) == ["beside", "small", "large"]
    assert order(time) == ["large", "small", "beside"]
