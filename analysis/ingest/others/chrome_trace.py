"""Traces for chrome://tracing: of PyTorch's profiler (Kineto), of rocprof 1, of JAX, of rocmProfileData.

Takes JSON, packed or not, gives launches, copies and calls. What an event is stands in its category (Kineto), else in
the name of its process or thread. PyTorch gives the grid in workgroups, but that of `hipExtModuleLaunchKernel` in
work-items, and for AMD's GPUs only with the call.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import MISSING, Floats, Integers, Texts, numbers, texts
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.others.activities import (
    COPY,
    IN_WORK_ITEMS,
    Activities,
    agent_texts,
    recorded_activities,
    sizes,
)
from hipscope.analysis.ingest.others.packed import GZIP, unpacked

_LAUNCH, _COPIES, _CALL = "launch", "copy", "call"
_CATEGORIES = {
    "kernel": _LAUNCH,
    **dict.fromkeys(("gpu_memcpy", "gpu_memset", "memcpy", "memset"), _COPIES),
    **dict.fromkeys(("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime"), _CALL),
}
_GPU = re.compile(r"(GPU\s?\d+$|/device:GPU:(\d+))")
_CALLS = re.compile(r"CPU (HIP|HSA) API")
_NVIDIA = re.compile(r"nvidia|geforce|tesla|quadro|rtx|\b[ahvlgb]\d{2,3}\b", re.IGNORECASE)
_AMD = re.compile(r"amd|radeon|instinct|gfx\d", re.IGNORECASE)
_WAVE_OF_RDNA = 32  # there HIP counts pairs of CUs
_NOTHING: Mapping[str, Any] = {}
_NO_SIZES = (MISSING, MISSING, MISSING)
_SIMDS = 4  # of NVIDIA's multiprocessors since 2014


def is_chrome_trace(head: bytes) -> bool:
    """Whether the beginning of JSON is that of a trace."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return b'"traceEvents"' in head or b'"deviceProperties"' in head or (
        start[:1] == b"[" and b'"ph"' in head and b'"ts"' in head
    )  # fmt: skip


def read_chrome_trace(path: Path) -> Recorded:
    """Raises ValueError, with the reason, when it is damaged or has no work of a GPU."""
    data = json.loads(_content(path))
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise ValueError("the key `traceEvents` holds no list")
    told = data if isinstance(data, dict) else {}
    return _Trace.of([e for e in events if isinstance(e, dict)], told).recorded()


@dataclass(frozen=True)
class _Trace:
    events: Sequence[Mapping[str, Any]]
    processes: Mapping[str, str]
    threads: Mapping[tuple[str, str], str]
    agents: Sequence[Agent]
    tool: str

    @classmethod
    def of(cls, events: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> _Trace:
        processes: dict[str, str] = {}
        threads: dict[tuple[str, str], str] = {}
        for event in events:
            if event.get("ph") == "M" and isinstance(name := _args(event).get("name"), str):
                if event.get("name") == "process_name":
                    processes[str(event.get("pid"))] = name
                elif event.get("name") == "thread_name":
                    threads[str(event.get("pid")), str(event.get("tid"))] = name
        properties = told.get("deviceProperties")
        agents = (
            [_agent(p) for p in properties if isinstance(p, dict)] if isinstance(properties, list) else []
        )
        tool = "PyTorch's profiler" if agents or "schemaVersion" in told else "a chrome trace"
        return cls(events, processes, threads, agents, tool)

    def recorded(self) -> Recorded:
        found: dict[str | None, list[Mapping[str, Any]]] = {_LAUNCH: [], _COPIES: [], _CALL: []}
        for event in self.events:
            if event.get("ph") == "X":
                category = event.get("cat")
                is_named = isinstance(category, str) and category != ""
                kind = _CATEGORIES.get(category.lower()) if is_named else self._kind(event)  # type: ignore[union-attr]
                if kind is not None:
                    found[kind].append(event)
        launches, copies, calls = (self._activities(found[kind], kind) for kind in (_LAUNCH, _COPIES, _CALL))
        processes = np.unique(calls.numbers["process"])
        one = processes[0] if len(processes) == 1 else MISSING
        launches = self._with_shapes(
            launches, found[_LAUNCH], found[_CALL], calls.numbers["correlation"], one
        )
        old = any("BeginNs" in _args(event) for event in found[_LAUNCH][:1])
        return recorded_activities(launches, copies, calls, self.agents, "rocprof" if old else self.tool)

    def _kind(self, event: Mapping[str, Any]) -> str | None:
        """What an event without a category is."""
        name = str(event.get("name", ""))
        process = self.processes.get(str(event.get("pid")), "")
        if process == "COPY":
            return _COPIES
        if _CALLS.match(process):
            return _CALL
        if (gpu := _GPU.match(process)) is None:
            return None
        thread = self.threads.get((str(event.get("pid")), str(event.get("tid"))), "")
        if gpu[2] is not None and not thread.startswith("Stream"):
            return None  # a line of the framework's own: modules, steps, activities
        return _COPIES if "COPY" not in self.processes.values() and COPY.match(name) else _LAUNCH

    def _activities(self, events: Sequence[Mapping[str, Any]], kind: str) -> Activities:
        args = [_args(event) for event in events]
        start, end = _times(events, args)
        numbers = {
            "stream": _wholes(a.get("stream", a.get("stream-id")) for a in args),
            "queue": _wholes(a.get("queue-id", a.get("queue")) for a in args),
            "correlation": _wholes(a.get("correlation") for a in args),
        }
        if kind == _CALL:
            own = list(zip(args, events, strict=True))
            numbers["process"] = _wholes(a.get("pid", event.get("pid")) for a, event in own)
            numbers["thread"] = _wholes(a.get("tid", event.get("tid")) for a, event in own)
        elif args and "BeginNs" in args[0]:
            numbers["process"] = _wholes(a.get("pid") for a in args)
        if kind == _COPIES:
            numbers["bytes"] = _wholes(a.get("bytes") for a in args)
        names = texts(a.get("Name") or e.get("name", "") for a, e in zip(args, events, strict=True))
        return Activities(names, self._agents_of(events, args), start, end, numbers)

    def _agents_of(self, events: Sequence[Mapping[str, Any]], args: Sequence[Mapping[str, Any]]) -> Texts:
        """By the number that an event has, else by the name of its process."""
        device = _wholes(a.get("device", a.get("dev-id")) for a in args)
        for row in np.flatnonzero(device == MISSING).tolist() if self.processes else ():
            if gpu := _GPU.match(self.processes.get(str(events[row].get("pid")), "")):
                device[row] = int(re.findall(r"\d+", gpu[0])[-1])
        return agent_texts(device)

    def _with_shapes(
        self,
        launches: Activities,
        events: Sequence[Mapping[str, Any]],
        calls: Sequence[Mapping[str, Any]],
        correlations: Integers,
        process: int,
    ) -> Activities:
        """With their shapes, which AMD's GPUs have in the call."""
        by_correlation = dict(zip(correlations.tolist(), calls, strict=True))
        own = launches.numbers["correlation"].tolist()
        made = [by_correlation.get(number, _NOTHING) if number != MISSING else _NOTHING for number in own]
        told = [{**_args(call), **_args(event)} for call, event in zip(made, events, strict=True)]
        shape = [_triple(a.get(name)) for name in ("grid", "block") for a in told]
        rows = len(told)
        axes = np.array(shape, dtype=np.int64).reshape(2, rows, 3)
        in_items = np.array([call.get("name") in IN_WORK_ITEMS for call in made], dtype=bool)
        shared = _wholes(a.get("shared memory") for a in told)
        is_static = np.array(["shared memory" in _args(event) for event in events], dtype=bool)
        numbers = {
            "process": np.full(rows, process, dtype=np.int64),
            **launches.numbers,
            "static_lds": np.where(is_static, shared, MISSING),
            "dynamic_lds": np.where(is_static, MISSING, shared),
            "vgprs": _wholes(a.get("registers per thread") for a in told),
            **sizes(list(axes[0].T), list(axes[1].T), in_items),
        }
        return dataclasses.replace(launches, numbers=numbers)


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        if stream.read(2) != GZIP:
            return path.read_bytes()
    return b"".join(unpacked(path))


def _agent(told: Mapping[str, Any]) -> Agent:
    """A GPU as PyTorch describes it: of AMD's, the compute capability says no architecture."""
    name = str(told.get("name") or "")
    waves, size = _whole(told.get("maxThreadsPerMultiprocessor")), _whole(told.get("warpSize"))
    is_amd = bool(_AMD.search(name)) or size == 64
    is_nvidia = not is_amd and bool(_NVIDIA.search(name))
    major, minor = _whole(told.get("computeMajor")), _whole(told.get("computeMinor"))
    shared = _whole(told.get("sharedMemPerMultiprocessor", told.get("maxSharedMemoryPerMultiProcessor")))
    identity = _whole(told.get("id"))
    return Agent(
        node=identity,
        logical_node=identity,
        facts=DeviceFacts(
            arch=f"{major}.{minor or 0}" if major and is_nvidia else None,
            product=name or None,
            compute_units=None if is_amd and size == _WAVE_OF_RDNA else _whole(told.get("numSms")),
            max_waves_per_simd=waves // size // _SIMDS if is_nvidia and waves and size else None,
            wave_size=size,
            lds_bytes=shared if is_nvidia else None,
        ),
    )


def _args(event: Mapping[str, Any]) -> Mapping[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _times(
    events: Sequence[Mapping[str, Any]], args: Sequence[Mapping[str, Any]]
) -> tuple[Integers, Integers]:
    """Nanoseconds. The duration is exact, also where microseconds since 1970 have no room for fractions."""
    starts, durations = (_microseconds([event.get(name) for event in events]) for name in ("ts", "dur"))
    known = np.isfinite(starts) & np.isfinite(durations) & (durations >= 0)
    first = np.rint(np.where(known, starts, 0) * 1000).astype(np.int64)
    start = np.where(known, first, MISSING)
    end = np.where(known, first + np.rint(np.where(known, durations, 0) * 1000).astype(np.int64), MISSING)
    if any("BeginNs" in a for a in args):
        begun, ended = (_wholes(a.get(name) for a in args) for name in ("BeginNs", "EndNs"))
        exact = (begun != MISSING) & (ended != MISSING)
        start, end = np.where(exact, begun, start), np.where(exact, ended, end)
    return start, end


def _microseconds(values: Sequence[object]) -> Floats:
    found = numbers([None if isinstance(value, bool) else value for value in values])
    return np.where(np.abs(found) < 1e15 * 9, found, np.nan)


def _wholes(values: Iterable[object]) -> Integers:
    """Numbers of at least 0, also in a text: decimal or `0x7f`."""
    cells = list(values)
    if all(type(cell) is int and 0 <= cell < 1 << 62 for cell in cells):
        return np.array(cells, dtype=np.int64)
    return np.array([MISSING if (n := _whole(cell)) is None else n for cell in cells], dtype=np.int64)


def _whole(value: object) -> int | None:
    """A number of at least 0, also in a text: decimal or `0x7f`."""
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 62 else None


def _triple(value: object) -> tuple[int, int, int]:
    if not isinstance(value, list) or len(value) != 3:
        return _NO_SIZES
    x, y, z = (_whole(v) for v in value)
    return _NO_SIZES if x is None or y is None or z is None else (x, y, z)
