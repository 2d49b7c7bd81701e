"""memoryAccess: accesses are strided along x and contiguous along y. Let the lanes run along y instead.

Each thread takes over the work of another thread of its workgroup, so the workgroup does exactly the same work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hipscope.analysis.source.nodes import LOOPS, ancestors, text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.edit_helpers import at_start, style_of
from hipscope.formulas.propose.recipes.shared.thread_renumbering import Access, read_shape, unseen
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "index_swap"
_TITLE = "Let neighbouring lanes work along the direction in which memory is contiguous"

_THREAD = ("threadIdx.x", "threadIdx.y", "hipThreadIdx_x", "hipThreadIdx_y")


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate, when exchanging x and y helps: of the accesses in the most loops, if not all, clearly."""
    shape = read_shape(kernel, parse(source), facts)
    if isinstance(shape, str):
        return Refusal(NAME, shape)
    if (advice := unseen(NAME, _TITLE, kernel)) is not None:
        return advice
    if not any(a.helps for a in shape.accesses):
        return Refusal(NAME, "no access would touch fewer cache lines with x and y of the threads exchanged")
    often = [a for a in shape.accesses if _loops(a, kernel) >= _most_loops(shape.accesses, kernel)]
    worse = next((a for a in often if a.exchanged > a.lines), None)
    if worse is not None and 2 * sum(a.exchanged for a in often) > sum(a.lines for a in often):
        return Refusal(NAME, f"`{text_of(worse.subscript.node)}` would touch more cache lines than now")
    style = style_of(source, kernel)
    lane, x, y = style.fresh("thread_in_block"), style.fresh("thread_x"), style.fresh("thread_y")
    texts = [
        "// Lanes run along y, the direction in which memory is contiguous.",
        f"const unsigned {lane} = threadIdx.x + blockDim.x * threadIdx.y;",
        f"const unsigned {x} = {lane} / blockDim.y;",
        f"const unsigned {y} = {lane} % blockDim.y;",
    ]
    splices = [at_start(source, kernel, style, style.lines(texts))]
    for node in walk(kernel.body_node):
        if node.type in ("field_expression", "identifier") and text_of(node) in _THREAD:
            name = x if text_of(node).endswith("x") else y
            splices.append(Splice(node.start_byte, node.end_byte, name.encode()))
    before, after = max(a.lines for a in often), max(a.exchanged for a in often)
    return [
        Candidate(
            recipe=NAME,
            title="Let neighbouring lanes work along y",
            text=apply_splices(source, splices),
            expected=f"The worst access of a wave touches {after} cache lines instead of {before}; results stay the "
            "same bit for bit.",
        )
    ]


def _most_loops(accesses: Iterable[Access], kernel: KernelSyntax) -> int:
    """The most loops around an access that gains."""
    return max(_loops(a, kernel) for a in accesses if a.helps)


def _loops(access: Access, kernel: KernelSyntax) -> int:
    return sum(node.type in LOOPS for node in ancestors(access.subscript.node, kernel.body_node))
