"""Byte splices: the only way in which text is edited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Splice:
    """Replace the bytes [start, end) of the original by `text`; start == end inserts."""

    start: int
    end: int
    text: bytes


class OverlappingSplices(ValueError):
    """Two splices want the same bytes: a bug of the recipe that made them."""


def apply_splices(source: bytes, splices: Iterable[Splice]) -> bytes:
    """The source with all splices done. Everything outside them is kept byte for byte.

    Splices may come in any order; insertions at the same place keep the order they were given in.
    Raises OverlappingSplices, and ValueError for a splice outside the source.
    """
    pieces: list[bytes] = []
    position = 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        if not 0 <= splice.start <= splice.end <= len(source):
            raise ValueError(
                f"splice [{splice.start}, {splice.end}) lies outside a source of {len(source)} bytes"
            )
        if splice.start < position:
            raise OverlappingSplices(f"splice at byte {splice.start} overlaps the one before it")
        pieces += [source[position : splice.start], splice.text]
        position = splice.end
    pieces.append(source[position:])
    return b"".join(pieces)
