"""Runs captured dispatches again with a given code object, each in a process of its own, and reads what it left behind.

Takes requests, gives the final memory of each (or why there is none). Candidate code never runs in our own process: a
crash, an endless loop or a wild write takes down nothing but its replay. The emulator's executable makes many replays
in one go, as children that it forks, and writes down only the parts of buffers that matter.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Literal

import numpy as np

from hipscope.accordo.dispatch.access_map import AccessMap, read_runs
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch, CapturedVariable
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.analysis.errors import CannotWrite, HipscopeError
from hipscope.analysis.run import Count
from hipscope.analysis.system.cores import usable_cores
from hipscope.analysis.system.process import Completed, Limits, ProcessStreams, run_process
from hipscope.emulator.captures import CaptureDamaged, read_checked, read_checksums
from hipscope.emulator.sanitize import SANITIZE_FILE, SanitizerRun, read_sanitizer_run

Hold = Literal["before", "after"]  # what waves are stopped at
Status = Literal["ok", "fault", "timeout", "unsupported", "launch_error"]
_STATUSES: tuple[Status, ...] = ("ok", "fault", "timeout", "unsupported", "launch_error")
_SPARE_SECONDS = 10.0
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
_MAX_FILE_BYTES = 8 << 30
_LEAST_SECONDS = 5.0
_PATIENCE = 20.0
_NO_ROOM = "cannot write '"  # how the executable begins to say so


class ReplayBroken(HipscopeError):
    """The replay executable itself failed: nothing can be said about the candidate."""

    exit_code = 3


@dataclass(frozen=True)
class ReplayTool:
    """How to call the replay executable: `argv` is its command, `options` what every call gets.

    `batches` says that it is the emulator's, which takes `--batch` and `--runs`. `replays` counts what it makes.
    """

    argv: tuple[str, ...]
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 60.0
    batches: bool = False
    replays: Count = field(default_factory=Count, compare=False, repr=False)


@dataclass(frozen=True)
class HeldOrder:
    """Waves stop before or after what reaches other workgroups (atomics, accesses and fences of the device's scope)
    until the others have got as far as they can.

    `only`: at the first (0), second ... such instruction that the launch comes to. `by_chance`, if not 0, seeds an
    order in which they stop there or not, and any of them goes on next; else it is the last one.
    """

    hold: Hold
    only: int | None = None
    by_chance: int = 0

    def words(self) -> list[str]:
        """The options of the executable."""
        only = [] if self.only is None else ["--hold-only", str(self.only)]
        return ["--hold", self.hold, *only]

    def __str__(self) -> str:
        where = (
            "its atomics and fences"
            if self.only is None
            else f"kind {self.only + 1} of its atomics and fences"
        )
        if self.by_chance:
            return f"some waves stopped {self.hold} atomics and fences, and others let go on (order {self.by_chance})"
        return f"each wave stopped {self.hold} {where} until the others have gone on"


@dataclass(frozen=True)
class ReplayRequest:
    """One replay of `dispatch` with the kernel of `code_object`; results go to `out`, which is made.

    `seed` orders the waves. `poison` fills LDS, registers and, with `poison_mask` (the access maps of the reference),
    all bytes that the reference writes without reading them first; `poison_fill` has bytes to repeat there instead of
    random ones, by buffer. `inputs` holds buffers that replace captured ones.
    `timed_only` leaves out of a profiled launch what is not timed, so that what it leaves in memory means nothing.
    `sanitize` names the checks to run under ("all", or names with commas); `Replay.sanitizers` has what they found.
    `timeout_s` is shorter than the tool's where less is enough. `held` is another order of waves, without a `seed`.
    """

    dispatch: CapturedDispatch
    code_object: Path
    out: Path
    seed: int = 0
    poison: int | None = None
    poison_inverted: bool = False
    poison_mask: Path | None = None
    poison_fill: Mapping[int, bytes] | None = None
    inputs: Path | None = None
    trace_access: bool = False
    number_kinds: bool = False  # of a traced run, which then takes several times as long
    profile: bool = False
    timed_only: bool = False
    sanitize: str = ""
    timeout_s: float | None = None
    held: HeldOrder | None = None

    def words(self, tool: ReplayTool) -> list[str]:
        """The options of the executable for this replay alone."""
        argv = ["--dispatch", str(self.dispatch.directory), "--code-object", str(self.code_object)]
        argv += ["--kernel", self.dispatch.kernel, "--out", str(self.out)]
        argv += ["--seed", str(self.seed if self.held is None else self.held.by_chance)]
        argv += ["--max-seconds", f"{self.seconds(tool):g}"]
        if self.poison is not None:
            argv += ["--poison", str(self.poison)]
        argv += ["--poison-inverted"] if self.poison_inverted else []
        if self.poison_mask is not None:
            argv += ["--poison-mask", str(self.poison_mask)]
        for index, data in (self.poison_fill or {}).items():
            argv += ["--poison-fill", f"{index}={data.hex()}"]
        if self.inputs is not None:
            argv += ["--inputs", str(self.inputs)]
        argv += ["--trace-access"] if self.trace_access else []
        argv += ["--number-kinds"] if self.number_kinds else []
        argv += ["--profile"] if self.profile else []
        argv += ["--timed-only"] if self.timed_only else []
        argv += ["--sanitize", self.sanitize] if self.sanitize else []
        argv += self.held.words() if self.held is not None else []
        return argv

    def seconds(self, tool: ReplayTool) -> float:
        """The time limit."""
        return tool.timeout_s if self.timeout_s is None else min(self.timeout_s, tool.timeout_s)

    def before(self, buffer: int) -> Path:
        """The file with what a buffer holds at the launch, but for the poison; it may be packed in the capture."""
        return replacement(self.inputs, buffer) or self.dispatch.directory / f"buffer_{buffer}.before"

    def contents(self, buffer: int, size: int) -> bytes:
        """What that file holds. Raises ReplayBroken."""
        captured = self.dispatch.directory / f"buffer_{buffer}.before"
        replaced = replacement(self.inputs, buffer)
        try:
            if replaced is None:
                return read_checked(captured, read_checksums(captured.parent))
            data = replaced_contents(
                replaced, lambda: read_checked(captured, read_checksums(captured.parent))
            )
        except (OSError, ValueError, CaptureDamaged) as error:
            raise ReplayBroken(str(error)) from error
        if len(data) != size:
            raise ReplayBroken(f"{replaced} makes a buffer of {len(data)} bytes instead of {size}")
        return data


@dataclass(frozen=True, eq=False)
class Left:
    """What a run left in a buffer, in parts: `changed` are the places (start, end) that it wrote down, by rising start.

    All other bytes are those from before, which are read on demand only.
    """

    changed: tuple[tuple[int, int], ...]
    parts: tuple[memoryview, ...]
    contents: Callable[[], bytes]

    def part(self, start: int, end: int) -> bytes:
        """The bytes [start, end)."""
        at = bisect_right(self.changed, start, key=itemgetter(0)) - 1
        if at >= 0 and end <= self.changed[at][1]:
            first = self.changed[at][0]
            return bytes(self.parts[at][start - first : end - first])
        image = bytearray(self.before(start, end))
        for number in range(max(at, 0), len(self.changed)):
            (first, last), part = self.changed[number], self.parts[number]
            if first >= end:
                break
            low, high = max(first, start), min(last, end)
            if low < high:
                image[low - start : high - start] = part[low - first : high - first]
        return bytes(image)

    def before(self, start: int, end: int) -> bytes:
        """What the bytes [start, end) were before the run, without poison."""
        return self._before[start:end]

    @cached_property
    def _before(self) -> bytes:
        return self.contents()


@dataclass(frozen=True)
class DeviceOutput:
    """What device code printed: how many messages, and their texts in alphabetical order, as far as they were kept."""

    count: int = 0
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replay:
    """One finished run that took `seconds` of our time. `directory` holds its buffers; only "ok" left usable ones.

    `instructions` are those of all waves; 0 where they were not counted.
    """

    status: Status
    message: str
    time_ns: float | None
    directory: Path
    fault: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0
    request: ReplayRequest | None = None
    instructions: int = 0

    def after(self, buffer: int, size: int) -> bytes:
        """What the run left in a buffer. Raises ReplayBroken when it is not there."""
        runs = self._runs(buffer)
        if runs is None:
            return _read(self.directory / f"buffer_{buffer}.after", size)
        assert self.request is not None
        before = self.request.contents(buffer, size)
        if not runs:
            return before
        image = bytearray(before)
        for offset, part in _parted(runs):
            image[offset : offset + len(part)] = part
        return bytes(image)

    def image(self, buffer: CapturedBuffer) -> bytes:
        """What the run left in a captured buffer. Raises ReplayBroken when it is not there."""
        return self.after(buffer.index, buffer.size)

    def left(self, buffer: CapturedBuffer) -> Left | None:
        """The same in parts; None when the run wrote all of it down."""
        runs = self._runs(buffer.index)
        if runs is None:
            return None
        found = _parted(runs)
        request, index, size = self.request, buffer.index, buffer.size
        assert request is not None
        return Left(
            tuple((at, at + len(part)) for at, part in found),
            tuple(part for _, part in found),
            lambda: request.contents(index, size),
        )

    def part(self, buffer: CapturedBuffer) -> Callable[[int, int], bytes]:
        """What gives the bytes [start, end) that the run left in a buffer."""
        left = self.left(buffer)
        if left is not None:
            return left.part
        image = self.image(buffer)
        return lambda start, end: image[start:end]

    def same_start(self, other: Replay, buffer: CapturedBuffer) -> bool:
        """Whether another run began with the same bytes in a buffer."""
        return self._before(buffer) == other._before(buffer)

    def leaves_same(self, other: Replay, buffer: CapturedBuffer) -> bool:
        """Whether another run left the same bytes in a buffer."""
        mine, theirs = self._runs(buffer.index), other._runs(buffer.index)
        if mine is not None and theirs is not None and self.same_start(other, buffer):
            return mine == theirs
        return self.image(buffer) == other.image(buffer)

    def digest(self, buffer: CapturedBuffer) -> str:
        """Tells apart what runs on the same memory left in a buffer."""
        runs = self._runs(buffer.index)
        return hashlib.sha256(self.image(buffer) if runs is None else runs).hexdigest()

    @cached_property
    def printed(self) -> DeviceOutput:
        """What the launch printed."""
        try:
            count, _, texts = (self.directory / "printed").read_bytes().partition(b"\n")
        except OSError:
            return DeviceOutput()
        listed = texts.decode("utf-8", "replace").split("\0")[:-1]
        return DeviceOutput(int(count), tuple(listed))

    def variable(self, variable: CapturedVariable) -> bytes | None:
        """What the run left in a device variable; None when the code object that ran does not have it."""
        path = self.directory / f"global_{variable.index}.after"
        return _read(path, variable.size) if path.exists() else None

    def access(self, buffer: int, size: int) -> AccessMap:
        """Where the run accessed a buffer (runs with `trace_access`)."""
        return self._access(f"access_{buffer}", size)

    def variable_access(self, variable: CapturedVariable) -> AccessMap:
        """The same of a device variable; empty where the run has not noted it."""
        name = f"access_global_{variable.index}"
        if not any((self.directory / f"{name}{ending}").exists() for ending in (".runs", ".bin")):
            return AccessMap(variable.size, ())
        return self._access(name, variable.size)

    def _access(self, name: str, size: int) -> AccessMap:
        parts = self.directory / f"{name}.runs"
        if not parts.exists():
            whole = _read(self.directory / f"{name}.bin", size)
            return AccessMap.of(np.frombuffer(whole, dtype=np.uint8))
        found = _parted(_mapped(parts))
        return AccessMap(size, tuple((at, np.frombuffer(part, dtype=np.uint8)) for at, part in found))

    def sanitizers(self, code_object: Path) -> SanitizerRun | None:
        """What the sanitizers found (runs with `sanitize`); None when the run did not get that far."""
        try:
            return read_sanitizer_run(self.directory, lambda _: code_object)
        except (ValueError, KeyError, TypeError) as error:
            raise ReplayBroken(f"the replay left a damaged {SANITIZE_FILE}") from error

    @cached_property
    def _kept(self) -> dict[int, bytes | None]:
        return {}

    def _runs(self, buffer: int) -> bytes | None:
        """What changed in a buffer, as it was written down; None when all of the buffer was."""
        if buffer not in self._kept:
            path = self.directory / f"buffer_{buffer}.runs"
            self._kept[buffer] = _read(path) if self.request is not None and path.exists() else None
        return self._kept[buffer]

    def _before(self, buffer: CapturedBuffer) -> Path | None:
        return self.request.before(buffer.index) if self.request is not None else None


def patience(tool: ReplayTool, known: Replay) -> float:
    """The seconds that another run deserves: many times what the known one took, within the tool's limit."""
    return min(tool.timeout_s, max(_LEAST_SECONDS, _PATIENCE * known.seconds))


def replay(tool: ReplayTool, request: ReplayRequest, *, cancel: threading.Event | None = None) -> Replay:
    """Make one replay. Raises ReplayBroken, CannotWrite, Cancelled."""
    _make_room(request)
    tool.replays.add()
    done = _run(tool, [*tool.argv, *_common(tool), *request.words(tool)], request.seconds(tool), cancel)
    if done.timed_out:
        text = f"it did not end within {request.seconds(tool):g} s"
        return Replay("timeout", text, None, request.out, seconds=done.seconds, request=request)
    found = read_result(request)
    if found is not None:
        return replace(found, seconds=found.seconds or done.seconds)
    if done.returncode < 0:
        text = f"it brought the replay down (signal {-done.returncode})"
        return Replay("fault", text, None, request.out, request=request)
    raise _broken(request, done)


def replay_all(
    tool: ReplayTool,
    groups: Sequence[Sequence[ReplayRequest]],
    *,
    stop: bool = False,
    jobs: int | None = None,
    cancel: threading.Event | None = None,
) -> list[list[Replay]]:
    """Make the replays of each group one after the other, and groups side by side where the tool can, `jobs` at most.

    A group ends with the first replay that is not "ok"; with `stop`, no group begins after such a one, but those before
    it in the list are all made. Raises ReplayBroken, CannotWrite, Cancelled.
    """
    if not tool.batches:
        return _one_by_one(tool, groups, stop, cancel)
    listed = [request for group in groups for request in group]
    if not listed:
        return []
    for request in listed:
        _make_room(request)
    cores = usable_cores()
    jobs = min(jobs or cores, len(groups))
    argv = [*tool.argv, "--batch", *(["--stop"] if stop else []), "--jobs", str(jobs), *_common(tool)]
    argv += ["--threads", str(max(1, cores // jobs))]
    orders = json.dumps([[r.words(tool) for r in group] for group in groups], ensure_ascii=False)
    done = _run(tool, argv, sum(r.seconds(tool) for r in listed), cancel, orders)
    if done.timed_out or done.returncode != 0:
        raise _broken(listed[0], done)
    made = [[found for r in group if (found := read_result(r)) is not None] for group in groups]
    tool.replays.add(sum(map(len, made)))
    if not made[0]:
        raise _broken(listed[0], done)
    return made


def _one_by_one(
    tool: ReplayTool, groups: Sequence[Sequence[ReplayRequest]], stop: bool, cancel: threading.Event | None
) -> list[list[Replay]]:
    made: list[list[Replay]] = []
    for group in groups:
        mine: list[Replay] = []
        made.append(mine)
        if stop and any(r.status != "ok" for earlier in made for r in earlier):
            continue
        for request in group:
            mine.append(replay(tool, request, cancel=cancel))
            if mine[-1].status != "ok":
                break
    return made


def _make_room(request: ReplayRequest) -> None:
    request.out.mkdir(parents=True, exist_ok=True)
    (request.out / "result.json").unlink(
        missing_ok=True
    )  # of another replay, which must not be taken for this one


def _common(tool: ReplayTool) -> list[str]:
    return [*tool.options, *(["--runs"] if tool.batches else [])]


def _run(
    tool: ReplayTool,
    argv: Sequence[str],
    seconds: float,
    cancel: threading.Event | None,
    text: str | None = None,
) -> Completed:
    return run_process(
        argv,
        timeout=seconds + _SPARE_SECONDS,
        env={**_plain_environment(), **tool.env},
        given=ProcessStreams(None if text is None else text.encode("utf-8", "surrogateescape")),
        limits=Limits(file_bytes=_MAX_FILE_BYTES, no_network=True),
        cancel=cancel,
    )


def read_result(request: ReplayRequest) -> Replay | None:
    """What a replay wrote down about itself; None when it did not get that far. Raises ReplayBroken."""
    try:
        result = json.loads((request.out / "result.json").read_text(encoding="utf-8"))
        status = result["status"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if status not in _STATUSES:
        raise ReplayBroken(
            f"the replay of dispatch {request.dispatch.id} ended with an unknown status `{status}`"
        )
    fault = result.get("fault")
    return Replay(
        status=status,
        message=str(result.get("message") or ""),
        time_ns=result.get("time_ns"),
        directory=request.out,
        fault=fault if isinstance(fault, dict) else {},
        seconds=float(result.get("seconds") or 0.0),
        request=request,
        instructions=int(result.get("instructions") or 0),
    )


def _broken(request: ReplayRequest, done: Completed) -> HipscopeError:
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    for line in said:
        if _NO_ROOM in line:
            return CannotWrite(line[line.index(_NO_ROOM) :])
    last = said[-1] if said else f"exit status {done.returncode}"
    return ReplayBroken(f"the replay of dispatch {request.dispatch.id} failed: {last}")


def _plain_environment() -> dict[str, str]:
    """What the child needs of our environment: no key and no token ever reaches candidate code."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def _parted(data: bytes | memoryview) -> list[tuple[int, memoryview]]:
    try:
        return list(read_runs(data))
    except ValueError as error:
        raise ReplayBroken(f"the replay left a damaged file: {error}") from error


def _mapped(path: Path) -> memoryview:
    """The bytes of a file of which little may be asked for."""
    try:
        return np.memmap(path, dtype=np.uint8, mode="r").data if path.stat().st_size else memoryview(b"")
    except OSError as error:
        raise ReplayBroken(f"the replay left no {path.name}: {error.strerror}") from error


def _read(path: Path, size: int | None = None) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReplayBroken(f"the replay left no {path.name}: {error.strerror}") from error
    if size is not None and len(data) != size:
        raise ReplayBroken(f"the replay left {len(data)} bytes in {path.name} instead of {size}")
    return data
