"""Traces for chrome://tracing: of PyTorch's profiler (Kineto), of rocprof 1, of JAX, of rocmProfileData.

Takes JSON, packed or not, gives launches, copies and calls. What an event is stands in its category (Kineto), else in
the name of its process or thread. PyTorch gives the grid in workgroups, but that of `hipExtModuleLaunchKernel` in
work-items, and for AMD's GPUs only with the call.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.others.activities import COPY, IN_WORK_ITEMS, Activity, recorded_activities

GZIP = b"\x1f\x8b"
_LARGEST = 4 << 30  # bytes of unpacked JSON
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
_SIMDS = 4  # of NVIDIA's multiprocessors since 2014


def is_chrome_trace(head: bytes) -> bool:
    """Whether the beginning of JSON is that of a trace."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return b'"traceEvents"' in head or b'"deviceProperties"' in head or (
        start[:1] == b"[" and b'"ph"' in head and b'"ts"' in head
    )  # fmt: skip


def unpacked_head(data: bytes, size: int) -> bytes:
    """The first bytes of packed content; empty when it is damaged."""
    try:
        return zlib.decompressobj(31).decompress(data, size)
    except zlib.error:
        return b""


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
        found: dict[str, list[tuple[Mapping[str, Any], Activity]]] = {_LAUNCH: [], _COPIES: [], _CALL: []}
        for event in self.events:
            if event.get("ph") == "X" and (kind := self._kind(event)) is not None:
                found[kind].append((event, self._activity(event, kind)))
        calls = {o.numbers.get("correlation"): event for event, o in found[_CALL]}
        processes = {o.numbers.get("process") for _, o in found[_CALL]}
        process = processes.pop() if len(processes) == 1 else None
        launches = [self._launch(event, o, calls, process) for event, o in found[_LAUNCH]]
        copies, called = ([o for _, o in found[kind]] for kind in (_COPIES, _CALL))
        old = any("BeginNs" in _args(event) for event, _ in found[_LAUNCH][:1])
        return recorded_activities(launches, copies, called, self.agents, "rocprof" if old else self.tool)

    def _kind(self, event: Mapping[str, Any]) -> str | None:
        name = str(event.get("name", ""))
        category = str(event.get("cat", "")).lower()
        if category:
            return _CATEGORIES.get(category)
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

    def _activity(self, event: Mapping[str, Any], kind: str) -> Activity:
        args = _args(event)
        start, end = _times(event, args)
        numbers = {
            "stream": _whole(args.get("stream", args.get("stream-id"))),
            "queue": _whole(args.get("queue-id", args.get("queue"))),
            "correlation": _whole(args.get("correlation")),
        }
        if kind == _CALL:
            numbers["process"] = _whole(args.get("pid", event.get("pid")))
            numbers["thread"] = _whole(args.get("tid", event.get("tid")))
        elif "BeginNs" in args:
            numbers["process"] = _whole(args.get("pid"))
        if kind == _COPIES:
            numbers["bytes"] = _whole(args.get("bytes"))
        name = str(args.get("Name") or event.get("name", ""))
        return Activity(name, self._agent_of(event, args), start, end, numbers)

    def _agent_of(self, event: Mapping[str, Any], args: Mapping[str, Any]) -> str:
        device = _whole(args.get("device", args.get("dev-id")))
        if device is None and (gpu := _GPU.match(self.processes.get(str(event.get("pid")), ""))):
            device = int(re.findall(r"\d+", gpu[0])[-1])
        return "" if device is None else f"Agent {device}"

    def _launch(
        self,
        event: Mapping[str, Any],
        activity: Activity,
        calls: Mapping[int | None, Mapping[str, Any]],
        process: int | None,
    ) -> Activity:
        """With its shape, which AMD's GPUs have in the call."""
        own = _args(event)
        correlation = activity.numbers.get("correlation")
        call = calls.get(correlation, {}) if correlation is not None else {}
        args = {**_args(call), **own}
        in_items = call.get("name") in IN_WORK_ITEMS
        block, grid = _triple(args.get("block")), _triple(args.get("grid"))
        numbers = dict(activity.numbers)
        numbers.setdefault("process", process)
        shared = _whole(args.get("shared memory"))
        numbers["static_lds" if "shared memory" in own else "dynamic_lds"] = shared
        numbers["vgprs"] = _whole(args.get("registers per thread"))
        if block is not None and grid is not None:
            for place, axis in enumerate("xyz"):
                numbers[f"workgroup_{axis}"] = block[place]
                numbers[f"grid_{axis}"] = grid[place] * (1 if in_items else block[place])
        return activity._replace(numbers=numbers)


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        if stream.read(2) != GZIP:
            return path.read_bytes()
    return b"".join(_unpacked(path))


def _unpacked(path: Path) -> Iterator[bytes]:
    """Not through the module gzip: what is left of a cut file is lost there."""
    unpack, size = zlib.decompressobj(31), 0
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            while chunk:
                try:
                    part = unpack.decompress(chunk, 64 << 20)
                except zlib.error as error:
                    raise ValueError(f"it is damaged: {error}") from None
                size += len(part)
                if size > _LARGEST:
                    raise ValueError(f"unpacked it has more than {_LARGEST >> 30} GiB")
                yield part
                chunk = unpack.unconsumed_tail


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


def _times(event: Mapping[str, Any], args: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Nanoseconds. The duration is exact, also where microseconds since 1970 have no room for fractions."""
    begin, end = _whole(args.get("BeginNs")), _whole(args.get("EndNs"))
    if begin is not None and end is not None:
        return begin, end
    start, duration = _number(event.get("ts")), _number(event.get("dur"))
    if start is None or duration is None or duration < 0:
        return None, None
    first = round(start * 1000)
    return first, first + round(duration * 1000)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < 1e15 * 9 else None


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


def _triple(value: object) -> tuple[int, int, int] | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    x, y, z = (_whole(v) for v in value)
    return None if x is None or y is None or z is None else (x, y, z)
