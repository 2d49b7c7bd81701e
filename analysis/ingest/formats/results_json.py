"""`*_results.json` of rocprofv3: everything of one run in one object, an element per process.

Takes the file, gives a `Recorded` per process. Environment, command line and configuration of the metadata stay in it,
but for the program's own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hipscope.analysis.ingest.formats.agents import Agent, agent_of
from hipscope.analysis.ingest.formats.columns import Integers, Texts, absent, integers, numbers, texts
from hipscope.analysis.ingest.formats.pc_samples import AddressedSamples
from hipscope.analysis.ingest.formats.recording import (
    CounterColumns,
    LaunchColumns,
    Recorded,
    graph_columns,
)
from hipscope.analysis.ingest.formats.rocprof_csv import kernel_name
from hipscope.analysis.ingest.formats.traces import DAMAGE, Trace

KEY = "rocprofiler-sdk-tool"
_EVENTS = {
    "hip_api": "api calls",
    "hsa_api": "api calls",
    "rccl_api": "api calls",
    "marker_api": "markers",
    "memory_copy": "copies",
    "memory_allocation": "allocations",
    "scratch_memory": "allocations",
}
_EVENT_COLUMNS = (
    "start_timestamp",
    "end_timestamp",
    "thread_id",
    "bytes",
    "size",
    "allocation_size",
    "operation",
    "correlation_id",
    "stream_id",
    "queue_id",
)


def read_results(path: Path) -> list[Recorded]:
    """The processes of a file. Raises ValueError, with the reason, when it is none."""
    data = json.loads(path.read_bytes())
    processes = data.get(KEY) if isinstance(data, dict) else None
    if isinstance(processes, dict):
        processes = [processes]
    if not isinstance(processes, list):
        raise ValueError(f"the key `{KEY}` holds no list")
    found = [_Process(p).recording() for p in processes if isinstance(p, dict)]
    if not found:
        raise ValueError("no process is in it")
    return found


class _Process:
    """One element: tables of identifiers first, then what refers to them."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._notes: list[str] = []
        metadata = _object(data.get("metadata"))
        self._pid = metadata.get("pid")
        self._symbols = {
            _handle(s.get("kernel_id")): s for s in _objects(data.get("kernel_symbols")) if s.get("kernel_id")
        }
        self._agents: dict[int, Agent] = {}
        for agent in _objects(data.get("agents")):
            if agent.get("type") in (2, "GPU", "ROCPROFILER_AGENT_TYPE_GPU"):
                handle = _handle(agent.get("id"))
                self._agents[handle] = agent_of(agent, handle)

    def recording(self) -> Recorded:
        """All of it."""
        found = Recorded(agents=list(self._agents.values()), notes=self._notes)
        buffers = _object(self._data.get("buffer_records"))
        callbacks = _object(self._data.get("callback_records"))
        dispatches = _objects(buffers.get("kernel_dispatch"))
        if dispatches:
            found.launches.append(self._launches(dispatches))
        counted = _objects(callbacks.get("counter_collection")) or _objects(buffers.get("counter_collection"))
        if counted:
            found.counters.append(self._counters(counted, found))
        streamed = _objects(callbacks.get("spm_counter_collection")) or _objects(
            buffers.get("spm_counter_collection")
        )
        if streamed:  # samples of counters over time: their sums are what the launch counted
            found.counters.append(self._counters(streamed, found))
        found.traces += self._samples(buffers, dispatches)
        for name, kind in _EVENTS.items():
            events = _objects(buffers.get(name))
            if events:
                columns: dict[str, list[Any]] = {
                    c: [_flat(e.get(c)) for e in events]
                    for c in _EVENT_COLUMNS
                    if any(c in e for e in events[:1])
                }
                columns["function"] = self._operations(events)
                columns["process_id"] = [self._pid] * len(events)
                if kind == "copies":
                    columns |= {c: self._agents_of(events, c) for c in ("src_agent_id", "dst_agent_id")}
                found.events.setdefault(kind, []).append(columns)
        for symbol in self._symbols.values():
            name = _demangled(symbol)
            mangled = str(symbol.get("kernel_name", "")).removesuffix(".kd")
            if name and mangled:
                found.mangled.setdefault(name, mangled)
        command = _object(self._data.get("metadata")).get("command")
        if isinstance(command, list):
            found.command = tuple(str(word) for word in command)
        return found

    def _launches(self, records: Sequence[Mapping[str, Any]]) -> LaunchColumns:
        infos = [_object(r.get("dispatch_info")) for r in records]
        kernels = _Coded([i.get("kernel_id") for i in infos])
        agents = _Coded([i.get("agent_id") for i in infos])
        symbols = [self._symbols.get(handle, {}) for handle in kernels.handles]
        names = Texts(kernels.codes, tuple(_demangled(s) for s in symbols))

        def of_symbol(key: str) -> Integers:
            return integers([s.get(key) for s in symbols])[kernels.codes]

        sizes: dict[str, Integers] = {}
        for name in ("grid", "workgroup"):
            found = [_object(i.get(f"{name}_size")) for i in infos]
            sizes |= {f"{name}_{axis}": integers([size.get(axis) for size in found]) for axis in "xyz"}
        total = integers([i.get("group_segment_size") for i in infos])
        static = of_symbol("group_segment_size")
        return LaunchColumns.of(
            names,
            Texts(agents.codes, tuple(self._agent(handle) for handle in agents.handles)),
            id=integers([i.get("dispatch_id") for i in infos]),
            start=integers([r.get("start_timestamp") for r in records]),
            end=integers([r.get("end_timestamp") for r in records]),
            queue=_Coded([i.get("queue_id") for i in infos]).numbers(),
            stream=_Coded([r.get("stream_id") for r in records]).numbers(),
            process=integers([self._pid] * len(records)),
            thread=integers([r.get("thread_id") for r in records]),
            correlation=integers([_object(r.get("correlation_id")).get("internal") for r in records]),
            static_lds=static,
            dynamic_lds=np.where((static >= 0) & (total >= static), total - static, 0),
            scratch=integers([i.get("private_segment_size") for i in infos]),
            vgprs=of_symbol("arch_vgpr_count"),
            agprs=of_symbol("accum_vgpr_count"),
            sgprs=of_symbol("sgpr_count"),
            **graph_columns(
                integers([r.get("graph_exec_id") for r in records]),
                integers([r.get("graph_node_id") for r in records]),
            ),
            **sizes,
        )

    def _counters(self, records: Sequence[Mapping[str, Any]], found: Recorded) -> CounterColumns:
        names: dict[int, str] = {}
        for counter in _objects(self._data.get("counters")):
            name = str(counter.get("name", ""))
            names[_handle(counter.get("id"))] = name
            if counter.get("expression"):
                found.kinds[name] = str(counter["expression"])
        heads, rows, labels, values, instances = [], [], [], [], []
        parts: dict[str, set[int]] = {}
        for record in records:
            dispatch = _object(record.get("dispatch_data"))
            heads.append(
                {
                    **dispatch,
                    "thread_id": record.get("thread_id"),
                    "stream_id": record.get("stream_id"),
                }
            )
            seen: dict[str, int] = {}
            for value in _objects(record.get("records")):
                rows.append(len(heads) - 1)
                label = names.get(_handle(value.get("counter_id")), "")
                labels.append(label)
                part = value.get("instance_id")
                if not isinstance(part, int):  # then values stand in the order of the parts
                    part = seen.get(label, 0)
                    seen[label] = part + 1
                parts.setdefault(label, set()).add(part)
                instances.append(part)
                values.append(value.get("value"))
        amounts = numbers(values)
        kept = np.flatnonzero(np.isfinite(amounts) & np.array([bool(label) for label in labels], dtype=bool))
        if len(kept) < len(values):
            self._notes.append(
                f"{len(values) - len(kept)} of {len(values)} counter values have no name or number"
            )
        ranks = {label: {part: n for n, part in enumerate(sorted(of))} for label, of in parts.items()}
        return CounterColumns(
            self._launches(heads),
            np.array(rows, dtype=np.int64)[kept],
            texts(labels).take(kept),
            amounts[kept],
            np.array(
                [ranks[label][part] for label, part in zip(labels, instances, strict=True)], dtype=np.int64
            )[kept],
        )

    def _samples(
        self, buffers: Mapping[str, Any], dispatches: Sequence[Mapping[str, Any]]
    ) -> Iterator[Trace]:
        strings = _object(self._data.get("strings"))
        words, places = strings.get("pc_sample_instructions"), strings.get("pc_sample_comments")
        words = words if isinstance(words, list) else []
        places = places if isinstance(places, list) else []
        found = AddressedSamples()
        counts: dict[tuple[int, tuple[int, int], int, bool, str], int] = {}
        damaged = undecoded = total = 0
        for kind in ("pc_sample_host_trap", "pc_sample_stochastic"):
            for entry in _objects(buffers.get(kind)):
                total += 1
                try:
                    record, index = entry["record"], int(entry["inst_index"])
                    place = int(record["pc"]["code_object_id"]), int(record["pc"]["code_object_offset"])
                    dispatch = int(record["dispatch_id"])
                    stalled = kind == "pc_sample_stochastic" and not record["wave_issued"]
                    reason = str(_object(record.get("snapshot")).get("stall_reason"))
                except DAMAGE:
                    damaged += 1
                    continue
                if not 0 <= index < len(words):
                    undecoded += 1
                    continue
                key = dispatch, place, index, stalled, reason
                counts[key] = counts.get(key, 0) + 1
        for (dispatch, place, index, stalled, why), count in counts.items():
            comment = places[index] if index < len(places) else ""
            comment = comment if isinstance(comment, str) else ""
            found.add(dispatch, place, str(words[index]), comment, count=count, stalled=stalled, reason=why)
        if damaged:
            self._notes.append(f"{damaged} of {total} PC samples are damaged and left out")
        if undecoded:
            self._notes.append(
                f"{undecoded} of {total} PC samples were in code that the tool could not decode"
            )
        kernels = {
            int(i["dispatch_id"]): _demangled(self._symbols.get(_handle(i.get("kernel_id")), {}))
            for d in dispatches
            if isinstance((i := _object(d.get("dispatch_info"))).get("dispatch_id"), int)
        }
        yield from found.traces(kernels)

    def _operations(self, events: Sequence[Mapping[str, Any]]) -> list[str]:
        """The names of calls: `strings.buffer_records[kind].operations[operation]`."""
        records = _object(self._data.get("strings")).get("buffer_records")
        tables = [_object(r).get("operations") for r in records] if isinstance(records, list) else []
        names = []
        for event in events:
            kind, operation = event.get("kind"), event.get("operation")
            table = tables[kind] if isinstance(kind, int) and 0 <= kind < len(tables) else None
            known = isinstance(table, list) and isinstance(operation, int) and 0 <= operation < len(table)
            names.append(str(table[operation]) if known and table is not None else "")
        return names

    def _agents_of(self, events: Sequence[Mapping[str, Any]], column: str) -> list[str]:
        """The agents that copies come from or go to, as launches name them."""
        return [self._agent(_handle(event.get(column))) for event in events]

    def _agent(self, handle: int) -> str:
        agent = self._agents.get(handle)
        if agent is None:
            return str(handle)
        node = agent.logical_node if agent.logical_node is not None else agent.node
        return str(handle) if node is None else f"Agent {node}"


class _Coded:
    """A column of identifiers, each looked at once: `codes` are places in `handles`."""

    def __init__(self, values: Sequence[object]) -> None:
        handles = [v["handle"] if isinstance(v, dict) and "handle" in v else v for v in values]
        places: dict[int, int] = {}
        self.codes = np.array([places.setdefault(_handle(h), len(places)) for h in handles], dtype=np.int64)
        self.handles = tuple(places)

    def numbers(self) -> Integers:
        """The identifiers themselves."""
        return integers(list(self.handles))[self.codes] if self.handles else absent(0)


def _demangled(symbol: Mapping[str, Any]) -> str:
    for key in ("formatted_kernel_name", "demangled_kernel_name", "truncated_kernel_name", "kernel_name"):
        if isinstance(name := symbol.get(key), str) and name:
            return kernel_name(name)
    return ""


def _handle(value: object) -> int:
    """An identifier, which is a number or an object with a `handle`."""
    if isinstance(value, dict):
        value = value.get("handle")
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _flat(value: object) -> object:
    """A number, also of an object that holds a handle or a correlation."""
    return value.get("handle", value.get("internal")) if isinstance(value, dict) else value


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
