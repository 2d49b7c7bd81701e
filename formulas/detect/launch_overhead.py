"""Many tiny launches: the kernel runs so shortly, and so often, that launching takes most of its time.

Takes a kernel's launches among those of the program, gives one finding at the place of the launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hipscope.analysis.devices import empty_launch_ns
from hipscope.analysis.profile import Device, Kernel, Profile, Provenance
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Formula, Need, Objective, Work
from hipscope.formulas.detect.instruction_mix import workgroups
from hipscope.formulas.detect.sites import Site, finding_at, kernel_site, launch_of
from hipscope.formulas.detect.thresholds import THRESHOLDS

LAUNCHES = "launches"
# What a launch takes at least was measured on an MI300X (gpus.toml); of other GPUs it is not known.
_FAMILY = "gfx9"


class LaunchOverhead(Formula):
    """A kernel per time step, per stage of a sort, per row or per walker."""

    name: ClassVar[str] = "launchOverhead"
    title: ClassVar[str] = "Many tiny launches"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(LAUNCHES, "down"),)
    remedy: ClassVar[tuple[str, ...]] = (
        "batch: let one launch do what several independent ones do, with one more dimension of the grid",
        (
            "fuse kernels that follow each other over the same data; steps that need no other workgroup's results loop "
            "inside one launch, in LDS while they fit there"
        ),
        "where steps depend on each other across workgroups: one cooperative launch with a grid-wide barrier per step",
        "record the sequence as a graph (hipGraph), which makes launching cheaper for the host",
    )
    needs: ClassVar[tuple[Need, ...]] = (Need(("launches",), "a finding per kernel"),)
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


def _sequence(profile: Profile, kernel: Kernel) -> str:
    """In which order the launches of the program come, as far as it repeats."""
    launches = sorted((d.start_ns, k.mangled) for k in profile.kernels for d in k.dispatches)
    order, own = [mangled for _, mangled in launches], kernel.mangled
    names = {k.mangled: base_name(k.name) for k in profile.kernels}
    longest = _longest_run(order, own)
    if longest > 1 and longest >= order.count(own) / 2:
        return f"one after another, up to {longest:,} with no other kernel between them"
    for period in range(2, _LONGEST + 1):
        same = sum(a == b for a, b in zip(order, order[period:], strict=False))
        if len(order) > period and same >= 0.9 * (len(order) - period):
            start = order.index(own)
            cycle = dict.fromkeys(names[mangled] for mangled in order[start : start + period])
            return f"again and again in the order {', '.join(cycle)}"
    return f"between {len(order) - order.count(own):,} launches of other kernels"


def _longest_run(order: Sequence[str], name: str) -> int:
    longest = run = 0
    for one in order:
        run = run + 1 if one == name else 0
        longest = max(longest, run)
    return longest
