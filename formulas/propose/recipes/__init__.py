"""The deterministic rewrites: which recipes answer which formula.

A recipe is a plain function of the source, the kernel's syntax, the finding and the captured launches. It gives
candidates, a Family of them to sweep, Advice that names what cannot be proved, or a Refusal that names the
precondition that does not hold. It proves nothing itself: the judge does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Proposal
from hipscope.formulas.propose.recipes import (
    advice,
    block_reduce,
    data_layout,
    division,
    fast_math,
    float_math,
    index_swap,
    launch_bounds,
    lds_histogram,
    merge_branches,
    packed_float,
    pad_lds,
    reciprocal,
    register_cache,
    restrict,
    sequential_tree,
    skip_zeros,
    tile_transpose,
    unroll,
    xcd_remap,
    xor_swizzle,
)

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

Recipe = Callable[[bytes, KernelSyntax, "Finding | None", LaunchFacts], Proposal]

RECIPES: dict[str, tuple[Recipe, ...]] = {
    "bankConflict": (pad_lds.propose, xor_swizzle.propose, sequential_tree.propose),
    "memoryAccess": (
        tile_transpose.propose,
        index_swap.propose,
        restrict.propose,
        register_cache.propose,
        data_layout.propose,
    ),
    "atomicContention": (block_reduce.propose, lds_histogram.propose, skip_zeros.propose),
    "registerPressure": (launch_bounds.propose, unroll.limit),
    "branchDivergence": (sequential_tree.propose, merge_branches.propose, advice.regroup_work),
    "memoryLocality": (xcd_remap.propose, restrict.propose, register_cache.propose),
    "latencyHiding": (unroll.deepen, restrict.propose, launch_bounds.propose),
    "precision": (float_math.propose, division.propose, reciprocal.propose),
    "launchConfig": (packed_float.propose, advice.launch_shape),
}
# Less precise: only when the project asks for them.
FAST_MATH: dict[str, tuple[Recipe, ...]] = {"precision": (fast_math.propose,)}
FAST_MATH_ADVICE: dict[str, tuple[Recipe, ...]] = {"precision": (fast_math.advise,)}


def recipes_for(formula: str, *, approximate: bool = False) -> tuple[Recipe, ...]:
    """The recipes that answer a formula; those that give up precision only when the user has asked for them, else as
    advice.
    """
    return RECIPES.get(formula, ()) + (FAST_MATH if approximate else FAST_MATH_ADVICE).get(formula, ())
