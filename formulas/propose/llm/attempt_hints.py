"""What one attempt should try, so that the candidates of a round differ: the formulas' guidance, then general ones."""

from __future__ import annotations

from collections.abc import Sequence

from hipscope.formulas.detect.registry import find_formula

GENERAL: tuple[str, ...] = (
    "In this attempt make the smallest edit that removes the cause of the first finding.",
    "In this attempt keep more work in flight: independent loads before their first use, partial sums, unrolled loops.",
    "In this attempt remove work: what is computed or loaded more than once, and what does not depend on the loop.",
    "In this attempt change how work is dealt to the threads of a workgroup, with the same launch.",
    "In this attempt use `launch`: several elements for a work-item, or several lanes for one element.",
)


def direction(formulas: Sequence[str], attempt: int) -> str:
    """The direction of an attempt, counted from 0; they differ until all are used."""
    asked = [find_formula(name) for name in dict.fromkeys(formulas)]
    known = [text for formula in asked if formula is not None for text in formula.guidance]
    every = [*known, *GENERAL]
    return every[attempt % len(every)]
