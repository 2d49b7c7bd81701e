"""Occupancy: how many waves fit on a SIMD, what limits them, and how many there were.

Takes a kernel and a device, gives waves per SIMD. The rules are those of LLVM's AMDGPU back end for gfx90a and later
(AMDGPUBaseInfo: register granules, LDS granule, 16 workgroups per CU when they use a barrier).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.profile import Device, DeviceLayout, Kernel, Resources

Limiter = Literal["VGPRs", "SGPRs", "LDS", "workgroup size", "workgroups per CU", "hardware maximum"]

_WORKGROUPS_PER_CU = 16
_SGPRS_FOR_8_WAVES = 100  # above it, 800 SGPRs per SIMD hold 7 waves


@dataclass(frozen=True)
class Occupancy:
    """Waves per SIMD.

    `theoretical` is what the resources allow, `limiter` names the scarcest. `launched` is what the largest launch can
    fill when it is spread over the whole device, `achieved` the mean while the kernel ran; None when not recorded.
    `filled` is the part of the largest launch's lanes that have a work-item: 1 in whole waves, 1/16 where workgroups
    have 4 work-items.
    """

    theoretical: float
    maximum: int
    limiter: Limiter
    limits: dict[Limiter, float]
    launched: float | None
    achieved: float | None
    filled: float

    @property
    def usable(self) -> float:
        """Waves per SIMD that the resources allow and the launches can fill."""
        return self.theoretical if self.launched is None else min(self.theoretical, self.launched)


def occupancy(kernel: Kernel, device: Device) -> Occupancy | None:
    """The kernel's occupancy, or None when the device, or both registers and launch shape, are not known."""
    resources, layout, maximum = kernel.resources, device.layout, device.max_waves_per_simd
    if layout is None or maximum is None:
        return None
    shapes = [d.workgroup for d in kernel.dispatches if math.prod(d.workgroup)]
    if resources.vgprs is None and not shapes:
        return None
    threads = max((math.prod(shape) for shape in shapes), default=layout.wave_size)
    waves_per_group = max(1, math.ceil(threads / layout.wave_size))
    limits = _limits(kernel, device, layout, maximum, waves_per_group)
    theoretical = min(limits.values())
    # When several limit alike, the hardware's own maximum explains it best.
    order: tuple[Limiter, ...] = (
        "hardware maximum", "VGPRs", "LDS", "SGPRs", "workgroups per CU", "workgroup size",
    )  # fmt: skip
    limiter = next(name for name in order if name in limits and limits[name] == theoretical)
    launched, filled = _launched(kernel, layout)
    return Occupancy(
        theoretical=theoretical,
        maximum=maximum,
        limiter=limiter,
        limits=limits,
        launched=launched,
        achieved=achieved_waves(kernel, device),
        filled=filled,
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
    """Registers per lane that a wave takes from the register file; None when its need is not known.

    One file holds both kinds; the accumulation registers start at a multiple of 4.
    """
    if resources.vgprs is None or device.vgpr_granule is None:
        return None
    total = _round_up(resources.vgprs, 4) + resources.agprs if resources.agprs else resources.vgprs
    return _round_up(max(total, 1), device.vgpr_granule)


def _limits(
    kernel: Kernel, device: Device, layout: DeviceLayout, maximum: int, waves_per_group: int
) -> dict[Limiter, float]:
    resources = kernel.resources
    simds = layout.simds_per_cu
    limits: dict[Limiter, float] = {"hardware maximum": float(maximum)}
    granted = granted_vgprs(resources, device)
    if granted is not None and device.vgprs_per_lane is not None:
        limits["VGPRs"] = float(min(maximum, device.vgprs_per_lane // granted))
    if resources.sgprs is not None and resources.sgprs > _SGPRS_FOR_8_WAVES:
        limits["SGPRs"] = 7.0
    per_simd = min(limits.values())
    groups = math.floor(per_simd * simds / waves_per_group)
    if groups * waves_per_group / simds < per_simd:
        limits["workgroup size"] = groups * waves_per_group / simds
    if waves_per_group > 1:
        limits["workgroups per CU"] = _WORKGROUPS_PER_CU * waves_per_group / simds
    if resources.lds_bytes and device.lds_bytes and device.lds_granule:
        groups = device.lds_bytes // _round_up(resources.lds_bytes, device.lds_granule)
        limits["LDS"] = groups * waves_per_group / simds
    return limits


def _launched(kernel: Kernel, layout: DeviceLayout) -> tuple[float | None, float]:
    """Waves per SIMD of the largest launch, if it were spread evenly and all of it fitted; the part of its lanes that
    have a work-item.
    """
    launches = []
    for d in kernel.dispatches:
        group = math.prod(d.workgroup)
        if group:
            groups = math.prod(math.ceil(g / w) for g, w in zip(d.grid, d.workgroup, strict=True) if w)
            waves = math.ceil(group / layout.wave_size)
            launches.append((groups * waves, group / (waves * layout.wave_size)))
    waves, filled = max(launches, default=(0, 1.0))
    return (waves / layout.simds if waves else None), filled


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
