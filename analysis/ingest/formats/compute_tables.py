"""Folders of rocprofiler-compute: its device, its measured ceilings, and the database of its analysis.

Takes sysinfo.csv, roofline.csv or a .db file, gives a `Recorded`. pmc_perf.csv is a table of counters
(`rocprof_csv.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

from hipscope.analysis.devices import impossible
from hipscope.analysis.ingest.formats.agents import agent_of_sysinfo, sysinfo_row
from hipscope.analysis.ingest.formats.columns import integers, texts
from hipscope.analysis.ingest.formats.recording import LaunchColumns, Recorded
from hipscope.analysis.ingest.formats.rocprof_csv import kernel_name
from hipscope.analysis.ingest.formats.sql_columns import UNREADABLE, connect, decoded
from hipscope.analysis.ingest.formats.tables import read_table

_MEASURED = re.compile(r"(hbm|mall|l2|l1|lds)bw$|(mfma)?(fp?\w*?|bf16|i\w+?)(flops|ops)$", re.IGNORECASE)
_LEVELS = frozenset({"hbm", "mall", "l2", "l1", "lds"})
_GIGA = 1e9
_DISPATCHES: Mapping[str, tuple[str, ...]] = {
    "kernel": ("kernel_name", "name"),
    "start": ("start_timestamp", "start"),
    "end": ("end_timestamp", "end"),
}


def read_sysinfo(path: Path) -> Recorded:
    """The device of a workload. Raises ValueError when the table has no GPU."""
    table = read_table(path)
    told = next(table.rows(), None)
    row = sysinfo_row(told) if told is not None else None
    agent = agent_of_sysinfo(row) if row is not None else None
    if row is None or agent is None:
        raise ValueError("it names no GPU (gpu_arch)")
    notes = list(table.damage)
    if impossible(agent.facts):
        notes.append(
            f"it counts one die of a GPU of {agent.facts.compute_units} CUs: its numbers of XCDs and L2 channels and "
            "its memory bandwidth were not used"
        )
    version = row.get("rocm_version", "")
    command = row.get("command", "")
    return Recorded(
        agents=[agent],
        tool=f"rocprofiler-compute, ROCm {version}" if version else "rocprofiler-compute",
        command=tuple(command.split()) if command else (),
        notes=notes,
    )


def read_roofline(path: Path) -> Recorded:
    """Measured ceilings by level and data type, in bytes or operations per second: the median over the devices."""
    table = read_table(path)
    found: dict[str, float] = {}
    for name in table.columns:
        if not _MEASURED.match(name):
            continue
        values = [v for v in table.numbers(name).tolist() if v > 0]
        if values:
            found[ceiling_name(name)] = median(values) * _GIGA
    if not found:
        raise ValueError("it has no measured ceiling above 0")
    return Recorded(ceilings=found, notes=list(table.damage))


def ceiling_name(column: str) -> str:
    """The name in `Device.ceilings`: `HBMBw` is hbm, `FP32Flops` vector_f32, `MFMABF16Flops` matrix_bf16."""
    name = re.sub(r"(bw|flops|ops)$", "", column.lower())
    unit, kind = ("matrix", name.removeprefix("mfma")) if name.startswith("mfma") else ("vector", name)
    if name in _LEVELS:
        return name
    return f"{unit}_{kind.replace('fp', 'f').replace('int', 'i')}"


def read_database(path: Path) -> Recorded:
    """The launches of an analysis database: of the table that has kernel names and time stamps.

    Raises ValueError, with the reason, when there is none.
    """
    try:
        with closing(connect(path)) as database:
            for (table,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall():
                have = [str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")')]
                chosen = {
                    ours: next((c for c in names if c in have), None) for ours, names in _DISPATCHES.items()
                }
                if None in chosen.values():
                    continue
                gpu = "gpu_id" if "gpu_id" in have else "NULL"
                select = ", ".join(f'"{c}"' for c in chosen.values())
                rows = database.execute(f'SELECT {select}, {gpu} FROM "{table}"').fetchall()
                if rows:
                    names, starts, ends, gpus = zip(*rows, strict=True)
                    launches = LaunchColumns.of(
                        texts(kernel_name(str(decoded(n))) for n in names),
                        texts(map(decoded, gpus)),
                        id=integers(range(1, len(rows) + 1)),
                        start=integers([decoded(s) for s in starts]),
                        end=integers([decoded(e) for e in ends]),
                    )
                    return Recorded(launches=[launches], tool="rocprofiler-compute")
    except UNREADABLE as error:
        raise ValueError(f"SQLite says: {error}") from None
    raise ValueError("an SQLite database without rocpd tables or launches")
