"""How long a kernel takes and what it does, by replaying its recorded launches under the profiler.

Takes dispatches and a code object, gives the kernel of a Profile, made by the same layout and ingest as any other
profile: a candidate and its reference are measured under identical conditions.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.replay.emulator_tool import with_constants
from hipscope.accordo.replay.replay import Replay, ReplayRequest, ReplayTool, replay, replay_all
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.run import Run
from hipscope.analysis.source.texts import SourceTexts
from hipscope.emulator.devices import (
    constants_at_ends,
    constants_at_mixed_ends,
    constants_of_part,
    device_info,
)
from hipscope.emulator.layout import ProgramInfo, Selection, write_rocprofv3
from hipscope.emulator.raw import read_dispatches

_SEED = 0
_SURE = 1.5  # no trade of one constant against another makes a rewrite slower that is this fast at both ends
_LONG = 2e7  # instructions of waves in a launch: below it a part saves less than a second
_MOST = 0.5  # of a kernel's time: what variants are ranked on
_GROUPS_PER_CU = 2  # of a launch, so that a part of it is like the rest
# As `order_matters` of the emulator's dispatch.cpp: atomics that return a value, exchange or round.
_IN_ORDER = re.compile(r"_atomic_\w*(swap|_f16|_bf16|_f32|_f64)|_atomic_.*\b(sc0|glc)\b")
_FASTER = 1.01  # times as fast on some launch: what the program may show where another gain does not
_SECONDS = 60.0  # for one constant after the other, which says which of them counts most
_SHARE = 0.25  # of the time that a limit leaves
_CAPTURE = "capture"
_PROFILE = "profile.json"

TimesAt = dict[frozenset[tuple[str, float]], float | None]
"""Nanoseconds of a launch by the constants of the time model that are replaced."""

Audit = Callable[[CapturedDispatch, Replay], str | None]
"""What is wrong with what a timed run left; empty for nothing, None where that cannot be said yet."""


@dataclass(frozen=True)
class Measured:
    """A kernel over its recorded launches. `profile` holds nothing else. `wrong`: what a timed run left wrong, if
    that was `checked`.

    `texts` are those that its code was compiled from.
    """

    profile: Profile
    kernel: Kernel
    texts: SourceTexts
    wrong: str | None = None
    checked: bool = False

    @property
    def time_ns(self) -> float:
        """Nanoseconds of all launches together; modelled."""
        return sum(k.time_ns for k in self.profile.kernels)

    @property
    def occupancy(self) -> float | None:
        """Waves per SIMD that the resources allow, or None when they are not known."""
        found = occupancy(self.kernel, self.profile.device)
        return found.theoretical if found is not None else None


@dataclass(frozen=True)
class Part:
    """What variants of a kernel are ranked on: the launches that take most of its time, of long ones a part.

    `constants` make `tool`'s device one XCD of a device of many small ones; with none of them the launches run in
    full. `before` is the kernel as it is there.
    """

    tool: ReplayTool
    launches: tuple[CapturedDispatch, ...]
    constants: Mapping[str, float]
    before: Measured


@dataclass(frozen=True)
class PartPlan:
    """The launches and the constants of a `Part`."""

    launches: tuple[CapturedDispatch, ...]
    constants: Mapping[str, float]


def plan_part(
    device: str, dispatches: Sequence[CapturedDispatch], kernels: Sequence[Kernel]
) -> PartPlan | None:
    """What variants of these kernels are ranked on; None where that is all launches in full.

    The fewest launches that take half of the time, if what they leave out is long. A part of the device, if they are
    long, have enough workgroups, and the order of workgroups does not matter: else all of them have to run.
    """
    timed = [d for d in dispatches if not d.variant]
    work = _instructions(kernels)
    launches = _most_of_the_time(timed, kernels)
    if sum(work.get(d.id, 0.0) for d in timed) - sum(work.get(d.id, 0.0) for d in launches) < _LONG:
        launches = timed
    cus = device_info(device).compute_units
    groups = min((_workgroups(d) for d in launches), default=0)
    long = max((work.get(d.id, 0.0) for d in launches), default=0.0) >= _LONG
    in_order = any(_IN_ORDER.search(i.text) for k in kernels for i in k.instructions)
    constants = (
        constants_of_part(device) if long and groups >= _GROUPS_PER_CU * cus and not in_order else None
    )
    if constants is None and len(launches) == len(timed):
        return None
    return PartPlan(tuple(launches), constants or {})


def _workgroups(dispatch: CapturedDispatch) -> int:
    return math.prod(-(-n // size) for n, size in zip(dispatch.grid, dispatch.workgroup, strict=True))


def _instructions(kernels: Sequence[Kernel]) -> dict[int, float]:
    """Instructions of waves of each launch by its number: those that were counted, in proportion to time."""
    found: dict[int, float] = {}
    for kernel in kernels:
        counted = sum(d.time_ns for d in kernel.dispatches if d.profiled)
        each = kernel.counters.get("SQ_INSTS", 0.0) / counted if counted > 0 else 0.0
        found |= {d.id: each * d.time_ns for d in kernel.dispatches}
    return found


def _most_of_the_time(
    launches: Sequence[CapturedDispatch], kernels: Sequence[Kernel]
) -> list[CapturedDispatch]:
    """The longest launches that take half of the time together; all where the time of one is not known."""
    times = {d.id: d.time_ns for k in kernels for d in k.dispatches}
    if any(d.id not in times for d in launches):
        return list(launches)
    longest, taken = sorted(launches, key=lambda d: -times[d.id]), 0.0
    found = []
    for launch in longest:
        if taken >= _MOST * sum(times[d.id] for d in launches):
            break
        found.append(launch)
        taken += times[launch.id]
    return found


def measure_part(tool: ReplayTool, plan: PartPlan, work: Path, device: str, run: Run) -> Part | None:
    """The kernel as it is on what variants are ranked on; None when it cannot be timed there."""
    work.mkdir(parents=True, exist_ok=True)
    smaller = with_constants(tool, device, plan.constants, work / "device.txt") if plan.constants else tool
    found = measure(
        smaller, plan.launches, None, work / "timed", device, run, timed_only=bool(plan.constants)
    )
    return None if isinstance(found, str) else Part(smaller, plan.launches, plan.constants, found)


def measure(
    tool: ReplayTool,
    dispatches: Sequence[CapturedDispatch],
    code_object: Path | None,
    work: Path,
    device: str,
    run: Run,
    audit: Audit | None = None,
    *,
    timed_only: bool = False,
) -> Measured | str:
    """Replay every dispatch with the profiler on; `code_object` None takes each dispatch's own. A str: what failed.

    Variants of a dispatch are left out: time is told by one launch of each shape. `timed_only` as in `ReplayRequest`.

    `audit` looks at what each timed run left in memory. Whatever was in `work` before is removed.
    """
    shutil.rmtree(work, ignore_errors=True)
    merged = work / "raw"
    (merged / "code_objects").mkdir(parents=True)
    requests = [
        ReplayRequest(
            d,
            code_object or d.code_object,
            work / f"replay_{n}",
            seed=_SEED,
            profile=True,
            timed_only=timed_only,
        )
        for n, d in enumerate((d for d in dispatches if not d.variant), 1)
    ]
    # One after the other: candidates are timed side by side already, each on memory of its own.
    groups = replay_all(tool, [[request] for request in requests], stop=True, jobs=1, cancel=run.cancel)
    results = [result for group in groups for result in group]
    if (failed := next((r for r in results if r.status != "ok"), None)) is not None and failed.request:
        name = f"dispatch {failed.request.dispatch.id}"
        return f"{name} could not be timed ({failed.status}): {failed.message}"
    wrong, checked = "", audit is not None
    with (merged / "dispatches.jsonl").open("w", encoding="utf-8") as listing:
        for number, (request, result) in enumerate(zip(requests, results, strict=True), 1):
            dispatch = request.dispatch
            said = audit(dispatch, result) if audit is not None and not wrong else ""
            checked = checked and said is not None
            if said:
                wrong = f"the timed run of dispatch {dispatch.id} gives another result: {said}"
            listing.write(json.dumps(_renumbered(request.out, merged, number)) + "\n")
            shutil.rmtree(request.out, ignore_errors=True)
    capture = work / _CAPTURE
    program = ProgramInfo(command=(), exit_code=0, output="", source_line=run.texts.shown)
    # No viewer opens this: the profile does not need the waves one by one.
    write_rocprofv3(
        merged, capture, device=device_info(device), program=program, selection=Selection(waves=False)
    )
    profile = read_capture(capture, run.texts)
    if not profile.kernels:
        return "the replay left no profile"
    return Measured(profile, profile.kernels[0], run.texts, wrong or None, checked=checked or bool(wrong))


@dataclass(frozen=True)
class SpeedupRange:
    """How many times as fast a rewrite is with the uncertain constants of the time model at their ends.

    Of one that is slower somewhere: the `constant` and the value that count most there, and how many times as fast it
    is with that one alone. Less than 1: that constant makes it slower by itself. `independent`: how many times as fast
    it is at the least when the constants err independently; None where that does not count.
    """

    low: float
    high: float
    constant: tuple[str, float] | None = None
    alone: float | None = None
    independent: float | None = None


def longest_launch(before: Measured, dispatches: Sequence[CapturedDispatch]) -> CapturedDispatch:
    """The one that takes longest of those that were timed."""
    longest = max((d for k in before.profile.kernels for d in k.dispatches), key=lambda d: d.time_ns)
    return [d for d in dispatches if not d.variant][longest.id - 1]


def time_of(
    before: Measured, dispatches: Sequence[CapturedDispatch], launches: Sequence[CapturedDispatch]
) -> float:
    """Nanoseconds of some of the launches that were timed, together."""
    timed = [d for d in dispatches if not d.variant]
    wanted = {d.id for d in launches}
    return sum(
        d.time_ns for k in before.profile.kernels for d in k.dispatches if timed[d.id - 1].id in wanted
    )


def speedup_range(
    tool: ReplayTool,
    dispatch: CapturedDispatch,
    compiled: Path,
    work: Path,
    device: str,
    run: Run,
    part: Mapping[str, float] | None = None,
    before_at: TimesAt | None = None,
) -> SpeedupRange | None:
    """Time a launch with and without the rewrite at the ranges' ends; None when it could not be timed.

    All constants at their fast ends, all at their slow ones, and where the least is below `_SURE`, memory against the
    rest. Where only the latter makes it slower, each constant by itself: that all of them are at their worst ends at
    once, half of them at the slow one and half at the fast one, nothing suggests. Where that would take long, it is not
    asked which constant counts. `part`: the constants of a part of
    the device, where that is enough. `before_at`: what the launch takes without any rewrite, once it was timed so.
    """
    known = {} if before_at is None else before_at

    def timed(code: Path, changes: Mapping[str, float]) -> float | None:
        return time_with_constants(tool, dispatch, code, work, device, changes, run, part)

    def speedup(changes: Mapping[str, float]) -> float | None:
        key = frozenset(changes.items())
        if key not in known:
            known[key] = timed(dispatch.code_object, changes)
        was, now = known[key], timed(compiled, changes)
        return was / now if was and now else None

    begun = time.monotonic()
    found: list[tuple[float, Mapping[str, float]]] = []
    for ends in (constants_at_ends(device), constants_at_mixed_ends(device)):
        if found and not 1 <= min(f for f, _ in found) < _SURE:
            break
        for changes in ends:
            factor = speedup(changes)
            if factor is None:
                return None
            found.append((factor, changes))
    low, slowest = min(found, key=lambda f: f[0])
    high = max(f for f, _ in found)
    if low >= 1:
        return SpeedupRange(low, high)
    expected = (time.monotonic() - begun) / len(found) * len(slowest)
    if expected > min(_SECONDS, run.seconds_left * _SHARE):
        return SpeedupRange(low, high)
    each: dict[str, float] = {}
    for constant, value in slowest.items():
        if (alone := speedup({constant: value})) is not None:
            each[constant] = alone
            if alone < 1:
                break
    if not each:
        return SpeedupRange(low, high)
    most = min(each, key=each.__getitem__)
    mixed = min(f for f, _ in found[:2]) >= 1 and len(each) == len(slowest) and each[most] >= 1
    middle = speedup({}) if mixed else None
    least = None if middle is None else _independently(middle, low, each.values())
    return SpeedupRange(low, high, (most, slowest[most]), each[most], least)


def told_range(found: SpeedupRange, before: Measured, after: Measured | None) -> str:
    """The range for a reader. The ends are corners of all ranges: what the launch shows with the constants as they are
    may lie outside of both, and is in the range that is told.
    """
    was, now = _times(before), _times(after) if after is not None else {}
    longest = max(was, key=was.__getitem__)
    own = [was[longest] / now[longest]] if now.get(longest) else []
    low, high = min([found.low, *own]), max([found.high, *own])
    where = " for its longest launch" if len(was) > 1 else ""
    return f"{low:.2f}x to {high:.2f}x{where} over the ranges of the model's assumed constants"


def _independently(middle: float, low: float, alone: Iterable[float]) -> float:
    """How many times as fast a rewrite is at the least when the constants err independently of each other.

    `middle` is its factor with the constants as they are, `alone` with each at the end that it has where the factor is
    `low`. Losses add up in quadrature (JCGM 100:2008, 5.1.2), as logarithms; in proportion more where all of them
    together lose more than their sum.
    """
    losses = [max(0.0, math.log(middle / factor)) for factor in alone]
    total = sum(losses)
    if total <= 0:
        return low
    return middle * math.exp(-max(1.0, math.log(middle / low) / total) * math.hypot(*losses))


def time_with_constants(
    tool: ReplayTool,
    dispatch: CapturedDispatch,
    code_object: Path,
    work: Path,
    device: str,
    changes: Mapping[str, float],
    run: Run,
    part: Mapping[str, float] | None = None,
) -> float | None:
    """Nanoseconds of one launch with some constants of the time model replaced; None when it was not timed.

    `part` as for `speedup_range`.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    changed = with_constants(tool, device, {**(part or {}), **changes}, work / "device.txt")
    request = ReplayRequest(
        dispatch, code_object, work / "out", seed=_SEED, profile=True, timed_only=part is not None
    )
    result = replay(changed, request, cancel=run.cancel)
    launches = list(read_dispatches(work / "out")) if result.status == "ok" else []
    shutil.rmtree(work, ignore_errors=True)
    timed = [d.end_ns - d.start_ns for d in launches if d.end_ns is not None and d.start_ns is not None]
    return timed[0] if timed else None


def keep_measured(measured: Measured, work: Path) -> None:
    """Write down what `measure` found, in the directory that it worked in, in place of all that it left there."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / _PROFILE).write_text(measured.profile.model_dump_json(), encoding="utf-8")


def read_measured(work: Path, texts: SourceTexts) -> Measured:
    """What was kept there. Raises HipscopeError when it cannot be read."""
    try:
        profile = Profile.model_validate_json((work / _PROFILE).read_bytes())
    except (OSError, ValueError) as error:
        raise HipscopeError(f"{work / _PROFILE} cannot be read") from error
    return Measured(profile, profile.kernels[0], texts)


def _renumbered(out: Path, merged: Path, number: int) -> dict[str, object]:
    """Take one replay's record into the merged run as dispatch `number`."""
    lines = (out / "dispatches.jsonl").read_text(encoding="utf-8").splitlines()
    if not lines:
        raise HipscopeError("the replay recorded no dispatch")
    record: dict[str, object] = json.loads(lines[0])
    profile = out / f"profile_{record['id']}.json"
    if profile.exists():
        profile.rename(merged / f"profile_{number}.json")
    for code in (out / "code_objects").glob("*"):
        shutil.copyfile(code, merged / "code_objects" / code.name)
    return {**record, "id": number}


@dataclass
class LostGains:
    """Rewrites of a kernel that are faster on the recorded launches and not in the whole program: what gains no more on
    any launch does not show there either.
    """

    _lost: list[tuple[str, Mapping[int, float]]] = field(default_factory=list)

    def add(self, title: str, after: Measured) -> None:
        """A rewrite whose gain does not show in the program."""
        self._lost.append((title, _times(after)))

    def against(self, after: Measured) -> str | None:
        """Why the program cannot show what a rewrite gains: on no launch it is faster than one of these."""
        own = _times(after)
        for title, times in self._lost:
            if own.keys() == times.keys() and all(own[n] * _FASTER >= times[n] for n in own):
                return (
                    f"Not proved: it is faster on no recorded launch than `{title}`, whose gain does not show in the "
                    "program."
                )
        return None


def _times(measured: Measured) -> Mapping[int, float]:
    """Nanoseconds of each recorded launch, by its number."""
    return {d.id: d.time_ns for kernel in measured.profile.kernels for d in kernel.dispatches}
