"""Nsight Systems: the SQLite database that `nsys export` writes, and the tables of `nsys stats`.

Takes the file, gives a `Recorded`. Of tables only those are read whose units are nanoseconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import (
    MISSING,
    Integers,
    Texts,
    absent,
    integers,
    optional,
    same_text,
)
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.rocprof_csv import launches_of_statistics
from hipscope.analysis.ingest.formats.sql_columns import (
    UNREADABLE,
    batches,
    columns_of,
    connect,
    decoded,
    fetched,
    relations,
)
from hipscope.analysis.ingest.formats.tables import CsvTable, read_table
from hipscope.analysis.ingest.others.activities import (
    Activities,
    Activity,
    agent_texts,
    joined,
    recorded_activities,
    sizes,
)

TOOL = "Nsight Systems"
_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_COPIES = ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_GPUS = "TARGET_INFO_GPU"
_NUMBERED = "TARGET_INFO_CUDA_DEVICE"  # the numbers that the program has for them, by CUDA_VISIBLE_DEVICES
_KINDS = {
    1: "copy host to device",
    2: "copy device to host",
    8: "copy device to device",
    10: "copy device to device",
}
_LAUNCH_NUMBERS = {
    "streamId": "stream",
    "correlationId": "correlation",
    "registersPerThread": "vgprs",
    "staticSharedMemory": "static_lds",
    "dynamicSharedMemory": "dynamic_lds",
    "graphNodeId": "graph_node",
}
_SIMDS = 4  # of a multiprocessor
_24_BITS = (1 << 24) - 1


def is_nsys(names: frozenset[str]) -> bool:
    """Whether a database with these tables is an export."""
    return "StringIds" in names and any(n.startswith(("CUPTI_", "TARGET_INFO_")) for n in names)


def read_nsys(path: Path) -> Recorded:
    """An export. Raises ValueError, with the reason, when it has no kernel."""
    try:
        with closing(connect(path)) as database:
            return _Export(database).recorded()
    except UNREADABLE as error:
        raise ValueError(f"SQLite says: {error}") from None


class _Export:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._tables = frozenset(relations(database))
        rows = database.execute("SELECT id, value FROM StringIds").fetchall()
        self._strings = {key: str(decoded(value)) for key, value in rows}

    def recorded(self) -> Recorded:
        copies = [self._copies(table) for table in _COPIES]
        seen = {row.get("gpuId"): row.get("cudaId") for row in self._rows(_NUMBERED)}
        agents = [_agent(row, seen) for row in self._rows(_GPUS)]
        return recorded_activities(self._launches(), joined(copies), self._calls(), agents, TOOL)

    def _rows(self, table: str) -> Iterator[Mapping[str, Any]]:
        if table not in self._tables:
            return
        cursor = self._database.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, map(decoded, row), strict=True))

    def _columns(self, table: str, names: Sequence[str]) -> dict[str, Integers]:
        """Whole numbers of a table; MISSING where it has no such column."""
        have = columns_of(self._database, table) if table in self._tables else []
        chosen = [name for name in ("start", "end", *names) if name in have]
        if not chosen:
            return {name: absent(0) for name in ("start", "end", *names)}
        query = f'SELECT {", ".join(chosen)} FROM "{table}"'
        _, columns, _ = fetched(batches(self._database, query), 0, len(chosen))
        found = dict(zip(chosen, columns, strict=True))
        return {name: found.get(name, absent(len(columns[0]))) for name in ("start", "end", *names)}

    def _launches(self) -> Activities:
        shape = [f"{size}{axis}" for size in ("grid", "block") for axis in "XYZ"]
        told = self._columns(
            _KERNELS, (*_LAUNCH_NUMBERS, *shape, "deviceId", "globalPid", "demangledName", "shortName")
        )
        known = np.isin(told["demangledName"], np.array(list(self._strings), dtype=np.int64))
        names = self._texts(np.where(known, told["demangledName"], told["shortName"]))
        numbers = {ours: told[theirs] for theirs, ours in _LAUNCH_NUMBERS.items()}
        numbers["process"] = _process(told["globalPid"])
        numbers |= sizes([told[name] for name in shape[:3]], [told[name] for name in shape[3:]])
        return Activities(names, agent_texts(told["deviceId"]), told["start"], told["end"], numbers)

    def _copies(self, table: str) -> Activities:
        told = self._columns(table, ("copyKind", "streamId", "bytes", "correlationId", "deviceId"))
        kinds, codes = np.unique(told["copyKind"], return_inverse=True)
        is_set = table.endswith("MEMSET")
        words = tuple("memset" if is_set else _KINDS.get(kind, "copy") for kind in kinds.tolist())
        numbers = {"stream": told["streamId"], "bytes": told["bytes"], "correlation": told["correlationId"]}
        return Activities(
            Texts(codes, words), agent_texts(told["deviceId"]), told["start"], told["end"], numbers
        )

    def _calls(self) -> Activities:
        told = self._columns(_CALLS, ("globalTid", "correlationId", "nameId"))
        thread = told["globalTid"]
        numbers = {
            "process": _process(thread),
            "thread": np.where(thread == MISSING, MISSING, thread & _24_BITS),
            "correlation": told["correlationId"],
        }
        names = self._texts(told["nameId"])
        return Activities(names, same_text("", len(names)), told["start"], told["end"], numbers)

    def _texts(self, identities: Integers) -> Texts:
        values, codes = np.unique(identities, return_inverse=True)
        return Texts(codes, tuple(self._strings.get(value, "") for value in values.tolist()))


def read_nsys_summary(path: Path) -> Recorded:
    """`nsys stats --report cuda_gpu_kern_sum`: a row per kernel."""
    table = read_table(path)
    total = table.integers("Total Time (ns)")
    launches = launches_of_statistics(table.texts("Name"), table.integers("Instances"), total)
    return Recorded(statistics=[launches], tool=TOOL, notes=list(table.damage))


def read_nsys_trace(path: Path) -> Recorded:
    """`nsys stats --report cuda_gpu_trace`: a row per launch or copy."""
    table = read_table(path)
    if "Start (ns)" not in table or "Duration (ns)" not in table:
        raise ValueError("its times are no nanoseconds: write it with nsys stats --timeunit ns")
    launches: list[Activity] = []
    copies: list[Activity] = []
    for row in _cells(table):
        start, duration = row("Start (ns)"), row("Duration (ns)")
        end = None if start is None or duration is None else start + duration
        numbers = {"stream": row("Strm"), "correlation": row("CorrId")}
        blocks, threads = ([row(f"{size}{axis}") for axis in "XYZ"] for size in ("Grd", "Blk"))
        is_launch = blocks[0] is not None
        if is_launch:
            for axis, grid, block in zip("xyz", blocks, threads, strict=True):
                numbers[f"workgroup_{axis}"] = block
                numbers[f"grid_{axis}"] = None if grid is None or block is None else grid * block
            numbers["vgprs"] = row("Reg/Trd")
        agent = row.text("Device")
        activity = Activity(row.text("Name"), f"GPU {agent}" if agent else "", start, end, numbers)
        (launches if is_launch else copies).append(activity)
    found = recorded_activities(Activities.of(launches), Activities.of(copies), Activities.of(()), tool=TOOL)
    found.notes += table.damage
    return found


class _Row:
    def __init__(self, cells: Mapping[str, str]) -> None:
        self._cells = cells

    def __call__(self, name: str) -> int | None:
        cell = self._cells.get(name, "").replace(",", "")
        return optional(integers([cell])[0]) if cell else None

    def text(self, name: str) -> str:
        return self._cells.get(name, "")


def _cells(table: CsvTable) -> Iterator[_Row]:
    return (_Row(row) for row in table.rows())


def _agent(row: Mapping[str, Any], seen: Mapping[Any, Any]) -> Agent:
    major, minor = row.get("computeMajor"), row.get("computeMinor")
    warps, clock = (
        value if isinstance(value := row.get(name), int | float) else None
        for name in ("maxWarpsPerSm", "clockRate")
    )
    return Agent(
        node=None,
        logical_node=seen.get(row.get("id")) if seen else row.get("id"),
        facts=DeviceFacts(
            arch=f"{major}.{minor or 0}" if major else None,
            product=row.get("name") or None,
            compute_units=row.get("smCount") or None,
            clock_mhz=clock / 1e6 if clock else None,  # hertz
            max_waves_per_simd=int(warps) // _SIMDS if warps else None,
            wave_size=row.get("threadsPerWarp") or None,
            lds_bytes=row.get("maxShmemPerSm", row.get("maxShmemPerSM")) or None,
        ),
    )


def _process(identity: Integers) -> Integers:
    """The process in serialized identities: bits 24 to 47."""
    return np.where(identity == MISSING, MISSING, identity >> 24 & _24_BITS)
