"""What hipscope sees but does not do: advice, with the reason why it is not proposed as a rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipscope.formulas.candidate import Advice, LaunchFacts, Proposal
from hipscope.formulas.syntax import KernelSyntax

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding


def launch_shape(
    source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> Proposal:
    """launchConfig: how the launch could be."""
    del source, finding
    shapes = ", ".join(
        f"{_product(launch.grid) // max(1, _product(launch.workgroup))} of {_product(launch.workgroup)} threads"
        for launch in facts.launches[:2]
    )
    seen = f" (seen: {shapes})" if shapes else ""
    return Advice(
        "launch_shape",
        f"Launch `{kernel.name}` with more, smaller workgroups, several for each CU{seen}",
        "launches stand in host code, which is never edited",
    )


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
