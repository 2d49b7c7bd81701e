"""The process between hipscope and a program that it runs; `process.py` starts it with an interpreter of its own.

Takes its order (marshalled) on one pipe and reports the exit status on another. Runs the program in a session of its
own and ends its whole process tree, daemons included, when the program exits or the order pipe closes, which the
kernel does for us when hipscope dies. It is started for every compile and every replay, so it imports nothing slow:
`json`, `typing`, `contextlib` and `signal` would take longer than all of its work.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # the functions and numbers, without the enumerations
import ctypes
import marshal
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
_WATCH_MS = 100
LIBC = ctypes.CDLL(None, use_errno=True)


class _Ignored:
    """A block that may fail in these ways."""

    def __init__(self, *failures: type[BaseException]) -> None:
        self._failures = failures

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._failures)


def main(order: int, status: int) -> int:
    """Run one order; the return value is only our own exit status, the program's goes into the report."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Processes whose parent has exited become our children, so that none can slip away by daemonizing.
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    size = int.from_bytes(_read_exactly(order, 8), "little")
    spec = marshal.loads(_read_exactly(order, size))
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_inheritable(order, False)
    os.set_inheritable(status, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child, error = _start(spec)
    _release_standard_streams()
    if error:
        _report(status, {"error": error})
        return 0
    returncode, stopped = _wait(child, order, wake_read, spec["limits"])
    _end_tree(child)
    if returncode is not None or stopped is not None:
        _report(status, {"returncode": returncode, "stopped": stopped})
    return 0


def _start(spec: dict[str, Any]) -> tuple[int, str]:
    """Fork and exec. Gives the child's process id and, when it could not start, why."""
    parent = os.getpid()
    error_read, error_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)
            os.setsid()
            signal.set_wakeup_fd(-1)
            for number in range(1, signal.NSIG):
                with _Ignored(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
            os.chdir(spec["cwd"])
            _apply_limits(spec["limits"])
            os.execve(spec["executable"], spec["argv"], spec["env"])
        except BaseException as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            os.write(error_write, reason.encode("utf-8", errors="replace"))
        finally:
            os._exit(127)
    os.close(error_write)
    with os.fdopen(error_read, "rb") as pipe:
        return child, pipe.read().decode("utf-8", errors="replace")


def _apply_limits(limits: dict[str, Any]) -> None:
    if limits["no_network"]:
        _leave_network()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    _lower(resource.RLIMIT_AS, limits["address_space"])
    _lower(resource.RLIMIT_CPU, limits["cpu_seconds"])
    _lower(resource.RLIMIT_FSIZE, limits["file_bytes"])
    if limits["processes"] is not None:
        _lower(resource.RLIMIT_NPROC, _threads_of_user() + limits["processes"])


def _lower(kind: int, value: int | None) -> None:
    if value is None:
        return
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _leave_network() -> None:
    """A network namespace with nothing in it. Raises when the kernel refuses: never runs with the network on."""
    if LIBC.unshare(CLONE_NEWNET) == 0:
        return
    user, group = os.getuid(), os.getgid()
    if LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"this system does not let us take the network away ({os.strerror(number)})")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _threads_of_user() -> int:
    count = 0
    for process in _processes():
        with _Ignored(OSError):
            if os.stat(f"/proc/{process}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{process}/task"))
    return count


def _wait(child: int, order: int, wake: int, limits: dict[str, Any]) -> tuple[int | None, str | None]:
    """The program's exit status (None when the order pipe closed first), and the limit that it ran into."""
    watched = any(limits[name] is not None for name in ("tree_processes", "tree_bytes", "written_bytes"))
    poll = select.poll()
    poll.register(order, select.POLLIN | select.POLLHUP)
    poll.register(wake, select.POLLIN)
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status), None
        ready = {descriptor for descriptor, _ in poll.poll(_WATCH_MS if watched else None)}
        if order in ready:
            return None, None
        if wake in ready:
            os.read(wake, 4096)
            _reap_strays(child)
        if watched and (what := _exceeded(limits)) is not None:
            return None, what


def _exceeded(limits: dict[str, Any]) -> str | None:
    """The limit that all processes below us together are beyond, in words."""
    most = limits["tree_processes"]
    tree = _descendants(most)
    if most is not None and len(tree) > most:
        return f"it started more than {most} processes"
    if (memory := limits["tree_bytes"]) is not None and sum(map(_resident, tree)) > memory:
        return f"it used more than {memory >> 20} MiB of memory"
    if (room := limits["written_bytes"]) is not None and _stored(limits["written_below"], room) > room:
        return f"it wrote more than {room >> 20} MiB"
    return None


def _descendants(most: int | None) -> list[int]:
    """All processes below us; one more than `most` are enough to know."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting and (most is None or len(found) <= most):
        for task in _listed(f"/proc/{waiting.pop()}/task", "children"):
            found += task
            waiting += task
    return found


def _listed(directory: str, name: str) -> Iterator[list[int]]:
    with _Ignored(OSError):
        for task in os.listdir(directory):
            with _Ignored(OSError, ValueError), open(f"{directory}/{task}/{name}") as file:
                yield [int(word) for word in file.read().split()]


def _resident(process: int) -> int:
    with _Ignored(OSError, ValueError, IndexError), open(f"/proc/{process}/statm") as file:
        pages = file.read().split()
        return (int(pages[1]) - int(pages[2])) * resource.getpagesize()  # shared pages are not counted
    return 0


def _stored(directories: list[str], enough: int) -> int:
    total = 0
    for directory in directories:
        for folder, _, names in os.walk(directory):
            for name in names:
                with _Ignored(OSError):
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512
            if total > enough:
                return total
    return total


def _reap_strays(child: int) -> None:
    """Collect adopted processes that have exited, but leave the program's own status for `_wait`."""
    for process in list(_children()):
        if process != child:
            with _Ignored(ChildProcessError):
                os.waitpid(process, os.WNOHANG)


def _end_tree(child: int) -> None:
    """Kill the program's group, then whatever else descends from us, until nothing does."""
    with _Ignored(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:  # who is left below us is our child, or below one
            return
        for process in list(_children()):
            with _Ignored(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        with _Ignored(ChildProcessError):
            os.waitpid(-1, 0)


def _children() -> Iterator[int]:
    own = str(os.getpid())
    for process in _processes():
        with _Ignored(OSError), open(f"/proc/{process}/stat") as file:
            # "pid (name) state ppid ...": the name may hold spaces and brackets, so count from the last one.
            if file.read().rpartition(")")[2].split()[1] == own:
                yield process


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _release_standard_streams() -> None:
    """Let go of the program's pipes: their readers must see the end as soon as the program is gone."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _read_exactly(descriptor: int, count: int) -> bytes:
    body = b""
    while len(body) < count:
        chunk = os.read(descriptor, count - len(body))
        if not chunk:
            sys.exit(0)
        body += chunk
    return body


def _report(descriptor: int, report: dict[str, Any]) -> None:
    # The reader may be gone already: it no longer waits for this process.
    with _Ignored(BrokenPipeError):
        os.write(descriptor, marshal.dumps(report))
