"""What a buffer holds when no type says so, as behind the pointers of a structure that is passed by value.

Takes its bytes, gives an element type, so that such inputs are varied, too. Results are never compared by it: what
nobody has declared is compared byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer
from hipscope.accordo.dtypes import BYTES, Element, Segment, element_of

_LOOKED_AT = 1 << 18  # bytes
_LARGEST_INTEGER = 1 << 24
_FP32 = (1e-6, 1e6)  # a random word is rarely of such a size
_FP64 = (1e-10, 1e10)


def with_guesses(
    buffers: Sequence[CapturedBuffer], pieces: Mapping[int, tuple[Segment, ...]]
) -> dict[int, tuple[Segment, ...]]:
    """The pieces, with an element type for those that have none where their contents look like one."""
    first = min((b.address for b in buffers), default=0)
    last = max((b.address + b.size for b in buffers), default=0)
    found = dict(pieces)
    for buffer in buffers:
        if any(p.element is BYTES for p in pieces[buffer.index]):
            data = buffer.before()
            found[buffer.index] = tuple(_guessed(p, data, first, last) for p in pieces[buffer.index])
    return found


def _guessed(piece: Segment, data: bytes, first: int, last: int) -> Segment:
    if piece.element is not BYTES:
        return piece
    element = guess(data[piece.start : min(piece.end, piece.start + _LOOKED_AT)], first, last)
    whole = piece.end - (piece.end - piece.start) % element.size
    return replace(piece, element=element, end=whole)


def guess(data: bytes, first: int, last: int) -> Element:
    """The type of the numbers in `data`; bytes when it holds an address in [first, last) or cannot be told."""
    pairs = np.frombuffer(data[: len(data) // 8 * 8], dtype="<u8")
    if not pairs.any() or ((pairs >= first) & (pairs < last)).any():
        return BYTES
    words = pairs.view("<i4")
    small = np.abs(words.astype(np.int64)) <= _LARGEST_INTEGER
    if small.all():
        return element_of("int" if words[1::2].any() else "long")
    with np.errstate(invalid="ignore"):  # signalling NaNs
        floats = words.view("<f4").astype(np.float64)
    lower = floats[::2]
    mostly_lower = np.mean((words[::2] == 0) | ~_within(lower, _FP32)) > 0.5
    if mostly_lower and (_within(pairs.view("<f8"), _FP64) | (pairs == 0)).all():
        return element_of("double")
    return element_of("float") if (_within(floats, _FP32) | (words == 0)).all() else BYTES


def _within(numbers: NDArray[np.float64], sizes: tuple[float, float]) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return (np.abs(numbers) > sizes[0]) & (np.abs(numbers) < sizes[1])
