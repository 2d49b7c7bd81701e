"""Occupancy: how many waves fit on a SIMD, what limits them, what would fit one more, and how many there were.

Takes a kernel (or its resources and the size of its workgroups) and a device, gives waves per SIMD, and nothing where
the registers, the workgroup or the device are not known. The rules are those of LLVM's AMDGPU back end (AMDGPUBaseInfo:
register and LDS granules, barriers of a CU) and, with a device of NVIDIA's, of its occupancy calculator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from hipscope.analysis.profile import Device, Kernel, Resources

Limiter = Literal["VGPRs", "SGPRs", "LDS", "workgroup size", "workgroups per CU", "hardware maximum"]

Resource = Literal["VGPRs", "AGPRs", "LDS bytes", "SGPRs"]

# LLVM, getOccupancyWithNumSGPRs: from how many on a SIMD holds fewer than 10, 9, 8 waves.
_SGPR_STEPS = ((80, 10), (88, 9), (100, 8))
_SGPR_LEAST = 7
# When several limit alike, the hardware's own maximum explains it best.
_ORDER: tuple[Limiter, ...] = (
    "hardware maximum", "VGPRs", "LDS", "SGPRs", "workgroups per CU", "workgroup size",
)  # fmt: skip
_FIRST_VGPRS = 4  # a wave has that many at least
_MOST_GROUPS = 65  # of one wave each, that a WGP or an SM holds, and one more


@dataclass(frozen=True)
class NextStep:
    """What a kernel would have to give up for more waves: `now` of `resource` down to `then` gives `waves` per SIMD."""

    resource: Resource
    now: int
    then: int
    waves: float

    def __str__(self) -> str:
        """`128 -> 96 VGPRs gives 5 waves`."""
        return f"{self.now:,} -> {self.then:,} {self.resource} gives {self.waves:g} waves"


@dataclass(frozen=True)
class Occupancy:
    """Waves per SIMD.

    `theoretical` is what the resources allow, `limiter` names the scarcest. `launched` is what the largest launch can
    fill when it is spread over the whole device, `achieved` the mean while the kernel ran; None when not recorded.
    `filled` is the part of the largest launch's lanes that have a work-item: 1 in whole waves, 1/16 where workgroups
    have 4 work-items. `next_step` is the least that one resource gives up for more waves; None where none does alone.
    """

    theoretical: float
    maximum: int
    limiter: Limiter
    limits: dict[Limiter, float]
    launched: float | None
    achieved: float | None
    filled: float
    next_step: NextStep | None = None

    @property
    def usable(self) -> float:
        """Waves per SIMD that the resources allow and the launches can fill."""
        return self.theoretical if self.launched is None else min(self.theoretical, self.launched)


def occupancy(kernel: Kernel, device: Device) -> Occupancy | None:
    """The kernel's occupancy; None when its registers, its launch shape or the device's limits are not known."""
    threads = max((math.prod(d.workgroup) for d in kernel.dispatches), default=0)
    if not threads:
        return None
    found = occupancy_of(kernel.resources, threads, device)
    if found is None:
        return None
    launched, filled = _launched(kernel, device)
    return replace(found, launched=launched, filled=filled, achieved=achieved_waves(kernel, device))


def occupancy_of(resources: Resources, threads: int, device: Device) -> Occupancy | None:
    """What these resources allow workgroups of that many work-items; None when one of both is not known.

    Without launches, `launched` and `achieved` are None.
    """
    limits = _limits(resources, threads, device)
    if limits is None or device.max_waves_per_simd is None:
        return None
    theoretical = min(limits.values())
    lanes = _waves_of(threads, device) * (device.wave_size or 1)
    return Occupancy(
        theoretical=theoretical,
        maximum=device.max_waves_per_simd,
        limiter=next(name for name in _ORDER if name in limits and limits[name] == theoretical),
        limits=limits,
        launched=None,
        achieved=None,
        filled=threads / lanes,
        next_step=_next_step(resources, threads, device, theoretical),
    )


def achieved_waves(kernel: Kernel, device: Device) -> float | None:
    """Mean waves per SIMD while the GPU was busy, from SQ_WAVE_CYCLES (which ticks every 4 cycles)."""
    wave_cycles = kernel.counters.get("SQ_WAVE_CYCLES")
    active = kernel.counters.get("GRBM_GUI_ACTIVE")
    layout = device.layout
    if wave_cycles is None or not active or layout is None or not device.xcds:
        return None
    return 4 * wave_cycles / (active / device.xcds) / layout.simds


def granted_vgprs(resources: Resources, device: Device) -> int | None:
    """Registers per lane that a wave takes from the register file; None when its need or the file is not known.

    Where one file holds both kinds, the accumulation registers start at a multiple of 4; else the larger need counts.
    """
    if resources.vgprs is None or device.vgpr_granule is None:
        return None
    total, agprs = resources.vgprs, resources.agprs or 0
    if agprs and device.unified_registers:
        total = _round_up(total, 4) + agprs
    return _round_up(max(total, 1 if device.unified_registers else agprs, 1), device.vgpr_granule)


def _limits(resources: Resources, threads: int, device: Device) -> dict[Limiter, float] | None:
    """Waves per SIMD by what limits them; None when a limit is not known."""
    limits = _register_limits(resources, device)
    simds = device.simds_per_cu
    if limits is None or simds is None or not device.wave_size or resources.lds_bytes is None:
        return None
    shared = device.cus_per_workgroup  # CUs on which a workgroup's waves may run
    in_group, places = _waves_of(threads, device), simds * shared
    per_simd = min(limits.values())
    groups = math.floor(per_simd * places / in_group)
    if groups * in_group / places < per_simd:
        limits["workgroup size"] = groups * in_group / places
    most = device.groups_per_cu or (device.barriers_per_cu if in_group > 1 else None)
    if most is not None:
        limits["workgroups per CU"] = most * shared * in_group / places
    needed = resources.lds_bytes + device.lds_reserved
    if needed:
        if device.lds_bytes is None or device.lds_granule is None:
            return None
        limits["LDS"] = device.lds_bytes * shared // _round_up(needed, device.lds_granule) * in_group / places
    return limits


def _register_limits(resources: Resources, device: Device) -> dict[Limiter, float] | None:
    granted = granted_vgprs(resources, device)
    most = device.max_waves_per_simd
    if granted is None or most is None or device.vgprs_per_lane is None:
        return None
    limits: dict[Limiter, float] = {"hardware maximum": float(most)}
    limits["VGPRs"] = float(min(most, device.vgprs_per_lane // granted))
    if resources.sgprs is not None and device.sgpr_limit:
        waves = next((waves for sgprs, waves in _SGPR_STEPS if resources.sgprs <= sgprs), _SGPR_LEAST)
        if waves < most:
            limits["SGPRs"] = float(waves)
    return limits


def _next_step(resources: Resources, threads: int, device: Device, now: float) -> NextStep | None:
    """The smallest part of one resource that, given up, lets more waves run."""
    steps = []
    for name, field, sizes in _smaller(resources, device):
        before = getattr(resources, field)
        for size in sizes:
            limits = _limits(resources.model_copy(update={field: size}), threads, device)
            if limits is not None and (waves := min(limits.values())) > now:
                steps.append(NextStep(name, before, size, waves))
                break
    return min(steps, key=lambda step: (step.now - step.then) / step.now, default=None)


def _smaller(resources: Resources, device: Device) -> Iterator[tuple[Resource, str, Iterator[int]]]:
    """Each resource with the sizes at which it would count for less, largest first."""
    vgprs, agprs, lds = resources.vgprs or 0, resources.agprs or 0, resources.lds_bytes or 0
    step = 4 if agprs and device.unified_registers else device.vgpr_granule or 4
    yield "VGPRs", "vgprs", (n for n in range((vgprs - 1) // step * step, _FIRST_VGPRS - 1, -step))
    if agprs:
        yield "AGPRs", "agprs", (n for n in range((agprs - 1) // 4 * 4, -1, -4))
    if resources.sgprs is not None and device.sgpr_limit:
        yield "SGPRs", "sgprs", (n for n, _ in reversed(_SGPR_STEPS) if n < (resources.sgprs or 0))
    if lds and device.lds_granule and device.lds_bytes:
        pool, granule = device.lds_bytes * device.cus_per_workgroup, device.lds_granule
        each = (
            pool // groups // granule * granule - device.lds_reserved for groups in range(1, _MOST_GROUPS)
        )
        yield "LDS bytes", "lds_bytes", (n for n in each if 0 < n < lds)


def _launched(kernel: Kernel, device: Device) -> tuple[float | None, float]:
    """Waves per SIMD of the largest launch, if it were spread evenly and all of it fitted; the part of its lanes that
    have a work-item.
    """
    launches = []
    for d in kernel.dispatches:
        group = math.prod(d.workgroup)
        if group and device.wave_size:
            groups = math.prod(math.ceil(g / w) for g, w in zip(d.grid, d.workgroup, strict=True) if w)
            waves = _waves_of(group, device)
            launches.append((groups * waves, group / (waves * device.wave_size)))
    waves, filled = max(launches, default=(0, 1.0))
    layout = device.layout
    return (waves / layout.simds if waves and layout is not None else None), filled


def _waves_of(threads: int, device: Device) -> int:
    return max(1, math.ceil(threads / (device.wave_size or threads)))


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
