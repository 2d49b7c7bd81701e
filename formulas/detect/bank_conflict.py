"""LDS bank conflicts: lanes of a wave want different words of the same bank and take turns.

Takes a kernel's LDS accesses, gives a finding per source line whose accesses spend a good part of their time in turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hipscope.analysis.metrics.memory_patterns import conflict_degree, sum_patterns
from hipscope.analysis.metrics.stalls import add_stalls, blamed_stalls
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile
from hipscope.analysis.source.text_queries import constant_value, shared_array_at, subscripts_at
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Related
from hipscope.formulas.detect.instruction_mix import has_patterns, mnemonic
from hipscope.formulas.detect.sites import Site, costliest_site, finding_at, sites
from hipscope.formulas.detect.time_at_stake import counted_waits, smaller, unit_share, wait_share
from hipscope.formulas.tables import THRESHOLDS, Worded

_PER_ACCESS = "LDS cycles per access"
_LANE_INDEX = ("threadIdx.x", "hipThreadIdx_x")


class BankConflict(Worded):
    """Column reads of power-of-two tiles, strided reductions, structures of 32 words."""

    name: ClassVar[str] = "bankConflict"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(_PER_ACCESS, "down"),)

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line, worst first; one per kernel from counters."""
        if not has_patterns(kernel):
            return _counted(self.name, kernel, profile.device)
        blamed = blamed_stalls(kernel)
        found = []
        for site in sites(kernel, _conflicts, _conflict_cycles):
            finding = _finding(
                self.name,
                kernel,
                profile.device,
                site,
                wait_share(kernel, add_stalls([blamed[i.index] for i in site.instructions])),
                texts,
            )
            if finding is not None:
                found.append(finding)
        return sorted(found, key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """LDS cycles per LDS access, over the whole kernel."""
        patterns = [i.memory for i in kernel.instructions if i.memory is not None and i.memory.space == "lds"]
        accesses = sum(p.accesses for p in patterns)
        return {_PER_ACCESS: sum(p.lds_cycles for p in patterns) / accesses} if accesses else {}


def _conflicts(instruction: Instruction) -> bool:
    pattern = instruction.memory
    if pattern is None or pattern.space != "lds":
        return False
    degree = conflict_degree(pattern)
    return degree is not None and degree >= THRESHOLDS["bankConflict.degree"]


def _conflict_cycles(instruction: Instruction) -> float:
    return instruction.memory.lds_conflict_cycles if instruction.memory is not None else 0.0


def _finding(
    formula: str, kernel: Kernel, device: Device, site: Site, waits: float, texts: SourceTexts
) -> Finding | None:
    pattern = sum_patterns([i.memory for i in site.instructions if i.memory is not None])
    degree = conflict_degree(pattern)
    if degree is None or not pattern.accesses:
        return None
    excess = pattern.lds_conflict_cycles / pattern.lds_cycles
    busy = unit_share(kernel, device, pattern.lds_conflict_cycles)
    share = smaller(waits * excess, busy)
    cycles = pattern.lds_cycles / pattern.accesses
    ideal = cycles / degree
    array = shared_array_at(texts, site.file, site.line)
    related = (
        (
            Related(
                site.file,
                array.span.line,
                f"{array.name} is declared here with rows of {array.dimensions[-1]}",
            ),
        )
        if array is not None and array.dimensions
        else ()
    )
    return finding_at(
        formula,
        kernel,
        site,
        share=share,
        message=_message(site, cycles, ideal, texts),
        evidence=(
            Evidence(_PER_ACCESS, cycles, ideal, "cycles"),
            Evidence("conflict degree", degree, 1.0, "x"),
            Evidence("LDS cycles lost to conflicts", 100 * excess, 0.0, "%"),
            Evidence("wave time waiting for these accesses", 100 * waits, None, "%"),
            *(
                ()
                if busy is None
                else (Evidence("kernel time the LDS is busy with conflicts", 100 * busy, 0.0, "%"),)
            ),
        ),
        related=related,
    )


def _message(site: Site, cycles: float, ideal: float, texts: SourceTexts) -> str:
    kinds = {i.memory.kind for i in site.instructions if i.memory is not None}
    if "atomic" in kinds:
        verb = "updates"
    else:
        verb = "reads and writes" if len(kinds) > 1 else "writes" if "store" in kinds else "reads"
    turns = f"the lanes of a wave take turns, {cycles:.0f} LDS cycles per access instead of {ideal:.0f}"
    array = shared_array_at(texts, site.file, site.line)
    if array is None:
        return f"{verb} LDS so that many lanes hit the same bank: {turns}"
    sizes = [constant_value(texts, site.file, d) for d in array.dimensions]
    shape = "x".join(str(s) if s is not None else d for s, d in zip(sizes, array.dimensions, strict=True))
    subscripts = subscripts_at(texts, site.file, site.line, array.name)
    if len(subscripts) < 2 or not any(index in subscripts[0] for index in _LANE_INDEX):
        return f"{verb} the LDS array `{array.name}` so that many lanes hit the same bank: {turns}"
    whole_row = sizes[-1] is not None and sizes[-1] % 32 == 0
    hit = "every lane hits the same bank" if whole_row else "many lanes hit the same bank"
    return f"{verb} the {shape} LDS tile `{array.name}` by column: {hit} and {turns}"


def _counted(formula: str, kernel: Kernel, device: Device) -> list[Finding]:
    """From the LDS counters, whose active cycles include those of conflicts (ROCm Compute Profiler, LDS metrics)."""
    conflicts, active = (kernel.counters.get(n) for n in ("SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"))
    if conflicts is None or active is None or active <= conflicts:
        return []
    degree = active / (active - conflicts)
    busy = unit_share(kernel, device, conflicts)
    if busy is None or degree < THRESHOLDS["bankConflict.degree"]:
        return []
    return [
        finding_at(
            formula,
            kernel,
            costliest_site(kernel, lambda i: mnemonic(i).startswith("ds_")),
            smaller(busy, counted_waits(kernel)),
            f"accesses LDS so that many lanes hit the same bank, which makes them {degree:.1f} times as long",
            (
                Evidence("conflict degree", degree, 1.0, "x"),
                Evidence("LDS cycles lost to conflicts", 100 * conflicts / active, 0.0, "%"),
                Evidence("kernel time the LDS is busy with conflicts", 100 * busy, 0.0, "%"),
            ),
        )
    ]
