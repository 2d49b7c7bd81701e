"""The tasks of a sweep on a dask cluster: a local one of so many processes, or one that is there.

A task whose worker is killed is done by another one; what still fails after that is a row with the reason. The rows
stand in the order of the tasks, whatever the number of workers.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.python_packages import install_extra
from hipscope.server.sweep.specification import SweepTask
from hipscope.server.sweep.tasks import COLUMNS, Row, do_task, row_of

if TYPE_CHECKING:
    import pandas

_RETRIES = 3


def check_cluster_tools() -> None:
    """Raises MissingTool when the packages that sweeps need are not installed."""
    for name in ("distributed", "pandas"):
        if importlib.util.find_spec(name) is None:
            raise MissingTool(
                "hipscope sweep needs the packages of the extra `scale`", install_extra("scale")
            )


def sweep(
    tasks: Sequence[SweepTask],
    workers: int,
    scheduler: str | None,
    done: Callable[[int, int], None],
    do: Callable[[SweepTask], list[Row]] = do_task,
) -> list[Row]:
    """The rows of all tasks; `done` gets how many have ended, of how many. Raises MissingTool."""
    check_cluster_tools()
    distributed = importlib.import_module("distributed")
    with _client(workers, scheduler) as client:
        futures = [client.submit(do, task, key=task.key, retries=_RETRIES) for task in tasks]
        by_key = {task.key: task for task in tasks}
        found: dict[str, list[Row]] = {}
        ended = distributed.as_completed(futures, loop=client.loop)
        for number, future in enumerate(ended, 1):
            task = by_key[future.key]
            error = future.exception()
            found[future.key] = future.result() if error is None else _failed(task, error)
            future.release()  # what a worker that is killed later held is not done again
            done(number, len(tasks))
        return [row for task in tasks for row in found[task.key]]


def frame(rows: Sequence[Row]) -> pandas.DataFrame:
    """The rows as a pandas frame."""
    import pandas

    return pandas.DataFrame(list(rows), columns=list(COLUMNS)).convert_dtypes()


def _failed(task: SweepTask, error: object) -> list[Row]:
    why = f"{type(error).__name__}: {error}".partition("\n")[0]
    return [row_of(task, error=why[:300])]


@contextlib.contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster. A local one speaks TLS with keys of its own: other users of the machine cannot join."""
    dask, distributed = (importlib.import_module(name) for name in ("dask", "distributed"))
    if scheduler is not None:
        with distributed.Client(scheduler, set_as_default=False) as client:
            yield client
        return
    with (
        work_directory("sweep") as folder,
        dask.config.set(temporary_directory=str(folder)),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tls",
            security=distributed.Security.temporary(),
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
