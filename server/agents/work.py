"""Long work for an agent: a request to a worker process, its progress to the client, its end as a record or a reason.

Jobs of one session run one after the other, and take turns with those of editors. A request that the client cancels
stops its worker; none is left when the session ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.system.directories import cache_directory
from hipscope.server.jobs.jobs import JobFailed, Jobs, JobStopped, run_worker
from hipscope.server.jobs.machine_queue import turn
from hipscope.server.jobs.messages import JobRequest

Tell = Callable[[float, float | None, str], Awaitable[None]]
"""Reports progress to the client: so much, of how much, in words."""

_OUTPUT_SHOWN = 2000


class WorkFailed(HipscopeError):
    """A job that failed; `output` is what its build or program printed last."""

    def __init__(self, message: str, hint: str | None, output: str) -> None:
        super().__init__(message, hint)
        self.output = output[-_OUTPUT_SHOWN:]


class SessionJobs:
    """Runs the jobs of a session."""

    def __init__(self) -> None:
        self._jobs = Jobs()
        self._numbers = itertools.count(1)
        self._one = asyncio.Lock()

    async def report(self, request: JobRequest, tell: Tell) -> Mapping[str, Any]:
        """The JSON object of a job's report. Raises WorkFailed."""
        said: asyncio.Queue[str] = asyncio.Queue()

        def progress(message: str, fraction: float | None = None) -> None:
            said.put_nowait(message if fraction is None else f"{message} ({fraction:.0%})")

        async def work() -> Mapping[str, Any]:
            def wait(before: int) -> None:
                progress(f"waiting for {before} other {'job' if before == 1 else 'jobs'}")

            async with self._one, turn(cache_directory() / "jobs", 1, wait):
                return await run_worker(request, progress)

        teller = asyncio.ensure_future(_hand_on(said, tell))
        try:
            return await self._jobs.run(f"job-{next(self._numbers)}", work())
        except JobFailed as failure:
            details = failure.details
            raise WorkFailed(details.message, details.hint, details.output) from None
        except JobStopped:
            raise WorkFailed("stopped", None, "") from None
        finally:
            teller.cancel()

    async def close(self) -> None:
        """Stop all jobs, and wait until their workers are gone."""
        await self._jobs.close()


async def _hand_on(said: asyncio.Queue[str], tell: Tell) -> None:
    """Tell what is said, in its order; a client that does not listen keeps nobody waiting."""
    for number in itertools.count(1):
        message = await said.get()
        with contextlib.suppress(Exception):
            await tell(float(number), None, message)
