"""What hipscope sees but does not do: advice, with the reason why it is not proposed as a rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.detect.launch_config import BUSY, LANES, ROUNDS, SIMDS
from hipscope.formulas.detect.thresholds import THRESHOLDS
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Advice, Proposal

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding


def launch_shape(
    source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> Proposal:
    """launchConfig: how the launch could be, by what is wrong with it."""
    del source
    shapes = ", ".join(
        f"{_product(launch.grid) // max(1, _product(launch.workgroup))} of {_product(launch.workgroup)} threads"
        for launch in facts.launches[:2]
    )
    seen = f" (seen: {shapes})" if shapes else ""
    return Advice(
        "launch_shape",
        f"Launch `{kernel.name}` {_better_shape(finding, facts)}{seen}",
        "no number of the program's text that it comes from was verified to do so",
    )


def _better_shape(finding: Finding | None, facts: LaunchFacts) -> str:
    """What the launch lacks, from the finding's numbers."""
    shown = {e.metric: e for e in finding.evidence} if finding is not None else {}
    parts = {
        name: shown[metric].value / 100
        for name, metric in (("cus", BUSY), ("simds", SIMDS), ("lanes", LANES))
        if metric in shown
    }
    rounds = shown.get(ROUNDS)
    if rounds is not None and rounds.ideal and rounds.value > 1:
        parts["tail"] = rounds.value / rounds.ideal
    worst = min(parts, key=lambda name: parts[name], default="cus")
    threads = max((_product(launch.workgroup) for launch in facts.launches), default=0)
    if parts.get("cus", 1.0) <= THRESHOLDS["launchConfig.busy"] or worst == "cus":
        # Smaller workgroups only bring more of them as long as each still fills a wave.
        can_split = not threads or threads * parts.get("cus", 1.0) >= facts.wave_size
        how = "more, smaller workgroups" if can_split else "more workgroups, each with less of the work"
        return f"with {how}, several for each CU"
    return {
        "simds": f"with larger workgroups, up to {4 * facts.wave_size} threads and more, so that each SIMD has a wave",
        "lanes": f"with workgroups of a multiple of {facts.wave_size} threads",
        "tail": "with a number of workgroups that fills its last round, or let a fixed number loop over the data",
    }[worst]


def regroup_work(
    source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> Proposal:
    """branchDivergence: work that takes the same way belongs into the same wave."""
    del source, finding, facts
    return Advice(
        "regroup_work",
        f"Sort or bin the elements of `{kernel.name}` by the way they take, so that a wave goes one way",
        "which way an element takes is known only at run time, so no renumbering of the threads can be proved to help",
    )


def _product(shape: tuple[int, int, int]) -> int:
    x, y, z = shape
    return x * y * z
