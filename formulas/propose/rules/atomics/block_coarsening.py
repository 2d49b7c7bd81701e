"""atomicContention: every workgroup adds its share to one address. Let a few workgroups do the shares of many.

The kernel's body becomes a loop over the numbers of workgroups; what each would have added meets in registers, and one
atomic is left for 4, 8 or 16 of them (thread-block coarsening). The launch stays as it is: the workgroups that have
nothing to do end at once. Needs what `block_reduce` needs, an address that is the same for all workgroups, and a kernel
that relies on no order among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from hipscope.analysis.kernel.effects import relies_on_others
from hipscope.analysis.source.nodes import LOOPS, ancestors, code_of, names_in, text_of, walk
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.atomic_sites import AtomicSite, movable_sites
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    WORKGROUP_NUMBERS,
    at_end,
    at_start,
    indented,
    only_the_first_workgroups,
    style_of,
)
from hipscope.formulas.propose.rules.shared.preconditions import (
    first_refusal,
    no_helper_asks_for_the_workgroup,
    shares_of,
)
from hipscope.formulas.propose.rules.shared.workgroup_reduction import (
    accumulators,
    declarations,
    declared_in,
    depends_on_order,
    gathered,
    mixed_operations,
    reduction,
    workgroup_site,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

_WHOLE = re.compile(r"\bblockIdx\b(?!\s*\.)")
# Where a kernel takes several shares itself.
_OTHERS = re.compile(r"\b(this_thread_block|gridDim|hipGridDim_[xyz])\b")


@rewrite("block_coarsening", "Atomics", "atomicContention", rank=42)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """The first workgroups do the work of 4, 8 or 16 each and add once.

    Needs: `atomicAdd` and the like as for `block_reduce`, to one address for all workgroups; 64 workgroups left to
    work; no order among workgroups, no `gridDim`, no way out of a kernel with a barrier.
    Results: integers: same bits; floats in another order.
    """
    if (why := first_refusal(kernel, _PRECONDITIONS)) is not None:
        return why
    sites = movable_sites(kernel, facts, _site)
    if isinstance(sites, str):
        return sites
    if (why := mixed_operations(sites)) is not None:
        return why
    if isinstance(shares := shares_of(facts), str):
        return shares
    floating = any(depends_on_order(site) for site in sites)
    return [
        edited(
            _rewritten(source, kernel, sites, number),
            title=f"Let every workgroup do the work of {number}, then add once",
            expected=(
                f"One atomic for {number} workgroups: fewer atomics queue at the same address."
                + (" Floating-point sums are added in another order." if floating else "")
            ),
            exact=not floating,
        )
        for number in shares
    ]


def _site(atomic: Atomic, kernel: KernelSyntax, facts: LaunchFacts) -> AtomicSite | str | None:
    """An atomic on an address that is the same for all workgroups."""
    site = workgroup_site(atomic, kernel, facts)
    if not isinstance(site, AtomicSite):
        return site
    names = names_in(site.place)
    if names & {"blockIdx", *WORKGROUP_NUMBERS} or names & {text_of(name) for name in declared_in(kernel)}:
        return f"the {atomic.function} on line {atomic.span.line} goes to another address in each workgroup"
    return site


def _uses_its_number(kernel: KernelSyntax) -> str | None:
    if not any(text_of(node) in WORKGROUP_NUMBERS for node in walk(kernel.body_node)):
        return "the kernel does not use `blockIdx.x`"
    taken = _WHOLE.search(text_of(kernel.body_node))
    return "the kernel takes `blockIdx` as a whole" if taken else None


def _one_share(kernel: KernelSyntax) -> str | None:
    word = _OTHERS.search(code_of(kernel.body_node))
    why = f"`{word[0]}`" if word is not None else relies_on_others(kernel)
    return f"the kernel uses {why}: it counts with the other workgroups" if why else None


def _no_order(kernel: KernelSyntax) -> str | None:
    shared = {array.name for array in kernel.shared}
    for atomic in kernel.atomics:
        if atomic.statement is None and not (atomic.arguments and names_in(atomic.arguments[0]) & shared):
            return f"the result of the {atomic.function} on line {atomic.span.line} is used"
    return None


def _ends_in_steps(kernel: KernelSyntax) -> str | None:
    """Every way out must become a `continue` of the new loop, and no thread may miss a barrier by it."""
    for node in walk(kernel.body_node):
        line = node.start_point.row + 1
        if node.type in ("goto_statement", "labeled_statement"):
            return f"line {line} uses goto"
        if node.type == "return_statement" and not _in_lambda(node, kernel):
            if any(outer.type in LOOPS for outer in ancestors(node, kernel.body_node)):
                return f"the `return` on line {line} stands in a loop"
            if _waits(kernel):
                return f"the `return` on line {line} would leave out a barrier"
    return None


_PRECONDITIONS = (no_helper_asks_for_the_workgroup, _uses_its_number, _one_share, _no_order, _ends_in_steps)


def _rewritten(source: bytes, kernel: KernelSyntax, sites: tuple[AtomicSite, ...], number: int) -> bytes:
    style = style_of(source, kernel)
    groups = accumulators(sites, style)
    block, working = style.fresh("block"), style.fresh("working_blocks")
    loop = f"for (unsigned {block} = blockIdx.x; {block} < gridDim.x; {block} += {working}) {{"
    head = (
        style.lines(only_the_first_workgroups(working, number))
        + declarations(groups, style)
        + style.lines([loop])
    )
    sums = gathered(sites, groups, kernel, dict.fromkeys(WORKGROUP_NUMBERS, block))
    rest = [splice for splice in _in_the_loop(kernel, block) if not _inside(splice, sums)]
    start = at_start(source, kernel, style, head)
    lines = indented(source, kernel, [kernel.body.start], style, [*sums, *rest])
    again = ["\t__syncthreads();  // the next share uses the LDS again"] if _waits(kernel) else []
    splices = [start, *lines, *sums, *rest]
    splices.append(at_end(source, kernel, style, style.lines([*again, "}"]) + reduction(groups, style)))
    return apply_splices(source, splices)


def _in_the_loop(kernel: KernelSyntax, block: str) -> Iterator[Splice]:
    """The body as a step of the loop: the number is the loop's, and who is done goes on with the next share."""
    for node in walk(kernel.body_node):
        if node.type in ("field_expression", "identifier") and text_of(node) in WORKGROUP_NUMBERS:
            yield Splice(node.start_byte, node.end_byte, block.encode())
        if node.type == "return_statement" and not _in_lambda(node, kernel):
            yield Splice(node.start_byte, node.end_byte, b"continue;")


def _inside(splice: Splice, others: Iterable[Splice]) -> bool:
    return any(other.start <= splice.start and splice.end <= other.end for other in others)


def _in_lambda(node: Node, kernel: KernelSyntax) -> bool:
    return any(outer.type == "lambda_expression" for outer in ancestors(node, kernel.body_node))


def _waits(kernel: KernelSyntax) -> bool:
    """Whether the threads of a workgroup share LDS, or wait for each other."""
    words = set(re.findall(r"\w+", text_of(kernel.body_node)))
    return bool(kernel.barriers or kernel.through.together & words or "__shared__" in words)
