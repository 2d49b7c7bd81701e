"""The CSV tables that rocprofv3 (ROCm 7.0) writes: their columns, one function per row, and the rules for cells.

Takes records of launches, gives rows; `write_table` puts them into a file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hipscope.emulator.raw import RawDispatch

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


def registers(d: RawDispatch) -> tuple[int, int, int] | None:
    """VGPR_Count, Accum_VGPR_Count, SGPR_Count as rocprofv3 reads them from the kernel's descriptor, in its granules.

    Ordinary registers come up to where accumulation registers begin (a multiple of 4), those up to what is allocated (a
    multiple of 8), scalar ones in multiples of 16.
    """
    if "vgprs" not in d.resources:
        return None
    accumulation = d.resources.get("agprs", 0)
    arch = _up(
        max(d.resources["vgprs"] - accumulation, 1), 4
    )  # "vgprs" counts both kinds, as the code object does
    allocated = _up(arch + accumulation, 8)
    return arch, allocated - arch, _up(max(d.resources.get("sgprs", 0), 1), 16)


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule


def trace_row(d: RawDispatch, kernel_id: int, name: str) -> list[Any]:
    """One launch in the kernel trace."""
    return [
        "KERNEL_DISPATCH", AGENT, 1, 0, d.thread, d.id, kernel_id, name, d.id, nanoseconds(d.start_ns),
        nanoseconds(d.end_ns), allocated_lds(d), d.resources.get("scratch", ""), *(registers(d) or ("", "", "")),
        *d.workgroup, *d.grid,
    ]  # fmt: skip


def trace_lines(
    launches: Iterable[RawDispatch], kernels: Mapping[str, int], names: Mapping[str, str]
) -> Iterator[str]:
    """The rows of the kernel trace as text: what launches of a shape share is put into words once.

    Programs make launches by the hundred thousand, and whoever stops one waits for these lines.
    """
    shared: dict[tuple[Any, ...], tuple[str, str, str]] = {}
    for d in launches:
        shape = (d.kernel, d.code_object, d.grid, d.workgroup, d.dynamic_lds, d.thread)
        texts = shared.get(shape)
        if texts is None:
            cells = [_cell(value) for value in trace_row(d, kernels[d.kernel], names[d.kernel])]
            texts = shared[shape] = (",".join(cells[:5]), ",".join(cells[6:8]), ",".join(cells[11:]))
        before, between, after = texts
        number = d.id
        begin, end = nanoseconds(d.start_ns), nanoseconds(d.end_ns)
        yield f"{before},{number},{between},{number},{begin},{end},{after}\n"


def counter_rows(d: RawDispatch, kernel_id: int, name: str) -> Iterator[list[Any]]:
    """One row per counter of a launch."""
    for counter, value in sorted(d.counters.items()):
        yield [
            d.id, d.id, AGENT, 1, d.process, d.thread, math.prod(d.grid), kernel_id, name, math.prod(d.workgroup),
            allocated_lds(d), d.resources.get("scratch", ""), *(registers(d) or ("", "", "")), counter, float(value),
            nanoseconds(d.start_ns), nanoseconds(d.end_ns),
        ]  # fmt: skip


def stats_rows(launches: Sequence[RawDispatch], names: Mapping[str, str]) -> Iterator[list[Any]]:
    """One row per kernel, the one with the most time first."""
    times: defaultdict[str, list[int]] = defaultdict(list)
    for d in launches:
        times[names[d.kernel]].append(nanoseconds(d.end_ns) - nanoseconds(d.start_ns))
    total = sum(sum(values) for values in times.values())
    for name, values in sorted(times.items(), key=lambda item: -sum(item[1])):
        yield _summary(name, values, total)


def domain_rows(launches: Sequence[RawDispatch]) -> Iterator[list[Any]]:
    """One row for all kernels; the emulator traces no other domain."""
    values = [nanoseconds(d.end_ns) - nanoseconds(d.start_ns) for d in launches]
    if values:
        yield _summary("KERNEL_DISPATCH", values, sum(values))


def _summary(name: str, values: Sequence[int], total: int) -> list[Any]:
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1))  # of a sample
    share = f"{100 * sum(values) / total:.2f}" if total else "0.00"
    return [
        name, len(values), sum(values), float(mean), _Bare(share), min(values), max(values), float(deviation),
    ]  # fmt: skip


def agent_row(device: DeviceInfo) -> list[Any]:
    """The device; a cell is empty where nothing is known."""
    known = agent_fields(device)
    return [known.get(column, _Bare("")) for column in AGENT_COLUMNS]


def agent_fields(device: DeviceInfo) -> dict[str, Any]:
    """What is known of the device, by column."""
    return {
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


def _target_version(arch: str) -> int:
    """gfx942 is 90402: major, minor and stepping as two decimal digits each, the stepping in hexadecimal."""
    digits = arch.removeprefix("gfx")
    return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


def allocated_lds(d: RawDispatch) -> Any:
    """Bytes of the kernel's own LDS in granules of the hardware; rocprofv3 leaves the launch's dynamic LDS out here."""
    return _up(static_lds(d), _LDS_GRANULE) if "lds" in d.resources else ""


def static_lds(d: RawDispatch) -> int:
    """Bytes of LDS that the code object asks for; the runtime counts those of the launch too."""
    return max(int(d.resources.get("lds", 0)) - d.dynamic_lds, 0)


def nanoseconds(value: float | None) -> int:
    """Whole nanoseconds, as the files have them."""
    return round(value or 0)


class _Bare(str):
    """Text that goes into a CSV cell without quotes."""

    __slots__ = ()


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """rocprofv3's CSV: quoted strings, bare numbers, no file when there are no rows."""
    write_lines(path, columns, (",".join(map(_cell, row)) + "\n" for row in rows))


def write_lines(path: Path, columns: Sequence[str], lines: Iterable[str]) -> None:
    """`write_table` of rows that are text already."""
    path.unlink(missing_ok=True)
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return
    with path.open("w", encoding="utf-8") as stream:
        stream.write(",".join(f'"{column}"' for column in columns) + "\n")
        stream.write(first)
        stream.writelines(rest)


def _cell(value: Any) -> str:
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is float:
        return f"{value:.6f}" if abs(value) >= 1 else f"{value:.8e}"
    return value if kind is _Bare else _quoted(str(value))


@lru_cache(maxsize=1024)
def _quoted(value: str) -> str:
    text = value.replace('"', "'").replace("\n", " ")  # the format has no escape for either
    return f'"{text}"' if text else ""
