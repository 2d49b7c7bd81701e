"""`hipscope.metrics/1`: what hardware counters say of each kernel, as `hipscope show --metrics` prints it in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

METRICS_SCHEMA = "hipscope.metrics/1"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `value` is None where a counter or a fact of the device is `missing`, or where it divides by zero."""

    key: str
    group: str
    name: str
    unit: str
    value: float | None
    missing: tuple[str, ...]
    meaning: str
    formula: str
    source: str


@dataclass(frozen=True, slots=True)
class KernelMetrics:
    """The metrics of a kernel, over the launches whose counters were recorded."""

    kernel: str
    mangled: str
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All kernels; `groups` are titles by the groups of their metrics, none for an architecture without a table."""

    TAG: ClassVar = ("schema", METRICS_SCHEMA)
    provenance: str
    device: str
    arch: str
    groups: dict[str, str]
    kernels: tuple[KernelMetrics, ...]
