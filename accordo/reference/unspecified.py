"""Bytes that a launch leaves with what nothing wrote: the padding of structures, members that are never set.

Takes runs of the reference over complementary contents of LDS, scratch and registers, gives the bytes that hold a copy
of those. A copy has the other value in every bit where its source has; a result that was computed from such memory has
not, and then nothing can be said of the kernel. In all other bytes the runs must agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.access_map import WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.replay.replay import Replay

Unspecified = Mapping[int, NDArray[np.bool_]]
"""By buffer: whether a byte holds what nothing wrote. Buffers without such bytes are left out."""

NONE: Unspecified = {}
_INVERTED = 0xFF
_MOST = 0.5  # of the bytes that are written to a buffer: more than the padding of any structure of two aligned members
_FILE = "unspecified_{}.npy"


class Computed(Exception):
    """A result depends on memory that nothing wrote; the message says which."""


def find_unspecified(
    dispatch: CapturedDispatch, access: Mapping[int, AccessMap], one: Replay, inverted: Replay
) -> Unspecified:
    """The bytes in which two runs in the same order of waves differ, if all of them are copies. Raises Computed."""
    found = {}
    for buffer in dispatch.buffers:
        if one.leaves_same(inverted, buffer):
            continue
        first, second = (np.frombuffer(run.image(buffer), dtype=np.uint8) for run in (one, inverted))
        differ = first != second
        if not np.array_equal((first ^ second)[differ] == _INVERTED, np.ones(int(differ.sum()), dtype=bool)):
            at = int(np.argmax(differ & ((first ^ second) != _INVERTED)))
            raise Computed(f"byte {at} of buffer {buffer.index} is computed from memory that nothing wrote")
        written = access[buffer.index].count(WRITTEN)
        if differ.sum() > _MOST * written:
            raise Computed(
                f"{int(differ.sum())} of the {written} bytes that it writes to buffer {buffer.index} are copies of "
                "memory that nothing wrote"
            )
        found[buffer.index] = differ
    return found


def without(image: bytes, buffer: CapturedBuffer, unspecified: Unspecified) -> bytes:
    """What a run left in a buffer, with zeros for the bytes that hold what nothing wrote."""
    mask = unspecified.get(buffer.index)
    if mask is None:
        return image
    return np.where(mask, np.uint8(0), np.frombuffer(image, dtype=np.uint8)).tobytes()


def count(unspecified: Unspecified) -> int:
    """How many bytes there are."""
    return sum(int(mask.sum()) for mask in unspecified.values())


def keep_unspecified(unspecified: Unspecified, folder: Path) -> None:
    """Write them down beside the run that they are of."""
    for index, mask in unspecified.items():
        np.save(folder / _FILE.format(index), np.packbits(mask), allow_pickle=False)


def read_unspecified(folder: Path, dispatch: CapturedDispatch) -> Unspecified:
    """What was written down beside a run."""
    found = {}
    for buffer in dispatch.buffers:
        path = folder / _FILE.format(buffer.index)
        if path.exists():
            bits = np.load(path, allow_pickle=False)
            found[buffer.index] = np.unpackbits(bits, count=buffer.size).astype(np.bool_)
    return found
