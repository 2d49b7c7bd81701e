"""Operations of a GPU and calls of the host, collected one by one, as columns.

Takes launches, copies and calls as records of any tool, gives a `Recorded`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import integers, texts
from hipscope.analysis.ingest.formats.recording import LaunchColumns, Recorded
from hipscope.analysis.ingest.formats.rocprof_csv import kernel_name

COPY = re.compile(
    r"(mem(cpy|set)(\s*[hdpa](to|2)[hdpa]|async)?(\s|\(|$)|copy(host|device|peer|image|kind)\w*$|async-copy$|"
    r"fill ?buffer$|barrier\w*$)",
    re.IGNORECASE,
)
"""The whole name of a copy or the like, where nothing else tells it from a kernel."""
IN_WORK_ITEMS = frozenset({"hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"})
"""Calls whose grid is in work-items; that of others is in workgroups."""
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


def recorded_activities(
    launches: Sequence[Activity],
    copies: Sequence[Activity] = (),
    calls: Sequence[Activity] = (),
    agents: Sequence[Agent] = (),
    tool: str = "",
) -> Recorded:
    """All of them. Raises ValueError when no kernel is among them."""
    if not launches:
        raise ValueError("no kernel of a GPU is in it")
    found = Recorded(launches=[_columns(launches)], agents=list(agents), tool=tool)
    if copies:
        told = _events(copies, _COPY_COLUMNS)
        told["src_agent_id"] = [o.agent if _FROM_GPU.search(o.name) else "" for o in copies]
        told["dst_agent_id"] = [o.agent if _TO_GPU.search(o.name) else "" for o in copies]
        found.events["copies"] = [told]
    if calls:
        found.events["api calls"] = [_events(calls, _CALL_COLUMNS)]
    return found


def _columns(launches: Sequence[Activity]) -> LaunchColumns:
    names = dict.fromkeys(name for o in launches for name in o.numbers if name != "bytes")
    numbers = {name: integers([o.numbers.get(name) for o in launches]) for name in names}
    numbers.setdefault("id", integers(range(1, len(launches) + 1)))
    return LaunchColumns.of(
        texts(kernel_name(o.name) for o in launches),
        texts(o.agent for o in launches),
        start=integers([o.start for o in launches]),
        end=integers([o.end for o in launches]),
        **numbers,
    )


def _events(activities: Sequence[Activity], columns: Mapping[str, str]) -> dict[str, list[Any]]:
    told: dict[str, list[Any]] = {
        "start_timestamp": [o.start for o in activities],
        "end_timestamp": [o.end for o in activities],
        "function": [o.name for o in activities],
    }
    for ours, theirs in columns.items():
        if any(ours in o.numbers for o in activities):
            told[theirs] = [o.numbers.get(ours) for o in activities]
    return told
