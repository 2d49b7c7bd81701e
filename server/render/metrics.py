"""The metrics of kernels as tables for a terminal: a table per kernel and group, with what is missing said once."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hipscope.server.reports.schema.metrics import KernelMetrics, MetricsReport

_NAMED = 6  # counters that are named before the rest are a number


def render_metrics(report: MetricsReport, console: Console, top: int | None = None) -> None:
    """Print the metrics of the first `top` kernels."""
    if not report.groups:
        known = (
            f"no metrics are known for {report.arch}"
            if report.arch
            else "the capture does not say which GPU it is of"
        )
        console.print(Text(f"{known}: there is no table of them", "yellow"))
        return
    for kernel in report.kernels[:top]:
        console.print(Text(kernel.kernel, "bold") + Text(f"  {report.provenance}, {report.device}", "dim"))
        for group, title in report.groups.items():
            _group(kernel, group, title, console)
        _missing(kernel, console)
        console.print()


def value_text(value: float) -> str:
    """A number with as many digits as it deserves: 1,234,567 and 0.123."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _group(kernel: KernelMetrics, group: str, title: str, console: Console) -> None:
    rows = [metric for metric in kernel.metrics if metric.group == group and metric.value is not None]
    if not rows:
        return
    table = Table(title=title, title_justify="left", title_style="bold cyan", box=None, pad_edge=False)
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("meaning", style="dim")
    for metric in rows:
        table.add_row(metric.name, value_text(metric.value or 0.0), metric.unit, metric.meaning)
    console.print(table)


def _missing(kernel: KernelMetrics, console: Console) -> None:
    """Which counters would give the rest."""
    lacking = [metric for metric in kernel.metrics if metric.value is None and metric.missing]
    names = sorted({name for metric in lacking for name in metric.missing})
    if not names:
        return
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    of = f"{len(lacking)} of {len(kernel.metrics)} metrics are missing"
    console.print(Text(f"{of}: the capture has no {shown}", "dim"))
