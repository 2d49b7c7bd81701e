"""Unroll factors: more loads in flight where a loop waits for them, fewer copies where registers are spilled.

`deepen` (latencyHiding) unrolls innermost loops that load from global memory, so that several loads are started before
the first is waited for. `limit` (registerPressure) takes full unrolling back. The order of all floating-point
operations stays as it is; the sweep drops factors that cost waves or spill.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.kernel.loops import counted_loop, stepped_names
from hipscope.analysis.source.nodes import BARRIERS, LOOPS, called, child_of, names_in, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Candidate, Family, Proposal, Refusal
from hipscope.formulas.propose.rule import rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import style_of
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_splice, pragma_text
from hipscope.formulas.propose.splice import apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

_FACTORS = (4, 8, 2)
_LIMITS = (4, 1)
_SHORT = 8  # trips of a constant loop that the compiler unrolls completely by itself


@dataclass(frozen=True)
class _Loop:
    """A `for` loop and the `#pragma unroll` before it, if there is one."""

    node: Node
    pragma: str | None


@rewrite("unroll", "Loops and branches", "latencyHiding", searched=True, rank=26)
def deepen(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """`#pragma unroll` on innermost loops that load.

    Needs: no barrier, no atomic, not unrolled already.
    """
    name = "unroll"
    reasons: list[str] = []
    chosen: list[_Loop] = []
    for loop in _for_loops(source, kernel):
        reason = _why_not_deeper(loop, kernel, facts)
        if reason is None:
            chosen.append(loop)
        else:
            reasons.append(f"the loop on line {loop.node.start_point.row + 1} {reason}")
    if finding is not None:
        at_line = [c for c in chosen if c.node.start_point.row < finding.line <= c.node.end_point.row + 1]
        chosen = at_line or chosen
    if not chosen:
        return Refusal(name, "; ".join(reasons) if reasons else "the kernel has no `for` loop")
    return Family(
        tuple(
            _candidate(
                name, source, kernel, chosen, factor,
                f"The loads of {factor} steps are started before the first one is waited for; every addition happens "
                "in the same order, so results stay the same bit for bit.",
            )
            for factor in _FACTORS
        )
    )  # fmt: skip


@rewrite("limit_unroll", "Loops and branches", "registerPressure", searched=True, rank=34)
def limit(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """A smaller `#pragma unroll`.

    Needs: spills; no array of the thread is indexed by the counter.
    """
    del finding
    name = "limit_unroll"
    if facts.needs is not None and not (facts.needs.scratch or facts.needs.vgpr_spills):
        return Refusal(name, "the kernel spills no registers")
    reasons: list[str] = []
    chosen: list[_Loop] = []
    for loop in _for_loops(source, kernel):
        reason = _why_not_less(loop, kernel)
        if reason is None:
            chosen.append(loop)
        elif loop.pragma is not None:
            reasons.append(f"the loop on line {loop.node.start_point.row + 1} {reason}")
    if not chosen:
        return Refusal(
            name, "; ".join(reasons) if reasons else "no loop of the kernel is unrolled by a pragma"
        )
    return Family(
        tuple(
            _candidate(
                name, source, kernel, chosen, factor,
                "Fewer values are alive at the same time, so fewer are spilled to memory; results stay the same bit "
                "for bit.",
            )
            for factor in _LIMITS
        )
    )  # fmt: skip


def _for_loops(source: bytes, kernel: KernelSyntax) -> list[_Loop]:
    loops = [node for node in walk(kernel.body_node) if node.type == "for_statement"]
    spans = [pragma_text(source, node) for node in loops]
    texts = [source[slice(*span)].decode("utf-8", "replace") if span is not None else None for span in spans]
    return [_Loop(node, text) for node, text in zip(loops, texts, strict=True)]


def _why_not_deeper(loop: _Loop, kernel: KernelSyntax, facts: LaunchFacts) -> str | None:
    body = child_of(loop.node, "body")
    if any(n.type in LOOPS for n in walk(body)):
        return "has another loop inside"
    if loop.pragma is not None and re.search(r"nounroll|unroll\s*\(?\s*1\b", loop.pragma) is None:
        return "is unrolled already"
    if any(called(n) in BARRIERS or (called(n) or "").startswith("atomic") for n in walk(body)):
        return "has a barrier or an atomic operation"
    pointers = pointers_of(kernel, facts)
    inside = [s for s in kernel.subscripts if body.start_byte <= s.span.start < body.end_byte]
    if not any(s.use == "read" and s.base in pointers for s in inside):
        return "loads nothing from a kernel argument"
    counted = counted_loop(loop.node)
    trips = None if isinstance(counted, str) else counted.trips()
    if trips is not None and trips <= _SHORT:
        return f"has {trips} steps, which the compiler unrolls itself"
    return None


def _why_not_less(loop: _Loop, kernel: KernelSyntax) -> str | None:
    if loop.pragma is None:
        return "has no pragma"
    factor = re.search(r"unroll\s*\(?\s*(\d+)", loop.pragma)
    if "nounroll" in loop.pragma or (factor is not None and int(factor[1]) <= _LIMITS[0]):
        return "is hardly unrolled"
    counters = stepped_names(loop.node)
    arrays = {
        text_of(child_of(d, "declarator"))
        for d in walk(kernel.body_node)
        if d.type == "array_declarator" and not _is_shared(d)
    }
    for subscript in kernel.subscripts:
        inside = loop.node.start_byte <= subscript.span.start < loop.node.end_byte
        if inside and subscript.base in arrays and any(counters & names_in(i) for i in subscript.indices):
            return f"indexes `{subscript.base}` by its counter: only unrolled can that stay in registers"
    return None


def _is_shared(declarator: Node) -> bool:
    around = declarator.parent
    while around is not None and around.type != "declaration":
        around = around.parent
    return around is not None and any(text_of(c) == "__shared__" for c in around.children)


def _candidate(
    name: str, source: bytes, kernel: KernelSyntax, loops: list[_Loop], factor: int, expected: str
) -> Candidate:
    style = style_of(source, kernel)
    splices = [
        pragma_splice(source, loop.node, f"unroll {factor}", style.newline, style.step) for loop in loops
    ]
    lines = ", ".join(str(loop.node.start_point.row + 1) for loop in loops)
    what = "loop on line" if len(loops) == 1 else "loops on lines"
    return Candidate(
        recipe=name,
        title=f"Unroll the {what} {lines} {'not at all' if factor == 1 else f'by {factor}'}",
        text=apply_splices(source, splices),
        expected=expected,
    )
