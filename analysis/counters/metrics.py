"""A kernel's metrics: the table of its device's architecture over its counters.

Takes a kernel and a device, gives each metric with its value, or with what is missing for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hipscope.analysis.counters.formula import Missing, evaluate
from hipscope.analysis.counters.table import Metric, MetricTable, metric_table
from hipscope.analysis.profile import Device, Kernel

_LEVEL = re.compile(r"\b(\w+)_ACCUM\b")


@dataclass(frozen=True)
class MeasuredMetric:
    """A metric of a kernel: its value, or None and the counters and facts that it lacks (none: it divides by zero)."""

    metric: Metric
    value: float | None
    missing: tuple[str, ...] = ()


def kernel_metrics(kernel: Kernel, device: Device, group: str | None = None) -> tuple[MeasuredMetric, ...]:
    """All metrics of the kernel, or those of a group; none for an architecture without a table."""
    profiled = [d for d in kernel.dispatches if d.profiled]
    return metrics_of(kernel.counters, sum(d.time_ns for d in profiled), len(profiled), device, group=group)


def metrics_of(
    counters: Mapping[str, float], time_ns: float, launches: int, device: Device, group: str | None = None
) -> tuple[MeasuredMetric, ...]:
    """Metrics of counters that are sums over that many launches, which took `time_ns` together."""
    table = metric_table(device.arch)
    if table is None:
        return ()
    values = {**counters, **device_values(device), "T": time_ns or None, "LAUNCHES": launches or None}
    chosen = (m for m in table.metrics.values() if group in (None, m.group))
    return tuple(_measured(metric, values, table) for metric in chosen)


def device_values(device: Device) -> dict[str, float | None]:
    """The facts of the device by their names in formulas."""
    known = device.max_waves_per_simd is not None and device.simds_per_cu is not None
    return {
        "CU": device.compute_units,
        "SIMD": device.simds_per_cu,
        "XCD": device.xcds,
        "SE": device.shader_engines,
        "CHANNELS": device.l2_channels,
        "CLOCK": device.clock_mhz,
        "LANES": device.wave_size,
        "WAVES_PER_CU": (device.max_waves_per_simd or 0) * (device.simds_per_cu or 0) if known else None,
    }


def _measured(metric: Metric, values: Mapping[str, float | None], table: MetricTable) -> MeasuredMetric:
    value = evaluate(metric.formula, _of_pass(metric, values), table.names)
    if isinstance(value, Missing):
        return MeasuredMetric(metric, None, tuple(sorted(value.names)))
    return MeasuredMetric(metric, value)


def _of_pass(metric: Metric, values: Mapping[str, float | None]) -> Mapping[str, float | None]:
    """The values, with the busy cycles of the pass that summed the metric's level, where these were recorded."""
    level = _LEVEL.search(metric.formula)
    cycles = values.get(f"{level[1]}_CYCLES") if level else None
    return values if cycles is None else {**values, "GRBM_GUI_ACTIVE": cycles}
