"""Lines whose longest wait depends on assumed constants of the time model."""

from __future__ import annotations

from hipscope.analysis.profile import StallReason
from hipscope.server.reports.profile_writer import other_reason


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
