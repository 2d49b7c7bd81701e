"""atomicContention: many threads add to one address (or take the largest, the smallest, or bits together there). Do it
inside the workgroup, then issue one atomic.

The compiler already reduces a wave to one atomic, so this goes a level up: wave shuffles, one LDS slot per wave, one
atomic per workgroup, none when there is nothing to add. Needs the result of the atomic to be unused, an address that
is the same for the whole workgroup, and nothing else in the kernel that looks at that memory.
"""

from __future__ import annotations

from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.atomic_sites import collect_sites
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    at_end,
    at_start,
    closing_braces,
    guard_splices,
    indent_splices,
    style_of,
)
from hipscope.formulas.propose.rules.shared.workgroup_reduction import (
    accumulators,
    declarations,
    depends_on_order,
    gathered,
    in_place_of,
    key_of,
    mixed_operations,
    only_sums,
    operator_of,
    reduction,
    variable_of,
    workgroup_site,
)


@rewrite("block_reduce", "Atomics", "atomicContention", rank=41)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Adds up within the workgroup, then one atomic.

    Needs: `atomicAdd`, `Sub`, `Max` or `Min` to one address per workgroup (for integers also `Or`, `And`, `Xor`),
    also of a template's type, result unused, no other access to that memory.
    Results: integers: same bits; floats in another order.
    """
    collected = collect_sites(kernel, facts, workgroup_site)
    if isinstance(collected, str):
        return collected
    sites, returns = collected.sites, list(collected.returns)
    if (why := mixed_operations(sites)) is not None:
        return why
    style = style_of(source, kernel)
    groups = accumulators(sites, style)
    only = only_sums(sites, kernel) if not returns else []
    others = [s for s in sites if s not in only]
    changed = {key_of(s): groups[key_of(s)] for s in others}
    splices = [at_start(source, kernel, style, declarations(changed, style))] if changed else []
    splices += gathered(others, groups, kernel)
    splices += [in_place_of(s, variable_of(s, groups[key_of(s)].name, kernel)) for s in only]
    splices += guard_splices(kernel, returns)
    splices += indent_splices(source, kernel, returns, style, splices)
    splices.append(at_end(source, kernel, style, closing_braces(returns, style) + reduction(groups, style)))
    floating = any(depends_on_order(s) for s in sites)
    return edited(
        source,
        splices,
        title=(
            "Add up within the workgroup before the atomic"
            if all(operator_of(s) == "+" for s in sites)
            else "Combine within the workgroup before the atomic"
        ),
        expected=(
            "One atomic per workgroup instead of one per wave: fewer atomics queue at the same address."
            + (" Floating-point sums are added in another order." if floating else "")
        ),
        exact=not floating,
    )
