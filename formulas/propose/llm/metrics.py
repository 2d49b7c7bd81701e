"""The numbers of a kernel that a belief can be about, by name.

Takes a kernel of a profile, gives names with their values over the profiled launches. The report lists exactly these
names, and the check of the beliefs looks them up before and after. What was not recorded is not there.
"""

from __future__ import annotations

from hipscope.analysis.metrics.memory_patterns import add_patterns
from hipscope.analysis.metrics.stalls import blamed_stalls
from hipscope.analysis.profile import Device, Kernel
from hipscope.formulas.detect.registry import measure_all

_RESOURCES = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "vgpr_spills", "sgpr_spills")


def kernel_metrics(kernel: Kernel, device: Device) -> dict[str, float]:
    """Every metric that the profile holds for this kernel. Cycles are summed over waves, times are nanoseconds."""
    profiled = [d for d in kernel.dispatches if d.profiled]
    metrics: dict[str, float] = {}
    if profiled:
        metrics["time_ns"] = sum(d.time_ns for d in profiled)
    if kernel.instructions:
        metrics |= _executed(kernel) | _waits(kernel) | _memory(kernel)
    for name in _RESOURCES:
        value = getattr(kernel.resources, name)
        if value is not None:
            metrics[name] = float(value)
    return metrics | measure_all(kernel, device) | kernel.counters


def _executed(kernel: Kernel) -> dict[str, float]:
    hits = sum(i.hits for i in kernel.instructions)
    executed = {"instructions": float(hits), "cycles": sum(i.latency for i in kernel.instructions)}
    if hits:
        executed["lanes_per_instruction"] = sum(i.lanes for i in kernel.instructions) / hits
    return executed


def _waits(kernel: Kernel) -> dict[str, float]:
    waits: dict[str, float] = {}
    for table in blamed_stalls(kernel):
        for reason, cycles in table.items():
            waits[f"stall.{reason}"] = waits.get(f"stall.{reason}", 0.0) + cycles
    return {"stall": sum(waits.values()), **dict(sorted(waits.items()))}


def _memory(kernel: Kernel) -> dict[str, float]:
    metrics: dict[str, float] = {}

    def add(name: str, value: float | None) -> None:
        if value is not None:
            metrics[name] = metrics.get(name, 0.0) + value

    for pattern in add_patterns(i.memory for i in kernel.instructions if i.memory is not None):
        place = f"{pattern.space}_{pattern.kind}"
        add(f"{place}_accesses", float(pattern.accesses))
        if pattern.space == "lds":
            add("lds_cycles", pattern.lds_cycles)
            add("lds_conflict_cycles", pattern.lds_conflict_cycles)
        elif pattern.space == "global":
            add(f"{place}_lines", pattern.lines_used)
            add("memory_lines", pattern.memory_lines)
        if pattern.kind == "atomic":
            add("atomic_conflicts", pattern.atomic_conflicts)
    return metrics
