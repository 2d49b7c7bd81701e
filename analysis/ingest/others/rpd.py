"""rocmProfileData (`trace.rpd`): an SQLite database whose tables are called `rocpd_`, as those of rocprofv3 are.

Takes a database, gives a `Recorded`. Copies are told from kernels by the type of the activity.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.rocpd import UNREADABLE, connect, decoded
from hipscope.analysis.ingest.others.activities import COPY, IN_WORK_ITEMS, Activity, recorded_activities

_OPERATIONS = """
    SELECT o.id, o.gpuId, o.queueId, o.start, o.end, d.string, t.string,
           k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ, n.string, a.api_id
    FROM rocpd_op o
    LEFT JOIN rocpd_string d ON d.id = o.description_id
    LEFT JOIN rocpd_string t ON t.id = o.opType_id
    LEFT JOIN rocpd_api_ops a ON a.op_id = o.id
    LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = a.api_id
    LEFT JOIN rocpd_api c ON c.id = a.api_id
    LEFT JOIN rocpd_string n ON n.id = c.apiName_id
    GROUP BY o.id ORDER BY o.start, o.id
"""
_CALLS = """
    SELECT c.id, c.pid, c.tid, c.start, c.end, s.string
    FROM rocpd_api c LEFT JOIN rocpd_string s ON s.id = c.apiName_id
"""


def is_rpd(names: frozenset[str]) -> bool:
    """Whether a database with these tables is one."""
    return {"rocpd_op", "rocpd_api"} <= names


def read_rpd(path: Path) -> Recorded:
    """Raises ValueError, with the reason, when no kernel is in it."""
    try:
        with closing(connect(path)) as database:
            activities = [tuple(map(decoded, row)) for row in database.execute(_OPERATIONS)]
            calls = [tuple(map(decoded, row)) for row in database.execute(_CALLS)]
    except UNREADABLE as error:
        raise ValueError(f"SQLite says: {error}") from None
    launches: list[Activity] = []
    copies: list[Activity] = []
    for row in activities:
        activity = _activity(row)
        (copies if _is_copy(row) else launches).append(activity)
    called = [
        Activity(str(name or ""), "", start, end, {"process": pid, "thread": tid, "correlation": number})
        for number, pid, tid, start, end, name in calls
    ]
    return recorded_activities(launches, copies, called, tool="rocmProfileData")


def _is_copy(row: tuple[Any, ...]) -> bool:
    description, kind = str(row[5] or ""), str(row[6] or "")
    return COPY.match(kind) is not None or (not description and "kernel" not in kind.lower())


def _activity(row: tuple[Any, ...]) -> Activity:
    _, gpu, queue, start, end, description, kind, *sizes, call, api = row
    numbers = {"queue": queue, "correlation": api}
    if all(isinstance(size, int) for size in sizes):
        for axis, grid, workgroup in zip("xyz", sizes[:3], sizes[3:], strict=True):
            numbers[f"workgroup_{axis}"] = workgroup
            numbers[f"grid_{axis}"] = grid if call in IN_WORK_ITEMS else grid * workgroup
    name = str(description or kind or "")
    return Activity(name, f"Agent {gpu}" if isinstance(gpu, int) else "", start, end, numbers)
