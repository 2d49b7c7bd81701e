"""hipscope with its modules imported: a process that is forked from this one starts in milliseconds, not in seconds.

`python -m tests.server.warm SOCKET` imports what the commands need, prints a line, and then runs each command line, or
worker, that comes over the socket in a process of its own: with the folder, the variables and the three streams of who
asks, until its standard input is closed. `run` asks from a test, `warm_client.py` stands for the process in a program.
A request is one message: JSON with `module` (of which `main` is called), `arguments`, `folder` and `variables`, and
three file descriptors. The answer is the exit status as `Popen` has it. A number that is sent meanwhile is a signal for
the process; who closes the connection before kills it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

ROOT = Path(__file__).parents[2]
CLIENT = Path(__file__).with_name("warm_client.py")
CLI = "hipscope.server.cli.main"
PACKAGES = ("analysis", "accordo", "formulas", "server")
_NOT_NEEDED = re.compile(r".*\.(__main__|llm|sweep|ci|json_schemas|config_docs|catalog)(\.|$)")
_HOME = tempfile.TemporaryDirectory(prefix="hipscope-test-warm-")
SOCKET = {"HIPSCOPE_TEST_WARM": f"{_HOME.name}/socket"}
_MOST = 1 << 20  # bytes of a request


def run(
    arguments: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    streams: Sequence[int],
    seconds: float | None = None,
) -> int:
    """Run `hipscope ARGUMENTS` with these three streams; its exit status. Raises TimeoutError, and kills it then."""
    asked = {"module": CLI, "arguments": list(arguments), "folder": str(folder), "variables": dict(variables)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(seconds)
        connection.connect(started())
        socket.send_fds(connection, [json.dumps(asked).encode()], list(streams))
        return int(connection.recv(64))


def command(*arguments: str) -> list[str]:
    """A command for `hipscope ARGUMENTS`; `started` first, and SOCKET among its variables."""
    return [sys.executable, "-I", "-S", str(CLIENT), CLI, *arguments]


@functools.cache
def started() -> str:
    """The socket of this test run's process, which ends with it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.warm", SOCKET["HIPSCOPE_TEST_WARM"]],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process with threads is not forked
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(process.communicate)
    return SOCKET["HIPSCOPE_TEST_WARM"]


def serve(path: str) -> NoReturn:
    """Answer requests until standard input is closed; in each forked process, do what it asks for."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(64)
    wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running: dict[int, socket.socket] = {}
    gc.collect()
    gc.freeze()
    os.write(1, b"ready\n")
    while True:
        awaited: list[Any] = [0, listener, wake, *running.values()]
        ready, _, _ = select.select(awaited, [], [])
        if 0 in ready:
            _end(running)
        if wake in ready:
            os.read(wake, 4096)
        for pid, connection in [one for one in running.items() if one[1] in ready]:
            number = connection.recv(64)
            os.kill(pid, int(number or signal.SIGKILL))
            if not number:
                del running[pid]
                connection.close()
        _reap(running)
        if listener in ready:
            connection = listener.accept()[0]
            request, streams, *_ = socket.recv_fds(connection, _MOST, 3)
            pid = os.fork()
            if pid == 0:
                for other in (listener, connection, *running.values()):
                    other.close()
                os.close(wake)
                os.close(woken)
                asked = json.loads(request)
                _become(asked, streams)
                _main(asked["module"])
            for stream in streams:
                os.close(stream)
            running[pid] = connection


def _reap(running: dict[int, socket.socket]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        with contextlib.suppress(KeyError, OSError), running.pop(pid) as connection:
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _end(running: dict[int, socket.socket]) -> NoReturn:
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os._exit(0)


def _become(asked: dict[str, Any], streams: Sequence[int]) -> None:
    """Be as a process that was started with this."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    os.environ.clear()
    os.environ.update(asked["variables"])
    os.chdir(asked["folder"])
    sys.path.remove(str(ROOT))
    sys.argv = ["hipscope", *asked["arguments"]]
    sys.modules["__main__"] = types.ModuleType("__main__")  # what it spawns does not begin as this file
    sys.stdin, sys.stdout, sys.stderr = _streams(bool(os.environ.get("PYTHONUNBUFFERED")))


def _streams(unbuffered: bool) -> tuple[TextIO, TextIO, TextIO]:
    out, err = (io.BufferedWriter(io.FileIO(number, "w", closefd=False)) for number in (1, 2))
    return (
        open(0, encoding="utf-8", closefd=False),
        io.TextIOWrapper(out, encoding="utf-8", write_through=unbuffered),
        io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", line_buffering=True),
    )


def _import_all() -> None:
    for package in PACKAGES:
        parent = importlib.import_module(f"hipscope.{package}")
        for module in pkgutil.walk_packages(parent.__path__, f"hipscope.{package}."):
            if not _NOT_NEEDED.match(module.name):
                with contextlib.suppress(ModuleNotFoundError):  # a package of an extra; a command says so
                    importlib.import_module(module.name)
    importlib.import_module("pandas")


def _main(module: str) -> NoReturn:
    """What was asked for. The process ends without taking all modules apart, which would copy their memory."""
    code: object = 0
    try:
        importlib.import_module(module).main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # as Python ends a program; the loop of `serve` must not go on in this process
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    _import_all()
    serve(sys.argv[1])
