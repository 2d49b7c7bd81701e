"""How far the reference's own floats are off by rounding, where terms cancel and little else is left of them.

Takes a run of the reference, gives for each buffer of floats what its elements are in double precision, and how far
rounding moves them. The reference and the kernel in double precision run on the same nudged inputs: each float of them
is some thousands of units in its last place larger or smaller, so that terms that are equal or have few digits round
as others do. What both are apart is rounding. What the steps change in double precision tells how much a result depends
on its inputs: a branch that a step takes moves it as far for a small step as for a large one, and many times what one
unit in the last place of the inputs makes is no rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.double_precision import ROUNDING
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.oracle.launch import Images, float_buffers
from hipscope.accordo.reference.nudged_runs import (
    Doubles,
    Steps,
    nudged_inputs,
    replayed_on,
    root_mean_square,
    without_luck,
)
from hipscope.accordo.reference.run import ReferenceRun, written_elements
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.replay import Replay

Widened = Callable[[Path | None], Images]
"""What the kernel in double precision leaves in the buffers of floats, on these inputs in place of the run's own."""

# 16-bit floats have too few digits for steps beside which a branch is large.
STEPS = Steps("fp32", "<f4", 1 << 11, 1 << 12)
_SIZE = 4  # bytes of such a number
_EPSILON = 2.0**-23
_STEP = (STEPS.least + STEPS.most) / 2
_PAIRS = 8  # of so many, none of some ten thousand elements has luck in all
# More than so many times what one unit in the last place of the inputs makes is not taken for rounding. A branch makes
# a 3072th of itself for a unit, and with what a proof allows of that a 12th.
_MANY_ROUNDINGS = 16.0
# Where inputs are the same, their roundings are alike and add up, if not in the reference's order.
_ALIKE = 2.0
_ALLOWED = 8.0 * _ALIKE  # times what an element is off, as `as_good` allows 8 times `Truth.rounding`
_LUCK = 4.0  # by so much more may an element move in other pairs than in the first
_CONSTANTS = 64 * _EPSILON  # relative: so far off may be what depends on no input
_EXPLAINED = 0.9  # of the elements at least: else double precision computes something else


@dataclass(frozen=True)
class Truth:
    """Of the elements of a buffer what they are in double precision, and how far rounding moves them from that.

    NaN where rounding does not explain how far the reference itself is off: there it took another branch.
    """

    exact: Doubles
    rounding: Doubles


@dataclass(frozen=True)
class Pair:
    """What is left in a buffer by the reference on nudged inputs, and in double precision on the same."""

    own: Doubles
    exact: Doubles


def rounding_errors(
    run: ReferenceRun,
    settings: ReferenceSettings,
    widened: Widened,
    work: Path,
    cancel: threading.Event | None,
) -> Mapping[int, Truth]:
    """The truth about each buffer of floats that the run writes and in which large differences may be rounding.

    Empty where a nudged run fails. Mostly nothing cancels; then it takes two runs to see that. Raises NoOracle.
    """
    exact = widened(run.inputs)
    folders = [nudged_inputs(run, pair, 1, work / f"inputs_{pair}", STEPS) for pair in range(_PAIRS)]
    first = widened(folders[0])
    buffers = [
        b
        for b in run.dispatch.buffers
        if b.index in _floats(run)
        and b.index in exact
        and may_cancel(
            _numbers(run, run.result, b),
            exact[b.index],
            first[b.index],
            written_elements(run, b.index, _SIZE),
        )
    ]
    if not buffers:
        return {}
    runs = replayed_on(folders, run, settings, work, cancel)
    if runs is None:
        return {}
    images = [first, *(widened(folder) for folder in folders[1:])]
    found = {
        b.index: truth_of(
            _numbers(run, run.result, b),
            exact[b.index],
            [Pair(_numbers(run, one, b), image[b.index]) for one, image in zip(runs, images, strict=True)],
            written_elements(run, b.index, _SIZE),
        )
        for b in buffers
    }
    return {index: truth for index, truth in found.items() if truth is not None}


def may_cancel(own: Doubles, exact: Doubles, nudged: Doubles, written: NDArray[np.bool_]) -> bool:
    """Whether inputs that are nudged once move some element so much that rounding may make a large difference."""
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.abs(nudged - exact)[written] / _STEP
    most = float(moved[np.isfinite(moved)].max(initial=0.0))
    sizes = np.abs(own[written])
    largest = float(sizes[np.isfinite(sizes)].max(initial=0.0))
    return most > 0 and _ALLOWED * _MANY_ROUNDINGS * _LUCK * most >= ROUNDING / 2 * largest


def truth_of(own: Doubles, exact: Doubles, pairs: Sequence[Pair], written: NDArray[np.bool_]) -> Truth | None:
    """How far each element is off by rounding: by its own runs, and by those of the others for one that had luck.

    None where rounding does not explain the reference's own numbers.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        off = root_mean_square([pair.own - pair.exact for pair in pairs])
        unit = root_mean_square([pair.exact - exact for pair in pairs]) / _STEP
        rounding = without_luck(off, unit, written, _MANY_ROUNDINGS)
        explained = np.abs(own - exact) <= _ALLOWED * rounding + _CONSTANTS * np.abs(exact)
    finite = written & np.isfinite(own) & np.isfinite(exact)
    if not finite.any() or np.mean(explained[finite]) < _EXPLAINED:
        return None
    return Truth(np.where(explained, exact, np.nan), _ALIKE * rounding)


def _floats(run: ReferenceRun) -> set[int]:
    found = float_buffers(run.dispatch, run.pieces)
    return {index for index, element in found.items() if element.name == STEPS.element}


def _numbers(run: ReferenceRun, result: Replay, buffer: CapturedBuffer) -> Doubles:
    return np.frombuffer(run.compared(result, buffer), dtype=STEPS.numbers).astype(np.float64)
