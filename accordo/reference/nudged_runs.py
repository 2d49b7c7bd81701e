"""Runs of the reference on nudged inputs, and how far rounding moves its doubles: there is no wider type for them.

Takes a run of the reference, gives for each buffer of doubles how far correct results of it are apart. Pairs of runs
have every input double moved by the same step up in one and down in the other. What is linear in the inputs cancels in
the sum of both results, so that rounding is left of it; half their difference tells how much the result depends on its
inputs. A branch that a step takes moves the result by as much for a small step as for a large one: that is no rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.access_map import WRITTEN
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement, write_replacement
from hipscope.accordo.oracle.launch import Images
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.replay import Replay, ReplayRequest, patience, replay_all

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """By how many units in its last place each input of a type is moved."""

    element: str
    numbers: str
    least: int
    most: int


_PAIRS = 3
_FIRST_SEED = 11  # of the order of waves; other than those of the reference's own runs
# So many that the roundings of both runs have nothing to do with each other, so few that all but branches is linear.
DOUBLE_STEPS = Steps("fp64", "<f8", 1 << 15, 1 << 16)
# More than so many times what one unit in the last place of the inputs makes is not taken for rounding. A branch makes
# a 768th of itself, as the inputs have moved by some 49152 units: with what a proof allows of it, a 96th.
_MANY_ROUNDINGS = 64.0
# Nor is more than this of the buffer's largest number: there the result is not linear in its inputs.
_FARTHEST = 1e-6


@dataclass(frozen=True)
class Moved:
    """The numbers of a buffer after a pair of runs, less those of the run without a step."""

    up: Doubles
    down: Doubles


def double_roundings(
    run: ReferenceRun, settings: ReferenceSettings, work: Path, cancel: threading.Event | None
) -> Images:
    """For each buffer that is doubles from end to end and that the run writes; empty where a nudged run fails."""
    written = [b for b in run.dispatch.buffers if run.access[b.index].any(WRITTEN) and _all_doubles(run, b)]
    if not written:
        return {}
    folders = [
        nudged_inputs(run, pair, way, work / f"inputs_{pair}_{way}", DOUBLE_STEPS)
        for pair in range(_PAIRS)
        for way in (1, -1)
    ]
    runs = replayed_on(folders, run, settings, work, cancel)
    return {} if runs is None else {b.index: _roundings_of(run, b, runs) for b in written}


def replayed_on(
    folders: Sequence[Path],
    run: ReferenceRun,
    settings: ReferenceSettings,
    work: Path,
    cancel: threading.Event | None,
) -> list[Replay] | None:
    """The reference on the inputs in each folder, each time in another order of its waves; None where one run fails."""
    limit = patience(settings.tool, run.result)
    requests = [
        ReplayRequest(
            run.dispatch,
            run.dispatch.code_object,
            work / f"run_{number}",
            seed=_FIRST_SEED + number,
            inputs=folder,
            timeout_s=limit,
        )
        for number, folder in enumerate(folders)
    ]
    runs = [made for (made,) in replay_all(settings.tool, [[r] for r in requests], cancel=cancel)]
    return runs if all(made.status == "ok" for made in runs) else None


def roundings(own: Doubles, moved: Sequence[Moved], written: NDArray[np.bool_]) -> Doubles:
    """How far each number is off by rounding: by its own runs, and by those of the others for one that had luck."""
    # Three roundings are in the sum, one of them twice.
    rounding = root_mean_square([m.up + m.down for m in moved]) / np.sqrt(6)
    unit = root_mean_square([m.up - m.down for m in moved]) / (DOUBLE_STEPS.least + DOUBLE_STEPS.most)
    found = without_luck(rounding, unit, written, _MANY_ROUNDINGS)
    largest = float(np.abs(own)[np.isfinite(own)].max(initial=0.0))
    return np.where(found <= _FARTHEST * largest, found, 0.0)


def without_luck(rounding: Doubles, unit: Doubles, written: NDArray[np.bool_], most: float) -> Doubles:
    """How far each number is off by rounding, also one that had luck: as far as the others are.

    `unit` is what one unit in the last place of the inputs makes of each number: the others count in such units, and no
    more than `most` of them are taken for rounding. 0 where it is not known.
    """
    found = np.zeros(len(rounding))
    known = written & np.isfinite(rounding) & np.isfinite(unit) & (unit > 0)
    if known.any():
        shares = np.minimum(rounding[known] / unit[known], most)
        usual = float(np.sqrt(np.mean(np.square(shares)))) * unit[known]
        found[known] = np.minimum(np.maximum(rounding[known], usual), most * unit[known])
    return found


def _roundings_of(run: ReferenceRun, buffer: CapturedBuffer, runs: Sequence[Replay]) -> Doubles:
    own = _numbers(run, run.result, buffer)
    written = (run.access[buffer.index].window(0, buffer.size) & WRITTEN).reshape(-1, 8).any(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        left = [_numbers(run, one, buffer) - own for one in runs]
        moved = [Moved(up, down) for up, down in zip(left[::2], left[1::2], strict=True)]
        return roundings(own, moved, np.asarray(written))


def _numbers(run: ReferenceRun, result: Replay, buffer: CapturedBuffer) -> Doubles:
    return np.frombuffer(run.compared(result, buffer), dtype="<f8")


def root_mean_square(of: Sequence[Doubles]) -> Doubles:
    """Of each element over several arrays of the same length."""
    return np.asarray(np.sqrt(np.mean(np.square(of), axis=0)))


def _all_doubles(run: ReferenceRun, buffer: CapturedBuffer) -> bool:
    pieces = run.results[buffer.index]
    plain = bool(pieces) and all(_moves(DOUBLE_STEPS, s) and s.argument is not None for s in pieces)
    return plain and sum(s.end - s.start for s in pieces) == buffer.size


def _moves(steps: Steps, segment: Segment) -> bool:
    return (
        segment.element.name == steps.element
        and segment.stride is None
        and segment.only is None
        and not segment.stored
    )


def nudged_inputs(run: ReferenceRun, seed: int, way: int, folder: Path, steps: Steps) -> Path:
    """A folder with the run's inputs, each number of a type some units in its last place higher or lower."""
    folder.mkdir(parents=True)
    for buffer in run.dispatch.buffers:
        captured = buffer.before()
        replaced = replacement(run.inputs, buffer.index)
        data = bytearray(captured if replaced is None else replaced_contents(replaced, buffer.before))
        rng = np.random.default_rng([seed, buffer.index])
        for segment in (s for s in run.pieces[buffer.index] if _moves(steps, s)):
            part = bytes(data[segment.start : segment.end])
            data[segment.start : segment.end] = nudged(part, way, rng, steps)
        if data != captured:
            now, was = (np.frombuffer(d, dtype=np.uint8) for d in (data, captured))
            write_replacement(folder, buffer.index, was, now)
    return folder


def nudged(data: bytes, way: int, rng: np.random.Generator, steps: Steps = DOUBLE_STEPS) -> bytes:
    """Zeros stay zeros, NaN and infinity what they are, and none gets another sign or overflows."""
    numbers = np.frombuffer(data, dtype=steps.numbers)
    moves = rng.integers(steps.least, steps.most, len(numbers)) * (rng.integers(0, 2, len(numbers)) * 2 - 1)
    sizes, limits = np.abs(numbers), np.finfo(numbers.dtype)
    movable = (sizes > limits.tiny * steps.most) & (sizes < limits.max / 2)
    result = numbers.copy()
    result[movable] += (way * moves[movable] * np.spacing(sizes[movable])).astype(numbers.dtype)
    return result.tobytes()
