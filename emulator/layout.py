"""Turns the runtime's raw output into the files that rocprofv3 (ROCm 7.0) writes.

Takes the directory that HIPSCOPE_OUT named, gives a capture directory: kernel trace, counters, agent table, kernel
statistics, one decoded thread trace per profiled launch, Omniprobe's memory analysis, the code objects, and the
side-car hipscope.json. One dispatch is held in memory at a time.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hipscope.emulator import att, raw
from hipscope.emulator.memory_analysis import MemoryAnalysisWriter
from hipscope.emulator.symbolize import Position, Symbolizer, demangle

SCHEMA = "hipscope.capture/1"
PREFIX = "hipscope"
AGENT_HANDLE = 1
AGENT = "Agent 1"
_LDS_GRANULE = 512  # kernel_trace rounds LDS up to the allocation granule, as rocprofv3 does

KERNEL_TRACE_COLUMNS = (
    "Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name",
    "Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count",
    "Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z",
    "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z",
)  # fmt: skip
COUNTER_COLUMNS = (
    "Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id",
    "Kernel_Name", "Workgroup_Size", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count",
    "SGPR_Count", "Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp",
)  # fmt: skip
STATS_COLUMNS = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs", "StdDev")
AGENT_COLUMNS = (
    "Node_Id", "Logical_Node_Id", "Agent_Type", "Cpu_Cores_Count", "Simd_Count", "Cpu_Core_Id_Base",
    "Simd_Id_Base", "Max_Waves_Per_Simd", "Lds_Size_In_Kb", "Gds_Size_In_Kb", "Num_Gws", "Wave_Front_Size",
    "Num_Xcc", "Cu_Count", "Array_Count", "Num_Shader_Banks", "Simd_Arrays_Per_Engine", "Cu_Per_Simd_Array",
    "Simd_Per_Cu", "Max_Slots_Scratch_Cu", "Gfx_Target_Version", "Vendor_Id", "Device_Id", "Location_Id",
    "Domain", "Drm_Render_Minor", "Num_Sdma_Engines", "Num_Sdma_Xgmi_Engines", "Num_Sdma_Queues_Per_Engine",
    "Num_Cp_Queues", "Max_Engine_Clk_Ccompute", "Max_Engine_Clk_Fcompute", "Sdma_Fw_Version", "Fw_Version",
    "Capability", "Cu_Per_Engine", "Max_Waves_Per_Cu", "Family_Id", "Workgroup_Max_Size", "Grid_Max_Size",
    "Local_Mem_Size", "Hive_Id", "Gpu_Id", "Workgroup_Max_Dim_X", "Workgroup_Max_Dim_Y", "Workgroup_Max_Dim_Z",
    "Grid_Max_Dim_X", "Grid_Max_Dim_Y", "Grid_Max_Dim_Z", "Name", "Vendor_Name", "Product_Name", "Model_Name",
)  # fmt: skip


@dataclass(frozen=True)
class DeviceInfo:
    """The modelled GPU as the agent table shows it. `key` is its row in the device table."""

    key: str
    arch: str
    product_name: str
    compute_units: int
    simds_per_cu: int
    xcds: int
    clock_mhz: float
    wave_size: int
    max_waves_per_simd: int
    lds_bytes: int
    memory_bytes: int | None = None


@dataclass(frozen=True)
class ProgramInfo:
    """How the profiled program ended; `exit_code` is None when it was stopped."""

    command: Sequence[str]
    exit_code: int | None
    output: str


def write_rocprofv3(
    raw_dir: Path,
    out_dir: Path,
    *,
    device: DeviceInfo,
    program: ProgramInfo,
    stopped: str | None = None,
    tool: str = "hipscope emulator",
) -> None:
    """Write the capture of `raw_dir` into `out_dir` (created; files of the same names are replaced).

    `stopped` says why the program did not come to its end, which makes the capture partial.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    launches = _with_times(list(raw.read_dispatches(raw_dir)))
    kernels = {name: number for number, name in enumerate(dict.fromkeys(d.kernel for d in launches), start=1)}
    objects = _CodeObjects(raw_dir, out_dir, device.arch)
    timed = [d for d in launches if d.start_ns is not None]
    names = {kernel: demangle(kernel) for kernel in kernels}
    _table(
        out_dir / f"{PREFIX}_kernel_trace.csv",
        KERNEL_TRACE_COLUMNS,
        (_trace_row(d, kernels[d.kernel], names[d.kernel]) for d in timed),
    )
    _table(
        out_dir / f"{PREFIX}_counter_collection.csv",
        COUNTER_COLUMNS,
        (row for d in timed for row in _counter_rows(d, kernels[d.kernel], names[d.kernel])),
    )
    _table(out_dir / f"{PREFIX}_kernel_stats.csv", STATS_COLUMNS, _stats_rows(timed, names))
    _table(out_dir / f"{PREFIX}_agent_info.csv", AGENT_COLUMNS, [_agent_row(device)])
    traced = []
    with MemoryAnalysisWriter(out_dir / "memory_analysis.json", device.arch) as memory_analysis:
        for dispatch in launches:
            if not dispatch.profiled:
                continue
            profile = raw.read_profile(raw_dir, dispatch.id)
            if profile is None:
                continue
            code = objects.traced(dispatch, names[dispatch.kernel])
            folder = att.folder_name(AGENT_HANDLE, dispatch.id)
            stats = out_dir / f"stats_{folder}.csv"
            att.write_trace(out_dir / folder, stats, dispatch, profile, code)
            memory_analysis.add(dispatch.id, names[dispatch.kernel], profile.instructions, code.positions)
            traced.append({"dispatch": dispatch.id, "kernel": dispatch.kernel, "folder": folder})
    run = raw.read_run(raw_dir)
    faults = raw.read_faults(raw_dir)
    sidecar = {
        "schema": SCHEMA,
        "source": "emulator",
        "provenance": "modelled",
        "tool": tool,
        "device": device.key,
        "program": {
            "command": list(program.command),
            "exit_code": program.exit_code,
            "output": program.output,
        },
        "partial": _partial(run, launches, {fault.dispatch for fault in faults}, stopped),
        "kernels": [
            {"mangled": kernel, "name": names[kernel], "id": number, **_resources(launches, kernel)}
            for kernel, number in kernels.items()
        ],
        "unprofiled": [d.id for d in timed if not d.profiled],
        "dynamic_lds": {str(d.id): d.dynamic_lds for d in launches if d.dynamic_lds},
        "traces": traced,
        "faults": [_fault(f, objects) for f in faults],
    }
    (out_dir / "hipscope.json").write_text(json.dumps(sidecar, indent=1), encoding="utf-8")


def _with_times(launches: list[raw.RawDispatch]) -> list[raw.RawDispatch]:
    """Give launches that ran without the model the mean time of the profiled ones of the same kernel and shape.

    They follow each other on the timeline. A launch of a shape that was never profiled keeps no time.
    """
    durations: dict[tuple[Any, ...], list[float]] = {}
    for d in launches:
        if d.start_ns is not None and d.end_ns is not None:
            durations.setdefault(_shape(d), []).append(d.end_ns - d.start_ns)
    now = 0.0
    timed = []
    for d in launches:
        known = durations.get(_shape(d))
        if d.start_ns is not None and d.end_ns is not None:
            now = max(now, d.end_ns)
            timed.append(d)
        elif known:
            start = now
            now += sum(known) / len(known)
            timed.append(replace(d, start_ns=start, end_ns=now))
        else:
            timed.append(replace(d, start_ns=None, end_ns=None))
    return timed


def _shape(d: raw.RawDispatch) -> tuple[Any, ...]:
    return d.kernel, d.grid, d.workgroup, d.dynamic_lds


def _partial(
    run: raw.RawRun | None, launches: Sequence[raw.RawDispatch], faulted: Collection[int], stopped: str | None
) -> str | None:
    reasons = [reason for reason in (stopped, run.partial if run is not None else None) if reason]
    untimed = sum(d.start_ns is None and d.id not in faulted for d in launches)
    if untimed:
        reasons.append(f"{untimed} of {len(launches)} launches were not profiled and have no time")
    return "; ".join(reasons) or None


def _trace_row(d: raw.RawDispatch, kernel_id: int, name: str) -> list[Any]:
    registers = (d.resources.get("vgprs", ""), d.resources.get("agprs", ""), d.resources.get("sgprs", ""))
    return [
        "KERNEL_DISPATCH", AGENT, 1, 0, 1, d.id, kernel_id, name, d.id, _ns(d.start_ns), _ns(d.end_ns),
        _lds(d), d.resources.get("scratch", ""), *registers, *d.workgroup, *d.grid,
    ]  # fmt: skip


def _counter_rows(d: raw.RawDispatch, kernel_id: int, name: str) -> Iterator[list[Any]]:
    registers = (d.resources.get("vgprs", ""), d.resources.get("agprs", ""), d.resources.get("sgprs", ""))
    for counter, value in sorted(d.counters.items()):
        yield [
            d.id, d.id, AGENT, 1, 1, 1, math.prod(d.grid), kernel_id, name, math.prod(d.workgroup), _lds(d),
            d.resources.get("scratch", ""), *registers, counter, float(value), _ns(d.start_ns), _ns(d.end_ns),
        ]  # fmt: skip


def _stats_rows(launches: Sequence[raw.RawDispatch], names: Mapping[str, str]) -> Iterator[list[Any]]:
    times: dict[str, list[int]] = {}
    for d in launches:
        times.setdefault(d.kernel, []).append(_ns(d.end_ns) - _ns(d.start_ns))
    total = sum(sum(values) for values in times.values())
    for kernel, values in sorted(times.items(), key=lambda item: -sum(item[1])):
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        share = f"{100 * sum(values) / total:.2f}" if total else "0.00"
        yield [
            names[kernel], len(values), sum(values), float(mean), _Bare(share), min(values), max(values),
            float(deviation),
        ]  # fmt: skip


def _agent_row(device: DeviceInfo) -> list[Any]:
    known: dict[str, Any] = {
        "Node_Id": 1,
        "Logical_Node_Id": 1,
        "Agent_Type": "GPU",
        "Cpu_Cores_Count": 0,
        "Simd_Count": device.compute_units * device.simds_per_cu,
        "Max_Waves_Per_Simd": device.max_waves_per_simd,
        "Lds_Size_In_Kb": device.lds_bytes // 1024,
        "Gds_Size_In_Kb": 0,
        "Wave_Front_Size": device.wave_size,
        "Num_Xcc": device.xcds,
        "Cu_Count": device.compute_units,
        "Simd_Per_Cu": device.simds_per_cu,
        "Gfx_Target_Version": _target_version(device.arch),
        "Vendor_Id": 4098,
        "Max_Engine_Clk_Fcompute": round(device.clock_mhz),
        "Max_Waves_Per_Cu": device.max_waves_per_simd * device.simds_per_cu,
        "Workgroup_Max_Size": 1024,
        "Grid_Max_Size": 4294967295,
        "Local_Mem_Size": device.memory_bytes if device.memory_bytes is not None else "",
        "Workgroup_Max_Dim_X": 1024,
        "Workgroup_Max_Dim_Y": 1024,
        "Workgroup_Max_Dim_Z": 1024,
        "Grid_Max_Dim_X": 4294967295,
        "Grid_Max_Dim_Y": 4294967295,
        "Grid_Max_Dim_Z": 4294967295,
        "Name": device.arch,
        "Vendor_Name": "AMD",
        "Product_Name": device.product_name,
        "Model_Name": device.key,
    }
    return [known.get(column, _Bare("")) for column in AGENT_COLUMNS]


def _target_version(arch: str) -> int:
    """gfx942 is 90402: major, minor and stepping as two decimal digits each, the stepping in hexadecimal."""
    digits = arch.removeprefix("gfx")
    return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


def _resources(launches: Sequence[raw.RawDispatch], kernel: str) -> dict[str, Any]:
    first = next(d for d in launches if d.kernel == kernel)
    return {"resources": dict(first.resources), "code_object": first.code_object}


def _lds(d: raw.RawDispatch) -> Any:
    size = d.resources.get("lds")
    return "" if size is None else -(-int(size) // _LDS_GRANULE) * _LDS_GRANULE


def _ns(value: float | None) -> int:
    return round(value or 0)


class _Bare(str):
    """Text that goes into a CSV cell without quotes."""

    __slots__ = ()


def _table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """rocprofv3's CSV: quoted strings, bare numbers, no file when there are no rows."""
    path.unlink(missing_ok=True)
    stream = None
    try:
        for row in rows:
            if stream is None:
                stream = path.open("w", encoding="utf-8")
                stream.write(",".join(f'"{column}"' for column in columns) + "\n")
            stream.write(",".join(_cell(value) for value in row) + "\n")
    finally:
        if stream is not None:
            stream.close()


def _cell(value: Any) -> str:
    if isinstance(value, _Bare):
        return value
    if isinstance(value, float):
        return f"{value:.6f}" if abs(value) >= 1 or value == 0 else f"{value:.8e}"
    if isinstance(value, int):
        return str(value)
    text = str(value).replace('"', "'").replace("\n", " ")  # the format has no escape for either
    return f'"{text}"' if text else ""


class _CodeObjects:
    """The run's code objects: copied once under rocprofv3's name, symbolized once."""

    def __init__(self, raw_dir: Path, out_dir: Path, arch: str) -> None:
        self._raw_dir = raw_dir
        self._out_dir = out_dir
        self._arch = arch
        self._known: dict[str, tuple[int, Symbolizer | None]] = {}

    def get(self, digest: str) -> tuple[int, Symbolizer | None]:
        if digest not in self._known:
            number = len(self._known) + 1
            source = self._raw_dir / "code_objects" / f"{digest}.co"
            symbols = None
            if source.is_file():
                shutil.copyfile(source, self._out_dir / f"{PREFIX}_{self._arch}_code_object_id_{number}.out")
                try:
                    symbols = Symbolizer(source)
                except ValueError:
                    symbols = None  # a damaged object costs the positions, not the profile
            self._known[digest] = (number, symbols)
        return self._known[digest]

    def traced(self, dispatch: raw.RawDispatch, name: str) -> att.TracedCode:
        number, symbols = self.get(dispatch.code_object)
        address = 0
        if symbols is not None:
            address = next((s.address for s in symbols.functions if s.name == dispatch.kernel), 0)
        positions = symbols.positions if symbols is not None else _no_positions
        return att.TracedCode(number, name, address, positions)


def _no_positions(_address: int) -> tuple[Position, ...]:
    return ()


def _fault(fault: raw.RawFault, objects: _CodeObjects) -> dict[str, Any]:
    frames: tuple[Position, ...] = ()
    if fault.address is not None and fault.code_object:
        _, symbols = objects.get(fault.code_object)
        frames = symbols.positions(fault.address) if symbols is not None else ()
    return {
        "dispatch": fault.dispatch,
        "kernel": fault.kernel,
        "kind": fault.kind,
        "message": fault.message,
        "address": fault.address,
        "instruction": fault.instruction,
        "frames": [[p.file, p.line, p.column, p.function] for p in frames],
    }
