"""The raw output of the emulator's runtime, read one dispatch at a time.

Takes the directory that HIPSCOPE_OUT named, gives records. A program that was killed leaves a half-written last
line or file behind: what is complete is read, the rest is skipped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

Triple = tuple[int, int, int]
_DISPATCHES = "dispatches.jsonl"
LIBRARY_CALLS = "library_calls.json"
_LOOK_SECONDS = 0.2  # between two looks for launches that have ended


@dataclass(frozen=True)
class RawRun:
    """The run as a whole. `partial` says what the time budget cut, `device` is as the runtime described it."""

    device: Mapping[str, Any]
    kernels_seen: int
    dispatches: int
    profiled: int
    partial: str | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RawDispatch:
    """One launch. Times are modelled nanoseconds and None for a launch that was not profiled.

    `instructions` are those of all its waves, `scalars` a digest of its arguments that are no pointers. `process` and
    `thread` are the system's numbers of who made it, 0 where they are not known. `stopped` is set for a launch that the
    program's deadline ended: how many workgroups had ended, and of how many. Its record is extrapolated to all of them.
    """

    id: int
    kernel: str
    code_object: str
    grid: Triple
    workgroup: Triple
    dynamic_lds: int
    start_ns: float | None
    end_ns: float | None
    profiled: bool
    counters: Mapping[str, float]
    resources: Mapping[str, int]
    bound_by: str
    busy: Mapping[str, float]
    waves: int | None
    occupancy_waves_per_simd: float | None
    process: int = 0
    thread: int = 0
    instructions: int = 0
    scalars: str = ""
    stopped: tuple[int, int] | None = None


@dataclass(frozen=True)
class RawInstruction:
    """One executed instruction: totals over all waves of the dispatch, cycles as thread trace counts them."""

    address: int
    text: str
    hits: int
    lanes: int
    issue: float
    stall: float
    stalls: Mapping[str, float]
    waited_for: Mapping[int, float]
    memory: Mapping[str, Any] | None


@dataclass(frozen=True)
class RawWave:
    """One wave in full: [time, category, stall, duration, address] per executed instruction."""

    xcd: int
    cu: int
    simd: int
    slot: int
    begin: int
    end: int
    instructions: tuple[tuple[int, int, int, int, int], ...]


@dataclass(frozen=True)
class RawProfile:
    """The line-by-line record of one dispatch."""

    instructions: tuple[RawInstruction, ...]
    waves: tuple[RawWave, ...]


@dataclass(frozen=True)
class RawFault:
    """Something a dispatch must not do, or could not do."""

    dispatch: int
    kernel: str
    kind: str
    message: str
    address: int | None
    instruction: str | None
    code_object: str | None


def read_run(directory: Path) -> RawRun | None:
    """The summary, or None when the program never started a kernel or was killed before the first one ended."""
    data = _load(directory / "run.json")
    if data is None:
        return None
    return RawRun(
        device=data.get("device") or {},
        kernels_seen=int(data.get("kernels_seen", 0)),
        dispatches=int(data.get("dispatches", 0)),
        profiled=int(data.get("profiled", 0)),
        partial=data.get("partial"),
        warnings=tuple(data.get("warnings", ())),
    )


def read_library_calls(directory: Path) -> dict[str, int]:
    """How many calls of each function of a library were computed by the host, by its name."""
    data = _load(directory / LIBRARY_CALLS)
    return {str(name): int(count) for name, count in data.items()} if isinstance(data, dict) else {}


def read_loss(directory: Path) -> str | None:
    """What the program's run could not write, and why; None when all of it was written."""
    path = directory / "lost"
    return path.read_text(encoding="utf-8", errors="replace").strip() or None if path.exists() else None


def read_dispatches(directory: Path) -> Iterator[RawDispatch]:
    """All launches in the order in which they ended."""
    return map(_dispatch, _lines(directory / _DISPATCHES))


class LaunchesRead:
    """Reads the launches while the program makes them, so that little is left to do when it ends or is stopped.

    To be used in a `with` around the run. What the processes recorded is joined before `rest` is asked for.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / _DISPATCHES
        self._offset = 0
        self._found: list[RawDispatch] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="launches", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def read(self) -> int:
        """How many launches have been read."""
        return len(self._found)

    def rest(self) -> list[RawDispatch]:
        """All launches, with those that were not read yet."""
        self._read()
        return self._found

    def _follow(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self._read()

    def _read(self) -> None:
        try:
            stream = self._path.open("rb")
        except FileNotFoundError:
            return
        with stream:
            stream.seek(self._offset)
            for line in stream:
                try:
                    data = json.loads(line.decode("utf-8", "replace"))
                except json.JSONDecodeError:
                    return  # it is still being written, or was cut
                if line.endswith(b"\n"):
                    self._found.append(_dispatch(data))
                    self._offset += len(line)


def _dispatch(data: Mapping[str, Any]) -> RawDispatch:
    return RawDispatch(
        id=int(data["id"]),
        kernel=str(data["kernel"]),
        code_object=str(data["code_object"]),
        grid=_triple(data["grid"]),
        workgroup=_triple(data["workgroup"]),
        dynamic_lds=int(data.get("dynamic_lds", 0)),
        start_ns=data.get("start_ns"),
        end_ns=data.get("end_ns"),
        profiled=bool(data.get("profiled", False)),
        counters=data.get("counters") or {},
        resources=data.get("resources") or {},
        bound_by=str(data.get("bound_by") or ""),
        busy=data.get("busy") or {},
        waves=data.get("waves"),
        occupancy_waves_per_simd=data.get("occupancy_waves_per_simd"),
        process=int(data.get("process") or 0),
        thread=int(data.get("thread") or 0),
        instructions=int(data.get("instructions") or 0),
        scalars=str(data.get("scalars") or ""),
        stopped=(int(data["stopped_after"]), int(data["workgroups"])) if "stopped_after" in data else None,
    )


def read_profile(directory: Path, dispatch: int, *, waves: bool = True) -> RawProfile | None:
    """The record of one profiled launch, or None when there is none; `waves`: with what single waves did."""
    data = _load(directory / f"profile_{dispatch}.json")
    if data is None:
        return None
    return RawProfile(
        instructions=tuple(_instruction(i) for i in data.get("instructions") or ()),
        waves=tuple(_wave(w) for w in data.get("waves") or ()) if waves else (),
    )


def read_faults(directory: Path) -> tuple[RawFault, ...]:
    """All faults, in order."""
    return tuple(
        RawFault(
            dispatch=int(data.get("dispatch", 0)),
            kernel=str(data.get("kernel", "")),
            kind=str(data.get("kind", "")),
            message=str(data.get("message", "")),
            address=data.get("address"),
            instruction=data.get("instruction"),
            code_object=data.get("code_object"),
        )
        for data in _lines(directory / "faults.jsonl")
    )


def _instruction(data: Mapping[str, Any]) -> RawInstruction:
    return RawInstruction(
        address=int(data["address"]),
        text=str(data["text"]),
        hits=int(data["hits"]),
        lanes=int(data.get("lanes", 0)),
        issue=float(data.get("issue", 0)),
        stall=float(data.get("stall", 0)),
        stalls=data.get("stalls") or {},
        waited_for={int(a): float(c) for a, c in (data.get("waited_for") or {}).items()},
        memory=data.get("memory"),
    )


def _wave(data: Mapping[str, Any]) -> RawWave:
    return RawWave(
        xcd=int(data.get("xcd", 0)),
        cu=int(data.get("cu", 0)),
        simd=int(data.get("simd", 0)),
        slot=int(data.get("slot", 0)),
        begin=int(data["begin"]),
        end=int(data["end"]),
        instructions=tuple(
            (int(t), int(c), int(s), int(d), int(a)) for t, c, s, d, a in data["instructions"]
        ),
    )


def _triple(values: Any) -> Triple:
    x, y, z = (int(v) for v in values)
    return x, y, z


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def _lines(path: Path) -> Iterator[Any]:
    try:
        stream = path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    with stream:
        for line in stream:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                return  # only the last line can be cut
