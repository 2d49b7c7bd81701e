"""Are a candidate's floats as near to the kernel in double precision as the reference's are?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.double_precision import ROUNDING, ROUNDINGS
from hipscope.accordo.compare.double_precision import less_precise as farther
from hipscope.accordo.dispatch.access_map import ATOMIC, WRITTEN
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.model.verdict import Mismatch
from hipscope.accordo.proof.checks.block_compare import blocks
from hipscope.accordo.proof.checks.plan import Proof
from hipscope.accordo.proof.checks.rejection import label
from hipscope.accordo.reference.prepare import Prepared
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.replay.replay import Replay

_FEW = 32  # elements
_ONE_SIDED = 16


def may_be_rounding(run: ReferenceRun, buffer: CapturedBuffer, found: Sequence[Mismatch]) -> bool:
    """Whether all differences are of floats, so that double precision may decide."""
    if not found or any(m.kind != "wrong_value" or m.max_ulp is None for m in found):
        return False
    if any(s.members > 1 for s in run.pieces[buffer.index]):
        return False
    if buffer.index in run.unspecified:  # the reference's own errors would count what nothing wrote
        return False
    return any(s.element.kind == "float" for s in run.pieces[buffer.index])


def are_small(run: ReferenceRun, buffer: CapturedBuffer, found: Sequence[Mismatch]) -> bool:
    """Whether all differences are small beside the largest of the floats."""
    expected = run.compared(run.result, buffer)
    floats = [s for s in run.pieces[buffer.index] if s.element.kind == "float"]
    sizes = [np.abs(s.element.numbers(expected[s.start : s.end])) for s in floats]
    largest = max(float(size[np.isfinite(size)].max(initial=0.0)) for size in sizes)
    limit = largest * max(ROUNDING, *(ROUNDINGS * s.element.epsilon for s in floats))
    return all(m.max_absolute is not None and m.max_absolute <= limit for m in found)


def too_few(run: ReferenceRun, buffer: CapturedBuffer, found: Sequence[Mismatch]) -> bool:
    """Whether differences of rounding stand in so few elements that the reference's own errors are luck.

    Launches that differ in several arguments at once are often that small; other launches tell how both round.
    """
    return run.crossed and all(0 < m.total < _FEW for m in found) and are_small(run, buffer, found)


def less_precise(
    proof: Proof, prepared: Prepared, run: ReferenceRun, buffer: CapturedBuffer, result: Replay
) -> list[Mismatch]:
    """Where the candidate's floats are farther from the oracle's than the reference's are."""
    floats = any(s.element.kind == "float" for s in run.pieces[buffer.index])
    if proof.reference.settings.less_precise or not floats or run.leaves_same(result, buffer):
        return []
    oracle = prepared.oracles.images(run, proof.run.cancel).get(buffer.index)
    if oracle is None:
        return []
    for segment in run.pieces[buffer.index]:
        by_atomics = run.access[buffer.index].any(ATOMIC, segment.start, segment.end)
        terms = run.dispatch.work_items if by_atomics else proof.terms
        name = label(proof.reference.signature, buffer, segment)
        if name.strip("`") in proof.reference.settings.tolerances:
            continue  # the user has said what is enough
        parts = partial(_in_double_precision, run, buffer, segment, result, oracle)
        why = farther(parts, segment.element.epsilon, terms)
        if why is not None:
            message = (
                f"{name} is less precise than in the reference, measured against double precision: {why}"
            )
            return [Mismatch(kind="less_precise", message=message, buffer=buffer.index, label=name)]
    return []


def biased(proof: Proof, run: ReferenceRun, buffer: CapturedBuffer, result: Replay) -> list[Mismatch]:
    """Where the candidate's floats of 16 bits differ from the reference's to one side: it cuts what that rounds.

    Either alone is within the tolerance, and an error of one side adds up. What is rounded otherwise differs to both.
    """
    if run.leaves_same(result, buffer) or proof.reference.settings.less_precise:
        return []
    written = run.access[buffer.index].whole & WRITTEN
    ours, theirs = (run.compared(one, buffer) for one in (run.result, result))
    for segment in run.pieces[buffer.index]:
        size = segment.element.size
        if segment.element.kind != "float" or size != 2 or segment.stride is not None:
            continue
        part = slice(segment.start, segment.end)
        touched = (written[part] != 0).reshape(-1, size).all(axis=1)
        was, now = (np.abs(segment.element.numbers(image[part])[touched]) for image in (ours, theirs))
        known = np.isfinite(was) & np.isfinite(now) & (was > 0)
        smaller, larger = int((now < was)[known].sum()), int((now > was)[known].sum())
        if not _one_sided(smaller, larger, int(known.sum())):
            continue
        # Equal elements are one observation: where all inputs are the same, so is the sign of each difference.
        pairs = np.unique(np.stack([was[known], now[known]]), axis=1)
        fewer, more = int((pairs[1] < pairs[0]).sum()), int((pairs[1] > pairs[0]).sum())
        if _one_sided(fewer, more, pairs.shape[1]):
            name = label(proof.reference.signature, buffer, segment)
            message = (
                f"{name} is rounded toward zero: {smaller} of {int(known.sum())} elements are smaller than in the "
                f"reference, {larger} are larger"
            )
            return [Mismatch(kind="less_precise", message=message, buffer=buffer.index, label=name)]
    return []


def other_zeros(run: ReferenceRun, buffer: CapturedBuffer, result: Replay) -> bool:
    """Whether zeros have another sign than the reference's: they count as equal, and 1 / x tells them apart."""
    if run.leaves_same(result, buffer):
        return False
    ours, theirs = (run.compared(one, buffer) for one in (run.result, result))
    for segment in run.pieces[buffer.index]:
        if segment.element.kind != "float" or segment.stride is not None:
            continue
        size = segment.element.size
        part = slice(segment.start, segment.start + (segment.end - segment.start) // size * size)
        was, now = (np.frombuffer(image[part], dtype=f"<u{size}") for image in (ours, theirs))
        sign = was.dtype.type(1 << 8 * size - 1)
        if (((was | sign) == sign) & ((was ^ now) == sign)).any():
            return True
    return False


def _one_sided(smaller: int, larger: int, of: int) -> bool:
    """Whether so many smaller and larger elements, of all, are no rounding to the nearest."""
    return smaller >= _FEW and smaller > of / 8 and larger * _ONE_SIDED < smaller


def _in_double_precision(
    run: ReferenceRun, buffer: CapturedBuffer, segment: Segment, result: Replay, oracle: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], ...]]:
    """The elements that the reference writes: its own, the candidate's, and what they are in double precision."""
    ours, theirs, access = run.result.part(buffer), result.part(buffer), run.access[buffer.index]
    size, unspecified = segment.element.size, run.unspecified.get(buffer.index)
    for start, stop in blocks(segment):
        written = (access.window(start, stop) & WRITTEN) != 0
        if unspecified is not None:
            written &= ~unspecified[start:stop]
        written = written.reshape(-1, size).all(axis=1)
        if written.any():
            numbers = [segment.element.numbers(part(start, stop))[written] for part in (ours, theirs)]
            yield *numbers, oracle[start // size : stop // size][written]
