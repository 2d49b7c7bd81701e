"""memoryLocality: give each XCD a contiguous range of the workgroups, so that neighbours share its L2.

The hardware deals workgroups round-robin to the XCDs. The new number of a workgroup is a bijection of the old one for
any grid, and what a kernel may rely on, that each number occurs once, stays true. Needs a kernel that neither waits for
other workgroups nor calls functions that ask for the number themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.edit_helpers import at_start, style_of
from hipscope.formulas.propose.recipes.shared.preconditions import first_refusal
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "xcd_remap"

_X = ("blockIdx.x", "hipBlockIdx_x")
_Y = ("blockIdx.y", "hipBlockIdx_y")
_OTHERS = re.compile(
    r"\b(__threadfence\w*|volatile|cooperative_groups|__hip_atomic\w*|__atomic\w*|blockIdx\.z)\b"
)


@dataclass(frozen=True)
class _Subject:
    """A kernel with its launches, and where it names its workgroup."""

    kernel: KernelSyntax
    facts: LaunchFacts
    uses: tuple[Node, ...]

    @property
    def rows(self) -> bool:
        """The grid has rows, or the kernel asks which one it is in."""
        flat = all(launch.grid[1] == launch.workgroup[1] for launch in self.facts.launches)
        return not flat or any(text_of(n) in _Y for n in self.uses)


def _several_xcds(subject: _Subject) -> str | None:
    return None if subject.facts.xcds >= 2 else "the device has one XCD"


def _known_grid(subject: _Subject) -> str | None:
    return None if subject.facts.launches else "no captured launch shows the shape of the grid"


def _at_most_two_dimensions(subject: _Subject) -> str | None:
    flat = all(launch.grid[2] == 1 for launch in subject.facts.launches)
    return None if flat else "the grid has three dimensions"


def _no_order_of_workgroups(subject: _Subject) -> str | None:
    if (match := _OTHERS.search(text_of(subject.kernel.body_node))) is None:
        return None
    return f"the kernel uses `{match[0]}`: workgroups may rely on the order in which they start"


def _no_atomic_with_a_result(subject: _Subject) -> str | None:
    used = next((a for a in subject.kernel.atomics if a.statement is None), None)
    return None if used is None else f"the result of the {used.function} on line {used.span.line} is used"


def _no_helper_that_asks(subject: _Subject) -> str | None:
    built_ins = subject.kernel.through.built_ins
    helper = next((built_ins[name] for name in ("blockIdx", "hipBlockIdx") if name in built_ins), None)
    return (
        None
        if helper is None
        else f"`{helper}`, which the kernel uses, asks for the workgroup's number itself"
    )


def _uses_its_number(subject: _Subject) -> str | None:
    used = any(text_of(n) in _X for n in subject.uses)
    return None if used else "the kernel does not use `blockIdx.x`"


def _enough_workgroups(subject: _Subject) -> str | None:
    groups = max(
        launch.grid[0] // launch.workgroup[0] * (launch.grid[1] // launch.workgroup[1])
        for launch in subject.facts.launches
    )
    return None if groups >= 2 * subject.facts.xcds else f"there are only {groups} workgroups"


_PRECONDITIONS = (
    _several_xcds,
    _known_grid,
    _at_most_two_dimensions,
    _no_order_of_workgroups,
    _no_atomic_with_a_result,
    _no_helper_that_asks,
    _uses_its_number,
    _enough_workgroups,
)


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate that renumbers the workgroups (of a two-dimensional grid along its rows)."""
    del finding
    named = (n for n in walk(kernel.body_node) if n.type in ("field_expression", "identifier"))
    subject = _Subject(kernel, facts, tuple(n for n in named if text_of(n) in (*_X, *_Y)))
    if (why := first_refusal(subject, _PRECONDITIONS)) is not None:
        return Refusal(NAME, why)
    return [
        Candidate(
            recipe=NAME,
            title=f"Give each of the {facts.xcds} XCDs a contiguous range of workgroups",
            text=_rewrite(source, subject),
            expected="Workgroups that share data then share an L2, so that fewer bytes come from memory; results stay "
            "the same bit for bit.",
            only_for="memoryLocality",
        )
    ]


def _rewrite(source: bytes, subject: _Subject) -> bytes:
    facts, uses = subject.facts, subject.uses
    style = style_of(source, subject.kernel)
    xcd, rank, group = style.fresh("xcd"), style.fresh("rank"), style.fresh("group")
    share, rest = style.fresh("groups_per_xcd"), style.fresh("rest")
    number = style.fresh("block") if subject.rows else "blockIdx.x"
    count = style.fresh("blocks") if subject.rows else "gridDim.x"
    column, row = style.fresh("block_x"), style.fresh("block_y")
    lines = [
        f"// Workgroups are dealt round-robin to {facts.xcds} XCDs: neighbours are to share the L2 of one."
    ]
    if subject.rows:
        lines += [
            f"const unsigned {count} = gridDim.x * gridDim.y;",
            f"const unsigned {number} = blockIdx.x + gridDim.x * blockIdx.y;",
        ]
    lines += [
        f"const unsigned {xcd} = {number} % {facts.xcds}, {rank} = {number} / {facts.xcds};",
        f"const unsigned {share} = {count} / {facts.xcds}, {rest} = {count} % {facts.xcds};",
        f"const unsigned {group} = {xcd} * {share} + ({xcd} < {rest} ? {xcd} : {rest}) + {rank};",
    ]
    names = dict.fromkeys(_X, column if subject.rows else group)
    if subject.rows:
        lines.append(f"const unsigned {column} = {group} % gridDim.x;")
        if any(text_of(n) in _Y for n in uses):
            lines.append(f"const unsigned {row} = {group} / gridDim.x;")
        names |= dict.fromkeys(_Y, row)
    splices = [at_start(source, subject.kernel, style, style.lines(lines))]
    splices += [Splice(n.start_byte, n.end_byte, names[text_of(n)].encode()) for n in uses]
    return apply_splices(source, splices)
