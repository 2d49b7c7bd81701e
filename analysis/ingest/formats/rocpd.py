"""rocpd: the SQLite database that rocprofv3 writes by default since ROCm 7.0.

Takes a database, gives a `Recorded`. The views are asked first, for what columns they have; where a view is missing or
joins to nothing, its tables are. Opened read-only. Environment and command line of the process are never read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from hipscope.analysis.ingest.formats.agents import agent_of
from hipscope.analysis.ingest.formats.columns import MISSING, Integers, Texts, absent
from hipscope.analysis.ingest.formats.pc_samples import AddressedSamples
from hipscope.analysis.ingest.formats.recording import LaunchColumns, Recorded, graph_columns
from hipscope.analysis.ingest.formats.rocprof_csv import kernel_name, kernel_names, split_passes
from hipscope.analysis.ingest.formats.sql_columns import (
    UNREADABLE,
    batches,
    connect,
    decoded,
    fetched,
    relations,
)

# Column of ours -> those of the view `kernels`, of the view `counters_collection`, and of the table kernel_dispatch.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("dispatch_id", "id"),
    "start": ("start",),
    "end": ("end",),
    "grid_x": ("grid_x", "grid_size_x"),
    "grid_y": ("grid_y", "grid_size_y"),
    "grid_z": ("grid_z", "grid_size_z"),
    "workgroup_x": ("workgroup_x", "workgroup_size_x"),
    "workgroup_y": ("workgroup_y", "workgroup_size_y"),
    "workgroup_z": ("workgroup_z", "workgroup_size_z"),
    "queue": ("queue_id",),
    "stream": ("stream_id",),
    "process": ("pid",),
    "thread": ("tid",),
    "correlation": ("internal_id", "corr_id", "correlation_id"),
    "static_lds": ("static_lds_size",),
    "total_lds": ("lds_size", "lds_block_size", "group_segment_size"),
    "scratch": ("scratch_size", "private_segment_size"),
    "vgprs": ("vgpr_count", "arch_vgpr_count"),
    "agprs": ("accum_vgpr_count",),
    "sgprs": ("sgpr_count",),
    "graph": ("graph_exec_id",),
    "graph_node": ("graph_node_id",),
}
_AGENT = ("agent_log_index", "agent_abs_index", "agent_id")
_EVENTS = (("regions", "api calls"), ("memory_copies", "copies"), ("memory_allocations", "allocations"))
_EVENT_COLUMNS = frozenset({
    "category", "name", "pid", "tid", "start", "end", "size", "dst_agent_log_index", "src_agent_log_index", "queue_id",
    "stream_id", "type", "level", "agent_log_index", "internal_id",
})  # fmt: skip
# Where a streamed counter was counted, and what is asked of PC samples.
_PARTS = ("xcc", "shader_engine", "shader_array", "wgp", "instance")
_SAMPLES = (
    "instruction", "instruction_comment", "snapshot_stall_reason", "dispatch_id", "code_object_id",
    "code_object_offset", "wave_issued",
)  # fmt: skip
_SOME_VALUES = 4096  # of counters, which tell whether a launch has several of one
_EVENT_TEXTS = frozenset({"category", "name", "type", "level"})
_MARKERS = "MARKER"
# What a call and its work have in common; `corr_id` may hold numbers of the program's own.
_INTERNAL = ("stack_id", "corr_id")


def is_rocpd(path: Path) -> bool:
    """Whether an SQLite database has tables of rocpd."""
    return any(name.startswith("rocpd_") for name in relations_of(path))


def relations_of(path: Path) -> frozenset[str]:
    """The names of the tables and views of a database; none of one that cannot be read."""
    try:
        with closing(connect(path)) as database:
            return frozenset(relations(database))
    except UNREADABLE:
        return frozenset()


def read_rocpd(path: Path) -> Recorded:
    """All of a database. Raises ValueError, with the reason, when it cannot be read."""
    try:
        with closing(connect(path)) as database:
            return _Reader(database).recording()
    except UNREADABLE as error:
        raise ValueError(f"SQLite says: {error}") from None


class _Reader:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._relations = relations(database)
        self._notes: list[str] = []

    def recording(self) -> Recorded:
        """Launches, counters, agents, names and events."""
        found = Recorded(notes=self._notes)
        self._agents(found)
        self._symbols(found)
        if (launches := self._launches()) is not None:
            found.launches.append(launches)
        self._counters(found)
        self._streamed_counters(found)
        self._samples(found)
        for view, kind in _EVENTS:
            self._events(found, view, kind)
        return found

    def _launches(self) -> LaunchColumns | None:
        """From the view `kernels`; from the tables where it is not there, or joins to fewer rows than there are."""
        raw = self._table("kernel_dispatch")
        there = self._count(raw) if raw else 0
        have = self._columns_of("kernels") if "kernels" in self._relations else {}
        if {"name", "start", "end"} <= set(have):
            found = self._read_launches("kernels", have, "name")
            if len(found) >= there:
                return found
        if not there or raw is None:
            return None
        if "kernels" in self._relations:
            self._notes.append(
                "the view `kernels` lacks launches that are in the tables: the tables were read"
            )
        symbols = self._table("info_kernel_symbol")
        if symbols is None:
            self._notes.append(
                f"{there} launches without the table of kernel symbols: their names are unknown"
            )
            return None
        names = self._columns_of(symbols)
        name = "display_name" if "display_name" in names else "kernel_name"
        guid = " AND s.guid = d.guid" if "guid" in names and "guid" in self._columns_of(raw) else ""
        source = f'"{raw}" d JOIN "{symbols}" s ON s.id = d.kernel_id{guid}'
        have = {c: f'd."{c}"' for c in self._columns_of(raw)}
        have |= {c: f's."{c}"' for c in names if c not in have}
        return self._read_launches(source, have, name, quoted=False)

    def _read_launches(
        self, source: str, have: Mapping[str, str], name: str, *, quoted: bool = True
    ) -> LaunchColumns:
        chosen = {ours: next((have[c] for c in names if c in have), None) for ours, names in _COLUMNS.items()}
        agent = next((have[c] for c in _AGENT if c in have), None)
        wanted = {ours: column for ours, column in chosen.items() if column is not None}
        select = [have[name], agent or "NULL", *wanted.values()]
        source = f'"{source}"' if quoted else source
        rows = self._batches(f"SELECT {', '.join(select)} FROM {source}")
        (kernel, agents), columns, _ = fetched(rows, 2, len(wanted))
        whole = dict(zip(wanted, columns, strict=True))
        return _launch_columns(kernel, _agent_names(agents), whole)

    def _counters(self, found: Recorded) -> None:
        view = "counters_collection"
        if view not in self._relations:
            if self._table("pmc_event") and self._count(self._table("pmc_event") or ""):
                self._notes.append(
                    "counters are in it, but not the view `counters_collection`: they were not read"
                )
            return
        have = self._columns_of(view)
        if not {"kernel_name", "counter_name", "value"} <= set(have):
            self._notes.append("the view `counters_collection` has other columns than those known: not read")
            return
        chosen = {ours: next((have[c] for c in names if c in have), None) for ours, names in _COLUMNS.items()}
        wanted = {ours: column for ours, column in chosen.items() if column is not None}
        agent = next((have[c] for c in _AGENT if c in have), "NULL")
        parts = self._parts_of_values() if {"event_id", "counter_id"} <= set(have) else None
        value = "value" if parts is None else "part_value"
        select = ["kernel_name", "counter_name", agent, value, *wanted.values()]
        joined = f"{view} {parts or ''}"
        rows = self._batches(f"SELECT {', '.join(select)} FROM {joined}")
        (kernel, names, agents), columns, (values,) = fetched(rows, 3, len(wanted), floats=1)
        whole = dict(zip(wanted, columns, strict=True))
        launches = _launch_columns(kernel, _agent_names(agents), whole)
        known = np.flatnonzero(np.isfinite(values) & (launches.id != MISSING))
        if len(known) < len(values):
            self._notes.append(f"{len(values) - len(known)} of {len(values)} counter values are no numbers")
        instance = None if parts is None else _numbers_of_parts(launches, names)
        found.counters += split_passes(launches, known, names, values, instance)
        counters = self._table("info_pmc")  # the view joins and groups all values for it
        if counters is not None and {"name", "expression"} <= set(self._columns_of(counters)):
            query = f'SELECT DISTINCT name, expression FROM "{counters}" WHERE expression IS NOT NULL'
            found.kinds |= {str(name): str(text) for name, text in self._query(query) if text}

    def _parts_of_values(self) -> str | None:
        """What joins the view of counters to the values that it has added up, where a launch has several of one."""
        table = self._table("pmc_event")
        have = self._columns_of(table) if table is not None else {}
        if not {"id", "event_id", "pmc_id", "value"} <= set(have):
            return None
        streamed = " WHERE sample_id IS NULL" if "sample_id" in have else ""
        first = f'SELECT event_id, pmc_id FROM "{table}"{streamed} ORDER BY id LIMIT {_SOME_VALUES}'
        counts = list(
            self._query(
                f"SELECT COUNT(*), (SELECT COUNT(*) FROM (SELECT DISTINCT * FROM ({first}))) FROM ({first})"
            )
        )
        if not counts or counts[0][0] == counts[0][1]:
            return None
        return (
            "JOIN (SELECT id AS part_id, event_id AS part_of, pmc_id AS part_counter, value AS part_value "
            f'FROM "{table}"{streamed}) ON part_of = event_id AND part_counter = counter_id ORDER BY part_of, part_id'
        )

    def _streamed_counters(self, found: Recorded) -> None:
        """Counters over time, by part of the GPU (schema 3.0.3): what a launch counted is the sum of its samples."""
        view = "spm_counters"
        have = self._columns_of(view) if view in self._relations else {}
        if not {"kernel_name", "counter_name", "value", "dispatch_id"} <= set(have):
            return
        chosen = {ours: next((have[c] for c in names if c in have), None) for ours, names in _COLUMNS.items()}
        wanted = {ours: column for ours, column in chosen.items() if column is not None}
        agent = next((have[c] for c in _AGENT if c in have), "NULL")
        place = " || ',' || ".join(f"COALESCE({have[c]}, '')" for c in _PARTS if c in have) or "''"
        columns = ["kernel_name", "counter_name", agent, place, "SUM(value)", *wanted.values()]
        groups = ", ".join(dict.fromkeys(["kernel_name", "counter_name", agent, place, *wanted.values()]))
        rows = self._batches(
            f"SELECT {', '.join(columns)} FROM {view} GROUP BY {groups} ORDER BY {have['dispatch_id']}"
        )
        (kernel, names, agents, places), cells, (values,) = fetched(rows, 4, len(wanted), floats=1)
        if not len(values):
            return
        launches = _launch_columns(kernel, _agent_names(agents), dict(zip(wanted, cells, strict=True)))
        known = np.flatnonzero(np.isfinite(values) & (launches.id != MISSING))
        order = sorted(range(len(places.names)), key=lambda code: _place_key(places.names[code]))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        found.counters += split_passes(launches, known, names, values, rank[places.codes])

    def _samples(self, found: Recorded) -> None:
        """PC samples, which newer databases hold as samples of a track, with a view of their own."""
        have = self._columns_of("pc_sampling") if "pc_sampling" in self._relations else {}
        if not set(_SAMPLES) <= set(have):
            return
        columns = ", ".join(have[c] for c in _SAMPLES)
        places = ", ".join(str(n + 1) for n in range(len(_SAMPLES)))
        rows = self._query(f"SELECT {columns}, COUNT(*) FROM pc_sampling GROUP BY {places}")
        counted = AddressedSamples()
        undecoded = lost = 0
        for text, comment, reason, launch, code_object, address, issued, count in rows:
            if not text or None in (code_object, address):
                undecoded += count
            elif not launch:
                lost += count
            else:
                counted.add(
                    int(launch), (int(code_object), int(address)), str(text), str(comment or ""),
                    count=count, stalled=issued is not None and not int(issued), reason=str(reason),
                )  # fmt: skip
        kernels = {
            number: launches.kernel.names[code]
            for launches in found.launches
            for number, code in zip(launches.id.tolist(), launches.kernel.codes.tolist(), strict=True)
        } if counted.launches else {}  # fmt: skip
        found.traces += counted.traces(kernels)
        if undecoded:
            self._notes.append(f"{undecoded} PC samples were in code that the tool could not decode")
        if lost:
            self._notes.append(f"{lost} PC samples name no launch")

    def _agents(self, found: Recorded) -> None:
        table = self._table("info_agent")
        if table is None:
            return
        have = self._columns_of(table)
        names = [c for c in ("id", "type", "logical_index", "name", "product_name", "extdata") if c in have]
        for row in self._query(f'SELECT {", ".join(have[n] for n in names)} FROM "{table}"'):
            cells = dict(zip(names, row, strict=True))
            if str(cells.get("type", "GPU")).upper() not in ("GPU", "2"):
                continue
            try:
                extra = json.loads(cells.get("extdata") or "{}")
            except (ValueError, TypeError, RecursionError):
                extra = {}
            found.agents.append(
                agent_of(
                    {
                        **(extra if isinstance(extra, dict) else {}),
                        "node_id": cells.get("id"),
                        "logical_node_id": cells.get("logical_index"),
                        "name": cells.get("name"),
                        "product_name": cells.get("product_name"),
                    }
                )
            )

    def _symbols(self, found: Recorded) -> None:
        table = self._table("info_kernel_symbol")
        if table is None or not {"kernel_name", "display_name"} <= set(self._columns_of(table)):
            return
        for mangled, shown in self._query(f'SELECT DISTINCT kernel_name, display_name FROM "{table}"'):
            if isinstance(mangled, str) and isinstance(shown, str):
                found.mangled.setdefault(kernel_name(shown), mangled.removesuffix(".kd"))

    def _events(self, found: Recorded, view: str, kind: str) -> None:
        if view not in self._relations:
            return
        have = {n: c for n, c in self._columns_of(view).items() if n in _EVENT_COLUMNS}
        if not {"start", "end"} <= set(have):
            return
        words = [name for name in have if name in _EVENT_TEXTS]
        whole = [name for name in have if name not in _EVENT_TEXTS]
        select = ", ".join(have[name] for name in (*words, *whole))
        told, stamps, _ = fetched(self._batches(f"SELECT {select} FROM {view}"), len(words), len(whole))
        if not len(stamps[0]):
            return
        columns = dict(zip(whole, stamps, strict=True)) | {
            name: np.array(column.names, dtype=object)[column.codes]
            for name, column in zip(words, told, strict=True)
        }
        if kind == "api calls" and "category" in have:
            category = told[words.index("category")]
            marked = np.array([name.startswith(_MARKERS) for name in category.names], dtype=bool)[
                category.codes
            ]
            if marked.any():
                found.events.setdefault("markers", []).append({n: c[marked] for n, c in columns.items()})
                columns = {n: c[~marked] for n, c in columns.items()}
        found.events.setdefault(kind, []).append(columns)

    def _query(self, sql: str) -> Iterator[Sequence[Any]]:
        for batch in self._batches(sql):
            yield from (tuple(map(decoded, row)) for row in batch)

    def _batches(self, sql: str) -> Iterator[list[tuple[Any, ...]]]:
        """Many rows at a time, with texts as bytes."""
        try:
            yield from batches(self._database, sql)
        except UNREADABLE as error:
            self._notes.append(f"a query ended early: {error}")

    def _count(self, relation: str) -> int:
        rows = list(self._query(f'SELECT COUNT(*) FROM "{relation}"'))
        return int(rows[0][0]) if rows else 0

    def _columns_of(self, relation: str) -> dict[str, str]:
        """The columns of a table or view, quoted, and the number that a call and its work have in common."""
        found = {str(row[1]): f'"{row[1]}"' for row in self._query(f'PRAGMA table_info("{relation}")')}
        if set(_INTERNAL) <= set(found):
            found["internal_id"] = f"COALESCE(NULLIF({found['stack_id']}, 0), {found['corr_id']})"
        return found

    def _table(self, name: str) -> str | None:
        """The relation `rocpd_NAME`, or a table of that name with the suffix of its run."""
        if f"rocpd_{name}" in self._relations:
            return f"rocpd_{name}"
        return next((r for r in self._relations if r.startswith(f"rocpd_{name}_")), None)


def _numbers_of_parts(launches: LaunchColumns, names: Texts) -> Integers:
    """Of values that stand together by launch, which of the values of its counter each is, in the order recorded."""
    if not len(names):
        return absent(0)
    changes = np.ones(len(names), dtype=bool)
    keys = [launches.id, launches.process, launches.start]
    changes[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    key = np.cumsum(changes) * max(1, len(names.names)) + names.codes
    order = np.argsort(key, kind="stable")
    begins = np.ones(len(key), dtype=bool)
    begins[1:] = key[order][1:] != key[order][:-1]
    place = np.arange(len(key))
    found = np.empty(len(key), dtype=np.int64)
    found[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return found


def _place_key(place: str) -> tuple[int, ...]:
    return tuple(int(number) if number.isdigit() else -1 for number in place.split(","))


def _launch_columns(kernel: Texts, agent: Texts, whole: dict[str, Integers]) -> LaunchColumns:
    total = whole.pop("total_lds", None)
    static = whole.get("static_lds")
    if total is not None and static is None:
        whole["static_lds"] = total
    elif total is not None and static is not None:
        whole["dynamic_lds"] = np.where((total > static) & (static >= 0), total - static, 0)
    if len(kernel) and "id" not in whole:
        whole["id"] = np.arange(1, len(kernel) + 1)
    graph, node = whole.pop("graph", None), whole.pop("graph_node", None)
    if graph is not None:
        whole |= graph_columns(graph, absent(len(kernel)) if node is None else node)
    kernel = kernel_names(kernel)
    return LaunchColumns.of(kernel, agent, **whole) if len(kernel) else LaunchColumns.of(Texts(absent(0), ()))


def _agent_names(column: Texts) -> Texts:
    return Texts(column.codes, tuple(f"Agent {n}" if n.isdigit() else n for n in column.names))
