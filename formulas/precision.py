"""Slow arithmetic: double precision that the data do not have, divisions and functions at a quarter of the rate.

Takes a kernel's vector instructions, gives a finding per line whose instructions are slow where faster ones would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.formulas.base import Finding, Formula, Need, Objective, Work
from hipscope.formulas.executed import executions, is_double, is_transcendental, waves

DOUBLE = "fp64 VALU instructions per wave"
SLOW = "transcendental instructions per wave"


class Precision(Formula):
    """Literals without `f`, `double` overloads, division in an inner loop, `pow` with a small exponent."""

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "Slow arithmetic"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(DOUBLE, "down"), Objective(SLOW, "down"))
    remedy: ClassVar[tuple[str, ...]] = (
        "write float literals with `f` (`0.5f`) and call float functions (`sqrtf`, `expf`)",
        "divide by multiplying with a reciprocal that is computed once, outside the loop",
        "where the precision allows, use `__expf`, `__logf`, `__fdividef` or `rsqrtf`",
    )
    needs: ClassVar[tuple[Need, ...]] = (Need(("instructions",), "a finding per line"),)
    keeps: ClassVar[frozenset[Work]] = frozenset({"bytes"})
    guidance: ClassVar[tuple[str, ...]] = (
        "In this attempt only make literals and functions float where the variables are float.",
        "In this attempt take divisions and reciprocals out of the inner loop, or share one between several uses.",
        "In this attempt simplify the mathematics: fewer roots, exponentials and divisions for the same value.",
    )

    def detect(self, profile: Profile, kernel: Kernel) -> list[Finding]:  # noqa: ARG002
        """One finding per line, worst first."""
        return []

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Double-precision and quarter-rate instructions that a wave executes."""
        number = waves(kernel)
        double, slow = executions(kernel, is_double), executions(kernel, is_transcendental)
        if double is None or slow is None or not number:
            return {}
        return {DOUBLE: double / number, SLOW: slow / number}
