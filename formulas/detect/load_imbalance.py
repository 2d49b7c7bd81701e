"""Uneven work: some waves of a launch run long after the others have ended.

Takes a kernel's launches and how many waves ran on average, gives one finding per kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.metrics.occupancy import Occupancy, occupancy
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.metrics.stalls import blamed_stalls
from hipscope.analysis.profile import Device, Kernel, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.instruction_mix import is_synchronising, waves
from hipscope.formulas.detect.sites import finding_at, kernel_site, launch_of
from hipscope.formulas.tables import THRESHOLDS, Worded

RUNNING = "average wave run time (% of the launch)"
_THROUGHPUT = ("memory", "vmem", "compute", "lds", "atomics", "launch", "unknown")


class LoadImbalance(Worded):
    """Triangular loops, rows and lists of different length."""

    name: ClassVar[str] = "loadImbalance"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(RUNNING, "up"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"bytes", "flops"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding for the kernel, or none."""
        times = [d.time_ns for d in kernel.dispatches if d.profiled and d.time_ns > 0]
        mean = sum(times) / len(times) if times else 0.0
        if mean < THRESHOLDS["loadImbalance.long_ns"] or not _same_shape(kernel):
            return []
        fits = occupancy(kernel, profile.device)
        part = _running(kernel, fits, mean)
        bound = roofline(kernel, profile.device, profile.provenance).bound
        if fits is None or part is None or fits.launched is None or bound in _THROUGHPUT:
            return []
        if fits.launched > fits.theoretical or 1 - part < THRESHOLDS["loadImbalance.idle"]:
            return []
        if _polling(kernel) >= THRESHOLDS["loadImbalance.polling"]:
            return []  # waves that wait for each other end one after the other, however even their work is
        message = (
            f"waves end at different times: on average one runs {part:.0%} of the launch, then its place is empty "
            "until the longest ends"
        )
        launch = launch_of(kernel, kernel.file, texts) if kernel.file else None
        number = waves(kernel)
        return [
            finding_at(
                self.name,
                kernel,
                kernel_site(kernel),
                1 - part,
                message,
                (
                    Evidence(RUNNING, 100 * part, 100.0, "%"),
                    Evidence("waves per SIMD while it runs", fits.achieved or 0.0, None, "waves"),
                    Evidence("waves per SIMD that the launch could fill", fits.launched, None, "waves"),
                    *((Evidence("waves", number, None, ""),) if number else ()),
                ),
                () if launch is None else (launch,),
            )
        ]

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:
        """The mean part of the launch that a wave runs, in per cent; of more than fit, that of those that fit."""
        times = [d.time_ns for d in kernel.dispatches if d.profiled and d.time_ns > 0]
        part = _running(kernel, occupancy(kernel, device), sum(times) / len(times)) if times else None
        return {} if part is None else {RUNNING: 100 * part}


def _running(kernel: Kernel, fits: Occupancy | None, mean_ns: float) -> float | None:
    """Waves that ran on average over those that could, 0..1, but for what an empty launch takes."""
    if fits is None or not fits.achieved or not fits.launched or kernel.resources.vgprs is None:
        return None
    working = mean_ns - THRESHOLDS["any.launch_floor_ns"]
    full = min(fits.launched, fits.theoretical)
    return min(1.0, fits.achieved / full * mean_ns / working) if working > 0 and full else None


def _polling(kernel: Kernel) -> float:
    """The part of the waves' time that waits for loads past the caches, 0..1: flags that other waves set."""
    total = sum(i.latency for i in kernel.instructions)
    waits = zip(kernel.instructions, blamed_stalls(kernel), strict=True)
    polled = sum(stalls.get(StallReason.GLOBAL_MEMORY, 0.0) for i, stalls in waits if is_synchronising(i))
    return polled / total if total else 0.0


def _same_shape(kernel: Kernel) -> bool:
    """All launches are of one size, so that the largest tells for the mean."""
    return len({(d.grid, d.workgroup) for d in kernel.dispatches}) == 1
