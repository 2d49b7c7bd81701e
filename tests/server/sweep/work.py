"""What the workers of the tests do in place of a profile: count, and die."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path
from typing import Any

from hipscope.analysis.system.cores import usable_cores
from hipscope.server.sweep.blobs import Blob, unpacked
from hipscope.server.sweep.specification import SweepTask
from hipscope.server.sweep.tasks import COLUMNS, once


def count(task: SweepTask, files: Blob | None = None) -> list[dict[str, Any]]:
    """A row, and a file for each time that the task was done; one whose argument is `die` kills its worker once,
    of `die often` five times.
    """
    assert files is None
    return once(task, _counted)


def read(task: SweepTask, files: Blob | None = None) -> list[dict[str, Any]]:
    """A row with what stands in a program that was sent."""
    assert files is not None
    return [{**dict.fromkeys(COLUMNS), "program": (unpacked(files) / task.program).read_text()}]


def cores(task: SweepTask, files: Blob | None = None) -> list[dict[str, Any]]:
    """A row with the cores that the worker uses for a task."""
    return [{**dict.fromkeys(COLUMNS), "vgprs": usable_cores()}]


def _counted(task: SweepTask) -> tuple[dict[str, str], list[dict[str, Any]]]:
    folder = Path(task.program)
    marker = folder / "died"
    if task.arguments == ("die",) and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if task.arguments == ("die often",) and len(deaths := list(folder.glob("death-*"))) < 5:
        (folder / f"death-{len(deaths)}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if task.arguments == ("fail",):
        raise ValueError("always")
    (folder / f"{'-'.join(task.arguments)}.{uuid.uuid4()}").touch()
    return {}, [
        {
            **dict.fromkeys(COLUMNS),
            "program": "p",
            "arguments": task.arguments[0],
            "time_ns": float(len(task.key)),
        }
    ]
