"""Comparing only what two runs changed: the same answer as comparing all of the buffer."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hipscope.accordo.compare.buffers import Errors, Piece, compare_buffer
from hipscope.accordo.compare.tolerance import Tolerance
from hipscope.accordo.dispatch.access_map import READ, WRITTEN, AccessMap
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.proof.checks.block_compare import BLOCK, agree, blocks
from hipscope.accordo.replay.replay import Left
from hipscope.analysis.source.number_types import BYTES, element_of

PAGE = 4096
SIZE = 5 * PAGE + 24
LOOSE = Tolerance(1e-3, 1e-6)
PIECES = (
    Segment(0, 12, BYTES, None),
    Segment(12, 2 * PAGE + 12, element_of("float"), 0),
    Segment(2 * PAGE + 12, SIZE - 4, element_of("double"), 1),
    Segment(SIZE - 4, SIZE, BYTES, 1),
)
CHANGES = st.lists(
    st.tuples(st.integers(0, SIZE // 4 - 1), st.sampled_from([1.0, 1.0001, 1.5, np.nan, -0.0]))
)


def left(before: np.ndarray, now: np.ndarray, *, everywhere: bool = False) -> Left:
    """What a run leaves, as it writes it down: the pages that differ (or all of them)."""
    runs = []
    for start in range(0, len(now), PAGE):
        end = min(start + PAGE, len(now))
        if everywhere or not np.array_equal(before[start:end], now[start:end]):
            runs.append((start, end))
    parts = tuple(memoryview(now[a:b].tobytes()) for a, b in runs)
    return Left(tuple(runs), parts, lambda: before.tobytes())


@given(CHANGES, CHANGES, st.lists(st.integers(0, SIZE // 4 - 1)), st.booleans())
def test_what_agrees_agrees_as_a_whole_and_the_other_way_round(
    reference: list[tuple[int, float]],
    candidate: list[tuple[int, float]],
    untouched: list[int],
    everywhere: bool,
) -> None:
    before = np.arange(SIZE // 4, dtype="<f4")
    ours, theirs = before.copy(), before.copy()
    for image, changes in ((ours, reference), (theirs, reference), (theirs, candidate)):
        for at, factor in changes:
            image[at] = before[at] * np.float32(factor)
    bits = np.full(SIZE, WRITTEN, dtype=np.uint8)
    written = {at for at, _ in reference}
    for at in set(untouched) - written:
        bits[4 * at : 4 * at + 4] = READ
    images = [image.view(np.uint8) for image in (before, ours, theirs)]
    access = AccessMap.of(bits)

    def piece(segment: Segment) -> Piece:
        return Piece(segment, LOOSE, "it")

    found, errors = compare_buffer(
        tuple(piece(s) for s in PIECES),
        before=images[0].tobytes(),
        expected=images[1].tobytes(),
        got=images[2].tobytes(),
        written=(bits & WRITTEN) != 0,
        is_input=False,
        buffer=0,
    )
    quick = agree(
        left(images[0], images[1], everywhere=everywhere), left(images[0], images[2]), PIECES, access, piece
    )
    assert quick == (None if found else errors)


def test_what_the_reference_leaves_alone_is_not_asked_how_far_it_may_be_off() -> None:
    before = np.zeros(SIZE, dtype=np.uint8)
    now = before.copy()
    now[PAGE + 100] = 7

    def piece(segment: Segment) -> Piece:
        raise AssertionError(segment)

    access = AccessMap(SIZE, ())
    assert agree(left(before, before), left(before, now), PIECES, access, piece) is None
    assert agree(left(before, now), left(before, now), PIECES, access, piece) == Errors()


def test_blocks_are_made_of_whole_elements_and_cover_what_is_asked_for() -> None:
    segment = Segment(12, 12 + 8 * (BLOCK // 8 + 5), element_of("double"), 0)
    assert list(blocks(segment)) == [(12, 12 + BLOCK), (12 + BLOCK, segment.end)]
    assert list(blocks(segment, 0, 12)) == []
    assert list(blocks(segment, 4096, 4097)) == [(4092, 4100)]
    assert list(blocks(segment, segment.end - 1, segment.end + 99)) == [(segment.end - 8, segment.end)]


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_part_is_that_of_the_whole_wherever_the_changes_lie(start: int, size: int) -> None:
    before, runs = bytes(range(40)), ((4, 8), (8, 16), (24, 30))
    image = bytearray(before)
    for first, end in runs:
        image[first:end] = bytes(range(100 + first, 100 + end))
    parts = tuple(memoryview(bytes(image[first:end])) for first, end in runs)
    found = Left(runs, parts, lambda: before)
    assert found.part(start, start + size) == bytes(image[start : start + size])
    assert found.before(start, start + size) == before[start : start + size]
