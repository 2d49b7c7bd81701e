"""Contended atomics: many waves change the same few addresses, and the memory system serves them one after another.

Takes a kernel's global and LDS atomics, gives a finding per source line whose operations queue up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from hipscope.analysis.metrics.memory_patterns import sum_patterns
from hipscope.analysis.metrics.stalls import add_stalls, blamed_stalls
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Related
from hipscope.formulas.detect.cas_loops import emulated_at
from hipscope.formulas.detect.instruction_mix import has_patterns, mnemonic
from hipscope.formulas.detect.memory_kind import lives_where
from hipscope.formulas.detect.sites import Site, costliest_site, finding_at, launch_of, sites
from hipscope.formulas.detect.slow_arithmetic import lanes_in_turn
from hipscope.formulas.detect.time_at_stake import (
    cost_share,
    counted_waits,
    latency_bound,
    wait_share,
)
from hipscope.formulas.tables import THRESHOLDS, Worded

_PER_WAVE = "atomic operations on memory"
# What an atomic waits for before it is issued is the atomics in front of it.
_QUEUE = (StallReason.PIPE_BUSY, StallReason.ISSUE_CONTENTION)
_WAITS = (StallReason.ATOMIC, *_QUEUE)
# A line that limits the kernel is busy for at least this share of its time, also after the last wave has ended.
_BUSY_AT_LEAST = 0.5
_SHUFFLES = 6.0  # steps that add up the 64 lanes of a wave


class AtomicContention(Worded):
    """Sums into one variable, histograms with popular bins, work counters."""

    name: ClassVar[str] = "atomicContention"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(_PER_WAVE, "down"),)

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line, worst first; one per kernel from counters."""
        if not has_patterns(kernel):
            return _counted(self.name, profile, kernel)
        contended = sites(kernel, _contended, _operations)
        operations = sum(_operations(i) for site in contended for i in site.instructions)
        found = []
        for site in contended:
            part = sum(_operations(i) for i in site.instructions) / operations if operations else 0.0
            waits = _waits(kernel, site, part)
            busy = _BUSY_AT_LEAST * part if kernel.bound_by == "atomic" else 0.0
            if max(waits, busy) >= THRESHOLDS["atomicContention.wait"]:
                found.append(_finding(self.name, kernel, site, waits, busy, texts))
        found += _many_addresses(self.name, kernel, {(s.file, s.line) for s in contended}, texts)
        found += _lanes_in_turn(self.name, kernel, {(f.file, f.line) for f in found})
        return sorted(found, key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Atomic operations of single lanes on global memory."""
        patterns = [i.memory for i in kernel.instructions if i.memory is not None]
        lanes = [p.lanes for p in patterns if p.kind == "atomic" and p.space == "global"]
        return {_PER_WAVE: float(sum(lanes))} if patterns else {}


def _contended(instruction: Instruction) -> bool:
    pattern = instruction.memory
    if pattern is None or pattern.kind != "atomic" or pattern.space != "global":
        return False
    share = pattern.same_address_share
    return share is not None and share >= THRESHOLDS["atomicContention.same_line"]


def _operations(instruction: Instruction) -> float:
    return float(instruction.memory.lanes) if instruction.memory is not None else 0.0


def _waits(kernel: Kernel, site: Site, part: float) -> float:
    """The share of the kernel's time that goes into waiting for these atomics, `part` of all contended ones.

    When the model says that the busiest line limits the kernel, every access that queues to be issued queues behind
    atomics.
    """
    blamed = blamed_stalls(kernel)
    own = wait_share(kernel, add_stalls([blamed[i.index] for i in site.instructions]), _WAITS)
    if kernel.bound_by != "atomic":
        return own
    others = [
        blamed[i.index]
        for i in kernel.instructions
        if i not in site.instructions and i.memory is not None and i.memory.space == "global"
    ]
    queued = wait_share(kernel, add_stalls(others), _QUEUE)
    return min(1.0, own + part * queued)


def _finding(
    formula: str, kernel: Kernel, site: Site, waits: float, busy: float, texts: SourceTexts
) -> Finding:
    pattern = sum_patterns([i.memory for i in site.instructions if i.memory is not None])
    share_of_line = pattern.same_address_share or 0.0
    launch = launch_of(kernel, site.file, texts)
    place = "one address" if share_of_line > 0.99 else "a few addresses"
    waves = pattern.accesses
    return finding_at(
        formula,
        kernel,
        site,
        share=max(waits, busy),
        message=(
            f"{pattern.lanes:,} atomic operations from {waves:,} wave accesses on {place}{lives_where(pattern)} are "
            f"served one after another: {share_of_line:.0%} of them go to the same cache line{_emulated(site, texts)}"
        ),
        evidence=(
            Evidence(_PER_WAVE, float(pattern.lanes), None, "operations"),
            Evidence("operations on the busiest cache line", 100 * share_of_line, None, "%"),
            Evidence("lanes behind another lane of their wave", pattern.atomic_conflicts, 0.0, "lanes"),
            Evidence("wave time waiting for these atomics", 100 * waits, 0.0, "%"),
            *(
                (Evidence("kernel time the busiest line is busy, at least", 100 * busy, None, "%"),)
                if busy
                else ()
            ),
        ),
        related=() if launch is None else (launch,),
    )


def _emulated(site: Site, texts: SourceTexts) -> str:
    """What to say of a compare-and-swap loop that the line is in."""
    name = emulated_at(texts, site.file, site.line)
    if name is None:
        return ""
    if not name:
        return ". They are a loop of compare-and-swap: a lane tries again each time another one came between"
    return f". The loop of compare-and-swap emulates {name}, which the hardware has"


def _many_addresses(
    formula: str, kernel: Kernel, contended: Collection[tuple[str, int]], texts: SourceTexts
) -> list[Finding]:
    """Atomics that spread over many lines and are waited for all the same, as there are so many: one finding, on the
    costliest line of them.
    """
    blamed = blamed_stalls(kernel)
    shares = []
    for site in sites(kernel, _on_memory, _operations):
        if (site.file, site.line) not in contended:
            waits = wait_share(kernel, add_stalls([blamed[i.index] for i in site.instructions]), _WAITS)
            shares.append((waits, site))
    total = min(1.0, sum(waits for waits, _ in shares))
    if total < THRESHOLDS["atomicContention.wait"]:
        return []
    shares.sort(key=lambda entry: -entry[0])
    worst = shares[0][1]
    every = [i for _, site in shares for i in site.instructions]
    pattern = sum_patterns([i.memory for i in every if i.memory is not None])
    lines = pattern.lines_used / pattern.accesses if pattern.accesses else 0.0
    per_access = f", {lines:.0f} cache lines per wave access" if lines else ""
    busiest = pattern.same_address_share
    known = (
        ()
        if busiest is None
        else (Evidence("operations on the busiest cache line", 100 * busiest, None, "%"),)
    )
    launch = launch_of(kernel, worst.file, texts)
    others = [
        Related(s.file, s.line, f"{w:.0%} of the wave time for atomics here") for w, s in shares[1:4] if w > 0
    ]
    return [
        finding_at(
            formula,
            kernel,
            worst,
            total,
            f"{pattern.lanes:,} atomic operations{lives_where(pattern)} spread over many addresses{per_access}, each a "
            f"trip to the L2: there are too many, though none is contended{_emulated(worst, texts)}",
            (
                Evidence(_PER_WAVE, float(pattern.lanes), None, "operations"),
                *known,
                Evidence("lanes behind another lane of their wave", pattern.atomic_conflicts, 0.0, "lanes"),
                Evidence("wave time waiting for these atomics", 100 * total, 0.0, "%"),
            ),
            [*others, *(() if launch is None else (launch,))],
        )
    ]


def _lanes_in_turn(formula: str, kernel: Kernel, spoken: Collection[tuple[str, int]]) -> list[Finding]:
    """Loops over the lanes that stand before an atomic, in global memory or LDS: one finding per line without one."""
    rounds = lanes_in_turn(kernel)

    def saved(instruction: Instruction) -> float:
        return max(0.0, 1 - _SHUFFLES / rounds[instruction.index])

    found = []
    for site in sites(kernel, lambda i: i.index in rounds, lambda i: i.latency):
        share = cost_share(kernel, site.instructions, saved)
        if share >= THRESHOLDS["atomicContention.wait"] and (site.file, site.line) not in spoken:
            number = rounds[site.instructions[0].index]
            found.append(
                finding_at(
                    formula,
                    kernel,
                    site,
                    share,
                    f"adds up {number:.0f} lanes one after another before each atomic operation, as the compiler does "
                    f"for one address: shuffles need {_SHUFFLES:.0f} steps for a wave",
                    (Evidence("lanes that are added up in turn", number, _SHUFFLES, "lanes"),),
                )
            )
    return found


def _on_memory(instruction: Instruction) -> bool:
    pattern = instruction.memory
    return pattern is not None and pattern.kind == "atomic" and pattern.space == "global"


def _counted(formula: str, profile: Profile, kernel: Kernel) -> list[Finding]:
    """From counters: waves wait, no unit is busy, and atomics are a good part of what the L2 is asked for.

    The waits are shared out by requests, as counters do not show what a wave waits for.
    """
    atomics, requests = (kernel.counters.get(n) for n in ("TCC_ATOMIC_sum", "TCC_REQ_sum"))
    waits = counted_waits(kernel)
    if not atomics or not requests or waits is None or not latency_bound(profile, kernel):
        return []
    part = min(1.0, atomics / requests)
    if part < THRESHOLDS["atomicContention.requests"] or waits < THRESHOLDS["atomicContention.counted_wait"]:
        return []
    return [
        finding_at(
            formula,
            kernel,
            costliest_site(kernel, lambda i: "atomic" in mnemonic(i)),
            waits * part,
            f"waves wait {waits:.0%} of the time while memory and vector units are mostly idle, and {part:.0%} of the "
            "requests to the L2 are atomics",
            (
                Evidence("atomic requests to the L2", atomics, None, "requests"),
                Evidence("atomics among the L2's requests", 100 * part, None, "%"),
                Evidence("wave time waiting", 100 * waits, None, "%"),
            ),
        )
    ]
