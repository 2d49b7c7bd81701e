"""What a buffer holds when no type says so, as behind the pointers of a structure that is passed by value.

Takes its bytes, gives an element type, or one for each member of the structures that it seems to be an array of. So
such inputs are varied, too. Results are never compared by it: undeclared types are compared byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.analysis.source.number_types import BYTES, Element, element_of

_LOOKED_AT = 1 << 18  # bytes
_LARGEST_RECORD = 256  # bytes
_FEWEST_RECORDS = 8
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
            if not any(data):  # a sum that starts from zero: its result shows the type
                data = buffer.after()
            listed = [s for p in pieces[buffer.index] for s in _guessed(p, data, first, last)]
            found[buffer.index] = tuple(listed)
    return found


def _guessed(piece: Segment, data: bytes, first: int, last: int) -> list[Segment]:
    if piece.element is not BYTES:
        return [piece]
    window = data[piece.start : min(piece.end, piece.start + _LOOKED_AT)]
    element = guess(window, first, last)
    if element is not BYTES:
        return [replace(piece, element=element, end=piece.end - (piece.end - piece.start) % element.size)]
    if piece.end - piece.start <= _LOOKED_AT:
        for stride in range(8, _LARGEST_RECORD + 1, 4):
            members = _members(window, stride, first, last)
            if members is not None:
                return [
                    replace(piece, start=piece.start + at, element=member, stride=stride)
                    for at, member in members.items()
                ]
    return [piece]


def _members(data: bytes, stride: int, first: int, last: int) -> dict[int, Element] | None:
    """By offset the members of structures of that size, if the buffer is an array of them; addresses are left out.

    None when a member fits no type, and when there are too few structures to decide.
    """
    if len(data) % stride or len(data) // stride < _FEWEST_RECORDS:
        return None
    rows = np.frombuffer(data, dtype="<u4").reshape(-1, stride // 4)
    found: dict[int, Element] = {}
    at = 0
    while at < stride:
        if at % 8 == 0 and at + 8 <= stride and stride % 8 == 0:
            wide = np.ascontiguousarray(rows[:, at // 4 : at // 4 + 2])
            pairs = wide.view("<u8")
            if ((pairs >= first) & (pairs < last)).all():
                at += 8
                continue
            # Behind a small integer there is a float more likely than half of a double.
            if (
                not _small(np.ascontiguousarray(wide[:, 0])).all()
                and guess(wide.tobytes(), first, last).name == "fp64"
            ):
                found[at] = element_of("double")
                at += 8
                continue
        column = rows[:, at // 4]
        element = guess(np.repeat(column, 2).tobytes(), 0, 0) if column.any() else element_of("int")
        if element is BYTES:
            return None
        found[at] = element
        at += 4
    return found


def guess(data: bytes, first: int, last: int) -> Element:
    """The type of the numbers in `data`; bytes when it holds an address in [first, last) or fits no type."""
    pairs = np.frombuffer(data[: len(data) // 8 * 8], dtype="<u8")
    if not pairs.any() or ((pairs >= first) & (pairs < last)).any():
        return BYTES
    words = pairs.view("<i4")
    if _small(words).all():
        return element_of("int" if words[1::2].any() else "long")
    with np.errstate(invalid="ignore"):  # signalling NaNs
        floats = words.view("<f4").astype(np.float64)
    lower = floats[::2]
    mostly_lower = np.mean((words[::2] == 0) | ~_within(lower, _FP32)) > 0.5
    if mostly_lower and (_within(pairs.view("<f8"), _FP64) | (pairs == 0)).all():
        return element_of("double")
    return element_of("float") if (_within(floats, _FP32) | (words == 0)).all() else BYTES


def _small(words: NDArray[np.generic]) -> NDArray[np.bool_]:
    return np.asarray(np.abs(words.view("<i4").astype(np.int64)) <= _LARGEST_INTEGER)


def _within(numbers: NDArray[np.float64], sizes: tuple[float, float]) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return (np.abs(numbers) > sizes[0]) & (np.abs(numbers) < sizes[1])
