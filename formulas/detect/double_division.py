"""Divisions and roots in double precision: each is several dozen instructions.

Takes what each line's time goes into, gives a finding per line that spends it on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.profile import Device, Instruction, Kernel, Profile
from hipscope.analysis.source.texts import ByteColumn, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.causes import LineCause, line_causes
from hipscope.formulas.detect.instruction_mix import counts_all, mnemonic, per_wave, waves
from hipscope.formulas.detect.precision import Precision
from hipscope.formulas.detect.sites import Site, finding_at
from hipscope.formulas.detect.slow_arithmetic import SlowLine, slow_lines
from hipscope.formulas.detect.time_at_stake import beyond_traffic, long_enough, smaller
from hipscope.formulas.tables import Worded

OPERATIONS = "divisions and roots in double precision per wave"
_CAUSE = "double division"
_SEED = ("v_rcp_f64", "v_rsq_f64", "v_sqrt_f64")  # one in each expansion
_LEFT = 0.2  # of its cost: a multiplication where there was a division of some twenty instructions


class DoubleDivision(Worded):
    """`a / b`, `sqrt(x)`, `1.0 / sqrt(x)` of doubles in a hot line."""

    name: ClassVar[str] = "doubleDivision"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(OPERATIONS, "down"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"bytes"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line, worst first; none on lines of which `precision` speaks."""
        if not counts_all(kernel) or not long_enough(kernel):
            return []
        slow = {(x.file, x.line): x for x in slow_lines(kernel) if x.kind == _CAUSE}
        if not slow:
            return []
        told = {(f.file, f.line) for f in Precision().detect(profile, kernel, texts)}
        limit = beyond_traffic(profile, kernel)
        found = [
            _finding(self.name, kernel, line, slow[line.file, line.line], limit)
            for line in line_causes(profile, kernel)
            if (line.file, line.line) in slow and (line.file, line.line) not in told
        ]
        return sorted((f for f in found if f is not None), key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """How many a wave computes, by the instruction that each begins with."""
        return per_wave(kernel, OPERATIONS, _begins)


def _begins(instruction: Instruction) -> bool:
    return mnemonic(instruction).startswith(_SEED)


def _finding(
    formula: str, kernel: Kernel, line: LineCause, slow: SlowLine, limit: float | None
) -> Finding | None:
    cost = line.share * dict(line.causes).get(_CAUSE, 0.0)
    operations = sum(i.hits for i in slow.instructions if _begins(i))
    if not cost or not operations:
        return None
    executed = sum(i.hits for i in slow.instructions)
    number = waves(kernel) or 1.0
    return finding_at(
        formula,
        kernel,
        Site(line.file, line.line, ByteColumn(line.column), ()),
        smaller(cost * (1 - _LEFT), limit),
        f"{slow.words}, {executed / operations:.0f} instructions each: {cost:.0%} of the wave time",
        (
            Evidence(OPERATIONS, operations / number, None, ""),
            Evidence("instructions of each", executed / operations, 1.0, ""),
            Evidence("wave time that they take", 100 * cost, 0.0, "%"),
        ),
    )
