"""The reference, replayed: what it writes, what it leaves alone, how far two of its own runs differ.

Takes captured dispatches, gives the measure that any number of candidates are held against. The same replays serve all
candidates of one kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo import inputs
from hipscope.accordo.capture import CapturedDispatch
from hipscope.accordo.compare import Piece, compare_buffer, largest_difference
from hipscope.accordo.dtypes import Segment, demangle, pointees, segments
from hipscope.accordo.replay import ATOMIC, WRITTEN, Replay, ReplayTool, replay
from hipscope.accordo.tolerance import EXACT, Tolerance, tolerance_for
from hipscope.accordo.verdict import Trial

FRESH_TRIALS = 2
POISONS = (0x1F2E3D4C, 0x5A6978B7)
_SEEDS = (1, 2)

Access = Mapping[int, NDArray[np.uint8]]
Spread = dict[tuple[int, int], float]


@dataclass(frozen=True)
class Signature:
    """The kernel's parameters as the source has them: names for messages, types where the mangled name has none."""

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """How to replay and how strict to be. `tolerance` is the user's relative tolerance, None for the type's own."""

    tool: ReplayTool
    cxxfilt: Path
    work: Path
    tolerance: float | None = None
    trials: int = FRESH_TRIALS


@dataclass(frozen=True)
class ReferenceRun:
    """One set of inputs on which the reference has run: `inputs` is None for the captured ones."""

    label: str
    inputs: Path | None
    result: Replay
    access: Access


@dataclass(frozen=True)
class Prepared:
    """What the reference did with one dispatch. `spread` is by (buffer, start of the piece)."""

    dispatch: CapturedDispatch
    pieces: Mapping[int, tuple[Segment, ...]]
    spread: Spread
    runs: tuple[ReferenceRun, ...]
    dropped: tuple[Trial, ...]


@dataclass(frozen=True)
class Reference:
    """The replayed reference, ready to judge any number of candidates. `broken` says why it cannot."""

    settings: Settings
    signature: Signature
    prepared: tuple[Prepared, ...]
    broken: str | None = None
    notes: tuple[str, ...] = field(default=())


class _NotReproducible(Exception):
    """The reference cannot be the measure; the message says why."""


def prepare_reference(
    dispatches: Sequence[CapturedDispatch],
    settings: Settings,
    signature: Signature | None = None,
    *,
    progress: Callable[[str], None] = lambda _: None,
    cancel: threading.Event | None = None,
) -> Reference:
    """Replay the reference on its own dispatches and on fresh inputs.

    A reference that does not reproduce its own recorded result, or writes nothing, cannot judge: `broken` says so.
    """
    signature = signature or Signature()
    if not dispatches:
        return Reference(settings, signature, (), "no launch of the kernel was recorded")
    prepared: list[Prepared] = []
    notes: list[str] = []
    for dispatch in dispatches:
        progress(f"replay of dispatch {dispatch.id}")
        try:
            one = _prepare(dispatch, settings, signature, cancel)
        except _NotReproducible as reason:
            return Reference(settings, signature, (), str(reason))
        prepared.append(one)
        if not dispatch.complete:
            notes.append(
                f"dispatch {dispatch.id} was recorded in part: {dispatch.reason or 'too much memory'}"
            )
        notes += [f"dispatch {dispatch.id}, {t.inputs}: dropped, {t.detail}" for t in one.dropped]
    if not any((a & WRITTEN).any() for p in prepared for a in p.runs[0].access.values()):
        return Reference(settings, signature, (), "the kernel wrote nothing that could be compared")
    return Reference(settings, signature, tuple(prepared), None, tuple(notes))


def piece_tolerance(
    segment: Segment,
    expected: bytes,
    access: NDArray[np.uint8],
    dispatch: CapturedDispatch,
    settings: Settings,
    *,
    spread: float = 0.0,
    exact: bool = False,
) -> Tolerance:
    """How far this piece of output may be off. Floats made by atomics are never asked to be exact."""
    window = access[segment.start : segment.end]
    by_atomics = segment.element.kind == "float" and bool((window & ATOMIC).any())
    if exact and not by_atomics:
        return EXACT
    numbers = segment.element.numbers(expected[segment.start : segment.end])
    terms = dispatch.work_items if by_atomics else 1
    return tolerance_for(segment.element, numbers, terms=terms, spread=spread, user=settings.tolerance)


def _prepare(
    dispatch: CapturedDispatch, settings: Settings, signature: Signature, cancel: threading.Event | None
) -> Prepared:
    types = pointees(demangle(dispatch.kernel, settings.cxxfilt), signature.types)
    pieces = {b.index: segments(b, types) for b in dispatch.buffers}
    work = settings.work / f"dispatch_{dispatch.id}"
    run = partial(replay, settings.tool, dispatch, dispatch.code_object, cancel=cancel)

    first = run(work / "reference", seed=_SEEDS[0], trace_access=True)
    _must_end(first, dispatch)
    access = _access(first, dispatch)
    second = run(work / "again", seed=_SEEDS[1], poison=POISONS[0], poison_mask=first.directory)
    _must_end(second, dispatch)
    spread: Spread = {}
    _widen(spread, dispatch, pieces, first, second)
    _must_reproduce(dispatch, pieces, access, first, second, settings)

    runs = [ReferenceRun("captured inputs", None, first, access)]
    dropped: list[Trial] = []
    for trial in range(1, settings.trials + 1):
        fresh, label = work / f"inputs_{trial}", inputs.describe(trial)
        if inputs.write_fresh_inputs(dispatch.buffers, pieces, access, fresh, trial) == 0:
            dropped.append(
                Trial(dispatch=dispatch.id, inputs=label, outcome="dropped", detail="it has no inputs")
            )
            break
        result = run(work / f"trial_{trial}", seed=_SEEDS[0], trace_access=True, inputs=fresh)
        if result.status != "ok":
            detail = f"the reference itself fails on them ({result.status}): {result.message}"
            dropped.append(Trial(dispatch=dispatch.id, inputs=label, outcome="dropped", detail=detail))
            continue
        maps = _access(result, dispatch)
        if _floats_by_atomics(dispatch, pieces, maps):
            other = run(work / f"trial_{trial}_again", seed=_SEEDS[1], inputs=fresh)
            if other.status == "ok":
                _widen(spread, dispatch, pieces, result, other)
        runs.append(ReferenceRun(label, fresh, result, maps))
    return Prepared(dispatch, pieces, spread, tuple(runs), tuple(dropped))


def _must_end(result: Replay, dispatch: CapturedDispatch) -> None:
    if result.status != "ok":
        raise _NotReproducible(
            f"dispatch {dispatch.id} cannot be replayed ({result.status}): {result.message}"
        )


def _access(result: Replay, dispatch: CapturedDispatch) -> dict[int, NDArray[np.uint8]]:
    return {b.index: result.access(b.index, b.size) for b in dispatch.buffers}


def _must_reproduce(
    dispatch: CapturedDispatch,
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Access,
    first: Replay,
    second: Replay,
    settings: Settings,
) -> None:
    """The reference's runs may differ only by what another order of additions explains."""
    for buffer in dispatch.buffers:
        image = first.after(buffer.index, buffer.size)
        touched = access[buffer.index]
        measured = tuple(
            Piece(s, piece_tolerance(s, image, touched, dispatch, settings), f"buffer {buffer.index}")
            for s in pieces[buffer.index]
        )
        others = {
            "its replay differs from the program's own run": buffer.after(),
            "two replays of it differ": second.after(buffer.index, buffer.size),
        }
        for what, other in others.items():
            found, _ = compare_buffer(
                measured,
                before=buffer.before(),
                expected=image,
                got=other,
                written=(touched & WRITTEN) != 0,
                is_input=False,
                buffer=buffer.index,
            )
            if found:
                raise _NotReproducible(
                    f"the kernel is not reproducible: {what} (dispatch {dispatch.id}): {found[0].message}"
                )


def _floats_by_atomics(
    dispatch: CapturedDispatch, pieces: Mapping[int, tuple[Segment, ...]], access: Access
) -> bool:
    """True when some float is made by atomics, so that its last digits depend on the order of the waves."""
    return any(
        s.element.kind == "float" and bool((access[b.index][s.start : s.end] & ATOMIC).any())
        for b in dispatch.buffers
        for s in pieces[b.index]
    )


def _widen(
    spread: Spread,
    dispatch: CapturedDispatch,
    pieces: Mapping[int, tuple[Segment, ...]],
    one: Replay,
    other: Replay,
) -> None:
    """Take note of how far two correct runs of the reference are apart."""
    for buffer in dispatch.buffers:
        plain = tuple(Piece(s, EXACT, "") for s in pieces[buffer.index] if s.element.kind == "float")
        images = (r.after(buffer.index, buffer.size) for r in (one, other))
        for start, size in largest_difference(plain, *images).items():
            key = (buffer.index, start)
            spread[key] = max(spread.get(key, 0.0), size)
