"""Operations of a GPU and calls of the host, as columns.

Takes launches, copies and calls of any tool, gives a `Recorded`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import (
    MISSING,
    Integers,
    Texts,
    concatenated_texts,
    integers,
    texts,
)
from hipscope.analysis.ingest.formats.recording import LaunchColumns, Recorded
from hipscope.analysis.ingest.formats.rocprof_csv import kernel_names

COPY = re.compile(
    r"(mem(cpy|set)(\s*[hdpa](to|2)[hdpa]|async)?(\s|\(|$)|copy(host|device|peer|image|kind)\w*$|async-copy$|"
    r"fill ?buffer$|barrier\w*$)",
    re.IGNORECASE,
)
"""The whole name of a copy or the like, where nothing else tells it from a kernel."""
IN_WORK_ITEMS = frozenset({"hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"})
"""Calls whose grid is in work-items; that of others is in workgroups."""
_LARGEST = 1 << 62  # work-items
_FROM_GPU = re.compile(r"(device|d) ?(to|-> ?|2) ?", re.IGNORECASE)
_TO_GPU = re.compile(r"(to|-> ?|2) ?(device|d\b)", re.IGNORECASE)
_COPY_COLUMNS = {"queue": "queue_id", "stream": "stream_id", "bytes": "size", "correlation": "correlation_id"}
_CALL_COLUMNS = {"process": "process_id", "thread": "thread_id", "correlation": "correlation_id"}

Numbers = Mapping[str, int | None]


class Activity(NamedTuple):
    """A launch, a copy or a call. `numbers` are those of `LaunchColumns`, and `bytes` of a copy."""

    name: str
    agent: str
    start: int | None
    end: int | None
    numbers: Numbers


@dataclass(frozen=True)
class Activities:
    """Launches, copies or calls as columns, with the same numbers."""

    name: Texts
    agent: Texts
    start: Integers
    end: Integers
    numbers: Mapping[str, Integers]

    @classmethod
    def of(cls, rows: Sequence[Activity]) -> Activities:
        """The columns of records."""
        names = dict.fromkeys(name for row in rows for name in row.numbers)
        return cls(
            texts(row.name for row in rows),
            texts(row.agent for row in rows),
            integers([row.start for row in rows]),
            integers([row.end for row in rows]),
            {name: integers([row.numbers.get(name) for row in rows]) for name in names},
        )

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: Integers) -> Activities:
        """These rows."""
        return Activities(
            self.name.take(rows), self.agent.take(rows), self.start[rows], self.end[rows],
            {name: column[rows] for name, column in self.numbers.items()},
        )  # fmt: skip


def joined(parts: Sequence[Activities]) -> Activities:
    """One after the other; the first has the names of the numbers."""
    return Activities(
        concatenated_texts([part.name for part in parts]),
        concatenated_texts([part.agent for part in parts]),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        {name: np.concatenate([part.numbers[name] for part in parts]) for name in parts[0].numbers},
    )


def sizes(
    grid: Sequence[Integers], workgroup: Sequence[Integers], in_items: Any = False
) -> dict[str, Integers]:
    """The shape of launches whose grid is in workgroups, or, `in_items`, in work-items."""
    found: dict[str, Integers] = {}
    known = np.logical_and.reduce([column != MISSING for column in (*grid, *workgroup)])
    for axis, blocks, items in zip("xyz", grid, workgroup, strict=True):
        found[f"workgroup_{axis}"] = np.where(known, items, MISSING)
        factor = np.where(in_items, 1, items)
        fits = known & (np.abs(blocks.astype(np.float64) * factor) < _LARGEST)
        found[f"grid_{axis}"] = np.where(fits, np.where(fits, blocks, 0) * np.where(fits, factor, 0), MISSING)
    return found


def recorded_activities(
    launches: Activities,
    copies: Activities,
    calls: Activities,
    agents: Sequence[Agent] = (),
    tool: str = "",
) -> Recorded:
    """All of them. Raises ValueError when no kernel is among them."""
    if not len(launches):
        raise ValueError("no kernel of a GPU is in it")
    numbers = {name: column for name, column in launches.numbers.items() if name != "bytes"}
    numbers.setdefault("id", np.arange(1, len(launches) + 1))
    columns = LaunchColumns.of(
        kernel_names(launches.name), launches.agent, start=launches.start, end=launches.end, **numbers
    )
    found = Recorded(launches=[columns], agents=list(agents), tool=tool)
    if len(copies):
        told = _events(copies, _COPY_COLUMNS)
        for column, pattern in (("src_agent_id", _FROM_GPU), ("dst_agent_id", _TO_GPU)):
            is_one = np.array([bool(pattern.search(name)) for name in copies.name.names], dtype=bool)
            told[column] = np.where(is_one[copies.name.codes], _cells(copies.agent), "")
        found.events["copies"] = [told]
    if len(calls):
        found.events["api calls"] = [_events(calls, _CALL_COLUMNS)]
    return found


def agent_texts(numbers: Integers) -> Texts:
    """The agents of these numbers."""
    values, codes = np.unique(numbers, return_inverse=True)
    return Texts(codes, tuple("" if value == MISSING else f"Agent {value}" for value in values.tolist()))


def _events(activities: Activities, columns: Mapping[str, str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "start_timestamp": activities.start,
        "end_timestamp": activities.end,
        "function": _cells(activities.name),
    }
    for ours, theirs in columns.items():
        if ours in activities.numbers:
            told[theirs] = activities.numbers[ours]
    return told


def _cells(column: Texts) -> Any:
    return np.array(column.names, dtype=object)[column.codes]
