"""Divergent branches: lanes of a wave take different ways, and the wave goes all of them with part of its lanes.

Takes a kernel's executed instructions with their active lanes, gives a finding on the branch or loop in which most
lane time is lost, and one on a loop of one lane for which all others wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import ClassVar

from hipscope.analysis.profile import Device, Instruction, Kernel, Profile
from hipscope.analysis.source.text_queries import branch_around, code_line
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Related, Work
from hipscope.formulas.detect.instruction_mix import (
    counts_all,
    is_synchronising,
    is_valu,
    launched_lanes,
    mnemonic,
    waves,
    workgroups,
)
from hipscope.formulas.detect.one_lane import LoneWork, lone_work
from hipscope.formulas.detect.sites import Site, finding_at, kernel_site, sites
from hipscope.formulas.detect.time_at_stake import beyond_traffic, cost_share, long_enough, smaller
from hipscope.formulas.tables import THRESHOLDS, Worded

LANES = "active lanes per VALU instruction"
_STEPS = 3  # times that each wave comes to a barrier: then it is in a loop
_SHRUNK = 0.5  # of the waves that come to the barrier: fewer go on to work
_RELATED = 3  # places that a finding names
_WORTH_NAMING = 0.005  # less would be shown as 0 %
_BESIDE_A_BRACE = 0.02  # of what is lost at a closing brace: a branch with so much is named in its place


class BranchDivergence(Worded):
    """Loops of different length per lane, conditions that depend on the data or on the lane's number."""

    name: ClassVar[str] = "branchDivergence"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(LANES, "up"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"bytes"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding for the kernel, one for what a lane does while all others wait, or none."""
        full = launched_lanes(kernel)
        if full is None or not long_enough(kernel):
            return []
        if not counts_all(kernel):
            found = [_counted(self.name, profile, kernel, full)]
        else:
            alone = lone_work(kernel)
            without = alone.instructions if alone is not None else frozenset()
            found = [
                _of_one_lane(self.name, profile, kernel, alone),
                _placed(self.name, profile, kernel, full, texts, without),
            ]
        return sorted((f for f in found if f is not None), key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Mean active lanes of the vector instructions."""
        valu = [i for i in kernel.instructions if is_valu(i)]
        hits = sum(i.hits for i in valu)
        if hits and counts_all(kernel):
            return {LANES: sum(i.lanes for i in valu) / hits}
        threads, active = (kernel.counters.get(n) for n in ("SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU"))
        return {LANES: threads / active} if threads is not None and active else {}


def _of_one_lane(formula: str, profile: Profile, kernel: Kernel, alone: LoneWork | None) -> Finding | None:
    """A loop that one lane makes while the other waves of its workgroup wait."""
    if alone is None:
        return None
    waves_words = "wave waits" if round(alone.others) == 1 else "waves wait"
    return finding_at(
        formula,
        kernel,
        alone.site,
        smaller(alone.share, beyond_traffic(profile, kernel)),
        f"one lane works here, and the other {alone.others:.0f} {waves_words} for it at a barrier: all threads of the "
        "workgroup could take a part",
        (
            Evidence("part of a workgroup's time that one lane works", 100 * alone.share, 0.0, "%"),
            Evidence("waves of the workgroup that wait", alone.others, 0.0, "waves"),
        ),
    )


def _placed(
    formula: str, profile: Profile, kernel: Kernel, full: float, texts: SourceTexts, without: Set[int]
) -> Finding | None:
    """The idle lane time of the kernel, on the branch that loses most of it; `without` have a finding already."""
    steps, least = _steps(kernel)
    groups = sum(workgroups(d) for d in kernel.dispatches if d.profiled)
    number = waves(kernel) or 0.0

    def idle(instruction: Instruction) -> float:
        wasted = 1 - instruction.lanes / instruction.hits / full
        if instruction.hits <= _SHRUNK * steps:  # what is left between two barriers still needs one wave
            wasted = min(wasted, max(0.0, 1 - least / instruction.hits))
        return wasted

    def needs_no_lanes(instruction: Instruction) -> bool:
        """Work that one wave of a workgroup, or one lane of a wave, does once: more lanes would not shorten it."""
        one_lane = instruction.lanes == instruction.hits
        return (groups < number and instruction.hits <= groups) or (one_lane and instruction.hits <= number)

    def divergent(instruction: Instruction) -> bool:
        active = instruction.lanes / instruction.hits / full if instruction.hits else 1.0
        if instruction.memory is not None or instruction.index in without or needs_no_lanes(instruction):
            return False
        return 0 < active <= THRESHOLDS["branchDivergence.lanes"]

    lost: dict[tuple[str, int], tuple[float, Site]] = {}
    every: list[Instruction] = []
    waiting = {(s.file, s.line) for s in sites(kernel, is_synchronising, lambda i: i.latency)}
    for site in sites(kernel, divergent, lambda i: i.latency):
        if (site.file, site.line) in waiting:
            continue  # one lane that asks again and again waits for another wave, not for its lanes
        share = cost_share(kernel, site.instructions, idle)
        line, column = branch_around(texts, site.file, site.line) or (site.line, site.column)
        before, _ = lost.get((site.file, line), (0.0, site))
        lost[site.file, line] = (before + share, Site(site.file, line, column, site.instructions))
        every += site.instructions
    if not lost:
        return None
    ranked = sorted(lost.values(), key=lambda entry: -entry[0])
    enough = _BESIDE_A_BRACE * ranked[0][0]
    ranked.sort(key=lambda entry: entry[0] < enough or _ends(texts, entry[1]))
    share = cost_share(kernel, every, idle)
    active = sum(i.lanes for i in every) / sum(i.hits for i in every)
    return finding_at(
        formula,
        kernel,
        ranked[0][1],
        smaller(share, beyond_traffic(profile, kernel)),
        f"lanes of a wave take different ways here: {_few(active)} of {full:.0f} lanes are active on average",
        (
            Evidence("active lanes in divergent code", active, full, "lanes"),
            *_whole(kernel, full),
            Evidence("wave time lost to idle lanes", 100 * share, 0.0, "%"),
        ),
        [
            Related(site.file, site.line, f"{lost_here:.0%} of the time is lost to idle lanes here")
            for lost_here, site in ranked[1:_RELATED]
            if lost_here >= _WORTH_NAMING
        ],
    )


def _ends(texts: SourceTexts, site: Site) -> bool:
    """A brace alone: what the compiler has merged there belongs to branches before it."""
    return code_line(texts, site.file, site.line).strip() == b"}"


def _steps(kernel: Kernel) -> tuple[float, float]:
    """How often waves came to the barrier that they meet at most often, and how often workgroups did; 0 when no loop
    has one.

    Where most waves have nothing to do in such a step, as in a tree reduction, lanes are idle because little is left.
    """
    groups = sum(workgroups(d) for d in kernel.dispatches if d.profiled)
    number = waves(kernel)
    steps = max((i.hits for i in kernel.instructions if mnemonic(i) == "s_barrier"), default=0)
    if not groups or not number or steps < _STEPS * number:
        return 0.0, 0.0
    return float(steps), steps * groups / number


def _counted(formula: str, profile: Profile, kernel: Kernel, full: float) -> Finding | None:
    """From counters: the idle part of the lanes, for the part of the time that the vector units were busy."""
    lanes = BranchDivergence().measure(kernel, profile.device).get(LANES)
    issued, active = (kernel.counters.get(n) for n in ("SQ_ACTIVE_INST_VALU", "GRBM_GUI_ACTIVE"))
    if lanes is None or issued is None or not active or lanes > full * THRESHOLDS["branchDivergence.lanes"]:
        return None
    # SQ_ACTIVE_INST_VALU ticks once in four cycles and per SIMD; GRBM_GUI_ACTIVE once per cycle and XCD.
    layout, xcds = profile.device.layout, profile.device.xcds
    if layout is None or xcds is None:
        return None
    busy = min(1.0, 4 * issued / (active / xcds) / layout.simds)
    share = busy * (1 - lanes / full)
    return finding_at(
        formula,
        kernel,
        kernel_site(kernel),
        smaller(share, beyond_traffic(profile, kernel)),
        f"lanes of a wave take different ways: {_few(lanes)} of {full:.0f} lanes are active per vector instruction",
        (Evidence(LANES, lanes, full, "lanes"), Evidence("vector units busy", 100 * busy, None, "%")),
    )


def _few(lanes: float) -> str:
    return f"{lanes:.0f}" if lanes >= 10 else f"{lanes:.1f}"


def _whole(kernel: Kernel, full: float) -> tuple[Evidence, ...]:
    valu = [i for i in kernel.instructions if is_valu(i)]
    hits = sum(i.hits for i in valu)
    return (Evidence(LANES, sum(i.lanes for i in valu) / hits, full, "lanes"),) if hits else ()
