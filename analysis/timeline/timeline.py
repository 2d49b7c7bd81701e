"""Where the time of a run went, from the tables of a Profile.

Takes the Profile of a real run, gives its `Timeline`: each GPU's busy share of the wall time, lanes of queues and
streams, copies, the longest gaps with what the host did in them, and the longest path. None where launches have no
times of their own, as in statistics and in modelled profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hipscope.analysis.classification.classes import UNKNOWN as UNKNOWN_CLASS
from hipscope.analysis.classification.classes import Classified, class_table
from hipscope.analysis.profile import Profile, Provenance
from hipscope.analysis.timeline.host_calls import (
    UNKNOWN,
    Events,
    events_of,
    outermost,
)
from hipscope.analysis.timeline.intervals import Union, at_once, part_by_slot
from hipscope.analysis.timeline.longest_path import OrderedWork, PathFound, PathStep, Wait, longest_path
from hipscope.analysis.timeline.records import (
    Gap,
    GpuTime,
    HostDoing,
    KernelPath,
    Lane,
    LongestPath,
    Timeline,
)
from hipscope.analysis.timeline.work import HOUR, GpuWork, gpu_work

SLOTS = 60  # parts of the wall time that a lane is drawn in
_MOST_LANES = 12
_MOST_GAPS = 5
_MOST_DOINGS = 4
_MOST_POINTS = 2_000_000  # of work and calls, for which dependences are followed one by one
_WAITS_FOR_ALL = ("hipDeviceSynchronize", "hipCtxSynchronize", "hipFree", "hipDeviceReset")
_WAITS = ("Synchronize", "hipMemcpy", "hsa_signal_wait")
_NO_WAIT = "Async"
OWN_CODE = "outside of calls"


def timeline(profile: Profile) -> Timeline | None:
    """The timeline of a run that was measured; None where nothing has a time of its own."""
    if profile.provenance is not Provenance.MEASURED or profile.tables is None:
        return None
    notes: list[str] = []
    work = gpu_work(profile.tables, notes)
    if work is None:
        return None
    outer = _calls(profile, work)
    everything = Union.of(work.start, work.end)
    gpus = tuple(_gpu(work, gpu) for gpu in work.gpus)
    limit = _limit(work, gpus)
    if profile.tables.timing == "serialized":
        limit = Classified(UNKNOWN_CLASS, (), "")
        notes.append("counters were collected in this run, for which the GPU runs one kernel at a time")
    return Timeline(
        wall_ns=work.finish - work.begin,
        gpus=gpus,
        lanes=tuple(_lanes(work))[:_MOST_LANES],
        more_lanes=max(0, len(work.lanes) - _MOST_LANES),
        gaps=_gaps(work, outer),
        host=_host(everything.gaps(work.begin, work.finish), outer),
        path=_path(work, outer, notes),
        notes=tuple(notes),
        limit=limit.name,
        near=limit.near,
        why=limit.why,
    )


def _calls(profile: Profile, work: GpuWork) -> Events:
    """The calls of the program up to the end of the last work, without those that other calls made."""
    assert profile.tables is not None
    calls = events_of(profile.tables.events("api calls"))
    return outermost(calls.take((calls.end > work.begin - HOUR) & (calls.start < work.finish)))


def _wait(call: str) -> Wait:
    """What a call of that name waits for."""
    if call.startswith(_WAITS_FOR_ALL) and _NO_WAIT not in call:
        return Wait.ALL
    return Wait.LAST if _NO_WAIT not in call and any(word in call for word in _WAITS) else Wait.NONE


def _gpu(work: GpuWork, gpu: str) -> GpuTime:
    on_it = work.touches(gpu)
    launches, copies = on_it & ~work.is_copy, on_it & work.is_copy
    busy = Union.of(work.start[launches], work.end[launches])
    copied = Union.of(work.start[copies], work.end[copies])
    any_work = busy.joined(copied).length
    most, several = at_once(work.start[launches], work.end[launches])
    wall = work.finish - work.begin
    return GpuTime(
        gpu=gpu,
        launches=int(launches.sum()),
        busy_ns=busy.length,
        busy_share=busy.length / wall,
        copies=int(copies.sum()),
        copies_ns=copied.length,
        copies_alone_ns=any_work - busy.length,
        idle_ns=wall - any_work,
        concurrent_ns=several,
        most_at_once=most,
    )


def _limit(work: GpuWork, gpus: Sequence[GpuTime]) -> Classified:
    """What the time of the run hangs on, by its busiest GPU."""
    gpu = max(gpus, key=lambda g: g.busy_ns)
    rows = work.touches(gpu.gpu)
    gaps = len(Union.of(work.start[rows], work.end[rows]).starts) - 1
    wall = work.finish - work.begin
    measures = {
        "busy": gpu.busy_share,
        "idle": gpu.idle_ns / wall,
        "copies_alone": gpu.copies_alone_ns / wall,
    }
    if gaps:
        measures["mean_gap_ns"] = gpu.idle_ns / gaps
    return class_table().classify("run", measures)


def _lanes(work: GpuWork) -> Iterator[Lane]:
    """The lanes, launches first, the busiest first."""
    found = []
    for number, lane in enumerate(work.lanes):
        rows = work.lane == number
        busy = Union.of(work.start[rows], work.end[rows])
        strip = part_by_slot(busy, work.begin, work.finish, SLOTS)
        found.append(Lane(lane.gpu, lane.queue, lane.stream, lane.what, int(rows.sum()), busy.length, strip))
    yield from sorted(found, key=lambda lane: (lane.what != "launches", -lane.busy_ns))


def _gaps(work: GpuWork, calls: Events) -> tuple[Gap, ...]:
    found: list[Gap] = []
    for gpu in work.gpus:
        rows = np.flatnonzero(work.touches(gpu))
        start, end = work.start[rows], work.end[rows]
        union = Union.of(start, end)
        gaps = Union(union.ends[:-1], union.starts[1:])
        longest = np.argsort(gaps.starts - gaps.ends, kind="stable")[:_MOST_GAPS]
        for place in longest.tolist():
            begin, finish = int(gaps.starts[place]), int(gaps.ends[place])
            last = rows[int(np.flatnonzero(end == begin)[0])]
            following = rows[int(np.flatnonzero(start == finish)[0])]
            found.append(
                Gap(
                    gpu=gpu,
                    at_ns=begin - work.begin,
                    time_ns=finish - begin,
                    before=work.name(int(last)),
                    after=work.name(int(following)),
                    host=_host(Union(gaps.starts[[place]], gaps.ends[[place]]), calls),
                )
            )
    return tuple(sorted(found, key=lambda gap: -gap.time_ns)[:_MOST_GAPS])


def _host(idle: Union, calls: Events) -> tuple[HostDoing, ...]:
    """What the host did in the idle time, by call; its own code where no call of it ran."""
    if not len(calls) or not len(idle.starts):
        return ()
    spent = idle.time_in(calls.start, calls.end)
    found: dict[str, int] = {}
    rows = np.flatnonzero(spent > 0)
    names = calls.name[rows]
    for name in dict.fromkeys(names.tolist()):
        chosen = rows[names == name]
        union = Union.of(calls.start[chosen], calls.end[chosen])
        found[name] = int(idle.time_in(union.starts, union.ends).sum())
    any_call = Union.of(calls.start[rows], calls.end[rows])
    own = idle.length - int(idle.time_in(any_call.starts, any_call.ends).sum())
    if own > 0:
        found[OWN_CODE] = own
    ranked = sorted(found.items(), key=lambda item: -item[1])[:_MOST_DOINGS]
    return tuple(HostDoing(what, time) for what, time in ranked)


def _path(work: GpuWork, calls: Events, notes: list[str]) -> LongestPath | None:
    answer = _found_path(work, calls, notes)
    if answer is None:
        return None
    found, host = answer
    kernels = _kernel_paths(work, found)
    kernels.sort(key=lambda k: (-k.on_path_ns, k.least_slack_ns, k.kernel))
    steps = found.steps
    return LongestPath(
        time_ns=found.length,
        launches_ns=steps.get(PathStep.LAUNCH, 0),
        copies_ns=steps.get(PathStep.COPY, 0),
        calls_ns=steps.get(PathStep.CALL, 0),
        own_code_ns=steps.get(PathStep.OWN_CODE, 0),
        latency_ns=steps.get(PathStep.LATENCY, 0),
        host=host,
        kernels=tuple(kernels),
    )


def _kernel_paths(work: GpuWork, found: PathFound) -> list[KernelPath]:
    """Each kernel's part of the path, and its least slack."""
    launches = np.flatnonzero(~work.is_copy)
    codes, on_path = work.kernel[launches], found.on_path[launches]
    number = len(work.kernels)
    times = np.where(on_path, work.end[launches] - work.start[launches], 0)
    spent = np.zeros(number, dtype=np.int64)
    np.add.at(spent, codes, times)
    counts = np.bincount(codes[on_path], minlength=number)
    slack = np.full(number, np.iinfo(np.int64).max)
    np.minimum.at(slack, codes, found.slack[launches])
    return [
        KernelPath(work.kernels[code], int(spent[code]), int(counts[code]), int(slack[code]))
        for code in np.unique(codes).tolist()
    ]


def _found_path(work: GpuWork, calls: Events, notes: list[str]) -> tuple[PathFound, bool] | None:
    """The path, and whether the host is part of it; calls that launched nothing of a thread's are left out."""
    call = work.calls_of(calls)
    matched = int((call >= 0).sum())
    host = matched > 0 and matched * 2 >= int((~work.is_copy).sum())
    if host:
        threads = np.unique(calls.thread[call[call >= 0]])
        first = int(calls.start[call[call >= 0]].min())
        kept = np.isin(calls.thread, threads) & (calls.start >= first)
        moved = np.cumsum(kept) - 1
        call = np.where((call >= 0) & kept[call], moved[call], -1)
        calls = calls.take(kept)
    else:
        calls, call = calls.take(np.zeros(0, dtype=np.int64)), np.full(len(call), -1, dtype=np.int64)
    if len(work.start) + len(calls) > _MOST_POINTS and len(calls):
        notes.append("calls of the host are too many to follow: the longest path is that of the GPU alone")
        calls, call, host = calls.take(np.zeros(0, dtype=np.int64)), np.full(len(call), -1, np.int64), False
    waits = [_wait(name) for name in calls.name.tolist()]
    known = bool((work.process != UNKNOWN).all()) and bool((calls.process != UNKNOWN).all())
    group = work.process if known else np.zeros(len(work.start), dtype=np.int64)
    call_group = calls.process if known else np.zeros(len(calls), dtype=np.int64)
    items = OrderedWork(work.start, work.end, work.order, call, group, work.is_copy)
    return longest_path(items, calls, waits, call_group), host
