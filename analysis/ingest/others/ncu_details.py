"""The details page of Nsight Compute as CSV, which `ncu --csv` prints by default: a row per launch and metric.

Takes the file, gives a `Recorded`: launches with durations, sizes and registers, and the metrics that have a name of
their own (`sm__cycles_active.avg`). Labels of sections ("L2 Hit Rate") are for people and are not counters.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import MISSING, integers, numbers, texts
from hipscope.analysis.ingest.formats.recording import CounterColumns, LaunchColumns, Recorded
from hipscope.analysis.ingest.formats.tables import encoding_of
from hipscope.analysis.ingest.others.ncu_tables import scaled, stamps, triple

COLUMNS = frozenset({"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"})
# What we call a number, and what metrics and sections call it.
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "duration": ("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "Duration"),
    "vgprs": ("launch__registers_per_thread", "Registers Per Thread"),
    "static_lds": ("launch__shared_mem_per_block_static", "Static Shared Memory Per Block"),
    "dynamic_lds": ("launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block"),
}


@dataclass
class _Launch:
    cells: Mapping[str, str]
    metrics: dict[str, float] = field(default_factory=dict)

    def number(self, name: str) -> int:
        value = next((self.metrics[n] for n in _NUMBERS[name] if n in self.metrics), np.nan)
        return round(value) if value == value else MISSING


def read_details_page(path: Path) -> Recorded:
    """Raises ValueError, with the reason, when no launch is in it."""
    found: dict[tuple[str, str], _Launch] = {}
    damaged = 0
    for row in _rows(path):
        if row is None:
            damaged += 1
            continue
        launch = found.setdefault((row.get("Process ID", ""), row["ID"]), _Launch(row))
        value = scaled(row["Metric Value"], row["Metric Unit"])
        if row["Metric Name"] and value == value:
            launch.metrics.setdefault(row["Metric Name"], value)
    launches = list(found.values())
    if not launches:
        raise ValueError("no launch is in it")
    if not any(_is_ncu(name) for launch in launches for name in launch.metrics):
        raise ValueError(
            "none of its metrics is one of Nsight Compute: it is of nvprof, or was put together by hand"
        )
    columns, said = _columns(launches)
    places, names, values = [], [], []
    for place, launch in enumerate(launches):
        for name, value in launch.metrics.items():
            if "__" in name and not name.startswith(("device__", "launch__")):
                places.append(place)
                names.append(name)
                values.append(value)
    counters = CounterColumns(columns, np.array(places, dtype=np.int64), texts(names), numbers(values))
    notes = [f"{damaged} rows are cut short and left out"] if damaged else []
    notes.append(said)
    return Recorded(
        launches=[columns],
        counters=[counters] if names else [],
        agents=[_agent(launches)],
        tool="Nsight Compute",
        nvidia=True,
        notes=notes,
    )


def _is_ncu(metric: str) -> bool:
    """Whether it is a metric (`dram__bytes.sum`) or a label of a section (`L2 Hit Rate`)."""
    return "__" in metric or " " in metric or metric == "Duration"


def _columns(launches: Sequence[_Launch]) -> tuple[LaunchColumns, str]:
    start, end, said = stamps([launch.number("duration") for launch in launches])
    sizes: dict[str, list[object]] = {f"{n}_{a}": [] for n in ("grid", "workgroup") for a in "xyz"}
    for launch in launches:
        blocks, threads = (launch.cells.get(f"{name} Size", "") for name in ("Grid", "Block"))
        for axis, block, thread in zip("xyz", triple(blocks), triple(threads), strict=True):
            sizes[f"workgroup_{axis}"].append(thread if threads else None)
            sizes[f"grid_{axis}"].append(block * thread if blocks and threads else None)
    columns = LaunchColumns.of(
        texts(launch.cells["Kernel Name"] for launch in launches),
        texts(f"GPU {device}" if (device := launch.cells.get("Device")) else "" for launch in launches),
        id=integers(range(1, len(launches) + 1)),
        start=start,
        end=end,
        process=integers([launch.cells.get("Process ID") for launch in launches]),
        stream=integers([launch.cells.get("Stream") for launch in launches]),
        **{n: integers([launch.number(n) for launch in launches]) for n in _NUMBERS if n != "duration"},
        **{name: integers(column) for name, column in sizes.items()},
    )
    return columns, said


def _agent(launches: Sequence[_Launch]) -> Agent:
    """Its compute capability, where all launches have the same."""
    told = {launch.cells.get("CC", "") for launch in launches}
    capability = told.pop() if len(told) == 1 else ""
    return Agent(node=None, logical_node=None, facts=DeviceFacts(arch=capability or None, wave_size=32))


def _rows(path: Path) -> Iterator[Mapping[str, str] | None]:
    """The rows below the header, which stands behind what the program printed; None for one that is too short."""
    header: list[str] = []
    with path.open(encoding=encoding_of(path), errors="replace", newline="") as stream:
        try:
            for row in csv.reader(stream):
                if set(row) >= COLUMNS:
                    header = row
                elif header and row and not row[0].startswith("=="):
                    whole = len(row) >= len(header) - 8 and len(row) > header.index("Metric Value")
                    yield dict(zip(header, row, strict=False)) if whole else None
        except csv.Error as error:
            raise ValueError(str(error)) from None


def has_details(lines: Sequence[str]) -> bool:
    """Whether one of the first lines is the header of the page."""
    return any("Metric Name" in line and set(_cells(line)) >= COLUMNS for line in lines)


def _cells(line: str) -> list[str]:
    return [cell.strip(' "\r') for cell in line.lstrip("\ufeff").split(",")]
