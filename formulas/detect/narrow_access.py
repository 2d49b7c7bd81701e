"""Narrow accesses: loads and stores of one or two bytes per lane, eight or sixteen times as many as their data need.

Takes what each line's time goes into, gives a finding per line that waits for such accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile
from hipscope.analysis.source.texts import ByteColumn, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.causes import LineCause, line_causes
from hipscope.formulas.detect.instruction_mix import counts_all, per_wave
from hipscope.formulas.detect.latency_hiding import LatencyHiding
from hipscope.formulas.detect.sites import Site, finding_at, launch_of
from hipscope.formulas.detect.time_at_stake import beyond_traffic, long_enough, smaller
from hipscope.formulas.tables import Worded

ACCESSES = "accesses of one or two bytes per lane, per wave"
NARROW_BYTES = 2
WIDEST_BYTES = 16
_CAUSES = ("narrow loads", "narrow stores")


class NarrowAccess(Worded):
    """Half, bfloat16, 8-bit and 16-bit integers that each lane loads or stores one by one."""

    name: ClassVar[str] = "narrowAccess"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(ACCESSES, "down"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"flops", "bytes"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line, worst first; none on lines of which `latencyHiding` speaks."""
        if not counts_all(kernel) or not long_enough(kernel):
            return []
        narrow = _narrow_by_line(kernel)
        lines = [line for line in line_causes(profile, kernel) if (line.file, line.line) in narrow]
        if not lines:
            return []
        told = {(f.file, f.line) for f in LatencyHiding().detect(profile, kernel, texts)}
        limit = beyond_traffic(profile, kernel)
        found = [
            _finding(self.name, kernel, line, narrow[line.file, line.line], limit, texts)
            for line in lines
            if (line.file, line.line) not in told
        ]
        return sorted((f for f in found if f is not None), key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """How many such accesses a wave makes."""
        return per_wave(kernel, ACCESSES, is_narrow)


def is_narrow(instruction: Instruction) -> bool:
    """A plain access to global memory with one or two bytes of each lane."""
    pattern = instruction.memory
    return (
        pattern is not None
        and pattern.space == "global"
        and pattern.kind != "atomic"
        and 0 < pattern.bytes_per_lane <= NARROW_BYTES
    )


def _narrow_by_line(kernel: Kernel) -> dict[tuple[str, int], list[Instruction]]:
    found: dict[tuple[str, int], list[Instruction]] = {}
    for instruction in kernel.instructions:
        frame = user_frame(instruction.source)
        if frame is not None and instruction.hits and is_narrow(instruction):
            found.setdefault((frame.file, frame.line), []).append(instruction)
    return found


def _finding(
    formula: str,
    kernel: Kernel,
    line: LineCause,
    narrow: list[Instruction],
    limit: float | None,
    texts: SourceTexts,
) -> Finding | None:
    parts = {name: part for name, part in line.causes if name in _CAUSES}
    waits = line.share * sum(parts.values())
    if not waits:
        return None
    size = max(i.memory.bytes_per_lane for i in narrow if i.memory is not None)
    verb = "stores" if parts.get("narrow stores", 0.0) > parts.get("narrow loads", 0.0) else "loads"
    each = "1 byte" if size == 1 else f"{size} bytes"
    launch = launch_of(kernel, line.file, texts)
    times = WIDEST_BYTES // size
    return finding_at(
        formula,
        kernel,
        Site(line.file, line.line, ByteColumn(line.column), ()),
        smaller(waits * (1 - size / WIDEST_BYTES), limit),
        f"{verb} {each} per lane: {waits:.0%} of the wave time waits for it, and an access of 16 bytes per lane "
        f"brings {times} times as much",
        (
            Evidence("bytes per lane and access", float(size), float(WIDEST_BYTES), "B"),
            Evidence("wave time waiting for these accesses", 100 * waits, 0.0, "%"),
            Evidence("times that each wave comes here", line.rounds or 0.0, None, ""),
        ),
        () if launch is None else (launch,),
    )
