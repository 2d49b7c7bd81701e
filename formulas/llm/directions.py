"""What one attempt should try, so that the candidates of a round differ: by formula, general ones after it.

A table; a formula that is not in it gets the general ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

GENERAL: tuple[str, ...] = (
    "In this attempt make the smallest edit that removes the cause of the first finding.",
    "In this attempt keep more work in flight: independent loads before their first use, partial sums, unrolled loops.",
    "In this attempt remove work: what is computed or loaded more than once, and what does not depend on the loop.",
    "In this attempt change how work is dealt to the threads of a workgroup, with the same launch.",
)

BY_FORMULA: Mapping[str, tuple[str, ...]] = {
    "bankConflict": (
        "In this attempt keep the algorithm and change only the layout of the __shared__ array, as by padding a row.",
        "In this attempt permute the column index of the __shared__ array (XOR with the row) at every access.",
        "In this attempt avoid the LDS for what a shuffle between lanes or a register can hold.",
    ),
    "memoryAccess": (
        "In this attempt let neighbouring lanes access neighbouring addresses by exchanging which index is which.",
        "In this attempt go through a padded __shared__ tile, so that loads and stores are both dense.",
        "In this attempt load each element once into LDS or a register and use it from there.",
    ),
    "atomicContention": (
        "In this attempt add up within the workgroup first, shuffles then LDS, and do one atomic per workgroup.",
        "In this attempt keep a private copy of the counters in LDS and add it to memory once at the end.",
        "In this attempt let each thread add up several elements before it does an atomic.",
    ),
}


def direction(formulas: Sequence[str], attempt: int) -> str:
    """The direction of an attempt, counted from 0; they differ until all are used."""
    known = [text for name in dict.fromkeys(formulas) for text in BY_FORMULA.get(name, ())]
    every = [*known, *GENERAL]
    return every[attempt % len(every)]
