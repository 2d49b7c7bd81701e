"""Unroll factors: more loads in flight where a loop waits for them.

Innermost loops that load from global memory are unrolled, so that several loads are started before the first is waited
for. The order of all floating-point operations stays as it is; the sweep drops factors that cost waves or spill.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import BARRIERS, LOOPS, called, child_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Answer, Candidate, Family
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import style_of
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_splice, pragma_text

_FACTORS = (4, 8, 2)
_SHORT = 8  # trips of a constant loop that the compiler unrolls completely by itself


@rewrite("unroll", "Loops and branches", "latencyHiding", searched=True, rank=26)
def deepen(source: bytes, kernel: KernelSyntax, facts: LaunchFacts, finding: Finding | None = None) -> Answer:
    """`#pragma unroll` on innermost loops that load.

    Needs: no barrier, no atomic, not unrolled already.
    """
    reasons: list[str] = []
    chosen: list[Node] = []
    for loop in (node for node in walk(kernel.body_node) if node.type == "for_statement"):
        reason = _why_not_deeper(loop, source, kernel, facts)
        if reason is None:
            chosen.append(loop)
        else:
            reasons.append(f"the loop on line {loop.start_point.row + 1} {reason}")
    if finding is not None:
        at_line = [c for c in chosen if c.start_point.row < finding.line <= c.end_point.row + 1]
        chosen = at_line or chosen
    if not chosen:
        return "; ".join(reasons) if reasons else "the kernel has no `for` loop"
    return Family(tuple(_candidate(source, kernel, chosen, factor) for factor in _FACTORS))


def _why_not_deeper(loop: Node, source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> str | None:
    body, pragma = child_of(loop, "body"), pragma_text(source, loop)
    if any(n.type in LOOPS for n in walk(body)):
        return "has another loop inside"
    if pragma is not None and re.search(rb"nounroll|unroll\s*\(?\s*1\b", source[slice(*pragma)]) is None:
        return "is unrolled already"
    if any(called(n) in BARRIERS or (called(n) or "").startswith("atomic") for n in walk(body)):
        return "has a barrier or an atomic operation"
    pointers = pointers_of(kernel, facts)
    inside = [s for s in kernel.subscripts if body.start_byte <= s.span.start < body.end_byte]
    if not any(s.use == "read" and s.base in pointers for s in inside):
        return "loads nothing from a kernel argument"
    counted = counted_loop(loop)
    trips = None if isinstance(counted, str) else counted.trips()
    if trips is not None and trips <= _SHORT:
        return f"has {trips} steps, which the compiler unrolls itself"
    return None


def _candidate(source: bytes, kernel: KernelSyntax, loops: list[Node], factor: int) -> Candidate:
    style = style_of(source, kernel)
    splices = [pragma_splice(source, loop, f"unroll {factor}", style.newline, style.step) for loop in loops]
    lines = ", ".join(str(loop.start_point.row + 1) for loop in loops)
    return edited(
        source,
        splices,
        title=f"Unroll the {'loop on line' if len(loops) == 1 else 'loops on lines'} {lines} by {factor}",
        expected=f"The loads of {factor} steps are started before the first one is waited for; every addition happens "
        "in the same order, so results stay the same bit for bit.",
    )
