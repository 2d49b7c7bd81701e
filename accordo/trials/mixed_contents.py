"""Contents with numbers of every kind among each other, for launches with other arguments.

A shortcut may need a number in an argument and another one in the data. Takes buffers and their elements, gives
replacements in which each kind of number is a part of each: of both signs, many sizes, zeros, ones, what a program
names, and where the kernel takes any integers also the smallest and the largest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.replaced_buffers import write_replacement
from hipscope.accordo.trials.code_constants import Named
from hipscope.accordo.trials.fresh_inputs import encoded
from hipscope.analysis.source.number_types import BYTES, Element

_MOST = 16 << 20  # bytes of a buffer
_ZEROS, _ONES, _NAMED = 0.1, 0.15, 0.3  # up to which part of the elements
_EXTREME = 0.25  # of integers
_RUN = 24  # elements of one kind side by side, in every other half of the contents


def write_mixed(
    buffers: Iterable[CapturedBuffer],
    elements: Mapping[int, Element],
    inputs: Path,
    named: Named,
    *,
    wide: frozenset[int] = frozenset(),
    draw: int = 0,
) -> Path:
    """Write the replacements to `inputs`. `wide`: sizes in bytes of integers that may have any value; `draw`: 0
    or 1, for other contents of the same kind.
    """
    inputs.mkdir(parents=True, exist_ok=True)
    for buffer in buffers:
        element = elements.get(buffer.index, BYTES)
        if element.kind == "bytes" or buffer.size > _MOST:
            continue
        generator = np.random.default_rng([0x3132, buffer.index, 1 - draw])
        old = buffer.mapped()
        raw = old[: len(old) // element.size * element.size].view(f"<u{element.size}")
        if element.kind == "float":
            fresh = _floats(raw, element, named, generator)
        else:
            fresh = _integers(raw, element, named, generator, wide=element.size in wide)
        write_replacement(inputs, buffer.index, old, [(0, np.frombuffer(fresh, dtype=np.uint8))])
    return inputs


def _floats(raw: NDArray[Any], element: Element, named: Named, generator: np.random.Generator) -> bytes:
    """Finite ones: what is left of infinities that meet depends on the order of a sum, which a rewrite may change."""
    numbers = element.numbers(generator.permuted(raw).tobytes())
    count = len(numbers)
    numbers[~np.isfinite(numbers)] = 1.0
    if not numbers.any():  # sums that begin at 0
        numbers = generator.uniform(0.1, 2.0, count)
    numbers *= np.where(generator.random(count) < 0.5, -1.0, 1.0) * generator.uniform(0.3, 3.0, count)
    kind = _kinds(count, generator)
    numbers[kind < _ONES] = 1.0
    numbers[kind < _ZEROS] = np.where(kind[kind < _ZEROS] < _ZEROS / 2, 0.0, -0.0)
    listed = [x * d for x in sorted(named.floats, key=abs) for d in (1.0, 1.01, -1.0)]
    if listed:
        chosen = (kind >= _ONES) & (kind < _NAMED)
        numbers[chosen] = generator.choice(listed, int(chosen.sum()))
    return encoded(numbers, element)


def _kinds(count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """A number from 0 to 1 for each element: runs of one, so that whole rows and records are alike, and single ones."""
    single = generator.random(count)
    runs = np.repeat(generator.random(-(-count // _RUN)), _RUN)[:count]
    return np.where(np.arange(count) // (4 * _RUN) % 2, runs, single)


def _integers(
    raw: NDArray[Any], element: Element, named: Named, generator: np.random.Generator, *, wide: bool
) -> bytes:
    """In another order; where the kernel takes any integers, of all kinds, else those of the same range."""
    made = generator.permuted(raw)
    if element.name == "bool" or not len(made):
        return bytes(made.tobytes())
    count, bits = len(made), 8 * element.size
    kind = _kinds(count, generator)
    most = (1 << bits) - 1 if wide else int(made.max())
    listed = [n & (1 << bits) - 1 for n in named.integers]
    listed = [n + d for n in listed for d in (0, 1) if n + d <= most]
    if listed:
        chosen = (kind >= _ONES) & (kind < _NAMED)
        made[chosen] = generator.choice(np.array(listed, dtype=raw.dtype), int(chosen.sum()))
    if wide:
        top = 1 << bits - 1
        extremes = np.array([0, 0, 0, 1, top - 1, top, 2 * top - 1, 2 * top - 2], dtype=raw.dtype)
        chosen = kind < _EXTREME
        made[chosen] = extremes[np.floor(kind[chosen] / _EXTREME * len(extremes)).astype(int)]
        np.invert(made, out=made, where=kind > 1 - _ZEROS)
    return bytes(made.tobytes())
