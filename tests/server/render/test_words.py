"""Numbers as people read them, and names out of signatures."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.server.render.words import (
    bar,
    count,
    duration,
    interval,
    percent,
    rate,
    size,
    sparkline,
    uncertain_reason,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.0, "0 ns"),
        (12345.0, "12.3 us"),
        (999.9, "1000 ns"),
        (2.5e6, "2.50 ms"),
        (3e9, "3.00 s"),
    ],
)
def test_durations(value: float | None, text: str) -> None:
    assert duration(value) == text


def test_what_a_line_may_wait_for_instead_has_its_short_name() -> None:
    assert uncertain_reason("global_memory") == "uncertain, may be global memory"
    assert uncertain_reason(None) == ""


def test_an_interval_stands_behind_a_time_only_where_it_is_known() -> None:
    assert interval(26100.0, 36400.0) == " (26.1 us to 36.4 us)"
    assert interval(None, None) == ""


def test_shares_counts_sizes_and_rates() -> None:
    assert [percent(x) for x in (0.4123, 0.034, 1e-5, 0, None)] == [
        "41 %",
        "3.4 %",
        "<0.1 %",
        "0 %",
        "unknown",
    ]
    assert [count(x) for x in (12, 1234567, 45600, 0.5)] == ["12", "1.23 M", "45.6 k", "0.50"]
    assert [size(x) for x in (64, 65536, 3 * 1024**3)] == ["64 B", "64.0 KiB", "3.00 GiB"]
    assert rate(5.3e12, "B/s") == "5.30 TB/s"


def test_a_bar_is_as_wide_as_asked_and_never_overflows() -> None:
    assert [bar(x, 4) for x in (0, 0.5, 1, 7, -1)] == ["    ", "██  ", "████", "████", "    "]
    assert bar(0.125, 4) == "▌   "


def test_a_sparkline_has_its_highest_column_full() -> None:
    assert sparkline([0, 4, 8]) == "▁▄█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("transpose(float const*, float*, int)", "transpose"),
        ("void ns::scale<float>(float*, int)", "scale"),
        ("(anonymous namespace)::f(int)", "f"),
        ("void (anonymous namespace)::g<int, (E)3>(int) [clone .kd]", "g"),
        ("plain", "plain"),
    ],
)
def test_the_name_of_a_kernel_as_it_stands_in_the_source(signature: str, name: str) -> None:
    assert base_name(signature) == name
