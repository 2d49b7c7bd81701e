"""What bounds a kernel in which no other formula finds anything: shown on demand, with no rewrite.

Takes a kernel, gives one finding at its definition with its place under the roofline and what its waves wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.metrics.roofline import Bound, Roofline, roofline
from hipscope.analysis.metrics.stalls import stall_table, total_cycles
from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Formula, Need, Objective
from hipscope.formulas.detect.sites import finding_at, kernel_site


class DiagnoseOnly(Formula):
    """Everything that has no formula of its own, and kernels that are as fast as they can be."""

    name: ClassVar[str] = "diagnoseOnly"
    title: ClassVar[str] = "What bounds this kernel"
    objectives: ClassVar[tuple[Objective, ...]] = ()
    remedy: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[Need, ...]] = (Need(("launches",), "the bound from counters and instructions"),)

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:  # noqa: ARG002
        """One finding for the kernel; none when nothing is known of what bounds it."""
        roof = roofline(kernel, profile.device, profile.provenance)
        if roof.bound == "unknown":
            return []
        evidence = [*_rates(roof), *_stalls(kernel)]
        fits = occupancy(kernel, profile.device)
        if fits is not None:
            evidence.append(
                Evidence("waves per SIMD that fit", fits.theoretical, float(fits.maximum), "waves")
            )
        return [finding_at(self.name, kernel, kernel_site(kernel), 0.0, _WORDS[roof.bound], evidence)]

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Nothing: there is nothing to move."""
        return {}


_TOP = 3  # reasons to wait that are named
_WORDS: Mapping[Bound, str] = {
    "memory": "bound by memory bandwidth: it gets faster by moving fewer bytes",
    "compute": "bound by the vector units: it gets faster by executing fewer or cheaper instructions",
    "issue": "bound by instruction issue: waves wait for their turn, it gets faster by executing fewer instructions",
    "latency": "bound by latency: no unit is busy, waves wait for results of earlier instructions",
    "lds": "bound by the LDS: it gets faster by fewer or wider LDS accesses",
    "atomics": "bound by atomics: it gets faster by fewer of them",
    "launch": "so short that launching it takes most of the time: it gets faster by launching less often",
    "unknown": "",
}


def _rates(roof: Roofline) -> list[Evidence]:
    rows = []
    if roof.memory_fraction is not None:
        rows.append(Evidence("memory bandwidth used", 100 * roof.memory_fraction, 100.0, "%"))
    if roof.flops_fraction is not None:
        rows.append(Evidence("floating-point peak used", 100 * roof.flops_fraction, 100.0, "%"))
    if roof.intensity is not None:
        rows.append(Evidence("arithmetic intensity", roof.intensity, roof.ridge, "flop/B"))
    return rows


def _stalls(kernel: Kernel) -> list[Evidence]:
    total = total_cycles(kernel)
    top = list(stall_table(kernel).items())[:_TOP] if total else []
    return [
        Evidence(f"wave time waiting: {reason.replace('_', ' ')}", 100 * cycles / total, None, "%")
        for reason, cycles in top
    ]
