"""memoryLocality: give each XCD a contiguous range of the workgroups, so that neighbours share its L2.

The hardware deals workgroups round-robin to the XCDs. The new number of a workgroup is a bijection of the old one for
any grid, and what a kernel may rely on, that each number occurs once, stays true. Needs a kernel that neither waits for
other workgroups nor calls functions that ask for the number themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hipscope.analysis.source.syntax import KernelSyntax, text_of, walk
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.edit_helpers import at_start, style_of
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "xcd_remap"

_X = ("blockIdx.x", "hipBlockIdx_x")
_Y = ("blockIdx.y", "hipBlockIdx_y")
_OTHERS = re.compile(
    r"\b(__threadfence\w*|volatile|cooperative_groups|__hip_atomic\w*|__atomic\w*|blockIdx\.z)\b"
)


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate that renumbers the workgroups (of a two-dimensional grid along its rows)."""
    del finding
    if facts.xcds < 2:
        return Refusal(NAME, "the device has one XCD")
    if not facts.launches:
        return Refusal(NAME, "no captured launch tells the shape of the grid")
    if any(launch.grid[2] != 1 for launch in facts.launches):
        return Refusal(NAME, "the grid has three dimensions")
    text = text_of(kernel.body_node)
    if (match := _OTHERS.search(text)) is not None:
        return Refusal(
            NAME, f"the kernel uses `{match[0]}`: workgroups may rely on the order in which they start"
        )
    for atomic in kernel.atomics:
        if atomic.statement is None:
            return Refusal(NAME, f"the result of the {atomic.function} on line {atomic.span.line} is used")
    for built_in in ("blockIdx", "hipBlockIdx"):
        if (helper := kernel.through.built_ins.get(built_in)) is not None:
            return Refusal(NAME, f"`{helper}`, which the kernel uses, asks for the workgroup's number itself")
    uses = [
        n
        for n in walk(kernel.body_node)
        if n.type in ("field_expression", "identifier") and text_of(n) in (*_X, *_Y)
    ]
    if not any(text_of(n) in _X for n in uses):
        return Refusal(NAME, "the kernel does not use `blockIdx.x`")
    flat = all(launch.grid[1] == launch.workgroup[1] for launch in facts.launches) and not any(
        text_of(n) in _Y for n in uses
    )
    groups = [
        launch.grid[0] // launch.workgroup[0] * (launch.grid[1] // launch.workgroup[1])
        for launch in facts.launches
    ]
    if max(groups) < 2 * facts.xcds:
        return Refusal(NAME, f"there are only {max(groups)} workgroups")

    style = style_of(source, kernel)
    xcd, rank, group = style.fresh("xcd"), style.fresh("rank"), style.fresh("group")
    share, rest = style.fresh("groups_per_xcd"), style.fresh("rest")
    number = style.fresh("block") if not flat else "blockIdx.x"
    count = style.fresh("blocks") if not flat else "gridDim.x"
    column, row = style.fresh("block_x"), style.fresh("block_y")
    lines = [
        f"// Workgroups are dealt round-robin to {facts.xcds} XCDs: neighbours are to share the L2 of one."
    ]
    if not flat:
        lines += [
            f"const unsigned {count} = gridDim.x * gridDim.y;",
            f"const unsigned {number} = blockIdx.x + gridDim.x * blockIdx.y;",
        ]
    lines += [
        f"const unsigned {xcd} = {number} % {facts.xcds}, {rank} = {number} / {facts.xcds};",
        f"const unsigned {share} = {count} / {facts.xcds}, {rest} = {count} % {facts.xcds};",
        f"const unsigned {group} = {xcd} * {share} + ({xcd} < {rest} ? {xcd} : {rest}) + {rank};",
    ]
    names = dict.fromkeys(_X, group if flat else column)
    if not flat:
        lines.append(f"const unsigned {column} = {group} % gridDim.x;")
        if any(text_of(n) in _Y for n in uses):
            lines.append(f"const unsigned {row} = {group} / gridDim.x;")
        names |= dict.fromkeys(_Y, row)
    splices = [at_start(source, kernel, style, style.lines(lines))]
    splices += [Splice(n.start_byte, n.end_byte, names[text_of(n)].encode()) for n in uses]
    return [
        Candidate(
            recipe=NAME,
            title=f"Give each of the {facts.xcds} XCDs a contiguous range of workgroups",
            text=apply_splices(source, splices),
            expected="Workgroups that share data then share an L2, so that fewer bytes come from memory; results stay "
            "the same bit for bit.",
        )
    ]
