"""Other contents of lists that have an order, so that they still have it: sorted ones and numbers of elements.

A permutation of offsets, keys in order or parents of nodes is rarely what the kernel is defined on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEWEST, _MOST = 8, 1 << 20  # elements
_MOST_CHAINED = 1 << 13
_EXACT = 2.0**53
_EQUAL = 0.4  # part of the steps
_ENDS = 2
_RUN = 6  # steps of 0 side by side


def resorted(
    numbers: NDArray[np.float64], generator: np.random.Generator, *, whole: bool
) -> NDArray[np.float64] | None:
    """A rising list from the same first to the same last element, in part by steps of 0; None where it is none.

    `whole`: of integers.
    """
    if not rises(numbers):
        return None
    steps = np.diff(numbers)
    count = len(steps)
    equal = np.repeat(generator.random(-(-count // _RUN)) < _EQUAL, _RUN)[:count]
    equal |= generator.random(count) < _EQUAL / 2
    weights = np.where(equal, 0.0, generator.permutation(steps) + generator.exponential(steps.mean(), count))
    if not weights.any():
        return None
    rising = numbers[0] + np.cumsum(weights) / weights.sum() * (numbers[-1] - numbers[0])
    made = np.concatenate([numbers[:1], np.floor(rising) if whole else rising])
    made[-1] = numbers[-1]
    return np.asarray(np.minimum(made, numbers[-1]), dtype=np.float64)


def rises(numbers: NDArray[np.float64]) -> bool:
    """Whether it is a list in order, of at least two different numbers."""
    if not _FEWEST <= len(numbers) <= _MOST or not (np.abs(numbers) < _EXACT).all():
        return False
    steps = np.diff(numbers)
    return bool((steps >= 0).all() and steps.any())


def with_ends(raw: NDArray[Any], lowest: np.generic, highest: np.generic) -> NDArray[Any]:
    """A list in order that ends in equal elements, the smallest and the largest that there are."""
    made = raw.copy()
    made[:_ENDS], made[-_ENDS:] = lowest, highest
    return made


def renumbered(raw: NDArray[Any]) -> NDArray[Any] | None:
    """Numbers of elements of the list itself, such as parents: those that lead back lead one back, in long chains
    where there are not too many, and all elements are numbered from the other end. None where some lead on.
    """
    count = len(raw)
    if not _FEWEST <= count <= _MOST or (raw >= count).any():
        return None
    numbers, own = raw.astype(np.int64), np.arange(count)
    if (numbers > own).any() or len(np.unique(numbers)) < _FEWEST:
        return None
    if count <= _MOST_CHAINED:
        numbers = np.where(numbers < own, own - 1, own)
    return (count - 1 - numbers)[::-1].astype(raw.dtype)
