"""Whether a kernel is so close to a roof of the device that no further request to a model pays.

Takes a kernel of a profile and the sizes of the buffers that its launches are given, gives a sentence or None. Close to
the bandwidth alone is not enough: a kernel that moves more than its buffers hold may move less.
"""

from __future__ import annotations

from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.profile import Device, Kernel, Provenance
from hipscope.formulas.facts.launch_facts import LaunchFacts

_CLOSE = 0.9  # of a peak: what is left is within what models promise and do not keep
_NO_WASTE = 1.25  # times the bytes of all buffers


def at_roof(kernel: Kernel, device: Device, provenance: Provenance, facts: LaunchFacts) -> str | None:
    """Why nothing more is asked for this kernel, as a clause; None where more may be gained, or nothing is known."""
    found = roofline(kernel, device, provenance)
    if found.flops_fraction is not None and found.flops_fraction >= _CLOSE:
        return f"it computes at {found.flops_fraction:.0%} of the device's peak"
    moved, profiled = found.memory_bytes, sum(d.profiled for d in kernel.dispatches)
    sizes = [sum(launch.buffer_bytes.values()) for launch in facts.launches]
    given = profiled * sum(sizes) / len(sizes) if sizes else 0.0
    if found.memory_fraction is None or found.memory_fraction < _CLOSE or moved is None:
        return None
    if moved > _NO_WASTE * given:
        return None
    return f"it moves no more than its buffers hold, at {found.memory_fraction:.0%} of the device's bandwidth"
