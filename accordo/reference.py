"""The reference, replayed: what it writes, what it leaves alone, how far two of its own runs differ.

Takes captured dispatches, gives the measure that any number of candidates are held against. The same replays serve all
candidates of one kernel.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo import inputs
from hipscope.accordo.capture import CapturedBuffer, CapturedDispatch
from hipscope.accordo.compare import Piece, compare_buffer, largest_difference
from hipscope.accordo.dtypes import Segment, argument_types, demangle, pointees, segments
from hipscope.accordo.replay import ATOMIC, READ, WRITTEN, Replay, ReplayTool, patient, replay
from hipscope.accordo.tolerance import EXACT, Tolerance, tolerance_for
from hipscope.accordo.variants import launch_variants
from hipscope.accordo.verdict import Trial

FRESH_TRIALS = inputs.LARGE_INTEGERS
POISONS = (0x1F2E3D4C, 0x5A6978B7)
_SEEDS = (1, 2)

Access = Mapping[int, NDArray[np.uint8]]
Pieces = Mapping[int, tuple[Segment, ...]]
Spread = dict[tuple[int, int], float]


@dataclass(frozen=True)
class Signature:
    """The kernel's parameters as the source has them: names for messages, types where the mangled name has none."""

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """How to replay and how strict to be. `tolerance` is the user's relative tolerance, None for the type's own.

    `trials` is how many fresh sets of inputs are tried, `launches` whether other launch shapes are, `odd_workgroups`
    whether also some that are no power of two.
    """

    tool: ReplayTool
    cxxfilt: Path
    work: Path
    tolerance: float | None = None
    trials: int = FRESH_TRIALS
    launches: bool = True
    odd_workgroups: bool = False


@dataclass(frozen=True)
class ReferenceRun:
    """One launch on which the reference has run; `inputs` is None for the captured memory.

    `spread` says how far correct runs of it are apart, by (buffer, start of the piece).
    """

    label: str
    dispatch: CapturedDispatch
    inputs: Path | None
    result: Replay
    access: Access
    spread: Spread


@dataclass(frozen=True)
class Prepared:
    """What the reference did with one dispatch."""

    dispatch: CapturedDispatch
    pieces: Pieces
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
    demangled = demangle(dispatch.kernel, settings.cxxfilt)
    types = pointees(demangled, signature.types)
    pieces = {b.index: segments(b, types) for b in dispatch.buffers}
    work = settings.work / f"dispatch_{dispatch.id}"
    run = partial(replay, settings.tool, code_object=dispatch.code_object, cancel=cancel)

    first = run(dispatch, out=work / "reference", seed=_SEEDS[0], trace_access=True)
    _must_end(first, dispatch)
    access = _access(first, dispatch)
    second = run(dispatch, out=work / "again", seed=_SEEDS[1], poison=POISONS[0], poison_mask=first.directory)
    _must_end(second, dispatch)
    spread: Spread = {}
    _widen(spread, dispatch, pieces, first, second)
    images: dict[str, Callable[[CapturedBuffer], bytes]] = {
        "its replay differs from the program's own run": CapturedBuffer.after,
        "two replays of it differ": second.image,
    }
    for what, image in images.items():
        if (difference := _difference(dispatch, pieces, access, first, image, settings)) is not None:
            where = f"{what} (dispatch {dispatch.id})"
            raise _NotReproducible(f"the kernel is not reproducible: {where}: {difference}")

    trials: list[tuple[str, CapturedDispatch, Path | None]] = []
    for number in range(1, settings.trials + 1):
        fresh = work / f"inputs_{number}"
        if inputs.write_fresh_inputs(dispatch.buffers, pieces, access, fresh, number):
            trials.append((inputs.describe(number), dispatch, fresh))
    if settings.launches:
        parameters = argument_types(demangled) or list(signature.types)
        variants = launch_variants(dispatch, parameters, work / "launches", odd=settings.odd_workgroups)
        trials += [(label, launch, None) for label, launch in variants]

    runs = [ReferenceRun("captured inputs", dispatch, None, first, access, spread)]
    dropped: list[Trial] = []
    # Inputs that the program never had may make the reference loop for ever.
    patiently = replace(settings, tool=patient(settings.tool, first))
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = [
            pool.submit(_try, *trial, work / f"trial_{number}", pieces, patiently, spread, cancel)
            for number, trial in enumerate(trials, 1)
        ]
    for (label, _, _), job in zip(trials, jobs, strict=True):
        tried = job.result()
        if isinstance(tried, str):
            dropped.append(Trial(dispatch=dispatch.id, inputs=label, outcome="dropped", detail=tried))
        elif label == inputs.describe(inputs.LARGE_INTEGERS) and not _same_places(access, tried.access):
            why = "the kernel takes integers of its input for indices or lengths"
            dropped.append(Trial(dispatch=dispatch.id, inputs=label, outcome="dropped", detail=why))
        else:
            runs.append(tried)
    return Prepared(dispatch, pieces, tuple(runs), tuple(dropped))


def _try(
    label: str,
    launch: CapturedDispatch,
    fresh: Path | None,
    out: Path,
    pieces: Pieces,
    settings: Settings,
    spread: Spread,
    cancel: threading.Event | None,
) -> ReferenceRun | str:
    """The reference on other inputs or another launch; a str says why it is not well defined there."""
    run = partial(replay, settings.tool, launch, launch.code_object, inputs=fresh, cancel=cancel)
    result = run(out, seed=_SEEDS[0], trace_access=True)
    if result.status != "ok":
        return f"the reference itself fails there ({result.status}): {result.message}"
    access = _access(result, launch)
    own = dict(spread) if fresh is None else {}  # other inputs may be of quite another size
    if fresh is None or _floats_by_atomics(launch, pieces, access):
        again = out.with_name(f"{out.name}_again")
        other = run(again, seed=_SEEDS[1], poison=POISONS[0], poison_mask=result.directory)
        if other.status != "ok":
            return f"the reference itself fails there ({other.status}): {other.message}"
        if (difference := _difference(launch, pieces, access, result, other.image, settings)) is not None:
            return f"the reference is not reproducible there: {difference}"
        _widen(own, launch, pieces, result, other)
    return ReferenceRun(label, launch, fresh, result, access, own)


def _same_places(one: Access, other: Access) -> bool:
    """True when two runs read and wrote the same bytes."""
    return all(np.array_equal(one[i] & (READ | WRITTEN), other[i] & (READ | WRITTEN)) for i in one)


def _must_end(result: Replay, dispatch: CapturedDispatch) -> None:
    if result.status != "ok":
        raise _NotReproducible(
            f"dispatch {dispatch.id} cannot be replayed ({result.status}): {result.message}"
        )


def _access(result: Replay, dispatch: CapturedDispatch) -> dict[int, NDArray[np.uint8]]:
    return {b.index: result.access(b.index, b.size) for b in dispatch.buffers}


def _difference(
    dispatch: CapturedDispatch,
    pieces: Pieces,
    access: Access,
    first: Replay,
    image: Callable[[CapturedBuffer], bytes],
    settings: Settings,
) -> str | None:
    """How another run of the reference differs by more than another order of additions explains, or None."""
    for buffer in dispatch.buffers:
        expected, other = first.image(buffer), image(buffer)
        if expected == other:
            continue
        touched = access[buffer.index]
        measured = tuple(
            Piece(s, piece_tolerance(s, expected, touched, dispatch, settings), f"buffer {buffer.index}")
            for s in pieces[buffer.index]
        )
        found, _ = compare_buffer(
            measured,
            before=expected,
            expected=expected,
            got=other,
            written=(touched & WRITTEN) != 0,
            is_input=False,
            buffer=buffer.index,
        )
        if found:
            return found[0].message
    return None


def _floats_by_atomics(dispatch: CapturedDispatch, pieces: Pieces, access: Access) -> bool:
    """True when some float is made by atomics, so that its last digits depend on the order of the waves."""
    return any(
        s.element.kind == "float" and bool((access[b.index][s.start : s.end] & ATOMIC).any())
        for b in dispatch.buffers
        for s in pieces[b.index]
    )


def _widen(
    spread: Spread,
    dispatch: CapturedDispatch,
    pieces: Pieces,
    one: Replay,
    other: Replay,
) -> None:
    """Take note of how far two correct runs of the reference are apart."""
    for buffer in dispatch.buffers:
        plain = tuple(Piece(s, EXACT, "") for s in pieces[buffer.index] if s.element.kind == "float")
        images = (one.image(buffer), other.image(buffer))
        if images[0] == images[1]:
            continue
        for start, size in largest_difference(plain, *images).items():
            key = (buffer.index, start)
            spread[key] = max(spread.get(key, 0.0), size)
