"""Other contents of lists that have an order, so that they still have it: sorted ones and numbers of elements; and what
they hold in a larger launch, whose longer buffers are one part beside the other.

A permutation of offsets, keys in order or parents of nodes is rarely what the kernel is defined on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.replaced_buffers import write_replacement
from hipscope.analysis.source.number_types import Element

Words = NDArray[Any]

_FEWEST, _MOST = 8, 1 << 20  # elements
_MOST_CHAINED = 1 << 13
_EXACT = 2.0**53
_EQUAL = 0.4  # part of the steps
_ENDS = 2
_RUN = 6  # steps of 0 side by side
_LARGEST = 1 << 26  # bytes of a list
_FEWEST_NUMBERED = 8


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


def continued(numbers: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """A list of integers in order again and again up to so many elements, each time from where it ended."""
    rounds, place = np.divmod(np.arange(count), len(numbers))
    whole = numbers.astype(np.int64)
    return np.asarray(whole[place] + rounds * (whole[-1] - whole[0]))


def in_steps_of_one(numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The list from its first element in steps of one; None where it has no order, or would end beyond its last."""
    if not rises(numbers) or numbers[-1] - numbers[0] < len(numbers) - 1:
        return None
    return np.asarray(numbers[0] + np.arange(len(numbers), dtype=np.float64))


def in_one_step(numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The list that goes from its first to its last element at once, in its middle; None where it has no order."""
    if not rises(numbers):
        return None
    made = numbers.copy()
    made[: len(numbers) // 2], made[len(numbers) // 2 :] = numbers[0], numbers[-1]
    return made


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


def write_in_order(
    longer: Sequence[CapturedBuffer],
    captured: Sequence[CapturedBuffer],
    elements: Mapping[int, Element],
    directory: Path,
) -> int:
    """Write a replacement of each buffer that was a list in order, so that it is one again; returns how many."""
    return _write(_in_order(longer, captured, elements), directory)


def write_parts(
    longer: Sequence[CapturedBuffer],
    captured: Sequence[CapturedBuffer],
    elements: Mapping[int, Element],
    inputs: Collection[int],
    directory: Path,
) -> int:
    """Write a replacement of each of the `inputs` that holds numbers of elements, and of each list in order; how
    many there are, or 0 without such numbers.
    """
    numbers = [(b, words) for b, words in _numbers(longer, captured, elements) if b.index in inputs]
    return _write([*_in_order(longer, captured, elements), *numbers], directory) if numbers else 0


def _write(made: Iterable[tuple[CapturedBuffer, Words]], directory: Path) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for buffer, words in made:
        write_replacement(directory, buffer.index, buffer.mapped(), [(0, words.view(np.uint8))])
        count += 1
    return count


def _in_order(
    longer: Sequence[CapturedBuffer], captured: Sequence[CapturedBuffer], elements: Mapping[int, Element]
) -> Iterator[tuple[CapturedBuffer, Words]]:
    for buffer, was in zip(longer, captured, strict=True):
        element = elements.get(buffer.index)
        if element is None or element.kind == "bytes" or was.size > _LARGEST:
            continue
        known = element.numbers(_words(was, element).tobytes())
        if not rises(known):
            continue
        raw = _words(buffer, element)
        made = continued(known, len(raw)) if element.kind == "integer" else None
        if made is None or made[-1] >= 1 << 8 * element.size - 1:
            made = raw[np.argsort(element.numbers(raw.tobytes()), kind="stable")]
        yield buffer, made.astype(raw.dtype)


def _numbers(
    longer: Sequence[CapturedBuffer], captured: Sequence[CapturedBuffer], elements: Mapping[int, Element]
) -> Iterator[tuple[CapturedBuffer, Words]]:
    """Numbers of the elements of the shortest buffer that has so many."""
    lengths = [
        b.size // e.size for b in captured if (e := elements.get(b.index)) is not None and e.kind != "bytes"
    ]
    for buffer, was in zip(longer, captured, strict=True):
        element = elements.get(buffer.index)
        if element is None or element.kind != "integer" or element.size < 4 or was.size > _LARGEST:
            continue
        known, raw = _words(was, element), _words(buffer, element)
        most = int(known.max(initial=0))
        if most < _FEWEST_NUMBERED or rises(known.astype(np.float64)):
            continue
        length = min((n for n in lengths if n > most), default=0)
        if length and len(known):
            part = np.arange(len(raw)) // len(known) * length
            yield buffer, raw[np.arange(len(raw)) % len(known)] + part.astype(raw.dtype)


def _words(buffer: CapturedBuffer, element: Element) -> Words:
    held = buffer.mapped()
    return held[: len(held) // element.size * element.size].view(f"<u{element.size}")
