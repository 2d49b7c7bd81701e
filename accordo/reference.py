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
from hipscope.accordo.capture import CapturedBuffer, CapturedDispatch, CapturedVariable
from hipscope.accordo.compare import Piece, compare_buffer, largest_difference
from hipscope.accordo.defences import NOTHING_OFF, Defence, Without
from hipscope.accordo.dtypes import Segment, argument_types, demangle, pointees, segments
from hipscope.accordo.oracle import Images, NoOracle, WidenedKernel, float_buffers, usable, write_widened
from hipscope.accordo.replay import ATOMIC, READ, WRITTEN, Replay, ReplayTool, patient, replay
from hipscope.accordo.tolerance import EXACT, Tolerance, UserTolerance, tolerance_for
from hipscope.accordo.variants import launch_variants, smaller_launch
from hipscope.accordo.verdict import Trial

FRESH_TRIALS = len(inputs.TRIALS)
CAPTURED = "captured inputs"
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
    """How to replay and how strict to be. `tolerance` is what the user allows, None for the type's own.

    `tolerances` does the same for single arguments, by name. `odd_workgroups` asks for workgroups that are no power of
    two. `without` names defences that are off. `widened` gives the kernel (by mangled name) in double precision, or
    says why there is none.
    `sanitize` names the checks that a candidate is run under, "" for none ("all", or names with commas).
    """

    tool: ReplayTool
    cxxfilt: Path
    work: Path
    tolerance: UserTolerance | None = None
    tolerances: Mapping[str, UserTolerance] = field(default_factory=dict)
    odd_workgroups: bool = False
    without: Without = NOTHING_OFF
    widened: Callable[[str], WidenedKernel | str] | None = None
    sanitize: str = ""


@dataclass(frozen=True)
class ReferenceRun:
    """One launch on which the reference has run; `inputs` is None for the captured memory.

    `spread` says how far correct runs of it are apart, by (buffer, start of the piece). `oracle` holds the float
    buffers as the kernel leaves them in double precision. `same_bits` says that two orders of the waves left the same
    bits, and not by atomics on floats.
    """

    label: str
    dispatch: CapturedDispatch
    inputs: Path | None
    pieces: Pieces
    result: Replay
    access: Access
    spread: Spread
    oracle: Images = field(default_factory=dict)
    same_bits: bool = False


@dataclass(frozen=True)
class Prepared:
    """What the reference did with one dispatch; `repeated` is the run that candidates repeat in more orders."""

    dispatch: CapturedDispatch
    runs: tuple[ReferenceRun, ...]
    repeated: ReferenceRun
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
    for dispatch in dispatches if "all_dispatches" not in settings.without else dispatches[:1]:
        progress(f"replay of dispatch {dispatch.id}")
        try:
            one = _prepare(dispatch, settings, signature, notes, cancel)
        except _NotReproducible as reason:
            return Reference(settings, signature, (), str(reason))
        prepared.append(one)
        if not dispatch.complete:
            notes.append(
                f"dispatch {dispatch.id} was recorded in part: {dispatch.reason or 'too much memory'}"
            )
        notes += [f"dispatch {dispatch.id}, {t.inputs}: dropped, {t.detail}" for t in one.dropped]
    if not any(_writes(p) for p in prepared):
        return Reference(settings, signature, (), "the kernel wrote nothing that could be compared")
    return Reference(settings, signature, tuple(prepared), None, tuple(notes))


def piece_tolerance(
    segment: Segment,
    expected: bytes,
    access: NDArray[np.uint8],
    dispatch: CapturedDispatch,
    settings: Settings,
    signature: Signature,
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
    names, argument = signature.names, segment.argument
    name = names[argument] if argument is not None and argument < len(names) else ""
    user = settings.tolerances.get(name, settings.tolerance)
    return tolerance_for(segment.element, numbers, terms=terms, spread=spread, user=user)


@dataclass(frozen=True)
class _Planned:
    """One trial that the reference has not run yet."""

    defence: Defence
    label: str
    dispatch: CapturedDispatch
    inputs: Path | None
    usual: Access | None = None  # what the same launch touches on the captured inputs


def _prepare(
    dispatch: CapturedDispatch,
    settings: Settings,
    signature: Signature,
    notes: list[str],
    cancel: threading.Event | None,
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
    judged = partial(_difference, dispatch, pieces, access, first, settings=settings, signature=signature)
    for what, image, variable in (
        ("its replay differs from the program's own run", CapturedBuffer.after, CapturedVariable.after),
        ("two replays of it differ", second.image, second.variable),
    ):
        if (difference := judged(image=image, variable=variable)) is not None:
            where = f"{what} (dispatch {dispatch.id})"
            raise _NotReproducible(f"the kernel is not reproducible: {where}: {difference}")
    same_bits = _same_bits(dispatch, first, second) and not _floats_by_atomics(dispatch, pieces, access)
    captured = ReferenceRun(CAPTURED, dispatch, None, pieces, first, access, spread, same_bits=same_bits)
    # Inputs that the program never had may make the reference loop for ever.
    patiently = replace(settings, tool=patient(settings.tool, first))
    attempt = partial(
        _try, captured=captured, types=types, settings=patiently, signature=signature, cancel=cancel
    )
    runs, dropped = [captured], []
    part = _part(captured, attempt, work)
    planned = _plan(captured, part, argument_types(demangled) or list(signature.types), settings, work)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = [pool.submit(attempt, trial, out=work / f"trial_{n}") for n, trial in enumerate(planned)]
    for trial, job in zip(planned, jobs, strict=True):
        tried = job.result()
        if isinstance(tried, str):
            dropped.append(Trial(dispatch=dispatch.id, inputs=trial.label, outcome="dropped", detail=tried))
        else:
            runs.append(tried)
    if "oracle" not in settings.without:
        runs, why = _with_oracles(runs, settings, work, cancel)
        notes += [f"dispatch {dispatch.id}: no comparison in double precision: {why}"] if why else []
    return Prepared(dispatch, tuple(runs), part, tuple(dropped))


def _part(captured: ReferenceRun, attempt: Callable[..., ReferenceRun | str], work: Path) -> ReferenceRun:
    """A launch of few workgroups that most trials vary, so that they are quick; the captured one if it is small."""
    smaller = smaller_launch(captured.dispatch, work / "part")
    if smaller is None:
        return captured
    tried = attempt(_Planned("other_workgroups", "few workgroups", smaller, None), out=work / "part_run")
    return captured if isinstance(tried, str) else tried


def _plan(
    captured: ReferenceRun, part: ReferenceRun, parameters: Sequence[str], settings: Settings, work: Path
) -> list[_Planned]:
    """What is tried beside the captured launch on its captured inputs: two trials in full, the rest on `part`."""
    planned = []
    for number, defence in inputs.TRIALS.items():
        fresh = work / f"inputs_{number}"
        base = captured if number in (inputs.PERMUTED, inputs.SCALED) else part
        if defence in settings.without:
            continue
        if inputs.write_fresh_inputs(base.dispatch.buffers, base.pieces, base.access, fresh, number):
            planned.append(_Planned(defence, inputs.describe(number), base.dispatch, fresh, base.access))
    variants = launch_variants(part.dispatch, parameters, work / "launches", odd=settings.odd_workgroups)
    planned += [_Planned(v.defence, v.label, v.dispatch, None) for v in variants]
    return [p for p in planned if p.defence not in settings.without]


def _try(
    trial: _Planned,
    *,
    out: Path,
    captured: ReferenceRun,
    types: Mapping[int, str],
    settings: Settings,
    signature: Signature,
    cancel: threading.Event | None,
) -> ReferenceRun | str:
    """The reference on other inputs or another launch; a str says why it is not well defined there."""
    launch = trial.dispatch
    pieces = {b.index: segments(b, types) for b in launch.buffers}
    run = partial(replay, settings.tool, launch, launch.code_object, inputs=trial.inputs, cancel=cancel)
    result = run(out, seed=_SEEDS[0], trace_access=True)
    if result.status != "ok":
        return f"the reference itself fails there ({result.status}): {result.message}"
    access = _access(result, launch)
    unlike = trial.usual is not None and not _same_places(trial.usual, access)
    if trial.defence == "large_integers" and unlike:
        return "the kernel takes integers of its input for indices or lengths"
    same_bits = False
    own = dict(captured.spread) if trial.inputs is None else {}  # other inputs may be of quite another size
    if trial.inputs is None or _floats_by_atomics(launch, pieces, access):
        again = out.with_name(f"{out.name}_again")
        other = run(again, seed=_SEEDS[1], poison=POISONS[0], poison_mask=result.directory)
        if other.status != "ok":
            return f"the reference itself fails there ({other.status}): {other.message}"
        difference = _difference(
            launch, pieces, access, result, other.image, other.variable, settings, signature
        )
        if difference is not None:
            return f"the reference is not reproducible there: {difference}"
        _widen(own, launch, pieces, result, other)
        same_bits = _same_bits(launch, result, other) and not _floats_by_atomics(launch, pieces, access)
    return ReferenceRun(trial.label, launch, trial.inputs, pieces, result, access, own, same_bits=same_bits)


def _with_oracles(
    runs: list[ReferenceRun], settings: Settings, work: Path, cancel: threading.Event | None
) -> tuple[list[ReferenceRun], str]:
    """The runs on the captured and the first fresh inputs with their oracle, and why there is none ("" if there is)."""
    captured = runs[0]
    written = [
        b.index
        for b in captured.dispatch.buffers
        for s in captured.pieces[b.index]
        if s.element.name == "fp32" and (captured.access[b.index][s.start : s.end] & WRITTEN).any()
    ]
    if settings.widened is None or not written:
        return runs, ""
    kernel = settings.widened(captured.dispatch.kernel)
    if isinstance(kernel, str):
        return runs, kernel
    told = [inputs.describe(inputs.PERMUTED), inputs.describe(inputs.SCALED)]
    result = []
    for number, run in enumerate(runs):
        if number and run.label not in told:
            result.append(run)
            continue
        try:
            result.append(
                replace(run, oracle=_oracle(run, kernel, settings, work / f"oracle_{number}", cancel))
            )
        except NoOracle as reason:
            if number == 0:
                return runs, str(reason)
            result.append(run)
    return result, ""


def _oracle(
    run: ReferenceRun, kernel: WidenedKernel, settings: Settings, folder: Path, cancel: threading.Event | None
) -> dict[int, NDArray[np.float64]]:
    """The float buffers in double precision. Raises NoOracle."""
    launch = write_widened(run.dispatch, run.pieces, run.inputs, kernel, folder / "dispatch")
    tool = patient(settings.tool, run.result)
    result = replay(tool, launch, kernel.code.path, folder / "run", seed=_SEEDS[0], cancel=cancel)
    if result.status != "ok":
        raise NoOracle(f"it does not run ({result.status}): {result.message}")
    images: dict[int, NDArray[np.float64]] = {}
    for index in float_buffers(run.dispatch, run.pieces):
        buffer = next(b for b in run.dispatch.buffers if b.index == index)
        image = np.frombuffer(result.after(index, 2 * buffer.size), dtype="<f8")
        touched = ((run.access[index] & WRITTEN) != 0).reshape(-1, 4).all(axis=1)
        expected = np.frombuffer(run.result.image(buffer), dtype="<f4").astype(np.float64)
        if touched.any():
            if not usable(expected[touched], image[touched]):
                raise NoOracle("it computes something else than the kernel")
            images[index] = image
    return images


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
    variable: Callable[[CapturedVariable], bytes | None],
    settings: Settings,
    signature: Signature,
) -> str | None:
    """How another run of the reference differs by more than another order of additions explains, or None."""
    for one in dispatch.variables:
        if (now := first.variable(one)) is not None and (then := variable(one)) is not None and now != then:
            return f"the variable {one.symbol} is left with another value"
    for buffer in dispatch.buffers:
        expected, other = first.image(buffer), image(buffer)
        if expected == other:
            continue
        touched = access[buffer.index]
        measured = tuple(
            Piece(
                s,
                piece_tolerance(s, expected, touched, dispatch, settings, signature),
                f"buffer {buffer.index}",
            )
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


def _writes(prepared: Prepared) -> bool:
    run = prepared.runs[0]
    return any((a & WRITTEN).any() for a in run.access.values()) or any(
        run.result.variable(v) not in (None, v.before()) for v in run.dispatch.variables
    )


def _same_bits(dispatch: CapturedDispatch, one: Replay, other: Replay) -> bool:
    return all(one.image(b) == other.image(b) for b in dispatch.buffers)


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
