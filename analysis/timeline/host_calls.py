"""API calls and copies of a capture under one spelling, whatever the tool calls their columns.

Takes a frame of events, gives arrays: start, end, name, thread, process and correlation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.timeline.intervals import Times

if TYPE_CHECKING:
    from pandas import DataFrame

UNKNOWN = -1
# What we call a column, and what rocprofv3's CSV, its JSON and rocpd call it.
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "start": ("Start_Timestamp", "start_timestamp", "start"),
    "end": ("End_Timestamp", "end_timestamp", "end"),
    "name": ("Function", "function", "name", "Direction"),
    "thread": ("Thread_Id", "thread_id", "tid"),
    "process": ("Process_Id", "process_id", "pid"),
    "correlation": ("Correlation_Id", "correlation_id", "internal_id"),
    "stream": ("Stream_Id", "stream_id"),
    "queue": ("Queue_Id", "queue_id"),
    "bytes": ("bytes", "size"),
    "source": ("Source_Agent_Id", "src_agent_log_index", "src_agent_id"),
    "target": ("Destination_Agent_Id", "dst_agent_log_index", "dst_agent_id"),
}
_DIRECTIONS = {
    "hosttodevice": "copy host to device",
    "devicetohost": "copy device to host",
    "devicetodevice": "copy device to device",
    "hosttohost": "copy host to host",
    "memset": "memset",
    "htod": "copy host to device",
    "dtoh": "copy device to host",
    "dtod": "copy device to device",
}


@dataclass(frozen=True, eq=False)
class Events:
    """Calls or copies, by start. `name`, `source` and `target` are texts; what is not known is UNKNOWN or empty."""

    start: Times
    end: Times
    thread: Times
    process: Times
    correlation: Times
    stream: Times
    queue: Times
    bytes: Times
    name: NDArray[Any]
    source: NDArray[Any]
    target: NDArray[Any]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[Any]) -> Events:
        """These rows."""
        return Events(**{name: column[rows] for name, column in vars(self).items()})


def events_of(frame: DataFrame) -> Events:
    """The events that have a duration, by start."""
    start, end = _whole(frame, "start"), _whole(frame, "end")
    found = Events(
        start, end,
        *(_whole(frame, name) for name in ("thread", "process", "correlation", "stream", "queue", "bytes")),
        *(_texts(frame, name) for name in ("name", "source", "target")),
    )  # fmt: skip
    rows = np.flatnonzero((start != UNKNOWN) & (end > start))
    return found.take(rows[np.argsort(start[rows], kind="stable")])


def outermost(calls: Events) -> Events:
    """Without calls that another call of the same thread has made: hipMemcpy, and not what it calls of HSA."""
    order = np.lexsort((-calls.end, calls.start, calls.thread))
    thread, start, end = calls.thread[order], calls.start[order], calls.end[order]
    _, part = np.unique(thread, return_inverse=True)
    if not len(start):
        return calls
    # Ends of later threads are lifted above all earlier ones, so that one running maximum serves every thread.
    begin, span = int(start.min()), int(end.max()) - int(start.min()) + 1
    lifted = end - begin + part.astype(np.int64) * span
    reached = np.maximum.accumulate(lifted)
    outer = np.ones(len(start), dtype=bool)
    outer[1:] = (start[1:] - begin + part[1:].astype(np.int64) * span) >= reached[:-1]
    return calls.take(np.sort(order[outer]))


def copy_words(name: str) -> str:
    """What a copy does, in words: `MEMORY_COPY_HOST_TO_DEVICE`, `CopyHostToDevice` -> `copy host to device`."""
    lower = name.lower().replace("_", "").replace(" ", "")
    return next((words for key, words in _DIRECTIONS.items() if key in lower), "copy")


def _column(frame: DataFrame, name: str) -> Any:
    return next((frame[spelling] for spelling in _SPELLINGS[name] if spelling in frame.columns), None)


def _whole(frame: DataFrame, name: str) -> Times:
    column = _column(frame, name)
    if column is None:
        return np.full(len(frame), UNKNOWN, dtype=np.int64)
    if column.dtype == np.int64:
        found = np.asarray(column)
        return np.where((found >= 0) & (found < 1 << 62), found, UNKNOWN)
    return np.array([_cell(cell) for cell in column], dtype=np.int64)


def _cell(cell: Any) -> int:
    """A whole number; UNKNOWN for anything else."""
    try:
        number = int(cell)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
    return number if 0 <= number < 1 << 62 else UNKNOWN


def _texts(frame: DataFrame, name: str) -> NDArray[Any]:
    column = _column(frame, name)
    if column is None:
        return np.full(len(frame), "", dtype=object)
    return np.array(["" if cell is None or cell != cell else str(cell) for cell in column], dtype=object)
