"""Do two runs on the same memory leave the same, within tolerance? Looked at where either changed something, in blocks.

A run writes down the parts of a buffer that it changed. Outside of them both runs left what was there before, so only
these parts are compared, and in blocks that fit the processor's cache. What does not agree is compared once more as a
whole (`compare`), which can say where and how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hipscope.accordo.compare.buffers import Errors, Piece, wrong_elements
from hipscope.accordo.dispatch.access_map import WRITTEN, AccessMap
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.replay.replay import Left

BLOCK = 1 << 16  # bytes; a multiple of every element
_ALIGNED = 8


def agree(
    ours: Left,
    theirs: Left,
    segments: tuple[Segment, ...],
    access: AccessMap,
    piece_of: Callable[[Segment], Piece],
) -> Errors | None:
    """The largest accepted differences; None when something is wrong, or may be.

    `access` says what the first of the two wrote, `piece_of` how far a segment may be off; it is asked only for those
    that differ.
    """
    errors = Errors()
    for first, end in _either(ours, theirs):
        for segment in segments:
            for start, stop in blocks(segment, first, end):
                right, new = ours.part(start, stop), theirs.part(start, stop)
                if right == new:
                    continue
                expected, got = (np.frombuffer(part, dtype=np.uint8) for part in (right, new))
                touched = (access.window(start, stop) & WRITTEN) != 0
                if not touched.all():
                    before = np.frombuffer(ours.before(start, stop), dtype=np.uint8)
                    if ((got != before) & ~touched).any():
                        return None
                wrong, wide = wrong_elements(piece_of(segment), expected, got, touched, start)
                if wrong.any():
                    return None
                errors = errors.widened(wide)
    return errors


def blocks(segment: Segment, first: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """The part of a segment in [first, end) of its buffer, and what it takes to whole elements, in blocks."""
    stop = segment.end if end is None else min(end, segment.end)
    begin = segment.start + max(0, first - segment.start) // _ALIGNED * _ALIGNED
    if begin < stop:
        last = min(segment.end, segment.start - (segment.start - stop) // _ALIGNED * _ALIGNED)
        for start in range(begin, last, BLOCK):
            yield start, min(last, start + BLOCK)


def _either(ours: Left, theirs: Left) -> Iterator[tuple[int, int]]:
    """Where at least one of them changed something, by rising offset, without overlaps."""
    begun: tuple[int, int] | None = None
    for start, end in sorted([*ours.changed, *theirs.changed]):
        if begun is not None and start <= begun[1]:
            begun = begun[0], max(begun[1], end)
            continue
        if begun is not None:
            yield begun
        begun = start, end
    if begun is not None:
        yield begun
