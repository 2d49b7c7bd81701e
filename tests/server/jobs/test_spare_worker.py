"""The worker that waits for a rewrite: started ahead, used once, gone with the server."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from hipscope.server.jobs.jobs import JobFailed, Spare, run_worker
from hipscope.server.jobs.messages import JobRequest


async def test_a_waiting_worker_answers_like_any_other(tmp_path: Path) -> None:
    spare = Spare()
    await spare.keep()
    first = spare._worker
    await spare.keep()
    assert spare._worker is first
    waiting = spare.take()
    assert waiting is first
    assert spare.take() is None
    request = JobRequest("optimize", str(tmp_path / "missing.hip"))
    with pytest.raises(JobFailed) as told:
        await run_worker(request, lambda _message, _share: None, waiting=waiting)
    with pytest.raises(JobFailed) as fresh:
        await run_worker(request, lambda _message, _share: None)
    assert told.value.details == fresh.value.details
    assert waiting is not None
    assert waiting.returncode is not None


async def test_an_unused_one_ends_with_the_server_and_one_that_died_is_not_used() -> None:
    spare = Spare()
    await spare.keep()
    assert spare._worker is not None
    process = spare._worker.pid
    os.kill(process, 0)
    await spare.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    await spare.keep()
    dead = spare._worker
    assert dead is not None
    dead.kill()
    await asyncio.wait_for(dead.wait(), 20)
    assert spare.take() is None
