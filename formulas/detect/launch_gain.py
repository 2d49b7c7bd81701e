"""What another launch shape would save of a kernel's time, by what its waves waited for.

Takes a launch and the profile, gives a share of its time. A wave that has a SIMD to itself is as fast as it gets:
spreading workgroups over more CUs only ends the waiting for each other, and more workgroups only help a kernel that
shares out its loop among them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.metrics.stalls import stall_table, total_cycles
from hipscope.analysis.profile import Device, Dispatch, Kernel, Profile, StallReason
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.instruction_mix import waves, workgroups
from hipscope.formulas.tables import THRESHOLDS

_ASKED: dict[str, re.Pattern[bytes]] = {
    "grid": re.compile(
        rb"\b(?:hip)?[gG]ridDim\b|\bhipGridDim_[xyz]\b|\b__ockl_get_num_groups\b|\bthis_grid\b"
    ),
    "launch": re.compile(
        rb"\b(?:hip)?(?:[gG]rid|[bB]lock)Dim\b|\bhip(?:Grid|Block)Dim_[xyz]\b|\b__ockl_get_(?:num_groups|local_size)\b"
        rb"|\bthis_(?:grid|thread_block)\b"
    ),
}
_ADVANCE = re.compile(rb"\+=\s*([^;){}]+)|\b(\w+)\s*=\s*\2\s*\+\s*([^;){}]+)")
_SET = re.compile(rb"\b(\w+)\s*[={(]\s*([^;{}]*)")


@dataclass(frozen=True)
class Waves:
    """How the waves of a launch lie on the device. `full` is how many there were if all of their lanes had work.

    `each` is the mean nanoseconds of one, `crowded` the part of that which they wait for each other; `beside` are those
    of a busy SIMD, `rounds` how often it is filled anew.
    """

    full: int
    each: float
    crowded: float
    beside: int
    rounds: int


def launch_gain(kernel: Kernel, launch: Dispatch, device: Device, texts: SourceTexts) -> float | None:
    """The share of the launch's time that a better shape would save, 0..1; None when waves were not looked at."""
    now, layout = _waves(kernel, launch, device), device.layout
    if now is None or layout is None:
        return None
    fixed = max(0.0, launch.time_ns - now.each * now.rounds)
    # The same work-items, spread evenly.
    beside = max(1, math.ceil(now.full / now.rounds / layout.simds))
    alone = now.each * (1 - now.crowded * _relief(now.beside, beside))
    best = fixed + alone * now.rounds
    idle = layout.compute_units / workgroups(launch)
    if idle > 1 and (turns := _turns(kernel, texts)) is not None:
        best = min(best, fixed + now.each * now.rounds / min(idle, turns))
    return max(0.0, 1 - best / launch.time_ns)


def room_left(kernel: Kernel, launch: Dispatch, profile: Profile) -> str | None:
    """What the size of the problem leaves idle, in words; None when the launch has a workgroup for most CUs.

    That is no defect of the code: a larger problem brings more workgroups, which take no longer while CUs are free.
    """
    device, groups = profile.device, workgroups(launch)
    if not device.compute_units:
        return None
    part = groups / device.compute_units
    if not groups or part > THRESHOLDS["launchConfig.busy"]:
        return None
    moved = roofline(kernel, device, profile.provenance).memory_fraction or 0.0
    times = min(1 / part, 1 / moved if moved > 0 else math.inf)
    few = f"{groups:,} workgroup{'' if groups == 1 else 's'} on {device.compute_units} CUs at this size of the problem"
    return f"{few}; up to {times:.2g} times as many would take about as long"


def _waves(kernel: Kernel, launch: Dispatch, device: Device) -> Waves | None:
    cycles, number = total_cycles(kernel), waves(kernel)
    layout, clock_mhz = device.layout, device.clock_mhz
    if cycles <= 0 or not number or kernel.sampled or launch.time_ns <= 0:
        return None
    if layout is None or not clock_mhz:
        return None
    groups, size = workgroups(launch), math.prod(launch.workgroup)
    in_group = -(-size // layout.wave_size)
    fits = occupancy(kernel, device)
    room = max(1, int(fits.theoretical)) if fits is not None else device.max_waves_per_simd
    if room is None:
        return None
    on_simd = math.ceil(-(-groups // layout.compute_units) * in_group / layout.simds_per_cu)
    rounds = -(-on_simd // room)
    stalls = stall_table(kernel)
    crowded = stalls.get(StallReason.ISSUE_CONTENTION, 0.0) + stalls.get(StallReason.PIPE_BUSY, 0.0)
    return Waves(
        full=-(-groups * size // layout.wave_size),
        each=min(cycles / number / clock_mhz * 1e3, launch.time_ns / rounds),
        crowded=crowded / cycles,
        beside=-(-on_simd // rounds),
        rounds=rounds,
    )


def _relief(now: int, then: int) -> float:
    """The part of their waiting for each other that ends when `then` waves share a SIMD instead of `now`."""
    return 1 - (then - 1) / (now - 1) if then < now else 0.0


def _turns(kernel: Kernel, texts: SourceTexts) -> float | None:
    """How often a wave goes around a loop that the number of workgroups shortens; None when the kernel has none."""
    text = texts.read(kernel.file) if kernel.file else None
    syntax = parse(text).kernel(base_name(kernel.name)) if text is not None else None
    number = waves(kernel)
    if text is None or syntax is None or not number:
        return None
    begin, end = syntax.span.start, syntax.span.end
    lines = {text.count(b"\n", 0, begin + at) + 1 for at in strides(text[begin:end], "grid")}
    hits = _hits(kernel, lines)
    return max(1.0, hits / number) if lines and hits else None


def _hits(kernel: Kernel, lines: Iterable[int]) -> int:
    """How often waves executed what the lines say, by the instruction that was executed most."""
    wanted = set(lines)
    found = ((user_frame(i.source), i.hits) for i in kernel.instructions)
    return max((hits for frame, hits in found if frame is not None and frame.line in wanted), default=0)


def strides(code: bytes, by: Literal["grid", "launch"]) -> Iterator[int]:
    """Where in the text something advances by the number of workgroups ("grid") or also by their size ("launch")."""
    asked = _ASKED[by]
    named = {name for name, value in _SET.findall(code) if asked.search(value)}
    for step in _ADVANCE.finditer(code):
        amount = step[1] or step[3] or b""
        if asked.search(amount) or named & set(re.findall(rb"\w+", amount)):
            yield step.start()
