"""The tasks of a sweep on a dask cluster: a local one of so many processes, jobs of SLURM, or one that is there.

A task whose worker is killed is done by another one; what still fails after that is a row with the reason. The rows
stand in the order of the tasks, whatever the number of workers.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipscope.analysis.errors import MissingTool, UsageError
from hipscope.analysis.system.cores import THREADS, usable_cores
from hipscope.analysis.system.directories import state_directory, work_directory
from hipscope.analysis.system.python_packages import install_extra
from hipscope.server.sweep.blobs import Blob, packed
from hipscope.server.sweep.specification import Sweep, SweepTask
from hipscope.server.sweep.tasks import COLUMNS, Row, do_task, row_of

if TYPE_CHECKING:
    import pandas

_RETRIES = 3
_SECONDS = 10  # to reach a scheduler
_WORKER_SECONDS = 300
_START_SECONDS = 30  # for a worker, until dead ones are replaced
_LOOK_SECONDS = 5  # without a result, until dead workers are replaced
_KILLS = 9  # of workers, that a task survives: others than the task's own doing are counted, too
# A worker gets a task when it is free: one that waits in its queue would count as killed with it.
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _KILLS,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.multiprocessing-method": "forkserver",
}
# Imported once, in the process that local workers are forked from: each alone would take seconds of a core.
_IMPORTED_ONCE = [
    "distributed.nanny",
    "distributed.worker",
    "hipscope.server.jobs.opening",
    "hipscope.server.jobs.tasks",
]


@dataclass(frozen=True)
class Where:
    """Where the tasks are done: a scheduler's address, so many jobs of SLURM, else so many processes here.

    `dashboard`: dask's page of progress is served on this machine.
    """

    workers: int = 1
    scheduler: str | None = None
    slurm: int | None = None
    dashboard: bool = False


def check_cluster_tools(where: Where) -> None:
    """Raises MissingTool when the packages that it needs are not installed."""
    used = {
        "distributed": True,
        "dask_jobqueue": where.slurm is not None,
        "bokeh": where.dashboard,
    }
    if any(asked and importlib.util.find_spec(name) is None for name, asked in used.items()):
        raise MissingTool("hipscope sweep needs the packages of the extra `scale`", install_extra("scale"))


def sweep(
    asked: Sweep,
    where: Where,
    done: Callable[[int, int], None],
    said: Callable[[str], None],
    do: Callable[[SweepTask, Blob | None], list[Row]] = do_task,
) -> list[Row]:
    """The rows of all tasks; `done` gets how many have ended, of how many, `said` where progress can be seen.

    Raises MissingTool and UsageError.
    """
    check_cluster_tools(where)
    files = packed(asked.folder) if asked.folder is not None else None
    tasks = (
        asked.tasks
        if files is None or asked.folder is None
        else _below(asked.tasks, asked.folder, files.digest)
    )
    with _client(where) as (client, renew), client.as_current():
        if (where.dashboard or where.scheduler is not None) and client.dashboard_link:
            said(f"progress: {client.dashboard_link}")
        # What a task makes can be made again when its worker is killed; scattered data could not.
        sent = (
            None
            if files is None
            else client.submit(_same, files, key=f"files-{files.digest}", retries=_RETRIES)
        )
        futures = [client.submit(do, task, sent, key=task.key, retries=_RETRIES) for task in tasks]
        by_key = {task.key: task for task in tasks}
        found: dict[str, list[Row]] = {}
        for future, rows in _ended(futures, renew):
            found[future.key] = _failed(by_key[future.key], future.exception()) if rows is None else rows
            future.release()  # what a worker that is killed later held is not done again
            done(len(found), len(tasks))
        return [row for task in tasks for row in found[task.key]]


def frame(rows: Sequence[Row]) -> pandas.DataFrame:
    """The rows as a pandas frame."""
    import pandas

    return pandas.DataFrame(list(rows), columns=list(COLUMNS)).convert_dtypes()


def _ended(futures: Sequence[Any], renew: Callable[[], None]) -> Iterator[tuple[Any, list[Row] | None]]:
    """The futures as they end, each with its rows, None where it failed.

    A worker that dies before its rows are here makes its task run again. Dask drops the nanny of a worker that is not
    back within `distributed.deploy.lost-worker-timeout` and starts no other one by itself, so `renew` is called
    whenever nothing came for some seconds.
    """
    ended: queue.SimpleQueue[Any] = (
        queue.SimpleQueue()
    )  # waiting for any of all costs as much as there are, each time
    for future in futures:
        future.add_done_callback(ended.put)
    left = len(futures)
    while left:
        try:
            future = ended.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            renew()
            continue
        rows = None
        if future.status != "error":
            try:
                rows = future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                ended.put(future)
                renew()
                continue
            except Exception:  # done again, it failed: the future keeps how
                rows = None
        left -= 1
        yield future, rows


def _below(tasks: Sequence[SweepTask], folder: Path, digest: str) -> tuple[SweepTask, ...]:
    """The tasks with their programs' places in a folder that is sent."""
    return tuple(
        replace(task, program=str(Path(task.program).relative_to(folder)), files=digest) for task in tasks
    )


def _same(files: Blob) -> Blob:
    return files


def _failed(task: SweepTask, error: object) -> list[Row]:
    why = f"{type(error).__name__}: {error}".partition("\n")[0]
    return [row_of(task, error=why[:300])]


@contextlib.contextmanager
def _client(where: Where) -> Iterator[tuple[Any, Callable[[], None]]]:
    """A client of the cluster, and what replaces workers that are gone.

    A new cluster speaks TLS with keys of its own: other users of the machines cannot join.
    """
    distributed = importlib.import_module("distributed")
    if where.scheduler is not None:
        try:
            client = distributed.Client(where.scheduler, set_as_default=False, timeout=_SECONDS)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{where.scheduler}: no dask scheduler answers: {str(error).partition(chr(10))[0]}",
                "name one such as tcp://host:8786, with the versions of Python and dask that are here",
            ) from None
        with client:
            yield client, lambda: None
        return
    dask = importlib.import_module("dask")
    make = _local if where.slurm is None else _slurm
    with (
        dask.config.set(_SETTINGS),
        make(where) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        size = {"n": where.workers} if where.slurm is None else {"jobs": where.slurm}
        renew = functools.partial(cluster.scale, **size)
        renew()
        if where.slurm is None:
            _wait_for_a_worker(client, renew)
        yield client, renew


def _wait_for_a_worker(client: Any, renew: Callable[[], None]) -> None:
    """Raises UsageError where none starts, as on a machine that has too much to do."""
    for _ in range(0, _WORKER_SECONDS, _START_SECONDS):
        with contextlib.suppress(TimeoutError):
            client.wait_for_workers(1, timeout=_START_SECONDS)
            return
        renew()
    raise UsageError(f"no worker has started in {_WORKER_SECONDS} s", "try fewer --workers")


@contextlib.contextmanager
def _local(where: Where) -> Iterator[Any]:
    dask, distributed = (importlib.import_module(name) for name in ("dask", "distributed"))
    distributed.utils.get_mp_context().set_forkserver_preload(_IMPORTED_ONCE)
    with (
        work_directory("sweep") as folder,
        dask.config.set(temporary_directory=str(folder)),
        distributed.LocalCluster(
            n_workers=0,  # what dies while it starts would end the cluster: they are asked for when it is there
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tls",
            security=distributed.Security.temporary(),
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": where.dashboard},
            silence_logs=50,
            env={THREADS: str(max(1, usable_cores() // where.workers))},
        ) as cluster,
    ):
        yield cluster


@contextlib.contextmanager
def _slurm(where: Where) -> Iterator[Any]:
    """So many jobs, with queue, memory and time from dask's own settings (`jobqueue.slurm`). The keys of their TLS lie
    in the state directory, which has to be on a file system that the jobs share. Raises UsageError.
    """
    distributed, jobqueue = (importlib.import_module(name) for name in ("distributed", "dask_jobqueue"))
    keys = state_directory() / "sweep"
    keys.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        cluster = jobqueue.SLURMCluster(
            security=distributed.Security.temporary(),
            shared_temp_directory=str(keys),
            scheduler_options={"dashboard": where.dashboard, "dashboard_address": "127.0.0.1:0"},
        )
    except ValueError as error:
        raise UsageError(
            f"dask-jobqueue: {error}",
            "set cores and memory of `jobqueue.slurm` in ~/.config/dask/jobqueue.yaml",
        ) from None
    with cluster:
        yield cluster
