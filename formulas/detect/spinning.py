"""Spinning: waves go round in short loops that look for what other waves write.

Takes a kernel's machine code and its time, gives a finding per source line whose loops do nothing but look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hipscope.analysis.metrics.machine_loops import machine_loops
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective
from hipscope.formulas.detect.dataflow import read_registers, written_registers
from hipscope.formulas.detect.instruction_mix import counts_all, mnemonic, waves
from hipscope.formulas.detect.sites import Site, finding_at, sites
from hipscope.formulas.detect.time_at_stake import cost_share
from hipscope.formulas.tables import THRESHOLDS, Worded

_ROUNDS = "rounds of waiting per wave"
_LONGEST = 48  # instructions: a loop that only looks is short, whatever it waits with
_ATOMICS = ("global_atomic", "flat_atomic", "buffer_atomic")
_OF_LDS = ("ds_read", "ds_cmpst_rtn", "ds_wrxchg_rtn")
_COMPARISONS = ("v_cmp", "s_cmp", "s_bitcmp")
_MEMORY = (
    "global_",
    "flat_",
    "buffer_load",
    "buffer_store",
    "buffer_atomic",
    "ds_",
    "scratch_",
    "s_load",
    "s_store",
)


class Spinning(Worded):
    """Flags of other workgroups, spin locks, barriers of the whole grid by hand, look-back scans."""

    name: ClassVar[str] = "spinning"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(_ROUNDS, "down"),)

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:  # noqa: ARG002
        """One finding per line, worst first."""
        loops = waiting_loops(kernel)
        if not loops:
            return []
        looks = {i.index: loop for loop in loops for i in loop if looks_at_others(i)}
        found = [
            _finding(self.name, kernel, site, [looks[i.index] for i in site.instructions])
            for site in sites(kernel, lambda i: i.index in looks, lambda i: i.latency)
        ]
        return sorted((f for f in found if f is not None), key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """How often a wave looks, in loops that only look."""
        number = waves(kernel)
        if not counts_all(kernel) or not number:
            return {}
        looks = [i.hits for loop in waiting_loops(kernel) for i in loop if looks_at_others(i)]
        return {_ROUNDS: sum(looks) / number}


def waiting_loops(kernel: Kernel) -> list[tuple[Instruction, ...]]:
    """The innermost loops that do nothing but look at what others write."""
    loops = machine_loops(kernel)
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    bodies = [kernel.instructions[first : last + 1] for first, last in inner]
    return [body for body in bodies if len(body) <= _LONGEST and _only_looks(body)]


def looks_at_others(instruction: Instruction) -> bool:
    """A load that must not be taken from a register, or an atomic operation whose result is asked for."""
    name, text = mnemonic(instruction), instruction.text
    returns = " sc0" in text or " glc" in text
    told = returns or " sc1" in text
    return name.startswith(_OF_LDS) or (returns and name.startswith(_ATOMICS)) or (told and "_load" in name)


def _only_looks(body: Sequence[Instruction]) -> bool:
    """All of its accesses are looks, at the same place in each round. What an atomic would store is the same in each
    round, too: else the loop computes a new value from the old one, as those do that stand for an atomic operation.
    """
    accesses = [i for i in body if mnemonic(i).startswith(_MEMORY)]
    if (
        not accesses
        or not all(map(looks_at_others, accesses))
        or any(mnemonic(i) == "s_barrier" for i in body)
    ):
        return False
    computed = [
        i for i in body if i not in accesses and read_registers(i)
    ]  # constants are the same in each round
    changed = frozenset(r for i in computed for r in written_registers(i))
    return not any(read_registers(i) & changed for i in accesses) and _ends_by(body, accesses)


def _ends_by(body: Sequence[Instruction], looks: Sequence[Instruction]) -> bool:
    """Whether a comparison in the loop depends on what the looks found."""
    seen = {r for i in looks for r in written_registers(i)}
    for _ in range(2):  # also what the round before computed
        for i in body:
            if read_registers(i) & seen:
                seen |= written_registers(i)
    compared = [i for i in body if mnemonic(i).startswith(_COMPARISONS)]
    return any((read_registers(i) | written_registers(i)) & seen for i in compared)


def _finding(
    formula: str, kernel: Kernel, site: Site, loops: Sequence[Sequence[Instruction]]
) -> Finding | None:
    number = waves(kernel)
    rounds = sum(i.hits for i in site.instructions) / number if number else None
    share = cost_share(kernel, list({i.index: i for loop in loops for i in loop}.values()))
    if rounds is not None and rounds < THRESHOLDS["spinning.rounds"]:
        return None
    often = f" {rounds:,.3g} times" if rounds is not None else ""
    return finding_at(
        formula,
        kernel,
        site,
        share,
        f"each wave looks here{often} for what another wave writes, and does nothing else meanwhile: {share:.0%} of "
        "the wave time goes round in this loop",
        (
            *((Evidence(_ROUNDS, rounds, 1.0, "rounds"),) if rounds is not None else ()),
            Evidence("wave time in loops that only look", 100 * share, 0.0, "%"),
        ),
    )
