"""The floats that a kernel's machine code computed and stored where no declared type says what the bytes are.

Takes pieces of a buffer and the reference's access map, in which the replay has noted what kind of number each store
left (emulator/native/sanitize/number_kinds.hpp). Gives pieces that say which of their elements are floats. What was
copied without a computation stays bytes, and so does what integer instructions computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.access_map import BF16, F16, F32, F64, SITE, SITES, STORED, WRITTEN, AccessMap
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.analysis.source.number_types import Element, element_of

# The bits of an access map for each kind of float that is stored.
FLOAT_KINDS = (
    (F32, element_of("float")),
    (F64, element_of("double")),
    (F16, element_of("_Float16")),
    (BF16, element_of("__bf16")),
)


def stores_untyped(
    pieces: Mapping[int, tuple[Segment, ...]], access: Mapping[int, AccessMap], variables: Iterable[AccessMap]
) -> bool:
    """Whether a launch writes bytes of which no declaration says what they are: device variables among them."""
    written = (
        access[index].any(WRITTEN, piece.start, piece.end)
        for index, listed in pieces.items()
        for piece in listed
        if not _is_declared(piece)
    )
    return any(written) or any(one.any(WRITTEN) for one in variables)


def _is_declared(piece: Segment) -> bool:
    """Integers of one or two bytes tell nothing: programs pack half floats and bfloat16 into `unsigned short`."""
    return piece.element.kind == "float" or piece.element.size > 2


def with_stored_numbers(
    pieces: Mapping[int, tuple[Segment, ...]], access: Mapping[int, AccessMap]
) -> dict[int, tuple[Segment, ...]]:
    """The pieces; those of bytes, or of an integer type of one or two, with the floats in them apart."""
    return {
        index: tuple(part for piece in listed for part in _parts(piece, access[index]))
        for index, listed in pieces.items()
    }


def _parts(piece: Segment, access: AccessMap) -> Iterator[Segment]:
    if _is_declared(piece) or not access.any(STORED, piece.start, piece.end):
        yield piece
        return
    stored = access.window(piece.start, piece.end) & STORED
    sites = np.where(stored, (stored - F32) // SITE % SITES, 0).astype(np.uint8)
    kinds = stored - sites * SITE
    rest = np.ones(len(kinds), dtype=np.bool_)
    for kind, element in FLOAT_KINDS:
        first, end = _grid(piece, element)
        found = (kinds[first - piece.start : end - piece.start] == kind).reshape(-1, element.size).all(axis=1)
        if found.any():
            rest[first - piece.start : end - piece.start] &= ~np.repeat(found, element.size)
            own = sites[first - piece.start : end - piece.start : element.size]
            yield replace(
                piece,
                start=first,
                end=end,
                element=element,
                only=_unless_all(found),
                stored=True,
                sites=own if own[found].min() != own[found].max() else None,
            )
    if rest.any():
        whole = len(rest) // piece.element.size * piece.element.size
        left: NDArray[np.bool_] = rest[:whole].reshape(-1, piece.element.size).max(axis=1)
        yield replace(piece, only=_unless_all(left))


def _grid(piece: Segment, element: Element) -> tuple[int, int]:
    """Where whole elements lie in a piece: allocations begin at multiples of any element."""
    first = -(-piece.start // element.size) * element.size
    return first, max(first, piece.end // element.size * element.size)


def _unless_all(mask: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return None if mask.all() else mask
