"""A formula from outside: waves that wait for scalar loads (kernel arguments, tables with a uniform index)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.formulas.plugin_api import (
    Device,
    Evidence,
    Finding,
    Formula,
    Instruction,
    Kernel,
    Need,
    Objective,
    Profile,
    SourceTexts,
    StallReason,
    add_stalls,
    blamed_stalls,
    finding_at,
    sites,
    wait_share,
)

_WAITS = "scalar load wait cycles"
_SCALAR = (StallReason.SCALAR_MEMORY,)


class ScalarWaits(Formula):
    """Tables that are read one scalar load at a time."""

    name: ClassVar[str] = "scalarWaits"
    title: ClassVar[str] = "Waits for scalar loads"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(_WAITS, "down"),)
    remedy: ClassVar[tuple[str, ...]] = ("load the table into LDS, or several of its elements at once",)
    needs: ClassVar[tuple[Need, ...]] = (Need(("instructions",), "a finding per line"),)

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line."""
        blamed = blamed_stalls(kernel)
        found = []
        for site in sites(kernel, _is_scalar_load, lambda i: i.latency):
            waits = wait_share(kernel, add_stalls([blamed[i.index] for i in site.instructions]), _SCALAR)
            evidence = (Evidence("wave time waiting for these loads", 100 * waits, 0.0, "%"),)
            found.append(finding_at(self.name, kernel, site, waits, "waits for scalar loads", evidence))
        return found

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:
        """Cycles that waves wait for scalar loads, summed over waves."""
        if not kernel.instructions:
            return {}
        return {_WAITS: sum(table.get(StallReason.SCALAR_MEMORY, 0.0) for table in blamed_stalls(kernel))}


def _is_scalar_load(instruction: Instruction) -> bool:
    return instruction.text.startswith("s_load")
