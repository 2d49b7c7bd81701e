"""Where a kernel accessed a buffer, and what a run changed in it, in parts, because most of a buffer is left alone.

A file of runs holds for each its offset and size (64-bit, little-endian) and its bytes, as the replay executable writes
them (emulator/native/capture/runs.hpp).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import itemgetter, or_

import numpy as np
from numpy.typing import NDArray

READ_FIRST, WRITTEN, READ, ATOMIC = 1, 2, 4, 8  # bits of an access map
# The others: which float the last write left, plus SITE times which of the storing instructions wrote it, modulo SITES.
STORED, F32, F64, F16, BF16, SITE, SITES = 0xF0, 0x10, 0x40, 0x70, 0xA0, 0x10, 3
PAGE = 4096  # bytes
_PIECE = 1 << 18  # bytes

_HEAD = struct.Struct("<QQ")


def read_runs(data: bytes | memoryview) -> Iterator[tuple[int, memoryview]]:
    """The runs in a file's contents: offset and bytes, by rising offset. Raises ValueError for a damaged file."""
    view, at = memoryview(data), 0
    while at < len(view):
        if len(view) - at < _HEAD.size:
            raise ValueError("runs are cut off")
        offset, size = _HEAD.unpack_from(view, at)
        at += _HEAD.size
        if size > len(view) - at:
            raise ValueError("runs are cut off")
        yield offset, view[at : at + size]
        at += size


@dataclass(frozen=True, eq=False)
class AccessMap:
    """One byte of access bits for each of the `size` bytes of a buffer; 0 outside of the runs (offset, bits)."""

    size: int
    runs: tuple[tuple[int, NDArray[np.uint8]], ...]

    @staticmethod
    def of(bits: NDArray[np.uint8]) -> AccessMap:
        """The map of a buffer whose bits are all given."""
        return AccessMap(len(bits), ((0, bits),))

    def any(self, bits: int, start: int = 0, end: int | None = None) -> bool:
        """Whether a byte in [start, end) has one of these bits."""
        whole = start == 0 and end in (None, self.size)
        return (
            bool(self._bits & bits)
            if whole
            else any(_or(part) & bits for _, part in self._within(start, end))
        )

    def count(self, bits: int) -> int:
        """How many bytes have one of these bits."""
        return sum(int(np.count_nonzero(part & bits)) for _, part in self.runs)

    def pages(self, bits: int, start: int, end: int) -> NDArray[np.bool_]:
        """For each page of [start, end), counted from `start`, whether a byte in it has one of these bits."""
        marked = np.zeros(-(-(end - start) // PAGE), dtype=np.bool_)
        for at, part in self._within(start, end):
            first, into = divmod(at - start, PAGE)
            cuts = np.arange(-into, len(part), PAGE).clip(0)
            marked[first : first + len(cuts)] |= (np.bitwise_or.reduceat(part, cuts) & bits) != 0
        return marked

    def window(self, start: int, end: int) -> NDArray[np.uint8]:
        """The bits of the bytes [start, end)."""
        found = next(self._within(start, end), None)
        if found is not None and len(found[1]) == end - start:
            return found[1]
        bits = np.zeros(end - start, dtype=np.uint8)
        for at, part in self._within(start, end):
            bits[at - start : at - start + len(part)] = part
        return bits

    def within(self, other: AccessMap, bits: int) -> bool:
        """Whether each byte with one of these bits has it in the other map, too."""
        for at, part in self.runs:
            for start in range(0, len(part), _PIECE):  # so that what is between stays in the cache
                piece = part[start : start + _PIECE]
                if np.any(piece & ~other.window(at + start, at + start + len(piece)) & bits):
                    return False
        return True

    @cached_property
    def whole(self) -> NDArray[np.uint8]:
        """The bits of all bytes."""
        if len(self.runs) == 1 and len(self.runs[0][1]) == self.size:
            return self.runs[0][1]
        bits = np.zeros(self.size, dtype=np.uint8)
        for at, part in self.runs:
            bits[at : at + len(part)] = part
        return bits

    @cached_property
    def _bits(self) -> int:
        """The bits that any byte has."""
        return reduce(or_, (_or(part) for _, part in self.runs), 0)

    def _within(self, start: int, end: int | None) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        last = self.size if end is None else end
        begin = bisect_right(self.runs, start, key=itemgetter(0)) - 1
        for number in range(max(0, begin), len(self.runs)):
            at, part = self.runs[number]
            if at >= last:
                break
            first, behind = max(start, at), min(last, at + len(part))
            if first < behind:
                yield first, part[first - at : behind - at]


def _or(part: NDArray[np.uint8]) -> int:
    """The bits that any byte has."""
    return int(np.bitwise_or.reduce(part, initial=0))
