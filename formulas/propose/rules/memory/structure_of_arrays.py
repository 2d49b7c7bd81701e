"""memoryAccess: arrays of large structures of which a wave uses one member, as advice, since the host lays them out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.source.nodes import text_of
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.lane_model import NotStatic, evaluate, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Advice, Answer
from hipscope.formulas.propose.rule import rewrite

NAME = "structure_of_arrays"
_LOAD_BYTES = 16  # the most that a lane loads at once: structures up to it are read whole


@rewrite(NAME, "Memory", "memoryAccess", advice=True, rank=40)
def structure_of_arrays(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, finding: Finding | None = None
) -> Answer:
    """Names the member that could lie in an array of its own, and how far apart its values are.

    Needs: recorded launches, and an access whose lanes use one member of elements side by side.

    Results: advice alone.
    """
    if not facts.launches:
        return "no captured launch shows the shape of the workgroups"
    given = pointers_of(kernel, facts)
    found = [s for s in kernel.subscripts if s.base in given and len(s.indices) == 1]
    lines = range(finding.line, finding.end_line + 1) if finding is not None else range(0)
    constants = parse(source).constants
    for access in sorted(found, key=lambda s: s.node.start_point.row + 1 not in lines):
        member, size = _member(access), facts.bytes_of(given[access.base])
        if member is None or size is None or size <= _LOAD_BYTES:
            continue
        try:
            wave = wave_values(
                kernel, facts.launches[0], constants, at=access.node, wave_size=facts.wave_size
            )
            apart = _side_by_side(evaluate(access.indices[0], wave))
        except NotStatic:
            continue
        if apart:
            return Advice(
                NAME,
                f"Keep `{member}` of all elements of `{access.base}` side by side (a structure of arrays): as it is, "
                f"the next lane's lies {size} bytes further on",
                "how data lie in memory is decided in host code, where only launches are edited",
            )
    return "no access has lanes that use one member of a large structure each"


def _member(access: Subscript) -> str | None:
    """The member that is used of the element, as in `p[i].x`."""
    outer = access.node.parent
    member = outer.child_by_field_name("field") if outer is not None else None
    return text_of(member) if member is not None else None


def _side_by_side(index: NDArray[np.int64]) -> bool:
    """Whether most lanes use the element next to that of the lane before."""
    return bool(2 * np.count_nonzero(np.abs(np.diff(index)) == 1) > len(index))
