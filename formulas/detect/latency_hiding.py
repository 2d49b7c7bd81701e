"""Latency that is not hidden: waves wait for memory, and there is too little other work in flight meanwhile.

Takes a kernel's waits and its occupancy, gives a finding per line whose loads are waited for while the memory is
far from busy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import ClassVar

from hipscope.analysis.metrics.occupancy import achieved_waves, occupancy
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.metrics.stalls import add_stalls, blamed_stalls
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective
from hipscope.formulas.detect.dataflow import addressed_by_loads
from hipscope.formulas.detect.instruction_mix import counts_all, is_synchronising, mnemonic, waves
from hipscope.formulas.detect.memory_access import wasteful, wasteful_loads
from hipscope.formulas.detect.sites import Site, finding_at, kernel_site, launch_of, sites
from hipscope.formulas.detect.time_at_stake import (
    beyond_traffic,
    latency_bound,
    long_enough,
    smaller,
    wait_share,
)
from hipscope.formulas.tables import THRESHOLDS, Worded

WAITS = "memory wait cycles per wave"
_LOADS = ("global_load", "flat_load", "buffer_load", "s_load", "s_buffer_load")
_STORES = ("global_store", "flat_store", "buffer_store")
_WAITS = (
    StallReason.GLOBAL_MEMORY,
    StallReason.SCALAR_MEMORY,
)  # scalar: what all lanes read from one address


class LatencyHiding(Worded):
    """Dependent loads one after another, one load per loop step, too few waves."""

    name: ClassVar[str] = "latencyHiding"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(WAITS, "down"),)

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line, worst first."""
        if not counts_all(kernel):
            return _seen_by_some(self.name, profile, kernel, texts)
        number = waves(kernel)
        if (
            not counts_all(kernel)
            or not number
            or not long_enough(kernel)
            or kernel.resources.vgpr_spills  # what is loaded earlier would need registers that there are not
            or not latency_bound(profile, kernel)
        ):
            return []
        roof = roofline(kernel, profile.device, profile.provenance)
        if (roof.memory_fraction or 0.0) >= THRESHOLDS["latencyHiding.bandwidth"]:
            return []
        wasted, dependent = (
            wasteful_loads(kernel),
            addressed_by_loads(kernel),
        )  # the first: slow for another reason

        def waited_for(instruction: Instruction) -> bool:
            if "_store" in mnemonic(instruction) and wasteful(instruction):
                return False
            return _load(instruction) and instruction.index not in wasted

        found = [
            _finding(self.name, profile, kernel, site, dependent, texts)
            for site in sites(kernel, waited_for, _latency)
        ]
        return sorted((f for f in found if f is not None), key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Cycles that a wave waits for global memory, by vector or by scalar loads."""
        number = waves(kernel)
        if not counts_all(kernel) or not number:
            return {}
        waited = sum(table.get(reason, 0.0) for table in blamed_stalls(kernel) for reason in _WAITS)
        return {WAITS: waited / number}


def _seen_by_some(formula: str, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
    """From a GPU's trace or samples, which see some waves: the lines whose loads these wait for most of all.

    Whether the memory is busy meanwhile is known only where counters were recorded, too; then a kernel that moves
    data as fast as it can has no finding.
    """
    if latency_bound(profile, kernel) is False or kernel.resources.vgpr_spills:
        return []
    if kernel.dispatches and not long_enough(kernel):
        return []
    blamed = blamed_stalls(kernel)
    places = sites(kernel, _load, _latency)
    if not places:  # no line table
        loads = [i for i in kernel.instructions if _load(i)]
        worst = max(loads, key=lambda i: sum(blamed[i.index].values()), default=None)
        places = [replace(kernel_site(kernel), instructions=(worst,))] if worst is not None else []
    entered = next((i.hits for i in kernel.instructions if i.hits), 0)
    found = []
    for site in places:
        waits = wait_share(kernel, add_stalls([blamed[i.index] for i in site.instructions]), _WAITS)
        if not waits:
            continue
        worst = max(site.instructions, key=lambda i: sum(blamed[i.index].values()))
        what = "store" if mnemonic(worst).startswith(_STORES) else "load"
        rounds = max(i.hits for i in site.instructions) / entered if entered else None
        evidence = [Evidence(f"wave time waiting for these {what}s", 100 * waits, 0.0, "%")]
        if rounds:
            evidence.append(Evidence(f"{what}s per traced wave", rounds, None, ""))
        often = f" {rounds:,.0f} times" if rounds and rounds >= THRESHOLDS["latencyHiding.rounds"] else ""
        busy = "" if latency_bound(profile, kernel) else "; how busy the memory is meanwhile was not recorded"
        place = "" if site.file else f" (`{worst.text}` at 0x{worst.address:x})"
        launch = launch_of(kernel, site.file, texts) if site.file else None
        found.append(
            finding_at(
                formula,
                kernel,
                site,
                smaller(waits, beyond_traffic(profile, kernel)),
                f"each wave waits for this {what}{place}{often}, {waits:.0%} of its time{busy}",
                evidence,
                () if launch is None else (launch,),
            )
        )
    return sorted(found, key=lambda f: -f.share)


_NARROW = 2  # bytes per lane
_REPEATED = 64  # times that a line is asked for: more than the lanes of one wave could have shared


def _load(instruction: Instruction) -> bool:
    """An access to data that is waited for: a load, or a store in front of one. One past the caches is how
    waves wait for each other.
    """
    return mnemonic(instruction).startswith((*_LOADS, *_STORES)) and not is_synchronising(instruction)


def _note(worst: Instruction, dependent: Collection[int]) -> str:
    """What else is known of the access that is waited for most; begins with a separator, empty for nothing."""
    pattern = worst.memory
    if mnemonic(worst).startswith(_STORES):
        return "; a load behind it is waited for together with it, or reads what it stored"
    if worst.index in dependent:
        return "; its address comes from an earlier load, so that both are waited for in turn"
    if pattern is None or pattern.space != "global":
        return ""
    if pattern.bytes_per_lane <= _NARROW:
        size = "1 byte" if pattern.bytes_per_lane == 1 else f"{pattern.bytes_per_lane} bytes"
        return f"; it brings only {size} per lane"
    asked = pattern.lines_used / pattern.distinct_lines if pattern.distinct_lines else 0.0
    return f"; each of its cache lines is asked for {asked:,.0f} times" if asked >= _REPEATED else ""


def _latency(instruction: Instruction) -> float:
    return instruction.latency


def _finding(
    formula: str,
    profile: Profile,
    kernel: Kernel,
    site: Site,
    dependent: Collection[int],
    texts: SourceTexts,
) -> Finding | None:
    """The waits for the loads (or stores) of one line, when every wave comes there often enough to load ahead."""
    rounds = max(i.hits for i in site.instructions) / (waves(kernel) or math.inf)
    if rounds < THRESHOLDS["latencyHiding.rounds"]:
        return None
    blamed = blamed_stalls(kernel)
    table = add_stalls([blamed[i.index] for i in site.instructions])
    waits = wait_share(kernel, table, _WAITS)
    cycles = sum(table.get(reason, 0.0) for reason in _WAITS)
    loads = sum(i.hits for i in site.instructions)
    chosen = {i.index for i in site.instructions}
    stops = sum(i.hits for i in kernel.instructions if chosen & set(i.waited_for))
    allowed, running = occupancy(kernel, profile.device), achieved_waves(kernel, profile.device)
    roof = roofline(kernel, profile.device, profile.provenance)
    worst = max(site.instructions, key=lambda i: sum(blamed[i.index].values()))
    what = "store" if mnemonic(worst).startswith(_STORES) else "load"
    evidence = [Evidence(f"wave time waiting for these {what}s", 100 * waits, 0.0, "%")]
    if stops:
        evidence.append(Evidence("cycles per wait", cycles / stops, None, "cycles"))
        evidence.append(Evidence(f"{what}s of this line per wait", loads / stops, None, ""))
    if running is not None and allowed is not None:
        evidence.append(Evidence("waves per SIMD while it runs", running, allowed.theoretical, "waves"))
    if roof.memory_fraction is not None:
        evidence.append(Evidence("memory bandwidth used", 100 * roof.memory_fraction, 100.0, "%"))
    few = running is not None and allowed is not None and running < allowed.theoretical / 2
    meanwhile = f" and {running:.1f} waves per SIMD" if few and running is not None and running >= 0.5 else ""
    launch = launch_of(kernel, site.file, texts)
    return finding_at(
        formula,
        kernel,
        site,
        smaller(waits, beyond_traffic(profile, kernel)),
        f"each wave waits for this {what} {rounds:,.0f} times, with little else in flight{meanwhile}"
        f"{_note(worst, dependent)}",
        evidence,
        () if launch is None else (launch,),
    )
