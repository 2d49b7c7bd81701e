"""A captured dispatch at other addresses: the buffers in reverse order, far apart, and if asked for a little longer.

Takes a dispatch, gives one whose pointers (arguments, and words in memory that hold an address of a buffer) lead to the
new places. It shows a candidate that looks at addresses, runs from one buffer into the next, or fits one size only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.writer import Contents, write_dispatch

_PAGE = 4096
_GAP = 1 << 20
_WORDS = 1 << 16  # looked at together: what is between stays in the cache
_TURN = 8  # bytes: elements stay whole
_SKEW = 256  # what hipMalloc aligns to: no candidate may count on more


@dataclass(frozen=True)
class _Move:
    old: int
    size: int
    new: int


def relocated(
    dispatch: CapturedDispatch,
    folder: Path,
    *,
    longer: bool = False,
    repeats: int = 1,
    turned: bool = False,
    kernarg: bytes | None = None,
) -> CapturedDispatch:
    """Write the moved dispatch to `folder`. `longer` appends some of each buffer's own contents to it, repeated;
    `repeats` is how often all of it is repeated; `turned`: each time it begins elsewhere, so that no two are the same.

    `kernarg` replaces the captured arguments (with the captured addresses in them).
    """
    moves, sizes = _places(dispatch, longer, repeats)
    contents: dict[str, Contents] = {}
    buffers = []
    for buffer, move in zip(dispatch.buffers, moves, strict=True):
        before = buffer.mapped()
        data, size = _moved(before, moves), sizes[buffer.index]
        if size != len(data) or data is not before:
            contents[buffer.before_file.name] = _lengthened(data, size, turned)
        buffers.append(replace(buffer, address=move.new, size=size))
    for variable in dispatch.variables:
        contents[variable.before_file.name] = _moved_bytes(variable.before(), moves)
    arguments = _moved_bytes(dispatch.kernarg() if kernarg is None else kernarg, moves)
    return write_dispatch(replace(dispatch, buffers=tuple(buffers)), folder, arguments, contents)


def moved_to(data: bytes, old: Sequence[CapturedBuffer], new: Sequence[CapturedBuffer]) -> bytes:
    """The bytes with the addresses in one list of buffers led to the same ones in the other."""
    moves = [_Move(was.address, was.size, now.address) for was, now in zip(old, new, strict=True)]
    return _moved_bytes(data, moves)


def _places(dispatch: CapturedDispatch, longer: bool, repeats: int) -> tuple[list[_Move], dict[int, int]]:
    """Where each buffer goes (in the order of `dispatch.buffers`) and how long it becomes there."""
    start = min((b.address for b in dispatch.buffers), default=0)
    sizes, found = {}, {}
    at = -(-start // _PAGE) * _PAGE + _GAP
    for buffer in sorted(dispatch.buffers, key=lambda b: -b.address):
        size = repeats * buffer.size + (max(_PAGE, buffer.size // 8 // _PAGE * _PAGE) if longer else 0)
        sizes[buffer.index] = size
        found[buffer.index] = _Move(buffer.address, buffer.size, at + _SKEW)
        at += -(-size // _PAGE) * _PAGE + _GAP
    return [found[b.index] for b in dispatch.buffers], sizes


def _moved_bytes(data: bytes, moves: Sequence[_Move]) -> bytes:
    return _moved(np.frombuffer(data, dtype=np.uint8), moves).tobytes()


def _moved(data: NDArray[np.uint8], moves: Sequence[_Move]) -> NDArray[np.uint8]:
    """The bytes with every aligned 8-byte word that is an address in a buffer led to the new place.

    The same object when there is no such word.
    """
    whole = len(data) // 8 * 8
    original = data[:whole].view("<u8")
    lowest = min((m.old for m in moves), default=0)
    highest = max((m.old + max(1, m.size) for m in moves), default=0)
    if not any(
        ((part >= lowest) & (part < highest)).any()
        for part in (original[at : at + _WORDS] for at in range(0, len(original), _WORDS))
    ):
        return data
    words = original.copy()
    for move in moves:
        inside = (original >= move.old) & (original < move.old + max(1, move.size))
        words[inside] = original[inside] - np.uint64(move.old) + np.uint64(move.new)
    return np.concatenate([words.view(np.uint8), data[whole:]])


def _lengthened(data: NDArray[np.uint8], size: int, turned: bool) -> Contents:
    """The bytes, and as many of them again as it takes."""
    repeats, rest = divmod(size, max(1, len(data)))
    if not turned or len(data) % _TURN:
        return (*[data.data] * repeats, data[:rest].data)
    copies = [np.roll(data, -_TURN * n) for n in range(repeats + 1)]
    return (*(copy.data for copy in copies[:-1]), copies[-1][:rest].data)
