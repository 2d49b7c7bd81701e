"""Tables of rocprofv3, of rocpd convert, of rocprofiler-compute and of rocprofv2: launches, counters, statistics,
events.

Takes a CSV file whose kind was recognised, gives a `Recorded`. One row per counter (long) or one column per counter
(wide): both end in the same columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hipscope.analysis.counters.counter_kinds import CYCLES
from hipscope.analysis.ingest.formats.agents import agents_of_table
from hipscope.analysis.ingest.formats.columns import MISSING, Floats, Integers, Texts, texts
from hipscope.analysis.ingest.formats.recording import (
    CounterColumns,
    LaunchColumns,
    Recorded,
    graph_columns,
)
from hipscope.analysis.ingest.formats.tables import CsvTable, Raw, read_table

WORDS = frozenset({"Kernel_Name", "Counter_Name", "Agent_Id", "Kind", "Guid"})
_LAUNCH = frozenset({
    "Kernel_Name", "Agent_Id", "Dispatch_Id", "Start_Timestamp", "End_Timestamp", "Queue_Id", "Stream_Id",
    "Process_Id", "Thread_Id", "Correlation_Id", "LDS_Block_Size", "Scratch_Size", "VGPR_Count",
    "Accum_VGPR_Count", "SGPR_Count", "Grid_Size", "Workgroup_Size", "Guid", "Graph_Exec_Id", "Graph_Node_Id",
    *(f"{size}_Size_{axis}" for size in ("Grid", "Workgroup") for axis in "XYZ"),
})  # fmt: skip
_NO_COUNTERS = _LAUNCH | {
    "Kernel_Id", "Kind", "Wave_Size", "obj", "OBJ", "sig", "SIG", "queue-index", "DispatchNs", "CompleteNs", "XCC",
    "DurationNs", "fbar",
    "Kernel_Object", "Index", "Unnamed: 0", "",
}  # fmt: skip
_INSTANCE = re.compile(r"(.+)\[(\d+)\]$")
_STREAMED = re.compile(r"(.+)\[(XCC: \d+[^\]]*)\]$")  # a counter over time, of one part of the GPU
_AGAIN = re.compile(r"(.+)_(\d)$")
_LEVEL_FILES = re.compile(r"SQ_(?:IFETCH_LEVEL|INST_LEVEL_\w+|LEVEL_WAVES)$")
_MARKERS = "MARKER"
_ACCUMULATOR = "SQ_ACCUM_PREV_HIRES"


def read_launch_table(path: Path) -> Recorded:
    """A kernel trace. Tables before ROCm 6.3 have no Dispatch_Id: there, launches count from 1 in file order."""
    table = read_table(path, _LAUNCH, WORDS)
    return Recorded(launches=[_launches(table)], notes=list(table.damage))


def read_long_counters(path: Path) -> Recorded:
    """One row per dispatch and counter, split into the passes that the table holds.

    A merged table repeats each dispatch with the stamps of every pass.
    """
    table = read_table(path, _LAUNCH | {"Counter_Name", "Counter_Value"}, WORDS)
    value = table.numbers("Counter_Value")
    names = table.texts("Counter_Name")
    known = np.isfinite(value) & (table.integers("Dispatch_Id") != MISSING)
    notes = list(table.damage)
    if (lost := int((~known).sum())) > 0:
        notes.append(f"{lost} of {table.length} rows have no dispatch or no value")
    launches = _launches(table)
    rows = np.flatnonzero(known)
    passes = split_passes(launches, rows, names, value)
    return Recorded(counters=passes, notes=notes)


def split_passes(
    launches: LaunchColumns, rows: Integers, names: Texts, value: Floats, instance: Integers | None = None
) -> list[CounterColumns]:
    """Rows of counters by the pass that they are of: a dispatch that comes again at another time is of another run.

    `instance` numbers the values of one counter and launch; without it their names may.
    """
    if not len(rows):
        return []
    keys = [launches.id[rows], launches.process[rows], launches.agent.codes[rows], launches.start[rows]]
    changes = np.ones(len(rows), dtype=bool)
    changes[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    first = np.flatnonzero(changes)
    run_of_row = np.cumsum(changes) - 1
    if len(np.unique(keys[0][first])) == len(first):  # the rule: each dispatch once, its counters together
        heads_once = launches.take(rows[first])
        parts = None if instance is None else instance[rows]
        return [_numbered(CounterColumns(heads_once, run_of_row, names.take(rows), value[rows], parts))]
    starts: dict[tuple[int, int, int], dict[int, int]] = {}
    found: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    heads: list[list[int]] = []
    run_pass, run_launch = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
    lists = [key[first].tolist() for key in keys]
    for run, key in enumerate(zip(*lists, strict=True)):
        if key not in found:
            number = starts.setdefault(key[:3], {}).setdefault(key[3], len(starts[key[:3]]))
            if number == len(heads):
                heads.append([])
            found[key] = number, len(heads[number])
            heads[number].append(int(rows[first[run]]))
        run_pass[run], run_launch[run] = found[key]
    row_pass, row_launch = run_pass[run_of_row], run_launch[run_of_row]
    passes = []
    for number, head in enumerate(heads):
        chosen = np.flatnonzero(row_pass == number)
        at = rows[chosen]
        passes.append(
            _numbered(
                CounterColumns(
                    launches.take(np.array(head, dtype=np.int64)),
                    row_launch[chosen],
                    names.take(at),
                    value[at],
                    None if instance is None else instance[at],
                )
            )
        )
    return passes


def _numbered(columns: CounterColumns) -> CounterColumns:
    """Counters of instances (`TCC_HIT[3]`) as parts of their sum, as far as the pass does not hold that, too."""
    if any(_STREAMED.match(name) for name in columns.name.names):
        return _added_up(columns)
    used = columns.name.used()
    told = [_INSTANCE.match(name) for name in columns.name.names]
    if not any(told):
        return columns
    labels = [f"{m[1]}_sum" if m else name for m, name in zip(told, columns.name.names, strict=True)]
    known = [m is None or label not in used for m, label in zip(told, labels, strict=True)]
    kept = np.flatnonzero(np.array(known, dtype=bool)[columns.name.codes])
    codes = columns.name.codes[kept]
    numbers_of = np.array([int(m[2]) if m else MISSING for m in told], dtype=np.int64)
    names = texts(labels)
    return CounterColumns(
        columns.launches,
        columns.launch[kept],
        Texts(names.codes[codes], names.names),
        columns.value[kept],
        numbers_of[codes],
    )


def _added_up(columns: CounterColumns) -> CounterColumns:
    """Counters of parts of the GPU (`SQ_WAVES[XCC: 0, Instance: 0, SE: 1]`) under their name, the parts numbered."""
    told = [_STREAMED.match(name) for name in columns.name.names]
    parts: dict[str, dict[str, int]] = {}
    numbers_of = np.array(
        [parts.setdefault(m[1], {}).setdefault(m[2], len(parts[m[1]])) if m else MISSING for m in told],
        dtype=np.int64,
    )
    names = texts(m[1] if m else name for m, name in zip(told, columns.name.names, strict=True))
    codes = columns.name.codes
    return CounterColumns(
        columns.launches,
        columns.launch,
        Texts(names.codes[codes], names.names),
        columns.value,
        numbers_of[codes],
    )


def read_wide_counters(path: Path) -> Recorded:
    """One column per counter, or per counter and instance (`TCC_HIT[3]`), and one row per dispatch.

    A counter that comes again in a later pass (`SQ_WAVES_1`) is taken once.
    """
    table = read_table(path)
    launches = _launches(table)
    level = path.stem if _LEVEL_FILES.match(path.stem) else None
    parts: list[tuple[str, Floats]] = []
    numbered: list[int] = []
    for name in table.columns:
        if name in _NO_COUNTERS:
            continue
        again = _AGAIN.match(name)
        if again and again[1] in table.columns:
            continue
        value = table.numbers(name)
        if not np.isfinite(value).any():
            continue
        instance = _INSTANCE.match(name)
        label = f"{instance[1]}_sum" if instance else name
        if instance and label in table.columns:
            continue
        if label == _ACCUMULATOR and level is not None:
            label = f"{level}_ACCUM"
        if label == CYCLES and level is not None:  # those of the pass that summed the level
            parts.append((f"{level}_CYCLES", value))
            numbered.append(MISSING)
        parts.append((label, value))
        numbered.append(int(instance[2]) if instance else MISSING)
    notes = list(table.damage)
    if not parts:  # time stamps, or a list of launches: what stands in where there is nothing better
        return Recorded(statistics=[launches], notes=notes)
    columns, rows, values = [], [], []
    for place, (_, value) in enumerate(parts):
        known = np.flatnonzero(np.isfinite(value))
        columns.append(np.full(len(known), place, dtype=np.int64))
        rows.append(known)
        values.append(value[known])
    names = texts(label for label, _ in parts)
    counters = CounterColumns(
        launches,
        np.concatenate(rows),
        Texts(names.codes[np.concatenate(columns)], names.names),
        np.concatenate(values),
        np.array(numbered, dtype=np.int64)[np.concatenate(columns)],
    )
    return Recorded(counters=[counters], notes=notes)


def read_agents(path: Path) -> Recorded:
    """agent_info.csv."""
    table = read_table(path)
    return Recorded(agents=agents_of_table(list(table.rows())), notes=list(table.damage))


def read_statistics(path: Path) -> Recorded:
    """Launches rebuilt from kernel statistics."""
    table = read_table(path)
    launches = launches_of_statistics(
        table.texts("Name"), table.integers("Calls"), table.integers("TotalDurationNs")
    )
    return Recorded(statistics=[launches], notes=list(table.damage))


def launches_of_statistics(names: Texts, calls: Integers, total: Integers) -> LaunchColumns:
    """The right number and sum of times of each kernel, without shapes."""
    kept = np.flatnonzero((calls > 0) & (calls < 1 << 24) & (total != MISSING) & (total > 0))
    each, rest = np.divmod(total[kept], calls[kept])
    first = np.cumsum(calls[kept]) - calls[kept]
    number = np.arange(int(calls[kept].sum())) - np.repeat(first, calls[kept])
    times = np.repeat(each, calls[kept]) + (number < np.repeat(rest, calls[kept]))
    end = np.cumsum(times)
    return LaunchColumns.of(
        kernel_names(Texts(np.repeat(names.codes[kept], calls[kept]), names.names)),
        id=np.arange(1, len(times) + 1, dtype=np.int64),
        start=end - times,
        end=end,
    )


def read_events(path: Path, kind: str) -> Recorded:
    """A trace of API calls, copies, allocations or markers, as it is. Markers among calls are told apart."""
    table = read_table(path)
    columns = dict(table.columns)
    found: dict[str, list[Mapping[str, Any]]] = {}
    marked = np.array([name.startswith(_MARKERS) for name in table.texts("Domain").names], dtype=bool)
    if kind == "api calls" and marked.any():
        codes = table.texts("Domain").codes
        found["markers"] = [_rows(columns, np.flatnonzero(marked[codes]))]
        columns = _rows(columns, np.flatnonzero(~marked[codes]))
    if any(len(column) for column in columns.values()):
        found[kind] = [columns]
    return Recorded(events=found, notes=list(table.damage))


def _rows(columns: Mapping[str, Raw], rows: Integers) -> dict[str, Raw]:
    return {name: [column[row] for row in rows.tolist()] for name, column in columns.items()}


def kernel_name(text: str) -> str:
    """A kernel's name without the suffixes that some tools leave on it."""
    for suffix in (" [clone .kd]", " (.kd)", ".kd"):
        text = text.removesuffix(suffix)
    return text.strip()


def kernel_names(column: Texts) -> Texts:
    """A column of kernels' names without these suffixes."""
    return Texts(column.codes, tuple(kernel_name(name) for name in column.names))


def _launches(table: CsvTable) -> LaunchColumns:
    identity = table.integers("Dispatch_Id")
    identity = np.where(identity == MISSING, np.arange(1, table.length + 1), identity)
    lds = table.integers("LDS_Block_Size")
    return LaunchColumns.of(
        kernel_names(table.texts("Kernel_Name")),
        table.texts("Agent_Id"),
        id=identity,
        start=table.timestamps("Start_Timestamp"),
        end=table.timestamps("End_Timestamp"),
        **_sizes(table, "Grid_Size", "grid"),
        **_sizes(table, "Workgroup_Size", "workgroup"),
        queue=table.integers("Queue_Id"),
        stream=table.integers("Stream_Id"),
        process=table.integers("Process_Id"),
        thread=table.integers("Thread_Id"),
        correlation=table.integers("Correlation_Id"),
        static_lds=lds,
        scratch=table.integers("Scratch_Size"),
        vgprs=table.integers("VGPR_Count"),
        agprs=table.integers("Accum_VGPR_Count"),
        sgprs=table.integers("SGPR_Count"),
        **graph_columns(table.integers("Graph_Exec_Id"), table.integers("Graph_Node_Id")),
    )


def _sizes(table: CsvTable, column: str, name: str) -> dict[str, Integers]:
    """The three sizes; counter tables give only their product."""
    if f"{column}_X" in table:
        return {f"{name}_{axis.lower()}": table.integers(f"{column}_{axis}") for axis in "XYZ"}
    product = table.integers(column)
    one = np.where(product == MISSING, MISSING, 1)
    return {f"{name}_x": product, f"{name}_y": one, f"{name}_z": one}
