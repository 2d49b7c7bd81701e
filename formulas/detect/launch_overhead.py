"""Many tiny launches: the kernel runs so shortly, and so often, that launching takes most of its time.

Takes a kernel's launches among those of the program, gives one finding at the place of the launch.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import eq
from typing import ClassVar

from hipscope.analysis.devices import empty_launch_ns
from hipscope.analysis.profile import Device, Kernel, Profile, Provenance
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.instruction_mix import workgroups
from hipscope.formulas.detect.sites import Site, finding_at, kernel_site, launch_of
from hipscope.formulas.tables import THRESHOLDS, Worded

LAUNCHES = "launches"
# What a launch takes at least was measured on an MI300X (gpus.toml); of other GPUs it is not known.
_FAMILY = "gfx9"


class LaunchOverhead(Worded):
    """A kernel per time step, per stage of a sort, per row or per walker."""

    name: ClassVar[str] = "launchOverhead"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(LAUNCHES, "down"),)
    keeps: ClassVar[frozenset[Work]] = frozenset()
    fewer_launches: ClassVar[bool] = True

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding for the kernel, or none."""
        arch = profile.device.arch
        if arch and not arch.startswith(_FAMILY):
            return []
        if arch and profile.provenance is Provenance.MEASURED and empty_launch_ns(profile.device) is None:
            return []
        where = "" if arch else " on an MI300X"
        number = len(kernel.dispatches)
        mean = kernel.time_ns / number if number else 0.0
        if (
            number < THRESHOLDS["launchOverhead.launches"]
            or not 0 < mean < THRESHOLDS["launchOverhead.long_ns"]
        ):
            return []
        share = min(1.0, THRESHOLDS["any.launch_floor_ns"] / mean) * (1 - 1 / number)
        largest = max((workgroups(d) for d in kernel.dispatches), default=0)
        groups = (
            f" of up to {largest:,} workgroups" if largest > 1 else " of one workgroup" if largest else ""
        )
        sequence = _sequence(profile, kernel)
        small = 0 < largest < (profile.device.compute_units or 0)
        grows = (
            "; with fewer workgroups than CUs, a larger problem makes each of them hardly longer"
            if small
            else ""
        )
        launch = launch_of(kernel, kernel.file, texts) if kernel.file else None
        site = kernel_site(kernel) if launch is None else Site(launch.file, launch.line, UNKNOWN_COLUMN, ())
        return [
            finding_at(
                self.name,
                kernel,
                site,
                share,
                f"{number:,} launches{groups}, {mean / 1000:.1f} us each, of which starting and ending one takes about "
                f"{THRESHOLDS['any.launch_floor_ns'] / 1000:.1f} us{where}: they come {sequence}{grows}",
                (
                    Evidence(LAUNCHES, float(number), None, ""),
                    Evidence("mean time of a launch", mean / 1000, None, "us"),
                    Evidence("launching, of the kernel's time", 100 * share, 0.0, "%"),
                ),
            )
        ]

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """How often it is launched."""
        return {LAUNCHES: float(len(kernel.dispatches))}


_LONGEST = 6  # kernels of a repeated sequence


@dataclass(frozen=True)
class _Order:
    """The kernels in the order of their launches; of each how often, where first, and most in a row. `period`: of the
    sequence that comes again and again.
    """

    kernels: Sequence[str]
    count: Mapping[str, int]
    first: Mapping[str, int]
    longest: Mapping[str, int]
    period: int | None

    @classmethod
    def of(cls, profile: Profile) -> _Order:
        launches = sorted((d.start_ns, k.mangled) for k in profile.kernels for d in k.dispatches)
        order = [mangled for _, mangled in launches]
        first: dict[str, int] = {}
        longest: dict[str, int] = {}
        place = 0
        for name, run in groupby(order):
            length = sum(1 for _ in run)
            first.setdefault(name, place)
            longest[name] = max(longest.get(name, 0), length)
            place += length
        periods = (
            period
            for period in range(2, _LONGEST + 1)
            if len(order) > period and sum(map(eq, order, order[period:])) >= 0.9 * (len(order) - period)
        )
        return cls(order, Counter(order), first, longest, next(periods, None))


_known: list[tuple[weakref.ref[Profile], _Order]] = []  # of the last profile: each of its kernels asks


def _order(profile: Profile) -> _Order:
    for of, order in _known:
        if of() is profile:
            return order
    found = _Order.of(profile)
    _known[:] = [(weakref.ref(profile), found)]
    return found


def _sequence(profile: Profile, kernel: Kernel) -> str:
    """In which order the launches of the program come, as far as it repeats."""
    order, own = _order(profile), kernel.mangled
    longest, count = order.longest.get(own, 0), order.count[own]
    if longest > 1 and longest >= count / 2:
        return f"one after another, up to {longest:,} with no other kernel between them"
    if order.period is not None:
        names = {k.mangled: base_name(k.name) for k in profile.kernels}
        start = order.first[own]
        cycle = dict.fromkeys(names[mangled] for mangled in order.kernels[start : start + order.period])
        return f"again and again in the order {', '.join(cycle)}"
    return f"between {len(order.kernels) - count:,} launches of other kernels"
