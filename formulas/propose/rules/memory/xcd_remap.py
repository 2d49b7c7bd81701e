"""memoryLocality: give each XCD a contiguous range of the workgroups, so that neighbours share its L2.

The hardware deals workgroups round-robin to the XCDs. The new number of a workgroup is a bijection of the old one for
any grid, and what a kernel may rely on, that each number occurs once, stays true. Needs a kernel that neither waits for
other workgroups nor calls functions that ask for the number themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import relies_on_others
from hipscope.analysis.source.nodes import text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import at_start, style_of
from hipscope.formulas.propose.rules.shared.preconditions import (
    first_refusal,
    no_helper_asks_for_the_workgroup,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

_X = ("blockIdx.x", "hipBlockIdx_x")
_Y = ("blockIdx.y", "hipBlockIdx_y")
_Z = ("blockIdx.z", "hipBlockIdx_z")


@dataclass(frozen=True)
class _Subject:
    """A kernel with its launches, and where it names its workgroup."""

    kernel: KernelSyntax
    facts: LaunchFacts
    uses: tuple[Node, ...]

    def asks(self, names: tuple[str, ...]) -> bool:
        """The kernel asks for this coordinate of its workgroup."""
        return any(text_of(n) in names for n in self.uses)

    @property
    def dimensions(self) -> int:
        """How many dimensions the grid has, in some launch or by what the kernel asks for."""
        known = [d for d, names in ((2, _Y), (3, _Z)) if self.asks(names)]
        known += [d for launch in self.facts.launches for d in (2, 3) if _extent(launch, d - 1) > 1]
        return max(known, default=1)


def _extent(launch: LaunchFact, dimension: int) -> int:
    """How many workgroups the grid has in a dimension."""
    return launch.grid[dimension] // launch.workgroup[dimension]


def _several_xcds(subject: _Subject) -> str | None:
    return None if subject.facts.xcds >= 2 else "the device has one XCD"


def _known_grid(subject: _Subject) -> str | None:
    return None if subject.facts.launches else "no captured launch shows the shape of the grid"


def _no_order_of_workgroups(subject: _Subject) -> str | None:
    why = relies_on_others(subject.kernel)
    return f"the kernel uses {why}: workgroups may rely on the order in which they start" if why else None


def _no_atomic_with_a_result(subject: _Subject) -> str | None:
    used = next((a for a in subject.kernel.atomics if a.statement is None), None)
    return None if used is None else f"the result of the {used.function} on line {used.span.line} is used"


def _no_helper_that_asks(subject: _Subject) -> str | None:
    return no_helper_asks_for_the_workgroup(subject.kernel)


def _uses_its_number(subject: _Subject) -> str | None:
    return None if subject.asks(_X) else "the kernel does not use `blockIdx.x`"


def _enough_workgroups(subject: _Subject) -> str | None:
    groups = max(math.prod(_extent(launch, d) for d in range(3)) for launch in subject.facts.launches)
    return None if groups >= 2 * subject.facts.xcds else f"there are only {groups} workgroups"


_PRECONDITIONS = (
    _several_xcds,
    _known_grid,
    _no_order_of_workgroups,
    _no_atomic_with_a_result,
    _no_helper_that_asks,
    _uses_its_number,
    _enough_workgroups,
)


@rewrite("xcd_remap", "Memory", "memoryLocality", rank=28)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Gives each XCD a contiguous range of workgroups.

    Needs: no waiting for, and no counting of, other workgroups.
    """
    named = (n for n in walk(kernel.body_node) if n.type in ("field_expression", "identifier"))
    subject = _Subject(kernel, facts, tuple(n for n in named if text_of(n) in (*_X, *_Y, *_Z)))
    if (why := first_refusal(subject, _PRECONDITIONS)) is not None:
        return why
    return edited(
        _rewrite(source, subject),
        title=f"Give each of the {facts.xcds} XCDs a contiguous range of workgroups",
        expected=(
            "Workgroups that share data then share an L2, so that fewer bytes come from memory; results stay "
            "the same bit for bit."
        ),
        only_for="memoryLocality",
    )


def _rewrite(source: bytes, subject: _Subject) -> bytes:
    facts, dimensions = subject.facts, subject.dimensions
    style = style_of(source, subject.kernel)
    xcd, rank, group = style.fresh("xcd"), style.fresh("rank"), style.fresh("group")
    share, rest = style.fresh("groups_per_xcd"), style.fresh("rest")
    number = style.fresh("block") if dimensions > 1 else "blockIdx.x"
    count = style.fresh("blocks") if dimensions > 1 else "gridDim.x"
    lines = [
        f"// Workgroups are dealt round-robin to {facts.xcds} XCDs: neighbours are to share the L2 of one."
    ]
    if dimensions > 1:
        lines += [
            f"const unsigned {count} = {' * '.join(f'gridDim.{axis}' for axis in 'xyz'[:dimensions])};",
            f"const unsigned {number} = {_NUMBER[dimensions]};",
        ]
    lines += [
        f"const unsigned {xcd} = {number} % {facts.xcds}, {rank} = {number} / {facts.xcds};",
        f"const unsigned {share} = {count} / {facts.xcds}, {rest} = {count} % {facts.xcds};",
        f"const unsigned {group} = {xcd} * {share} + ({xcd} < {rest} ? {xcd} : {rest}) + {rank};",
    ]
    names = dict.fromkeys(_X, group)
    for axis, asked, value in _coordinates(group, dimensions):
        names |= dict.fromkeys(asked, style.fresh(f"block_{axis}"))
        if subject.asks(asked):
            lines.append(f"const unsigned {names[asked[0]]} = {value};")
    splices = [at_start(source, subject.kernel, style, style.lines(lines))]
    splices += [Splice(n.start_byte, n.end_byte, names[text_of(n)].encode()) for n in subject.uses]
    return apply_splices(source, splices)


_NUMBER = {
    2: "blockIdx.x + gridDim.x * blockIdx.y",
    3: "blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)",
}


def _coordinates(group: str, dimensions: int) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The coordinates of a workgroup: axis, what the kernel calls it, and its value by the new number."""
    if dimensions == 1:
        return
    yield "x", _X, f"{group} % gridDim.x"
    yield "y", _Y, f"{group} / gridDim.x" + (" % gridDim.y" if dimensions > 2 else "")
    if dimensions > 2:
        yield "z", _Z, f"{group} / gridDim.x / gridDim.y"
