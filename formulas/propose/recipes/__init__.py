"""The deterministic rewrites: which recipes answer which formula.

A recipe is a plain function of the source, the kernel's syntax, the finding and the captured launches. It gives
candidates, a Family of them to sweep, Advice that names what cannot be proved, or a Refusal that names the
precondition that does not hold. It proves nothing itself: the judge does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Family, Proposal, Refusal
from hipscope.formulas.propose.loop_directives import settled
from hipscope.formulas.propose.recipes import (
    advice,
    ask_first,
    block_coarsening,
    block_reduce,
    cheaper_calls,
    constant_table,
    data_layout,
    division,
    dpp_shuffle,
    fast_math,
    fewer_workgroups,
    fixed_trips,
    float_math,
    hoist_guard,
    hoist_loads,
    index_swap,
    launch_bounds,
    lds_column,
    lds_histogram,
    lds_tile,
    masked_loads,
    merge_branches,
    native_atomic,
    packed_float,
    pad_lds,
    prefetch,
    reciprocal,
    register_cache,
    register_sum,
    register_tile,
    restrict,
    scalar_replacement,
    sequential_tree,
    sincos,
    sink_stores,
    skip_zeros,
    tile_transpose,
    uniform_table,
    unroll,
    wave_reduce,
    wave_search,
    wave_sum,
    wave_tree,
    wide_stores,
    wrap_around,
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
        lds_tile.propose,
        index_swap.propose,
        restrict.propose,
        register_cache.propose,
        scalar_replacement.propose,
        data_layout.propose,
    ),
    "atomicContention": (
        native_atomic.propose,
        block_reduce.propose,
        block_coarsening.propose,
        fewer_workgroups.propose,
        register_sum.propose,
        wave_reduce.propose,
        lds_histogram.propose,
        skip_zeros.propose,
        ask_first.propose,
    ),
    "registerPressure": (launch_bounds.propose, unroll.limit),
    "branchDivergence": (
        wave_sum.propose,
        wave_search.propose,
        sequential_tree.propose,
        merge_branches.propose,
        advice.regroup_work,
    ),
    "memoryLocality": (
        lds_tile.propose,
        xcd_remap.propose,
        restrict.propose,
        register_cache.propose,
        scalar_replacement.propose,
    ),
    "latencyHiding": (
        native_atomic.propose,
        lds_tile.propose,
        fixed_trips.propose,
        unroll.deepen,
        restrict.propose,
        launch_bounds.propose,
    ),
    "precision": (
        float_math.propose,
        sincos.propose,
        cheaper_calls.propose,
        division.propose,
        reciprocal.propose,
    ),
    "launchConfig": (packed_float.propose, advice.launch_shape),
}
# What is tried on every hot kernel, whatever was found in it.
ANYWHERE: tuple[Recipe, ...] = (
    constant_table.propose, dpp_shuffle.propose, fixed_trips.propose, hoist_guard.propose, hoist_loads.propose,
    lds_column.propose, lds_tile.propose, masked_loads.propose, prefetch.propose, register_tile.propose,
    sequential_tree.propose, sink_stores.propose, uniform_table.propose, wave_search.propose,
    wave_sum.propose, wave_tree.propose, wide_stores.propose, wrap_around.propose,
)  # fmt: skip
# Those that read no more than one function: they answer of those that a kernel calls as of the kernel itself.
IN_FUNCTIONS: frozenset[Recipe] = frozenset(
    {
        cheaper_calls.propose, constant_table.propose, division.propose, dpp_shuffle.propose, fast_math.advise,
        fast_math.propose, fixed_trips.propose, float_math.propose, masked_loads.propose, native_atomic.propose,
        reciprocal.propose, sincos.propose, skip_zeros.propose, wide_stores.propose,
        wrap_around.propose,
    }
)  # fmt: skip
# Those whose text the host's compiler does not take.
FOR_THE_DEVICE: frozenset[Recipe] = frozenset({cheaper_calls.propose, fast_math.propose, fast_math.advise})
# Those that change nothing for any caller, the host included, where they keep every bit and assume nothing.
FOR_ANY_CALLER: frozenset[Recipe] = frozenset(
    {constant_table.propose, division.propose, fixed_trips.propose, wrap_around.propose}
)
# What the search over a kernel's variants says itself of every hot kernel, and what gives only advice.
_SEARCHED: tuple[Recipe, ...] = (
    unroll.deepen, unroll.limit, restrict.propose, launch_bounds.propose, advice.launch_shape, advice.regroup_work,
)  # fmt: skip
# Less precise: only when the project asks for them.
FAST_MATH: dict[str, tuple[Recipe, ...]] = {"precision": (fast_math.propose,)}
FAST_MATH_ADVICE: dict[str, tuple[Recipe, ...]] = {"precision": (fast_math.advise,)}

# All of them by name.
ALL_RECIPES: dict[str, Recipe] = {
    recipe.__module__.rpartition(".")[2]
    + ("" if recipe.__name__ == "propose" else f".{recipe.__name__}"): recipe
    for recipes in (ANYWHERE, *RECIPES.values(), *FAST_MATH.values())
    for recipe in recipes
}


def ask_recipe(
    recipe: Recipe, source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> Proposal:
    """The recipe's answer; a refusal that names the defect where the recipe itself fails: it is one of many, and the
    others are worth asking.
    """
    try:
        return _with_directives(source, recipe(source, kernel, finding, facts))
    except Exception as error:
        name = recipe.__module__.rpartition(".")[2]
        return Refusal(
            name, f"it has a defect of its own that this code brings out ({type(error).__name__}: {error})"
        )


def _with_directives(source: bytes, answer: Proposal) -> Proposal:
    """The answer with each loop pragma before its loop."""

    def kept(candidate: Candidate) -> Candidate:
        return replace(candidate, text=settled(source, candidate.text))

    if isinstance(answer, Family):
        return replace(answer, candidates=tuple(map(kept, answer.candidates)))
    return [*map(kept, answer)] if isinstance(answer, list) else answer


def recipes_for(formula: str, *, approximate: bool = False) -> tuple[Recipe, ...]:
    """The recipes that answer a formula; those that give up precision only when the user has asked for them, else as
    advice.
    """
    return RECIPES.get(formula, ()) + (FAST_MATH if approximate else FAST_MATH_ADVICE).get(formula, ())


def further_recipes(asked: Collection[str]) -> tuple[Recipe, ...]:
    """The recipes that no finding of these formulas has asked: the time decides what a rewrite is worth, whether or not
    a formula saw the reason.
    """
    known = {recipe for formula in asked for recipe in RECIPES.get(formula, ())} | set(_SEARCHED)
    every = (recipe for recipes in (ANYWHERE, *RECIPES.values()) for recipe in recipes)
    return tuple(recipe for recipe in dict.fromkeys(every) if recipe not in known)
