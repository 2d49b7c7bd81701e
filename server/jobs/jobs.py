"""Long work in child processes: one job per project, with progress, and nothing left behind.

`Jobs` keeps the running tasks; `run_worker` starts `hipscope.server.jobs.worker`, feeds it one request and
hands on what it reports. The caller that awaits a job owns its child: when the await is cancelled, the child is stopped
and reaped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from hipscope.analysis.run import Progress
from hipscope.analysis.system.process import signal_name
from hipscope.server.jobs.messages import JobError, JobInspected, JobRequest, JobResult, encode, read_message
from hipscope.server.jobs.worker import READY
from hipscope.server.reports.schema.fields import RecordMismatch

T = TypeVar("T")

STOP_SECONDS = 1.0
"""How long a worker may take to stop its own children; an editor gives the server 2 s in all."""

_LONGEST_LINE = 256 * 1024 * 1024
_KILLED = "often by the system when memory runs out: give it a smaller input, then profile again"
_ENDED = "profile again; what it printed is in the log"


class JobFailed(Exception):
    """The worker ended with an error that it could name. `details` is that message."""

    def __init__(self, details: JobError) -> None:
        super().__init__(details.message)
        self.details = details


class JobStopped(Exception):
    """This job was stopped by the user, a newer job of the same project, or the end of the session."""


class Jobs:
    """The running jobs, one per key; a newer one replaces an older."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str, work: Coroutine[Any, Any, T]) -> T:
        """Stop what runs under `key`, then run `work` and return its result.

        Raises `JobStopped` when the job was stopped or replaced while its caller goes on.
        """
        task = asyncio.create_task(work, name=key)
        stale = self._tasks.get(key)
        self._tasks[key] = task
        if stale is not None:
            stale.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() and not _cancelling():
                raise JobStopped from None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        finally:
            if self._tasks.get(key) is task:
                del self._tasks[key]

    @property
    def idle(self) -> bool:
        """Whether no job runs."""
        return not self._tasks

    def keys(self) -> tuple[str, ...]:
        """The keys of the running jobs."""
        return tuple(self._tasks)

    def running(self, key: str) -> bool:
        """Whether a job runs under that key."""
        return key in self._tasks

    def cancel(self, key: str | None = None) -> int:
        """Stop the job of that key, or all; returns how many there were."""
        tasks = [t for k, t in self._tasks.items() if key is None or k == key]
        for task in tasks:
            task.cancel()
        return len(tasks)

    async def close(self) -> None:
        """Stop all jobs and wait until their children are gone."""
        tasks = list(self._tasks.values())
        self.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _cancelling() -> bool:
    """Whether it is the current task itself that is being cancelled."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0


class Spare:
    """A worker that has imported what a rewrite needs and waits for its request, which then needs no imports."""

    def __init__(self) -> None:
        self._worker: asyncio.subprocess.Process | None = None

    async def keep(self) -> None:
        """Start one, unless one waits already."""
        if self._worker is None or self._worker.returncode is not None:
            self._worker = await _start(READY)

    def take(self) -> asyncio.subprocess.Process | None:
        """The worker that waits, which now is the caller's; None when there is none."""
        worker, self._worker = self._worker, None
        return worker if worker is not None and worker.returncode is None else None

    async def close(self) -> None:
        """End the one that waits."""
        if (worker := self.take()) is not None:
            await _stop(worker)


async def run_worker(
    request: JobRequest,
    progress: Progress,
    *,
    waiting: asyncio.subprocess.Process | None = None,
    inspected: Callable[[Mapping[str, Any]], None] | None = None,
) -> Mapping[str, Any]:
    """Run one request in a worker process and return the report of its result. `waiting` is one that has been started,
    `inspected` is told what was seen of the program before it ran.

    Raises `JobFailed` when the worker reports an error, says what is no message, or ends without a result. The
    worker leads a session of its own, and its whole group is gone when this returns or raises, also on cancellation.
    """
    worker = waiting or await _start()
    stdin, stdout, stderr = worker.stdin, worker.stdout, worker.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    noise = asyncio.create_task(_tail(stderr))
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin.write(encode(request).encode())
            await stdin.drain()
            stdin.close()
        while line := await stdout.readline():
            message = read_message(line)
            if isinstance(message, JobError):
                raise JobFailed(message)
            if isinstance(message, JobResult):
                return message.report
            if isinstance(message, JobInspected):
                if inspected is not None:
                    inspected(message.report)
            else:
                progress(message.message, message.fraction)
        status = await worker.wait()
        hint = _KILLED if status == -signal.SIGKILL else _ENDED
        raise JobFailed(
            JobError(f"the worker ended early ({_how(status)})", status, hint, output=await noise)
        )
    except RecordMismatch as mismatch:
        raise JobFailed(JobError(mismatch.message, mismatch.exit_code, hint=mismatch.hint)) from None
    finally:
        noise.cancel()
        await _stop(worker)


async def _start(*more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *worker_command(),
        *more,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        limit=_LONGEST_LINE,
    )


def worker_command() -> list[str]:
    """How a worker is started; a test may put another program in its place with HIPSCOPE_WORKER."""
    other = os.environ.get("HIPSCOPE_WORKER")
    # -P: the current folder is the user's, and a `json.py` in it must not be taken for Python's own.
    return [sys.executable, other] if other else [sys.executable, "-P", "-m", "hipscope.server.jobs.worker"]


async def _stop(worker: asyncio.subprocess.Process) -> None:
    """Ask the worker to stop, wait a moment, then end its group. Finishes even if it is cancelled meanwhile."""
    if worker.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            worker.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(worker.wait()), STOP_SECONDS)
        except TimeoutError:
            pass
        finally:
            if worker.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(worker.pid, signal.SIGKILL)
    await worker.wait()


async def _tail(stream: asyncio.StreamReader, keep: int = 8192) -> str:
    """The last bytes of a stream, read to its end so that the writer never blocks."""
    data = b""
    while chunk := await stream.read(4096):
        data = (data + chunk)[-keep:]
        sys.stderr.write(chunk.decode("utf-8", "replace"))
    return data.decode("utf-8", "replace")


def _how(status: int) -> str:
    return f"exit code {status}" if status >= 0 else signal_name(-status)
