"""What bounds a kernel in which no other formula finds anything, and what hot lines without a finding do: no rewrite.

Takes a kernel, gives one finding at its definition with its place under the roofline and what its waves wait for, and
one for each hot line of which no formula speaks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.metrics.roofline import Bound, Roofline, roofline
from hipscope.analysis.metrics.stalls import stall_table, total_cycles
from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.analysis.source.texts import ByteColumn, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective
from hipscope.formulas.detect.causes import AT_THE_ROOF, CAUSES, WORK, LineCause, line_causes, time_by_cause
from hipscope.formulas.detect.dataflow import uniform_instructions
from hipscope.formulas.detect.sites import Site, finding_at, kernel_site
from hipscope.formulas.detect.slow_arithmetic import SlowLine, slow_lines
from hipscope.formulas.tables import THRESHOLDS, Worded, table


class DiagnoseOnly(Worded):
    """Everything that has no formula of its own, and kernels that are as fast as they can be."""

    name: ClassVar[str] = "diagnoseOnly"
    objectives: ClassVar[tuple[Objective, ...]] = ()

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:  # noqa: ARG002
        """One finding for the kernel; none when nothing is known of what bounds it."""
        roof = roofline(kernel, profile.device, profile.provenance)
        if roof.bound == "unknown":
            return []
        evidence = [*_rates(roof), *_launching(kernel), *_stalls(kernel)]
        fits = occupancy(kernel, profile.device)
        if fits is not None:
            evidence.append(
                Evidence("waves per SIMD that fit", fits.theoretical, float(fits.maximum), "waves")
            )
        return [
            finding_at(self.name, kernel, kernel_site(kernel), 0.0, _message(profile, kernel, roof), evidence)
        ]

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Nothing: there is nothing to move."""
        return {}


def explain_lines(
    profile: Profile, kernel: Kernel, spoken: Collection[tuple[str, int]], formula: str
) -> list[Finding]:
    """What each hot line without a finding spends its time on, and what makes it less; hottest first.

    `spoken` are files and lines of which a finding speaks. Lines are told until most of the kernel's time is.
    """
    found = []
    told = 0.0
    slow = {(x.file, x.line): x for x in slow_lines(kernel)}
    uniform = uniform_instructions(kernel)
    for line in line_causes(profile, kernel):
        if line.share < HOT_LINE and (told >= _ENOUGH or line.share < _LEAST):
            break
        told += line.share
        if (line.file, line.line) in spoken:
            continue
        site = Site(line.file, line.line, ByteColumn(line.column), ())
        parts = [
            Evidence(f"of the line: {name}", 100 * part, None, "%")
            for name, part in line.causes
            if part >= _PART
        ]
        rounds = (
            []
            if line.rounds is None
            else [Evidence("times that each wave comes here", line.rounds, None, "")]
        )
        message = _sentence(line, slow.get((line.file, line.line)), uniform)
        found.append(finding_at(formula, kernel, site, min(1.0, line.share), message, [*parts, *rounds]))
    return found


LAUNCHING = "launching, of the kernel's time"
_LAUNCHING = 0.25  # of the kernel's time
HOT_LINE = 0.1  # of a kernel's wave time: a line that takes as much deserves a word
_ENOUGH = 0.85  # of the wave time that is told
_LEAST = 0.01  # lines below it are only part of the kernel's sum
_PART = 0.1  # a cause below this part of a line is not worth a clause
_CLAUSES = 2
_TOP = 3  # causes of a kernel that are named


def _sentence(line: LineCause, slow: SlowLine | None, uniform: Collection[int]) -> str:
    """Cause and remedy of the largest parts of a line's time."""
    parts = [(name, part) for name, part in line.causes if part >= _PART][:_CLAUSES]
    if len(parts) > 1 and parts[1][1] < parts[0][1] / _MINOR:
        parts = parts[:1]
    if parts and parts[0][0] == "contention":  # it also issues itself: what, is what can be changed
        parts = [parts[0], *[(name, part) for name, part in line.causes if name in WORK][:1]]
    causes, remedies = [], []
    for name, part in parts:
        words, remedy = CAUSES[name].words, CAUSES[name].remedy
        if slow is not None and name == slow.kind:
            if slow.functions:
                words = f"{slow.words}, {len(slow.instructions)} instructions"
            same = sum(i.hits for i in slow.instructions if i.index in uniform)
            if same >= _SAME * sum(i.hits for i in slow.instructions):
                words += " on values that are the same for all lanes"
                remedy = "compute it once: on the host and pass it as an argument, or before the loop"
        causes.append(f"{words} ({part:.0%})")
        remedies.append(remedy)
    return f"takes {line.share:.0%} of the wave time: {'; '.join(causes)}. What helps: {'; '.join(remedies)}"


_SAME = 0.6  # of the executed instructions: then the rest can be hoisted as well
_MINOR = 3  # times smaller than the first cause: left out
_WORDS: Mapping[Bound, str] = table("formulas")["diagnoseOnly"]["bounds"]


def _message(profile: Profile, kernel: Kernel, roof: Roofline) -> str:
    """The roof that the kernel is at, else what bounds it and what its waves spend their time on."""
    reached = roof_reached(kernel, roof)
    if reached is not None:
        return reached
    return f"{_bound_message(profile, kernel, roof)}{_decided(roof)}"


def _decided(roof: Roofline) -> str:
    """The numbers that decided, with their thresholds, and what it may be as well; nothing for a model's verdict."""
    if roof.provenance != "measured" or not (roof.why or roof.near):
        return ""
    near = f"; within 5 % it may be {' or '.join(roof.near)}" if roof.near else ""
    return f" ({roof.why or 'no number decided'}{near})"


def _bound_message(profile: Profile, kernel: Kernel, roof: Roofline) -> str:
    causes = list(time_by_cause(profile, kernel).items())[:_TOP]
    if not causes:
        return _WORDS[roof.bound]
    named = "; ".join(f"{part:.0%} {CAUSES[name].words}" for name, part in causes)
    launching = "".join(
        f"; {row.value:.0f}% of the time is the launch itself, before and after its waves"
        for row in _launching(kernel)
    )
    return f"{_WORDS[roof.bound]}{launching}. Of the wave time: {named}"


def roof_reached(kernel: Kernel, roof: Roofline) -> str | None:
    """The roof that the kernel is within 15 % of, and what alone makes it faster; None below all of them."""
    reachable = THRESHOLDS["memoryAccess.reachable_bandwidth"]
    if roof.memory_fraction is not None and roof.memory_fraction >= AT_THE_ROOF * reachable:
        return (
            f"at the roof of the memory bandwidth: it moves {roof.memory_fraction:.0%} of the peak, and streams reach "
            f"{reachable:.0%}; only moving fewer bytes makes it faster"
        )
    if roof.flops_fraction is not None and roof.flops_fraction >= AT_THE_ROOF:
        return f"at the roof of the arithmetic: {roof.flops_fraction:.0%} of the peak; only fewer operations save time"
    shortest = kernel.busy.get("round_trip", 0.0)
    if shortest >= AT_THE_ROOF:
        return (
            "about as short as a launch can be: one that only reads its arguments, waits for memory once and stores "
            f"would take {shortest:.0%} of the time; only launching less often, or fewer waves, saves time"
        )
    return None


def _rates(roof: Roofline) -> list[Evidence]:
    rows = []
    if roof.memory_fraction is not None:
        rows.append(Evidence("memory bandwidth used", 100 * roof.memory_fraction, 100.0, "%"))
    if roof.flops_fraction is not None:
        rows.append(Evidence("floating-point peak used", 100 * roof.flops_fraction, 100.0, "%"))
    if roof.intensity is not None:
        rows.append(Evidence("arithmetic intensity", roof.intensity, roof.ridge, "flop/B"))
    return rows


def _launching(kernel: Kernel) -> list[Evidence]:
    """What starting and ending the launches takes, where that is a good part of the kernel's time."""
    number = len(kernel.dispatches)
    part = THRESHOLDS["any.launch_floor_ns"] * number / kernel.time_ns if kernel.time_ns else 0.0
    return [Evidence(LAUNCHING, 100 * min(1.0, part), 0.0, "%")] if part >= _LAUNCHING else []


def _stalls(kernel: Kernel) -> list[Evidence]:
    total = total_cycles(kernel)
    top = list(stall_table(kernel).items())[:_TOP] if total else []
    return [
        Evidence(f"wave time waiting: {reason.replace('_', ' ')}", 100 * cycles / total, None, "%")
        for reason, cycles in top
    ]
