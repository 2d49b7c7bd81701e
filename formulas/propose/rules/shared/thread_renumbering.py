"""Renumbering the threads of a workgroup: the bijection that tile_transpose and index_swap stand on.

If each thread (x, y) of a workgroup does the work of thread (x', y') and (x, y) -> (x', y') is a bijection, the
workgroup does the same work. Numbering the threads along y first turns a column access into a row access. This module
finds out what such a kernel looks like and what renumbering does to its cache lines, by the lane model.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import called, child_of, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, Subscript
from hipscope.formulas.facts.lane_model import NotStatic, evaluate, lines_touched, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Advice
from hipscope.formulas.propose.rules.shared.edit_helpers import EarlyReturn, early_returns

LANE_FUNCTIONS = (
    "__shfl",
    "__ballot",
    "__any",
    "__all",
    "__lane_id",
    "__builtin_amdgcn",
    "__sync",
    "__match",
    "__activemask",
)


@dataclass(frozen=True)
class Access:
    """One access to global memory: cache lines that a wave touches as written and with lanes along another axis."""

    subscript: Subscript
    element: str
    lines: int
    exchanged: int

    @property
    def helps(self) -> bool:
        """Exchanging leaves out a quarter of the lines or more: worth timing."""
        return 4 * self.exchanged <= 3 * self.lines

    @property
    def gains(self) -> bool:
        """Exchanging helps this access clearly."""
        return self.exchanged * 2 <= self.lines


@dataclass(frozen=True)
class Shape:
    """A kernel that can be renumbered: declarations, guards, then one region of independent work."""

    launch: LaunchFact
    accesses: tuple[Access, ...]
    returns: tuple[EarlyReturn, ...]
    declarations: tuple[Node, ...]
    region: tuple[Node, ...]


def unseen(name: str, title: str, kernel: KernelSyntax) -> Advice | None:
    """The advice where the kernel accesses memory through calls that cannot be expanded."""
    first = next(iter(kernel.through.opaque), None)
    return Advice(name, title, first.sentence) if first is not None else None


def read_shape(
    kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts, *, first: str | None = None
) -> Shape | str:
    """The kernel's shape, or the precondition that does not hold.

    `first` is the axis that lanes run along after the exchange; without, it is y, of workgroups of two dimensions.
    """
    if not facts.launches:
        return "no captured launch shows the shape of the workgroups"
    if len({launch.workgroup for launch in facts.launches}) > 1:
        return "the captured launches use workgroups of different shapes"
    launch = facts.launches[0]
    bx, by, bz = launch.workgroup
    if bz != 1 and first is None:
        return f"the workgroups are {bx} x {by} x {bz}; only those of two dimensions are exchanged"
    if bz == 1 and (bx < 2 or by < 2):
        return f"the workgroups are {bx} x {by} x 1: there is no second dimension to exchange with the first"
    if kernel.barriers or kernel.shared or kernel.atomics:
        return "the threads of a workgroup already work together (LDS, barriers or atomics)"
    for node in walk(kernel.body_node):
        if (called(node) or "").startswith(LANE_FUNCTIONS) or node.type == "gnu_asm_expression":
            return f"line {node.start_point.row + 1} depends on which lanes share a wave"
    asks = {kernel.through.built_ins.get(b) for b in ("threadIdx", "hipThreadIdx", "__lane_id")} - {None}
    if asks:
        return f"`{min(map(str, asks))}`, which the kernel uses, asks for the thread's number itself"
    returns = early_returns(kernel)
    if isinstance(returns, str):
        return returns
    parts = _partition(kernel, returns, facts)
    if isinstance(parts, str):
        return parts
    accesses = _accesses(kernel, file, launch, facts, first or "y")
    if isinstance(accesses, str):
        return accesses
    return Shape(launch, accesses, tuple(returns), *parts)


def _partition(
    kernel: KernelSyntax, returns: list[EarlyReturn], facts: LaunchFacts
) -> tuple[tuple[Node, ...], tuple[Node, ...]] | str:
    """Leading declarations that read no memory (guards between them taken out) and the statements after them."""
    pointers = set(pointers_of(kernel, facts))
    guards = {r.statement.id for r in returns}
    declarations: list[Node] = []
    region: list[Node] = []
    for statement in kernel.body_node.named_children:
        if statement.type == "comment" or statement.id in guards:
            if region and statement.id in guards:
                return f"the early return on line {statement.start_point.row + 1} comes after other work"
            continue
        if statement.type == "declaration" and not region and not _reads(statement, pointers, kernel):
            declarations.append(statement)
        else:
            region.append(statement)
    return tuple(declarations), tuple(region)


def _reads(statement: Node, pointers: set[str], kernel: KernelSyntax) -> bool:
    """Whether it may read memory: it names a pointer, or calls what has one. Another name for a place reads nothing."""
    if statement.id in kernel.through.names:
        return False
    places = [s.span for s in kernel.subscripts if s.base in pointers]
    places += [o.span for o in kernel.through.opaque]
    if any(statement.start_byte <= p.start and p.end <= statement.end_byte for p in places):
        return True
    for node in walk(statement):
        if node.type in ("identifier", "field_expression") and text_of(node) in pointers:
            return True
        if node.id not in kernel.through.meanings and (
            node.type == "call_expression" and child_of(node, "function").type == "field_expression"
        ):
            return True
    return False


def _accesses(
    kernel: KernelSyntax, file: FileSyntax, launch: LaunchFact, facts: LaunchFacts, first: str
) -> tuple[Access, ...] | str:
    found: list[Access] = []
    pointers = pointers_of(kernel, facts)
    for subscript in kernel.subscripts:
        element = pointers.get(subscript.base)
        if element is None:
            continue
        size = facts.bytes_of(element)
        if size is None or len(subscript.indices) != 1:
            return f"the size of the elements of `{subscript.base}` is not known"
        lines = []
        for axis in ("x", first):
            try:
                wave = wave_values(
                    kernel,
                    launch,
                    file.constants,
                    at=subscript.node,
                    wave_size=facts.wave_size,
                    first=axis,
                )
                lines.append(lines_touched(evaluate(subscript.indices[0], wave) * size))
            except NotStatic as reason:
                return f"the address of `{text_of(subscript.node)}` cannot be worked out: {reason}"
        found.append(Access(subscript, element, *lines))
    return tuple(found)
