"""Nsight Systems: the SQLite database that `nsys export` writes, and the tables of `nsys stats`.

Takes the file, gives a `Recorded`. Of tables only those are read whose units are nanoseconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import integers, optional
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.rocpd import UNREADABLE, connect, decoded
from hipscope.analysis.ingest.formats.rocprof_csv import launches_of_statistics
from hipscope.analysis.ingest.formats.tables import CsvTable, read_table
from hipscope.analysis.ingest.others.activities import Activity, recorded_activities

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
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self._tables = frozenset(str(decoded(name)) for (name,) in names)
        rows = database.execute("SELECT id, value FROM StringIds").fetchall()
        self._strings = {key: str(decoded(value)) for key, value in rows}

    def recorded(self) -> Recorded:
        launches = [self._launch(row) for row in self._rows(_KERNELS)]
        copies = [self._copy(row, table) for table in _COPIES for row in self._rows(table)]
        calls = [self._call(row) for row in self._rows(_CALLS)]
        seen = {row.get("gpuId"): row.get("cudaId") for row in self._rows(_NUMBERED)}
        agents = [_agent(row, seen) for row in self._rows(_GPUS)]
        return recorded_activities(launches, copies, calls, agents, TOOL)

    def _rows(self, table: str) -> Iterator[Mapping[str, Any]]:
        if table not in self._tables:
            return
        cursor = self._database.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, map(decoded, row), strict=True))

    def _launch(self, row: Mapping[str, Any]) -> Activity:
        numbers = {
            "stream": row.get("streamId"),
            "correlation": row.get("correlationId"),
            "process": _process(row.get("globalPid")),
            "vgprs": row.get("registersPerThread"),
            "static_lds": row.get("staticSharedMemory"),
            "dynamic_lds": row.get("dynamicSharedMemory"),
            "graph_node": row.get("graphNodeId"),
        }
        for axis in "xyz":
            block, grid = row.get(f"block{axis.upper()}"), row.get(f"grid{axis.upper()}")
            numbers[f"workgroup_{axis}"] = block
            numbers[f"grid_{axis}"] = (
                grid * block if isinstance(grid, int) and isinstance(block, int) else None
            )
        name = next(
            (self._strings[row[k]] for k in ("demangledName", "shortName") if row.get(k) in self._strings), ""
        )
        return Activity(name, _gpu(row), row.get("start"), row.get("end"), numbers)

    def _copy(self, row: Mapping[str, Any], table: str) -> Activity:
        name = "memset" if table.endswith("MEMSET") else _KINDS.get(row.get("copyKind", 0), "copy")
        numbers = {
            "stream": row.get("streamId"), "bytes": row.get("bytes"), "correlation": row.get("correlationId"),
        }  # fmt: skip
        return Activity(name, _gpu(row), row.get("start"), row.get("end"), numbers)

    def _call(self, row: Mapping[str, Any]) -> Activity:
        numbers = {
            "process": _process(row.get("globalTid")),
            "thread": row["globalTid"] & _24_BITS if isinstance(row.get("globalTid"), int) else None,
            "correlation": row.get("correlationId"),
        }
        name = self._strings.get(row.get("nameId"), "")
        return Activity(name, "", row.get("start"), row.get("end"), numbers)


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
    found = recorded_activities(launches, copies, tool=TOOL)
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
    warps, clock = row.get("maxWarpsPerSm"), row.get("clockRate")
    return Agent(
        node=None,
        logical_node=seen.get(row.get("id")) if seen else row.get("id"),
        facts=DeviceFacts(
            arch=f"{major}.{minor or 0}" if major else None,
            product=row.get("name") or None,
            compute_units=row.get("smCount") or None,
            clock_mhz=clock / 1e6 if clock else None,  # hertz
            max_waves_per_simd=warps // _SIMDS if warps else None,
            wave_size=row.get("threadsPerWarp") or None,
            lds_bytes=row.get("maxShmemPerSm", row.get("maxShmemPerSM")) or None,
        ),
    )


def _gpu(row: Mapping[str, Any]) -> str:
    device = row.get("deviceId")
    return f"Agent {device}" if isinstance(device, int) else ""


def _process(identity: object) -> int | None:
    """The process in a serialized identity: bits 24 to 47."""
    return identity >> 24 & _24_BITS if isinstance(identity, int) else None
