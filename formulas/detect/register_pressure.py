"""Register pressure: values spilled to memory, or so many registers that few waves fit on a SIMD.

Takes a kernel's resources and scratch accesses, gives a finding per line that waits for spilled values, and one per
kernel whose registers cost it waves that would hide its waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.metrics.occupancy import Occupancy, granted_vgprs, occupancy
from hipscope.analysis.metrics.stalls import add_stalls, blamed_stalls
from hipscope.analysis.profile import Device, Kernel, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.instruction_mix import executions, is_scratch, largest_workgroup, waves
from hipscope.formulas.detect.sites import finding_at, kernel_site, launch_of, sites
from hipscope.formulas.detect.time_at_stake import (
    beyond_traffic,
    cost_share,
    counted_waits,
    latency_bound,
    long_enough,
    smaller,
    wait_share,
)
from hipscope.formulas.tables import THRESHOLDS, Worded

SCRATCH = "scratch instructions per wave"
WAVES = "waves per SIMD"
_HIDDEN_BY_WAVES = (
    StallReason.GLOBAL_MEMORY,
    StallReason.SCALAR_MEMORY,
    StallReason.LDS,
    StallReason.DEPENDENCY,
)


class RegisterPressure(Worded):
    """Large arrays per work-item, heavy unrolling, no `__launch_bounds__`."""

    name: ClassVar[str] = "registerPressure"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(SCRATCH, "down"), Objective(WAVES, "up"))
    keeps: ClassVar[frozenset[Work]] = frozenset({"flops"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """Spills by line, or the step of occupancy; worst first."""
        if not long_enough(kernel):
            return []
        found = [_spills(self.name, kernel, texts), _step(self.name, profile, kernel)]
        return sorted((f for f in found if f is not None), key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:
        """Scratch instructions that a wave executes, and the waves that the resources allow."""
        found = {}
        count, number = executions(kernel, is_scratch), waves(kernel)
        if count is not None and number:
            found[SCRATCH] = count / number
        allowed = occupancy(kernel, device)
        if allowed is not None and kernel.resources.vgprs is not None:
            found[WAVES] = allowed.theoretical
        return found


def _spills(formula: str, kernel: Kernel, texts: SourceTexts) -> Finding | None:
    """All scratch accesses of the kernel as one finding, on the line that pays most for them."""
    places = sites(kernel, is_scratch, lambda i: i.latency)
    if not places:
        return None
    worst = max(places, key=lambda site: cost_share(kernel, site.instructions))
    every = [i for site in places for i in site.instructions]
    resources = kernel.resources
    count, number = executions(kernel, is_scratch), waves(kernel)
    evidence = []
    if count is not None and number:
        evidence.append(Evidence(SCRATCH, count / number, 0.0, ""))
    for metric, value, ideal, unit in (
        ("scratch memory of a work-item", resources.scratch_bytes, 0.0, "B"),
        ("spilled vector registers", resources.vgpr_spills, 0.0, ""),
        ("vector registers", _registers(kernel), None, ""),
        (
            "largest workgroup that it is compiled for",
            resources.max_workgroup_size,
            largest_workgroup(kernel),
            "",
        ),
    ):
        if value is not None:
            evidence.append(Evidence(metric, float(value), ideal, unit))
    share = cost_share(kernel, every)
    evidence.append(Evidence("wave time in scratch accesses", 100 * share, 0.0, "%"))
    launch = launch_of(kernel, worst.file, texts)
    return finding_at(
        formula,
        kernel,
        worst,
        share,
        _why(kernel, count, number),
        evidence,
        () if launch is None else (launch,),
    )


def _why(kernel: Kernel, count: int | None, number: float | None) -> str:
    each = (
        f"each wave executes {count / number:,.0f} scratch instructions"
        if count and number
        else "waves wait for it"
    )
    spilled = kernel.resources.vgpr_spills
    if spilled:
        return f"{spilled} registers of each work-item do not fit and are kept in memory: {each}"
    if spilled == 0:
        return f"values of each work-item lie in memory, for run-time indices or the stack of calls: {each}"
    return f"values of each work-item are kept in memory (scratch) instead of registers: {each}"


def _registers(kernel: Kernel) -> int | None:
    """Both kinds together, None when not known."""
    resources = kernel.resources
    return None if resources.vgprs is None else resources.vgprs + (resources.agprs or 0)


def _step(formula: str, profile: Profile, kernel: Kernel) -> Finding | None:
    """A few registers fewer would let one more wave onto each SIMD, and there are waits to hide and waves to come."""
    device = profile.device
    now = occupancy(kernel, device)
    granted = granted_vgprs(kernel.resources, device)
    if now is None or granted is None or not _held_down(now):
        return None
    if device.vgprs_per_lane is None or device.vgpr_granule is None:
        return None
    waves_after = now.theoretical + 1
    wanted = int(device.vgprs_per_lane // waves_after) // device.vgpr_granule * device.vgpr_granule
    given_up = (granted - wanted) / granted
    if given_up > THRESHOLDS["registerPressure.step"] or not latency_bound(profile, kernel):
        return None
    waits = _waits(kernel)
    if waits is None:
        return None
    share = smaller(waits * (1 - now.theoretical / waves_after), beyond_traffic(profile, kernel))
    return finding_at(
        formula,
        kernel,
        kernel_site(kernel),
        share,
        f"{granted} registers let only {now.theoretical:.0f} waves run on a SIMD, and they wait {waits:.0%} of the "
        f"time; {wanted} would let {waves_after:.0f} run",
        (
            Evidence(WAVES, now.theoretical, waves_after, "waves"),
            Evidence("vector registers", float(granted), float(wanted), ""),
            Evidence("waves per SIMD that the launch could fill", now.launched or 0.0, None, "waves"),
            Evidence("wave time waiting", 100 * waits, None, "%"),
        ),
    )


def _held_down(now: Occupancy) -> bool:
    """Registers alone limit the waves, and more waves than fit were launched."""
    others = [waves for name, waves in now.limits.items() if name != "VGPRs"]
    return (
        now.limiter == "VGPRs"
        and now.theoretical >= 1
        and now.launched is not None
        and now.launched > now.theoretical
        and min(others) >= now.theoretical + 1
    )


def _waits(kernel: Kernel) -> float | None:
    """The part of the time that more waves could fill."""
    if kernel.instructions:
        table = add_stalls(blamed_stalls(kernel))
        return wait_share(kernel, table, _HIDDEN_BY_WAVES)
    return counted_waits(kernel)
