"""Contents with numbers of every kind among each other, for launches with other arguments.

A shortcut may need a number in an argument and another one in the data. Takes buffers and their elements, gives
replacements in which each kind of number is a part of each: of both signs, many sizes, zeros, ones, what a program
names, and where the kernel takes any integers also the smallest and the largest. What is named and zeros lie in front
as well, where a launch looks that has little to do; some rows have no number above zero, others none below.
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
_FRONT = 4  # the front is no more than such a part of the elements
_SIGNS = np.array([0.0, -1.0, 0.0, 1.0])  # of rows: any, none above zero, any, none below
_SLOPE, _BEGIN = 0.3, 20.0  # of floats that rise: an exponential of a row's last outgrows single precision
_RUN = 24  # elements of one kind side by side, in every other half of the contents


def write_mixed(
    buffers: Iterable[CapturedBuffer],
    elements: Mapping[int, Element],
    inputs: Path,
    named: Named,
    *,
    wide: frozenset[int] = frozenset(),
    draw: int = 0,
    row: int = 0,
) -> Path:
    """Write the replacements to `inputs`. `wide`: buffers of integers that may have any value; `draw`: 0
    or 1, for other contents of the same kind; `row`: how many elements may be a row, where that is known.
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
            fresh = _floats(raw, element, named, generator, draw, row)
        else:
            fresh = _integers(raw, element, named, generator, draw, wide=buffer.index in wide)
        write_replacement(inputs, buffer.index, old, [(0, np.frombuffer(fresh, dtype=np.uint8))])
    return inputs


def write_rising(
    buffers: Iterable[CapturedBuffer], elements: Mapping[int, Element], inputs: Path
) -> Path | None:
    """Write floats that rise evenly through each buffer, by some hundreds along a thousand; None where none are."""
    inputs.mkdir(parents=True, exist_ok=True)
    found = None
    for buffer in buffers:
        element = elements.get(buffer.index, BYTES)
        count = buffer.size // element.size
        if element.kind != "float" or element.size < 4 or not count or buffer.size > _MOST:
            continue
        fresh = encoded(_SLOPE * np.arange(count) - _BEGIN, element)
        write_replacement(inputs, buffer.index, buffer.mapped(), [(0, np.frombuffer(fresh, dtype=np.uint8))])
        found = inputs
    return found


def write_dominant(
    longer: Iterable[CapturedBuffer],
    captured: Iterable[CapturedBuffer],
    elements: Mapping[int, Element],
    sides: Mapping[int, int],
    inputs: Path,
) -> Path | None:
    """Write square matrices whose diagonals outweigh their rows where the captured ones do: others have no factors.

    `sides`: how long a side becomes that was so long. None where there are no such matrices.
    """
    inputs.mkdir(parents=True, exist_ok=True)
    found = None
    for buffer, was in zip(longer, captured, strict=True):
        element = elements.get(buffer.index, BYTES)
        if element.kind != "float" or buffer.size > _MOST:
            continue
        known = element.numbers(was.before()[: was.size // element.size * element.size])
        side = next((n for n in sides if n > 1 and outweighs(known, n)), None)
        if side is None:
            continue
        length, count = sides[side], buffer.size // element.size
        was_on, on = (_on_diagonal(len(known), side), _on_diagonal(count, length))
        made = np.resize(known[~was_on] * ((side - 1) / length), count)
        made[on] = np.resize(known[was_on], int(on.sum()))
        fresh = np.frombuffer(encoded(made, element), dtype=np.uint8)
        write_replacement(inputs, buffer.index, buffer.mapped(), [(0, fresh)])
        found = inputs
    return found


def _on_diagonal(count: int, side: int) -> NDArray[np.bool_]:
    """Which elements of square matrices behind each other stand on a diagonal."""
    return np.asarray(np.arange(count) % side**2 % (side + 1) == 0)


def outweighs(numbers: NDArray[np.floating[Any]], side: int) -> bool:
    """Whether in all square matrices of that side what stands on the diagonal is more than the rest of its row."""
    if not len(numbers) or len(numbers) % side**2 or not np.isfinite(numbers).all():
        return False
    sizes = np.abs(numbers).reshape(-1, side, side)
    return bool((2 * np.diagonal(sizes, axis1=1, axis2=2) > sizes.sum(axis=2)).all())


def _floats(
    raw: NDArray[Any], element: Element, named: Named, generator: np.random.Generator, draw: int, row: int
) -> bytes:
    """Finite ones, unless infinity is named: what is left of infinities that meet depends on the order of a sum, which
    a rewrite may change.
    """
    numbers = element.numbers(generator.permuted(raw).tobytes())
    count = len(numbers)
    numbers[~np.isfinite(numbers)] = 1.0
    if not numbers.any():  # sums that begin at 0
        numbers = generator.uniform(0.1, 2.0, count)
    numbers *= np.where(generator.random(count) < 0.5, -1.0, 1.0) * generator.uniform(0.3, 3.0, count)
    kind = _kinds(count, generator)
    numbers[kind < _ONES] = 1.0
    numbers[kind < _ZEROS] = np.where(kind[kind < _ZEROS] < _ZEROS / 2, 0.0, -0.0)
    listed = [x * d for x in sorted(named.floats, key=abs) for d in (1.01, 1.0, -1.0)]
    if listed:
        chosen = (kind >= _ONES) & (kind < _NAMED)
        numbers[chosen] = generator.choice(listed, int(chosen.sum()))
    zeros, front = _front(count, draw)
    numbers[zeros] = 0.0
    if listed:
        numbers[front] = np.resize(listed, len(numbers[front]))
    signs = _signs(count, draw, row)
    return encoded(np.where(signs == 0, numbers, np.copysign(numbers, signs)), element)


def _front(count: int, draw: int) -> tuple[slice, slice]:
    """Where in front zeros lie, and what is named: one behind the other."""
    length = min(_RUN, count // _FRONT)
    both = (slice(0, length), slice(length, 2 * length))
    return both if draw else both[::-1]


def _signs(count: int, draw: int, row: int) -> NDArray[np.float64]:
    """1 and -1 for the elements of rows that have no other sign, 0 for others."""
    length = row or max(1, -(-count // len(_SIGNS)))
    return np.resize(np.repeat(np.roll(_SIGNS, -2 * draw), min(length, max(1, count))), count)


def _kinds(count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """A number from 0 to 1 for each element: runs of one, so that whole rows and records are alike, and single ones."""
    single = generator.random(count)
    runs = np.repeat(generator.random(-(-count // _RUN)), _RUN)[:count]
    return np.where(np.arange(count) // (4 * _RUN) % 2, runs, single)


def _integers(
    raw: NDArray[Any],
    element: Element,
    named: Named,
    generator: np.random.Generator,
    draw: int,
    *,
    wide: bool,
) -> bytes:
    """In another order; where the kernel takes any integers, of all kinds, else those of the same range."""
    made = generator.permuted(raw)
    if element.name == "bool" or not len(made):
        return bytes(made.tobytes())
    count, bits = len(made), 8 * element.size
    kind = _kinds(count, generator)
    most = (1 << bits) - 1 if wide else int(made.max())
    held = (n for n in named.integers if -(1 << bits - 1) <= n < 1 << bits)
    fitting = sorted(held, key=lambda n: (n < 0, abs(n)))  # in front what data rather holds
    masked = [n & (1 << bits) - 1 for n in fitting]
    listed = [n + d for n in masked for d in (0, 1) if n + d <= most]
    if listed:
        chosen = (kind >= _ONES) & (kind < _NAMED)
        made[chosen] = generator.choice(np.array(listed, dtype=raw.dtype), int(chosen.sum()))
    if wide:
        top = 1 << bits - 1
        extremes = np.array([0, 0, 0, 1, top - 1, top, 2 * top - 1, 2 * top - 2], dtype=raw.dtype)
        chosen = kind < _EXTREME
        made[chosen] = extremes[np.floor(kind[chosen] / _EXTREME * len(extremes)).astype(int)]
        np.invert(made, out=made, where=kind > 1 - _ZEROS)
    zeros, front = _front(count, draw)
    if wide or not made.min():
        made[zeros] = 0
    if listed:
        made[front] = np.resize(np.array(listed, dtype=raw.dtype), len(made[front]))
    return bytes(made.tobytes())
