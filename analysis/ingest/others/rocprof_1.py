"""rocprof of ROCm 6 and older: `results.csv`, `results.db` and `results.sysinfo.txt`, which is what rocminfo prints.

Takes the file, gives a `Recorded`. Its JSON is a chrome trace; its statistics are those of rocprofv3.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.rocprof_csv import read_wide_counters
from hipscope.analysis.ingest.formats.sql_columns import UNREADABLE, connect, decoded
from hipscope.analysis.ingest.formats.tables import text_of
from hipscope.analysis.ingest.others.activities import Activities, Activity, recorded_activities

TOOL = "rocprof"
_FIELD = re.compile(r"^\s*([A-Z][\w .():/]*?):\s+(\S.*?)\s*$")
_AGENT = re.compile(r"^Agent \d+\s*$", re.MULTILINE)
# Our columns of launches and those of the table KERN; shapes are products there.
_DISPATCH: Mapping[str, str] = {
    "grid_x": "grd",
    "workgroup_x": "wgr",
    "static_lds": "lds",
    "scratch": "scr",
    "vgprs": "arch_vgpr",
    "agprs": "accum_vgpr",
    "sgprs": "sgpr",
    "process": "pid",
    "thread": "tid",
    "queue": "queue-id",
}
_GROUP = re.compile(r"Segment:\s+GROUP.*?Size:\s+(\d+)\(", re.DOTALL)


def read_launches(path: Path) -> Recorded:
    """A row per launch, with a column per counter where some were collected."""
    found = read_wide_counters(path)
    found.tool = TOOL
    timed = [s for s in found.statistics if s.timed.any()]
    if timed:  # without counters it is a trace
        found.launches, found.statistics = timed, []
    return found


def is_rocprof(names: frozenset[str]) -> bool:
    """Whether a database with these tables is `results.db`."""
    return bool(names & {"OPS", "COPY", "HIP", "HSA", "KERN"}) and not any(
        n.startswith("rocpd_") for n in names
    )


def read_database(path: Path) -> Recorded:
    """`results.db`: tables of launches, copies and calls. Raises ValueError when it has no launch.

    A run without a trace leaves the rows of results.csv in a table, KERN.
    """
    try:
        with closing(connect(path)) as database:
            launches, copies, calls = (
                Activities.of([_activity(row) for table in tables for row in _rows(database, table)])
                for tables in (("OPS",), ("COPY",), ("HIP", "HSA"))
            )
            if not len(launches):
                launches = Activities.of([_dispatch(row) for row in _rows(database, "KERN")])
    except UNREADABLE as error:
        raise ValueError(f"SQLite says: {error}") from None
    return recorded_activities(launches, copies, calls, tool=TOOL)


def read_rocminfo(path: Path) -> Recorded:
    """The GPUs that rocminfo lists, in its order, which is that of their numbers in the tables."""
    text = text_of(path)
    agents = [_agent(part) for part in _AGENT.split(text)[1:]]
    gpus = [agent for agent in agents if agent is not None]
    if not gpus:
        raise ValueError("no GPU is listed in it")
    return Recorded(agents=gpus)


def _rows(database: sqlite3.Connection, table: str) -> Iterator[Mapping[str, Any]]:
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
        return
    cursor = database.execute(f'SELECT * FROM "{table}"')
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, map(decoded, row), strict=True))


def _activity(row: Mapping[str, Any]) -> Activity:
    device = row.get("dev-id")
    return Activity(
        str(row.get("Name") or ""),
        f"Agent {device}" if isinstance(device, int) else "",
        row.get("BeginNs"),
        row.get("EndNs"),
        {
            "process": row.get("pid"),
            "thread": row.get("tid"),
            "queue": row.get("queue-id"),
            "stream": row.get("stream-id"),
        },
    )


def _dispatch(row: Mapping[str, Any]) -> Activity:
    device, index = row.get("gpu-id"), row.get("Index")
    numbers = {ours: row.get(theirs) for ours, theirs in _DISPATCH.items()}
    return Activity(
        str(row.get("KernelName") or "").strip('"'),
        str(device) if isinstance(device, int) else "",
        row.get("BeginNs"),
        row.get("EndNs"),
        {
            **numbers,
            "id": index + 1 if isinstance(index, int) else None,
            **dict.fromkeys(("grid_y", "grid_z", "workgroup_y", "workgroup_z"), 1),
        },
    )


def _agent(text: str) -> Agent | None:
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if found := _FIELD.match(line):
            fields.setdefault(found[1].strip(), found[2])
    if fields.get("Device Type") != "GPU":
        return None

    def whole(name: str) -> int | None:
        found = re.match(r"\d+", fields.get(name, ""))
        return int(found[0]) or None if found else None

    simds, waves, group = whole("SIMDs per CU"), whole("Max Waves Per CU"), _GROUP.search(text)
    return Agent(
        node=None,
        logical_node=None,
        facts=DeviceFacts(
            arch=fields.get("Name"),
            product=fields.get("Marketing Name"),
            chip=whole("Chip ID"),
            compute_units=whole("Compute Unit"),
            simds_per_cu=simds,
            clock_mhz=whole("Max Clock Freq. (MHz)"),
            max_waves_per_simd=waves // simds if waves and simds else None,
            wave_size=whole("Wavefront Size"),
            lds_bytes=int(group[1]) * 1024 if group else None,
            shader_engines=whole("Shader Engines"),
        ),
    )
