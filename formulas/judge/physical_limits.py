"""The physical floor: a time that no device could reach is a mistake, not a gain.

Takes a timed kernel and how many bytes it has to touch, gives why the time cannot be, or None.
"""

from __future__ import annotations

from hipscope.accordo.dispatch.access_map import READ, WRITTEN
from hipscope.accordo.reference.prepare import Reference
from hipscope.analysis.metrics.roofline import flop_count, roofline
from hipscope.analysis.profile import Device
from hipscope.formulas.judge.timed_replay import Measured

_SPARE = 1.05  # rounding of counters and of clocks
_SUSPECT = 20.0


def least_bytes(reference: Reference) -> int:
    """Bytes that the recorded launches have to read or write at least once, over all of them."""
    return sum(
        access.count(READ | WRITTEN)
        for prepared in reference.prepared
        if not prepared.dispatch.variant  # those are not timed
        for access in prepared.runs[0].access.values()
    )


def impossible(time_ns: float, bytes_touched: int, flops: float | None, device: Device) -> str | None:
    """Why no device of that kind can do this in that time. Bytes may come from its caches, so their peak counts."""
    if time_ns <= 0:
        return "it takes no time at all"
    seconds = time_ns * 1e-9
    peak = device.l2_bytes_per_s or device.hbm_bytes_per_s
    if peak is not None and bytes_touched / seconds > peak * _SPARE:
        return (
            f"{bytes_touched} bytes in {time_ns / 1e3:.4g} us are {bytes_touched / seconds / 1e9:.4g} GB/s; "
            f"the {device.name} has {peak / 1e9:.4g} GB/s at most"
        )
    roof = max(device.flops_fp32 or 0.0, device.flops_fp64 or 0.0)
    if roof and flops is not None and flops / seconds > roof * _SPARE:
        return f"{flops / seconds / 1e12:.4g} TFLOP/s; the {device.name} has {roof / 1e12:.4g} at most"
    return None


def beyond_physics(after: Measured, reference: Reference) -> str | None:
    """Why the candidate's modelled time cannot be true."""
    why = impossible(after.time_ns, least_bytes(reference), _flops(after), after.profile.device)
    placed = roofline(after.kernel, after.profile.device, after.profile.provenance)
    if why is None and placed.memory_fraction is not None and placed.memory_fraction > _SPARE:
        why = f"{placed.memory_fraction:.0%} of the memory bandwidth that the {after.profile.device.name} has"
    return None if why is None else f"faster than the hardware can be: {why}"


def measured_beyond_physics(
    run_ns: float, after: Measured, reference: Reference, device: Device
) -> str | None:
    """Why a run of the program cannot have spent so little time in the kernel.

    It does at least the recorded launches, of which `after` holds the operations.
    """
    why = impossible(run_ns, least_bytes(reference), _flops(after), device)
    return None if why is None else f"faster than the hardware can be: {why}"


def _flops(after: Measured) -> float | None:
    """Operations of the recorded launches; None with matrix instructions, which have another peak."""
    counters = after.kernel.counters
    matrix = any(name.startswith("SQ_INSTS_VALU_MFMA") and value for name, value in counters.items())
    return None if matrix else flop_count(counters)


def suspicious(speedup: float) -> str | None:
    """A note on a gain so large that it needs a review."""
    if speedup <= _SUSPECT:
        return None
    return f"{speedup:.3g}x is more than rewrites usually gain: look at the diff"
