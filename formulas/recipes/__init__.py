"""The deterministic rewrites: which recipes answer which formula.

A recipe is a plain function of the source, the kernel's syntax, the finding and the captured launches. It gives
candidates, a Family of them to sweep, Advice that names what cannot be proved, or a Refusal that names the
precondition that does not hold. It proves nothing itself: the judge does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hipscope.formulas.candidate import LaunchFacts, Proposal
from hipscope.formulas.recipes import block_reduce, index_swap, lds_histogram, pad_lds, tile_transpose
from hipscope.formulas.syntax import KernelSyntax

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

Recipe = Callable[[bytes, KernelSyntax, "Finding | None", LaunchFacts], Proposal]

RECIPES: dict[str, tuple[Recipe, ...]] = {
    "bankConflict": (pad_lds.propose,),
    "memoryAccess": (tile_transpose.propose, index_swap.propose),
    "atomicContention": (block_reduce.propose, lds_histogram.propose),
}


def recipes_for(formula: str, *, fast_math: bool = False) -> tuple[Recipe, ...]:
    """The recipes that answer a formula; those that give up precision only when the user has asked for them."""
    return RECIPES.get(formula, ())
