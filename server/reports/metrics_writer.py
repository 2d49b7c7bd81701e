"""A profile's report as the `hipscope.metrics/1` record: its counters, put into the formulas of its architecture.

Takes a `hipscope.profile` report, also a saved one, gives the metrics of each kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipscope.analysis.counters.metrics import MeasuredMetric, metrics_of
from hipscope.analysis.counters.table import metric_table
from hipscope.analysis.errors import UsageError
from hipscope.analysis.profile import Device
from hipscope.server.reports.schema.fields import to_json
from hipscope.server.reports.schema.metrics import KernelMetrics, Metric, MetricsReport
from hipscope.server.reports.schema.profile import Kernel, Report

ALL = "all"


def metrics_report(
    report: Report, group: str = ALL, kernels: Sequence[Kernel] | None = None
) -> MetricsReport:
    """The metrics of a report's kernels, of one group or of all. Raises `UsageError` for a group that is none."""
    device = Device.model_validate(to_json(report.device))
    table = metric_table(device.arch)
    groups = dict(table.groups) if table is not None else {}
    if table is not None and group not in (ALL, *groups):
        raise UsageError(f"no metrics are called {group!r}", f"groups: {', '.join((ALL, *groups))}")
    chosen = {name: title for name, title in groups.items() if group in (ALL, name)}
    return MetricsReport(
        provenance=report.provenance,
        device=report.device.name,
        arch=report.device.arch,
        groups=chosen,
        kernels=tuple(_kernel(k, device, group) for k in (report.kernels if kernels is None else kernels)),
    )


def _kernel(kernel: Kernel, device: Device, group: str) -> KernelMetrics:
    found = metrics_of(
        kernel.counters, kernel.roofline.time_ns, kernel.profiled, device, None if group == ALL else group
    )
    return KernelMetrics(kernel.name, kernel.mangled, tuple(_metric(metric) for metric in found))


def _metric(found: MeasuredMetric) -> Metric:
    row = found.metric
    return Metric(
        key=row.key,
        group=row.group,
        name=row.name,
        unit=row.unit,
        value=found.value,
        missing=found.missing,
        meaning=row.meaning,
        formula=row.formula,
        source=row.source,
    )
