"""Whether floats of a program differ by no more than rounding explains, where its steps multiply what each has rounded.

Takes the text of a kernel's file, gives others that the compiler rounds otherwise; takes numbers of a run, of runs of
these texts and of the program with a rewrite, gives whether the last is as near as those. No fixed tolerance fits a
program that goes on from its own results: two bodies that pass close to each other multiply a difference in the last
digit by ten in each step, and all others leave it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

TIMES = 8.0  # as large as this many times what other roundings change: of numbers in the order of their differences
# Of each number by itself, that a few other roundings happen to leave nearly as it was; or of what is always allowed.
_TIMES_EACH, _ROUNDINGS_EACH = 256.0, 100.0
_NOTHING_SAID = 0.1  # of a number: where other roundings may change that much, nothing is compared
_MOST_UNSAID = 0.1  # of the numbers
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# No multiplication is fused with an addition; those within a statement only; and sums in another order.
_ROUNDINGS = (b"contract(off)", b"contract(on)", b"contract(off) reassociate(on)")


def explained_by_rounding(
    one: NDArray[np.float64],
    now: NDArray[np.float64],
    otherwise: Sequence[NDArray[np.float64]],
    size: float,
    rounding: float,
) -> bool:
    """Whether `now` differs from `one` as runs do that round `otherwise`, or by `rounding` of number and `size`."""
    if not otherwise or any(len(other) != len(one) for other in (now, *otherwise)):
        return False
    finite = np.isfinite([one, now, *otherwise]).all(axis=0)
    same = (one == now) | (np.isnan(one) & np.isnan(now))
    if not same[~finite].all():
        return False
    scale = np.abs(one[finite]) + size
    scale[scale == 0] = 1.0  # all numbers are zero
    differs = np.abs(now[finite] - one[finite]) / scale
    moved = np.max([np.abs(other[finite] - one[finite]) for other in otherwise], axis=0) / scale
    if np.count_nonzero(TIMES * moved > _NOTHING_SAID) > _MOST_UNSAID * len(one):
        return False
    ranked = np.sort(differs) <= np.maximum(TIMES * np.sort(moved), rounding)
    each = differs <= np.maximum(_TIMES_EACH * moved, _ROUNDINGS_EACH * rounding)
    return bool(ranked.all() and each.all())


def rounded_texts(text: bytes) -> tuple[bytes, ...]:
    """The text with each of the other roundings for device code. What the host computes, also to compare, stays."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else b""
    rest = text[len(mark) :]
    return tuple(
        mark + b"#ifdef __HIP_DEVICE_COMPILE__\n#pragma clang fp " + how + b"\n#endif\n" + rest
        for how in _ROUNDINGS
    )
