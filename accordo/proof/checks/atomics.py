"""Does a candidate update memory with the atomics that the reference uses, and write nothing besides?"""

from __future__ import annotations

import numpy as np

from hipscope.accordo.dispatch.access_map import ATOMIC, READ, WRITTEN
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.model.verdict import Mismatch
from hipscope.accordo.proof.checks.rejection import label
from hipscope.accordo.reference.prepare import Reference
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.replay.replay import Replay


def lost_atomics(
    reference: Reference, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the reference updates memory by atomics and the candidate by a load and a store: a race, seen or not."""
    if not run.access[buffer.index].any(ATOMIC):
        return []
    got, was = result.access(buffer.index, buffer.size).whole, run.access[buffer.index].whole
    lost = ((was & ATOMIC) != 0) & ((got & ATOMIC) == 0) & ((got & (WRITTEN | READ)) == (WRITTEN | READ))
    for segment in run.pieces[buffer.index]:
        window = lost[segment.start : segment.end]
        if window.any():
            name = label(reference.signature, buffer, segment)
            first = int(window.argmax()) // segment.element.size
            message = (
                f"it updates {name}, element {first}, without the atomic operation that the reference uses"
            )
            return [
                Mismatch(
                    kind="not_deterministic",
                    message=message,
                    buffer=buffer.index,
                    label=name,
                    first_index=first,
                )
            ]
    return []


def written_back(
    reference: Reference, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the candidate writes what is there anyway, and others may write meanwhile: that is not the kernel's own.

    Its own is what the reference writes, and in a buffer that it writes to also what it only reads on this launch. An
    atomic operation that changes nothing disturbs no other access.
    """
    written, usual = result.access(buffer.index, buffer.size), run.access[buffer.index]
    if written.within(usual, WRITTEN):
        return []
    own = np.where(usual.any(WRITTEN), WRITTEN | READ, WRITTEN)
    there, left = (np.frombuffer(image, dtype=np.uint8) for image in (buffer.before(), result.image(buffer)))
    extra = ((written.whole & (WRITTEN | ATOMIC)) == WRITTEN) & ((usual.whole & own) == 0)
    for segment in run.pieces[buffer.index]:
        place = slice(segment.start, segment.end)
        same = (there[place] == left[place]).reshape(-1, segment.element.size).all(axis=1)
        window = extra[place] & np.repeat(same, segment.element.size)
        if window.any():
            name = label(reference.signature, buffer, segment)
            first = int(window.argmax()) // segment.element.size
            message = f"it writes where the reference does not, with the value that is there: {name}, element {first}"
            return [
                Mismatch(
                    kind="stray_write", message=message, buffer=buffer.index, label=name, first_index=first,
                )
            ]  # fmt: skip
    return []
