"""Turns of heavy jobs among editors: how many at once, who is next, and that a killed one keeps nobody waiting."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from hipscope.server.jobs.machine_queue import turn


async def job(
    folder: Path, name: str, ran: list[str], go: asyncio.Event, told: list[int], *, idle: bool = False
) -> None:
    async with turn(folder, 1, told.append, idle=idle):
        ran.append(name)
        await go.wait()


async def until_told(*told: list[int]) -> None:
    while not all(told):
        await asyncio.sleep(0.01)


async def test_one_job_runs_and_of_those_that_wait_the_newest_is_next(tmp_path: Path) -> None:
    ran: list[str] = []
    go = asyncio.Event()
    told: dict[str, list[int]] = {name: [] for name in ("first", "older", "idle", "newer")}
    jobs = []
    for name in told:
        jobs.append(asyncio.create_task(job(tmp_path, name, ran, go, told[name], idle=name == "idle")))
        await (until_told(told[name]) if ran else asyncio.sleep(0))
    while told["older"][-1] != 2:
        await asyncio.sleep(0.01)
    assert ran == ["first"]
    assert (told["first"], told["newer"]) == ([], [1])
    go.set()
    await asyncio.gather(*jobs)
    assert ran == ["first", "newer", "older", "idle"]
    assert list(tmp_path.glob("[0-9]*")) == []


async def test_a_job_that_was_cancelled_or_killed_keeps_nobody_waiting(tmp_path: Path) -> None:
    code = f"""if True:
        import asyncio, pathlib
        from hipscope.server.jobs.machine_queue import turn
        async def hold():
            async with turn(pathlib.Path({str(tmp_path)!r}), 1, print):
                print("holds", flush=True)
                await asyncio.sleep(300)
        asyncio.run(hold())"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"holds\n"
        ran: list[str] = []
        told: list[int] = []
        go = asyncio.Event()
        go.set()
        waits = asyncio.create_task(job(tmp_path, "waits", ran, go, told))
        dropped = asyncio.create_task(job(tmp_path, "dropped", ran, go, []))
        await until_told(told)
        dropped.cancel()
        await asyncio.gather(dropped, return_exceptions=True)
        assert ran == []
        other.kill()
        await waits
    assert ran == ["waits"]


async def test_without_a_place_for_tickets_every_job_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with turn(tmp_path / "file", 1, print), turn(tmp_path / "file", 1, print):
        pass
