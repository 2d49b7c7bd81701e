"""Launch shape: too few workgroups for the device, a last round that is nearly empty, waves with idle lanes.

Takes a kernel's launches and the device, gives one finding per kernel at the place of its launch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.profile import Device, DeviceLayout, Dispatch, Kernel, Profile
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Related
from hipscope.formulas.detect.instruction_mix import (
    VECTOR_CYCLES,
    launched_lanes,
    vector_cycles_per_wave,
    workgroups,
)
from hipscope.formulas.detect.launch_gain import launch_gain, room_left
from hipscope.formulas.detect.sites import Site, finding_at, kernel_site, launch_of
from hipscope.formulas.detect.time_at_stake import beyond_traffic, latency_bound, long_enough, smaller
from hipscope.formulas.tables import THRESHOLDS, Worded

BUSY = "CUs with a workgroup"
SIMDS = "SIMDs with a wave"
LANES = "lanes of the waves in use"
ROUNDS = "rounds of workgroups"


class LaunchConfig(Worded):
    """Grids smaller than the device, workgroups that are no multiple of a wave."""

    name: ClassVar[str] = "launchConfig"
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective(BUSY, "up"),
        Objective(VECTOR_CYCLES, "down", own=True),
    )

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding for the kernel, or none."""
        launches = [d for d in kernel.dispatches if d.profiled and workgroups(d) and d.time_ns > 0]
        if not launches or not long_enough(kernel):
            return []
        found = _finding(self.name, profile, kernel, max(launches, key=lambda d: d.time_ns), texts)
        return [] if found is None else [found]

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:
        """The part of the CUs that get a workgroup, in per cent: the mean over the profiled launches by their time. And
        what the vector instructions of a wave take, which is all that the kernel itself can change about it.
        """
        total = busy = 0.0
        units = device.compute_units
        for dispatch in kernel.dispatches:
            groups = workgroups(dispatch)
            if units and dispatch.profiled and groups and dispatch.time_ns > 0:
                total += dispatch.time_ns
                busy += dispatch.time_ns * min(1.0, groups / units)
        cycles = vector_cycles_per_wave(kernel)
        return ({BUSY: 100 * busy / total} if total else {}) | (
            {VECTOR_CYCLES: cycles} if cycles is not None else {}
        )


def _finding(
    formula: str, profile: Profile, kernel: Kernel, launch: Dispatch, texts: SourceTexts
) -> Finding | None:
    """The worst of: CUs without a workgroup, SIMDs without a wave, a last round that is nearly empty, idle lanes."""
    layout = profile.device.layout
    if layout is None:
        return None
    groups = workgroups(launch)
    size = launch.workgroup[0] * launch.workgroup[1] * launch.workgroup[2]
    waves = groups * -(-size // layout.wave_size)
    simds = layout.simds
    at_once = _groups_at_once(profile, kernel, layout, size)
    rounds = groups / at_once
    parts = {
        "cus": min(1.0, groups / layout.compute_units),
        "simds": min(1.0, waves / simds),
        "tail": rounds / math.ceil(rounds) if rounds > 1 else 1.0,
        "lanes": (launched_lanes(kernel) or layout.wave_size) / layout.wave_size,
    }
    worst = min(parts, key=lambda name: parts[name])
    if parts[worst] > THRESHOLDS["launchConfig.busy"]:
        return None
    gain = launch_gain(kernel, launch, profile.device, texts)
    named = "cus" if parts["cus"] <= THRESHOLDS["launchConfig.busy"] else worst
    what = f"a launch of {_several(groups, 'workgroup')} of {_several(size, 'work-item')}"
    messages = {
        "cus": f"{what} leaves {layout.compute_units - groups} of {layout.compute_units} CUs without work",
        "simds": f"{what} leaves {simds - waves:,} of {simds:,} SIMDs without a wave",
        "tail": f"{what} runs in {math.ceil(rounds)} rounds of {at_once:,}, the last of which is not full",
        "lanes": f"{what} leaves {1 - parts['lanes']:.0%} of the lanes of its waves idle",
    }
    evidence = [
        Evidence(BUSY, 100 * parts["cus"], 100.0, "%"),
        Evidence(SIMDS, 100 * parts["simds"], 100.0, "%"),
        Evidence(LANES, 100 * parts["lanes"], 100.0, "%"),
        Evidence(ROUNDS, rounds, float(math.ceil(rounds)), ""),
    ]
    return finding_at(
        formula,
        kernel,
        _place(kernel, texts),
        smaller(1 - parts[worst] if gain is None else gain, beyond_traffic(profile, kernel)),
        messages[named],
        evidence,
    )


def idle_at_this_size(
    profile: Profile, kernel: Kernel, texts: SourceTexts, *, lanes: bool = True
) -> tuple[Related, ...]:
    """What the kernel's longest launch leaves idle though no other shape saves time now, at the place of the launch.

    Without `lanes`, which a finding speaks of already, the CUs only.
    """
    launches = [d for d in kernel.dispatches if d.profiled and workgroups(d) and d.time_ns > 0]
    place = _place(kernel, texts)
    if not launches or not long_enough(kernel) or not place.file:
        return ()
    longest = max(launches, key=lambda d: d.time_ns)
    said = [room_left(kernel, longest, profile), _idle_lanes(longest, profile.device) if lanes else None]
    return tuple(Related(place.file, place.line, words) for words in said if words is not None)


def _idle_lanes(launch: Dispatch, device: Device) -> str | None:
    """What the waves of a workgroup leave idle, in words; None when most of their lanes have work."""
    size = math.prod(launch.workgroup)
    if not device.wave_size:
        return None
    lanes = -(-size // device.wave_size) * device.wave_size
    if size > THRESHOLDS["launchConfig.busy"] * lanes:
        return None
    used = f"workgroups of {_several(size, 'work-item')} use {size} of the {lanes} lanes of their waves"
    return f"{used}: where the device is full, whole waves take up to {lanes / size:.2g} times less time"


def _several(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def _groups_at_once(profile: Profile, kernel: Kernel, layout: DeviceLayout, size: int) -> int:
    """Workgroups of one round: as many as fit, when they wait; one per CU, when they compete for a busy unit.

    In the second case a CU with one workgroup left is as busy as before, so that only CUs without any are idle.
    """
    fits = occupancy(kernel, profile.device)
    if fits is None or kernel.resources.vgprs is None or not latency_bound(profile, kernel):
        return layout.compute_units
    waves = -(-size // layout.wave_size)
    return max(1, int(fits.theoretical * layout.simds_per_cu / waves)) * layout.compute_units


def _place(kernel: Kernel, texts: SourceTexts) -> Site:
    """The launch in the source, else the kernel."""
    launch = launch_of(kernel, kernel.file, texts) if kernel.file else None
    return kernel_site(kernel) if launch is None else Site(launch.file, launch.line, UNKNOWN_COLUMN, ())
