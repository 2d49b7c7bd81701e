"""Which NaN a candidate leaves where memory is declared as integers: floats that a program packs into words.

Takes the differences of one buffer, gives those that count. No compiler promises the payload of a NaN, so two of them
are alike; only where the reference stored a float there, though, by what its instructions made. That is looked at when
a candidate differs in nothing else: the run that notes the kinds of numbers takes several times as long.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.access_map import SITE, SITES, STORED
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.stored_numbers import FLOAT_KINDS
from hipscope.accordo.model.verdict import Mismatch
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.replay import Replay, ReplayRequest, replay
from hipscope.analysis.source.number_types import Element

_FIRST_ORDER = 1  # of the waves, as the reference's own traced runs


def but_for_nans(
    settings: ReferenceSettings,
    run: ReferenceRun,
    buffer: CapturedBuffer,
    result: Replay,
    found: Sequence[Mismatch],
    cancel: threading.Event | None,
) -> tuple[Mismatch, ...]:
    """The differences, without them where all are other NaNs that the reference stored as floats. Raises ReplayBroken,
    Cancelled.
    """
    if any(m.kind != "wrong_value" or m.max_ulp is not None for m in found):
        return tuple(found)
    ours, theirs = (np.frombuffer(run.compared(one, buffer), dtype=np.uint8) for one in (run.result, result))
    places = {element: _nans(ours, theirs, element) for _, element in FLOAT_KINDS}
    if (_differing(ours, theirs) & ~_anywhere(places, len(ours))).any():
        return tuple(found)
    out = run.result.directory.with_name(f"{run.result.directory.name}_kinds")
    request = ReplayRequest(
        run.dispatch, run.dispatch.code_object, out, seed=_FIRST_ORDER, inputs=run.inputs, trace_access=True,
        number_kinds=True,
    )  # fmt: skip
    traced = replay(settings.tool, request, cancel=cancel)
    if traced.status != "ok":
        return tuple(found)
    kinds: NDArray[np.uint8] = (traced.access(buffer.index, buffer.size).whole & STORED).astype(np.uint8)
    stored = {
        element: where & _whole(_of_kind(kinds, kind), element.size)
        for kind, element in FLOAT_KINDS
        for where in (places[element],)
    }
    return tuple(found) if (_differing(ours, theirs) & ~_anywhere(stored, len(ours))).any() else ()


def _differing(ours: NDArray[np.uint8], theirs: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray(ours != theirs)


def _nans(ours: NDArray[np.uint8], theirs: NDArray[np.uint8], element: Element) -> NDArray[np.bool_]:
    """The elements of a type that differ and are NaN in both."""
    size = element.size
    pairs = [image[: len(image) // size * size] for image in (ours, theirs)]
    found = (pairs[0] != pairs[1]).reshape(-1, size).any(axis=1)
    at = np.flatnonzero(found)
    both = [np.isnan(element.numbers(image.reshape(-1, size)[at].tobytes())) for image in pairs]
    found[at] = both[0] & both[1]
    return np.asarray(found)


def _of_kind(kinds: NDArray[np.uint8], kind: int) -> NDArray[np.bool_]:
    """The bytes that hold a float of that kind, whichever instruction stored it."""
    return np.isin(kinds, [kind + site * SITE for site in range(SITES)])


def _whole(found: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    return np.asarray(found[: len(found) // size * size].reshape(-1, size).all(axis=1))


def _anywhere(places: dict[Element, NDArray[np.bool_]], count: int) -> NDArray[np.bool_]:
    """The bytes of all these elements."""
    found = np.zeros(count, dtype=np.bool_)
    for element, where in places.items():
        found[: len(where) * element.size] |= np.repeat(where, element.size)
    return found
