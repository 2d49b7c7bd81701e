"""`hipscope show --metrics`: values with unit and meaning, and what is missing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hipscope.server.render.metrics import render_metrics, value_text
from hipscope.server.reports.schema.metrics import KernelMetrics, Metric, MetricsReport


def metric(name: str, value: float | None, *missing: str) -> Metric:
    return Metric(name, "l2", name, "%", value, missing, f"what {name} is", "A / B", "compute 2.1")


def drawn(report: MetricsReport) -> str:
    stream = io.StringIO()
    render_metrics(report, Console(file=stream, width=100))
    return stream.getvalue()


def test_values_are_shown_with_unit_and_meaning_and_missing_counters_once() -> None:
    rows = (metric("hits", 34.3), metric("busy", None, "TCC_BUSY_sum"), metric("rate", None, "TCC_BUSY_sum"))
    text = drawn(
        MetricsReport("measured", "mi300x", "gfx942", {"l2": "L2"}, (KernelMetrics("k()", "k", rows),))
    )
    assert "34.3" in text
    assert "what hits is" in text
    assert "2 of 3 metrics are missing: the capture has no TCC_BUSY_sum" in text


@pytest.mark.parametrize(
    ("arch", "said"), [("", "does not say which GPU"), ("gfx1399", "no metrics are known for gfx1399")]
)
def test_without_a_table_that_is_said(arch: str, said: str) -> None:
    assert said in drawn(MetricsReport("measured", "x", arch, {}, ()))


def test_numbers_have_as_many_digits_as_they_deserve() -> None:
    assert [value_text(v) for v in (0, 0.1234, 12.34, 1234.5)] == ["0", "0.123", "12.3", "1,234"]
