"""rocmProfileData (`trace.rpd`): an SQLite database whose tables are called `rocpd_`, as those of rocprofv3 are.

Takes a database, gives a `Recorded`. Copies are told from kernels by the type of the activity.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.ingest.formats.columns import Texts, same_text
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.sql_columns import UNREADABLE, batches, connect, fetched
from hipscope.analysis.ingest.others.activities import (
    COPY,
    IN_WORK_ITEMS,
    Activities,
    agent_texts,
    recorded_activities,
    sizes,
)

_OPERATIONS = """
    SELECT d.string, t.string, n.string, o.gpuId, o.queueId, o.start, o.end,
           k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ, a.api_id
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
    SELECT s.string, c.id, c.pid, c.tid, c.start, c.end
    FROM rocpd_api c LEFT JOIN rocpd_string s ON s.id = c.apiName_id
"""


def is_rpd(names: frozenset[str]) -> bool:
    """Whether a database with these tables is one."""
    return {"rocpd_op", "rocpd_api"} <= names


def read_rpd(path: Path) -> Recorded:
    """Raises ValueError, with the reason, when no kernel is in it."""
    try:
        with closing(connect(path)) as database:
            (description, kind, call), numbers, _ = fetched(batches(database, _OPERATIONS), 3, 11)
            (called,), own, _ = fetched(batches(database, _CALLS), 1, 5)
    except UNREADABLE as error:
        raise ValueError(f"SQLite says: {error}") from None
    gpu, queue, start, end, *shape, api = numbers
    in_items = np.array([name in IN_WORK_ITEMS for name in call.names], dtype=bool)[call.codes]
    operations = Activities(
        _names(description, kind),
        agent_texts(gpu),
        start,
        end,
        {"queue": queue, "correlation": api, **sizes(shape[:3], shape[3:], in_items)},
    )
    is_copy = _copies(description, kind)
    number, process, thread, begun, ended = own
    calls = Activities(
        called, same_text("", len(begun)), begun, ended,
        {"process": process, "thread": thread, "correlation": number},
    )  # fmt: skip
    return recorded_activities(
        operations.take(np.flatnonzero(~is_copy)),
        operations.take(np.flatnonzero(is_copy)),
        calls,
        tool="rocmProfileData",
    )


def _copies(description: Texts, kind: Texts) -> NDArray[np.bool_]:
    """Which operations are copies, by their type; without a description, what is no kernel is one."""
    named = np.array([bool(name) for name in description.names], dtype=bool)[description.codes]
    is_copy = np.array([COPY.match(name) is not None for name in kind.names], dtype=bool)
    is_kernel = np.array(["kernel" in name.lower() for name in kind.names], dtype=bool)
    found: NDArray[np.bool_] = is_copy[kind.codes] | (~named & ~is_kernel[kind.codes])
    return found


def _names(description: Texts, kind: Texts) -> Texts:
    """The kernel, else the type."""
    places = np.array([bool(name) for name in description.names], dtype=bool)
    codes = np.where(places[description.codes], description.codes, kind.codes + len(description.names))
    return Texts(codes, (*description.names, *kind.names))
