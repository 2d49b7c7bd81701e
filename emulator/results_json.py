"""rocprofv3's `results.json`: agent, counters, kernels and launches in one object.

Takes the records of a run, writes the fields that rocprofv3's published schema names for kernel dispatches and
counters. What the emulator does not record (API calls, copies, samples) is an empty list, as rocprofv3 writes it.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.emulator.csv_tables import (
    AGENT_HANDLE,
    DeviceInfo,
    agent_fields,
    allocated_lds,
    nanoseconds,
    registers,
    static_lds,
)
from hipscope.emulator.raw import RawDispatch

_KIND_KERNEL_DISPATCH = 11  # rocprofiler_buffer_tracing_kind_t
_OPERATION_COMPLETE = 2
# Flags that a driver sets for what the device can be asked for (AMD's schema demands them): of ours, none.
_CAPABILITIES = (
    "HotPluggable", "HSAMMUPresent", "SharedWithGraphics", "QueueSizePowerOfTwo", "QueueSize32bit", "QueueIdleEvent",
    "VALimit", "WatchPointsSupported", "WatchPointsTotalBits", "DoorbellType", "AQLQueueDoubleMap",
    "DebugTrapSupported", "WaveLaunchTrapOverrideSupported", "WaveLaunchModeSupported",
    "PreciseMemoryOperationsSupported", "DEPRECATED_SRAM_EDCSupport", "Mem_EDCSupport", "RASEventNotify",
    "ASICRevision", "SRAM_EDCSupport", "SVMAPISupported", "CoherentHostAccess", "DebugSupportedFirmware", "Reserved",
)  # fmt: skip
_NOT_RECORDED = (
    "hip_api", "hsa_api", "marker_api", "rccl_api", "memory_copy", "memory_allocation", "scratch_memory",
    "rocdecode_api", "rocjpeg_api", "pc_sample_host_trap", "pc_sample_stochastic",
)  # fmt: skip


@dataclass(frozen=True)
class Results:
    """One run. `counted` are the launches whose counters are wanted; `kernels` and `names` are by mangled name."""

    device: DeviceInfo
    command: Sequence[str]
    launches: Sequence[RawDispatch]
    counted: Sequence[RawDispatch]
    kernels: Mapping[str, int]
    names: Mapping[str, str]


def write_results(path: Path, results: Results) -> None:
    """Write the file."""
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [_process(results)]}), encoding="utf-8")


def _process(r: Results) -> dict[str, Any]:
    counters = sorted({name for d in r.counted for name in d.counters})
    handles = {name: number for number, name in enumerate(counters, start=1)}
    objects = {
        digest: n for n, digest in enumerate(dict.fromkeys(d.code_object for d in r.launches), start=1)
    }
    ends = [nanoseconds(d.end_ns) for d in r.launches]
    host = platform.uname()
    return {
        "metadata": {
            "node": {
                "id": 0, "hash": 0, "machine_id": "", "system_name": host.system, "hostname": host.node,
                "release": host.release, "version": host.version, "hardware_name": host.machine,
                "domain_name": "(none)",
            },
            "pid": r.launches[0].process if r.launches else 0,
            "init_time": 0,
            "fini_time": max(ends, default=0),
            "command": list(r.command),
            "config": {},
        },
        "agents": [_agent(r.device)],
        "counters": [
            {
                "agent_id": {"handle": AGENT_HANDLE}, "id": {"handle": handles[name]}, "is_constant": 0,
                "is_derived": 0, "name": name, "description": "", "block": name.partition("_")[0],
                "expression": "", "dimension_ids": [],
            }
            for name in counters
        ],
        "strings": {
            "callback_records": [],
            "buffer_records": [{"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]}],
            "marker_api": [],
            "correlation_id": {"external": []},
            "counters": {"dimension_ids": []},
            "pc_sample_instructions": [],
            "pc_sample_comments": [],
            "att_filenames": [],
            "code_object_snapshot_filenames": [],
        },
        # Both begin with an entry of zeros, so that ids are places: AMD's readers take kernel_symbols[kernel_id].
        "code_objects": [_code_object(number) for number in (0, *objects.values())],
        "kernel_symbols": [_symbol(0), *(_kernel(r, kernel, objects) for kernel in r.kernels)],
        "host_functions": [],
        "summary": [],
        "callback_records": {"counter_collection": [_counted(r, d, handles) for d in r.counted if d.counters]},
        "buffer_records": {
            "kernel_dispatch": [
                {"size": 184, "kind": _KIND_KERNEL_DISPATCH, "operation": _OPERATION_COMPLETE,
                 "thread_id": d.thread, **_launch(r, d)}
                for d in r.launches
            ],
            **{name: [] for name in _NOT_RECORDED},
        },
    }  # fmt: skip


def _agent(device: DeviceInfo) -> dict[str, Any]:
    known = {name.lower(): value for name, value in agent_fields(device).items()}
    for prefix in ("workgroup_max_dim", "grid_max_dim"):
        known[prefix] = {axis: known.pop(f"{prefix}_{axis}") for axis in "xyz"}
    return {
        "size": 0, **known, "id": {"handle": AGENT_HANDLE}, "type": 2, "capability": dict.fromkeys(_CAPABILITIES, 0),
        "mem_banks": [], "caches": [],
    }  # fmt: skip


def _code_object(number: int) -> dict[str, Any]:
    agent = {"handle": AGENT_HANDLE if number else 0}
    return {
        "size": 0, "code_object_id": number, "agent_id": agent, "rocp_agent": agent, "hsa_agent": agent, "uri": "",
        "load_base": 0, "load_size": 0, "load_delta": 0, "storage_type": 0, "memory_base": 0, "memory_size": 0,
    }  # fmt: skip


def _kernel(r: Results, kernel: str, objects: Mapping[str, int]) -> dict[str, Any]:
    name = r.names[kernel]
    known: dict[str, Any] = {
        "kernel_name": f"{kernel}.kd", "formatted_kernel_name": name, "demangled_kernel_name": name,
        "truncated_kernel_name": truncated(name),
    }  # fmt: skip
    if first := next((d for d in r.launches if d.kernel == kernel), None):
        known |= {
            "code_object_id": objects[first.code_object], "group_segment_size": static_lds(first),
            "private_segment_size": first.resources.get("scratch", 0), **_registers(first),
        }  # fmt: skip
    return _symbol(r.kernels[kernel], **known)


def _symbol(kernel_id: int, **known: Any) -> dict[str, Any]:
    return {
        "size": 0, "kernel_id": kernel_id, "code_object_id": 0, "kernel_name": "", "kernel_object": 0,
        "kernarg_segment_size": 0, "kernarg_segment_alignment": 0, "group_segment_size": 0, "private_segment_size": 0,
        "sgpr_count": 0, "arch_vgpr_count": 0, "accum_vgpr_count": 0, "kernel_code_entry_byte_offset": 0,
        "kernel_address": {"handle": 0}, "formatted_kernel_name": "", "demangled_kernel_name": "",
        "truncated_kernel_name": "", **known,
    }  # fmt: skip


def _registers(d: RawDispatch) -> dict[str, int]:
    counts = registers(d) or (0, 0, 0)
    return dict(zip(("arch_vgpr_count", "accum_vgpr_count", "sgpr_count"), counts, strict=True))


def truncated(name: str) -> str:
    """A kernel's name without its return type, parameters and template arguments."""
    bare, depth = "", 0
    for letter in name:
        if letter == "(" and depth == 0:
            break
        depth += {"<": 1, ">": -1}.get(letter, 0)
        bare += letter if depth == 0 and letter != ">" else ""
    return bare.split()[-1].rpartition("::")[2] if bare.split() else name


def _launch(r: Results, d: RawDispatch) -> dict[str, Any]:
    return {
        "correlation_id": {"internal": d.id, "external": 0},
        "start_timestamp": nanoseconds(d.start_ns),
        "end_timestamp": nanoseconds(d.end_ns),
        "dispatch_info": {
            "size": 72, "agent_id": {"handle": AGENT_HANDLE}, "queue_id": {"handle": 1},
            "kernel_id": r.kernels[d.kernel], "dispatch_id": d.id,
            "private_segment_size": d.resources.get("scratch", 0),
            "group_segment_size": d.resources.get("lds", 0),
            "workgroup_size": dict(zip("xyz", d.workgroup, strict=True)),
            "grid_size": dict(zip("xyz", d.grid, strict=True)),
        },
        "stream_id": {"handle": 0},
    }  # fmt: skip


def _counted(r: Results, d: RawDispatch, handles: Mapping[str, int]) -> dict[str, Any]:
    launch = _launch(r, d)
    stream = launch.pop("stream_id")
    return {
        "thread_id": d.thread,
        "dispatch_data": {"size": 0, **launch},
        "records": [
            {"counter_id": {"handle": handles[n]}, "value": v} for n, v in sorted(d.counters.items())
        ],
        "stream_id": stream,
        "lds_block_size_v": allocated_lds(d) or 0,
        **_registers(d),
    }
