"""Runs other programs so that nothing of them outlives us.

Takes an argument list, limits and a time-out; gives the exit status and what was printed. Between us and the
program stands a small supervisor process (`supervisor.py`): it owns the program's process tree and ends all of it
when the program exits, when we ask for it, and when we die ourselves, however that happens.
"""

from __future__ import annotations

import contextlib
import marshal
import math
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO

from hipscope.analysis.errors import Cancelled, HipscopeError, MissingTool
from hipscope.analysis.system.stale_variables import without_stale

DEFAULT_MAX_OUTPUT = 16 * 1024 * 1024
# Imported rather than run as a file, so that it is compiled once. Its folder comes last: nothing in there may hide a
# module of Python's own.
_SUPERVISOR = (
    "import sys; sys.path.append(sys.argv[3]); import supervisor; "
    "sys.exit(supervisor.main(int(sys.argv[1]), int(sys.argv[2])))"
)
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_POLL_SECONDS = 0.05
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
# Names of variables that hold what lets somebody act as the user.
_SECRETS = re.compile(
    r"(?:^|_)(?:(?:API|ACCESS|SECRET|PRIVATE|AUTH|MODEL)_?KEYS?|APIKEY|TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?"
    r"|PAT)(?:_ID)?$",
    re.IGNORECASE,
)
_GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Limits:
    """What the program may use. `None` leaves the limit that we have ourselves.

    `address_space` and `file_bytes` are bytes, `cpu_seconds` is processor time per process, `processes` is how
    many further processes and threads this user may start (not enforced by the kernel for root).

    The supervisor looks after the rest, ten times a second, for all processes of the program together:
    `tree_processes`, `tree_bytes` of resident memory, and `written_bytes` in the files below `written_below`.
    """

    address_space: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None
    processes: int | None = None
    no_network: bool = False
    tree_processes: int | None = None
    tree_bytes: int | None = None
    written_bytes: int | None = None
    written_below: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcessStreams:
    """The program's standard streams. Its input is `input`, or empty; of each output `max_output` bytes are kept.

    With `attached_until` it has our own streams, what it prints is passed on as it comes, and it is ended as at the
    time-out when that event is set.
    """

    input: bytes | None = None
    max_output: int = DEFAULT_MAX_OUTPUT
    attached_until: threading.Event | None = None


@dataclass(frozen=True)
class Completed:
    """How a program ended. `returncode` is negative for a signal, as in `subprocess`. `stopped` names a limit of the
    supervisor that the program ran into; `interrupted` says that it was ended by a cancel.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    seconds: float
    truncated: bool = False
    stopped: str | None = None
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        """The program left by itself with status 0."""
        return self.returncode == 0 and not self.timed_out and not self.interrupted

    @property
    def text(self) -> str:
        """Standard output and then standard error, decoded, without colours; what is not UTF-8 is shown as U+FFFD."""
        return _COLOURS.sub("", (self.stdout + self.stderr).decode("utf-8", errors="replace"))


class Stop(threading.Event):
    """Set when it is set itself, after `seconds`, or when its parent is: a `cancel` within that of the caller."""

    def __init__(self, cancel: threading.Event | None, seconds: float = math.inf) -> None:
        super().__init__()
        self._cancel = cancel
        self._deadline = time.monotonic() + seconds

    def is_set(self) -> bool:
        """Whether to stop."""
        return (
            super().is_set() or self.seconds_left <= 0 or (self._cancel is not None and self._cancel.is_set())
        )

    @property
    def seconds_left(self) -> float:
        """Until the nearest limit of this one and its parents; infinite without one, less than 0 after it."""
        own = self._deadline - time.monotonic()
        return min(own, self._cancel.seconds_left) if isinstance(self._cancel, Stop) else own


def is_secret(name: str) -> bool:
    """Whether a variable of that name holds a key, a token or a password."""
    return _SECRETS.search(name) is not None


def without_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """Variables without keys, tokens and passwords of this process itself; what a project sets stays."""
    return {
        name: value for name, value in env.items() if not (is_secret(name) and os.environ.get(name) == value)
    }


def run_process(
    argv: Sequence[str | os.PathLike[str]],
    *,
    timeout: float,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    cancel: threading.Event | None = None,
    given: ProcessStreams | None = None,
) -> Completed:
    """Run `argv` to its end, or to `timeout` seconds, and return what it printed.

    Without `given` streams its input is empty. Keys and tokens of our own environment never reach it, nor
    variables that say wrongly where ROCm is. `truncated` says when there was more output than is kept.

    Raises `MissingTool` when the program cannot be found, `Cancelled` when `cancel` is set, `HipscopeError` when it
    cannot be started; the process tree is gone in every case.
    """
    given = given or ProcessStreams()
    interrupt = given.attached_until
    arguments = tuple(os.fspath(a) for a in argv)
    variables = without_stale(without_secrets(os.environ if env is None else env))
    directory = os.fspath(cwd) if cwd is not None else os.getcwd()
    executable = _find(arguments[0], directory, variables)
    if cancel is not None and cancel.is_set():
        raise Cancelled
    spec = {
        "executable": executable,
        "argv": arguments,
        "cwd": directory,
        "env": variables,
        "limits": asdict(limits or Limits()),
    }
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        order_read, order_write = os.pipe()
        status_read, status_write = os.pipe()
        order = stack.enter_context(os.fdopen(order_write, "wb", buffering=0))
        status = stack.enter_context(os.fdopen(status_read, "rb", buffering=0))
        try:
            supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _SUPERVISOR, str(order_read), str(status_write), _FOLDER],
                stdin=_standard_input(given),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(order_read, status_write),
                start_new_session=True,
            )
        finally:
            os.close(order_read)
            os.close(status_write)
        # Leaving this block closes `order` first: that alone makes the supervisor end the whole tree.
        stack.callback(_reap, supervisor, order)
        body = marshal.dumps(spec)
        order.write(len(body).to_bytes(8, "little"))
        _write_all(order.fileno(), body)
        streams = _Streams(supervisor, status, given)
        stack.callback(streams.close)
        deadline = started + timeout
        timed_out = interrupted = False
        while not streams.drained:
            if cancel is not None and cancel.is_set():
                raise Cancelled
            ended = timed_out or interrupted
            if ended and time.monotonic() >= deadline:
                break
            if not ended:
                interrupted = interrupt is not None and interrupt.is_set()
                timed_out = not interrupted and time.monotonic() >= deadline
                if timed_out or interrupted:
                    order.close()
                    deadline = time.monotonic() + _GRACE_SECONDS
            streams.pump(_POLL_SECONDS)
        report = marshal.loads(streams.status) if streams.status else {}
    if "error" in report:
        raise HipscopeError(f"cannot start {arguments[0]}: {report['error']}")
    code = report.get("returncode")
    return Completed(
        argv=arguments,
        returncode=code if isinstance(code, int) else -9,
        stdout=bytes(streams.stdout),
        stderr=bytes(streams.stderr),
        timed_out=timed_out,
        seconds=time.monotonic() - started,
        truncated=streams.truncated,
        stopped=report.get("stopped"),
        interrupted=interrupted,
    )


def _standard_input(given: ProcessStreams) -> int | None:
    """What `Popen` takes for it."""
    if given.input is not None:
        return subprocess.PIPE
    return None if given.attached_until is not None else subprocess.DEVNULL


class _Streams:
    """Moves bytes to and from the program without ever blocking on one side."""

    def __init__(self, process: subprocess.Popen[bytes], status: IO[bytes], given: ProcessStreams) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.status = bytearray()
        self.truncated = False
        self._limit = given.max_output
        self._passed_on = given.attached_until is not None
        self._pending = memoryview(given.input or b"")
        self._selector = selectors.DefaultSelector()
        self._input = process.stdin
        assert process.stdout is not None
        assert process.stderr is not None
        self._outputs = (process.stdout, process.stderr, status)
        for file, buffer in zip(self._outputs, (self.stdout, self.stderr, self.status), strict=True):
            self._selector.register(file, selectors.EVENT_READ, buffer)
        if self._input is not None:
            os.set_blocking(self._input.fileno(), False)
            self._selector.register(self._input, selectors.EVENT_WRITE)

    @property
    def drained(self) -> bool:
        """Every output is at its end: the supervisor has closed its status pipe, so the program is gone."""
        return not any(key.data is not None for key in self._selector.get_map().values())

    def pump(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self._feed()
            else:
                self._take(key)

    def close(self) -> None:
        self._selector.close()
        for file in (self._input, *self._outputs):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()

    def _feed(self) -> None:
        assert self._input is not None
        try:
            self._pending = self._pending[os.write(self._input.fileno(), self._pending[:65536]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending = memoryview(b"")  # the program does not read the rest, which is its right
        if not self._pending:
            self._selector.unregister(self._input)
            with contextlib.suppress(OSError):
                self._input.close()

    def _take(self, key: selectors.SelectorKey) -> None:
        chunk = os.read(key.fd, 65536)
        if not chunk:
            self._selector.unregister(key.fileobj)
            return
        if self._passed_on and key.data is not self.status:
            ours = sys.stdout if key.data is self.stdout else sys.stderr
            ours.buffer.write(chunk)
            ours.flush()
        room = self._limit - len(key.data) if key.data is not self.status else len(chunk)
        self.truncated = self.truncated or len(chunk) > room
        key.data.extend(chunk[: max(room, 0)])


def signal_name(number: int) -> str:
    """SIGSEGV and the like, or the number when it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _find(name: str, directory: str, env: Mapping[str, str]) -> str:
    if os.sep in name:
        path = os.path.join(directory, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
        reason = "is not an executable file" if os.path.exists(path) else "does not exist"
        raise MissingTool(f"cannot run {name}: it {reason}")
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        raise MissingTool(f"cannot run {name}: not found on PATH")
    return os.path.abspath(found)


def _write_all(descriptor: int, body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(descriptor, view) :]


def _reap(supervisor: subprocess.Popen[bytes], order: IO[bytes]) -> None:
    """Close the order pipe, give the supervisor time to end the tree, and only then end the supervisor."""
    order.close()
    try:
        supervisor.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()
