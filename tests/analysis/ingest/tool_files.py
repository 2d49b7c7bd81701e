"""Small captures of other tools than rocprofv3, written by the tests."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

NAME = "scale(float*, int)"
OLD_HEADER = (
    '"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","lds","scr","arch_vgpr",'
    '"accum_vgpr","sgpr","wave_size","sig","obj"'
)
STATISTICS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"'
ROCMINFO = """ROCk module is loaded
=====================
HSA System Attributes
=====================
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    Some CPU
  Marketing Name:          Some CPU
  Device Type:             CPU
  Compute Unit:            48
*******
Agent 2
*******
  Name:                    gfx942
  Marketing Name:          AMD Instinct MI300A
  Device Type:             GPU
  Chip ID:                 29856(0x74a0)
  Max Clock Freq. (MHz):   2100
  Compute Unit:            228
  SIMDs per CU:            4
  Shader Engines:          24
  Wavefront Size:          64(0x40)
  Max Waves Per CU:        32(0x20)
  Pool Info:
    Pool 1
      Segment:                 GROUP
      Size:                    64(0x40) KB
"""
PROPERTIES = {
    "id": 0, "name": "AMD Radeon Graphics", "computeMajor": 9, "computeMinor": 0, "warpSize": 64, "numSms": 104,
    "maxThreadsPerMultiprocessor": 2048, "maxSharedMemoryPerMultiProcessor": 65536,
}  # fmt: skip


def rocprof_csv(path: Path, timed: bool = True, counters: Mapping[str, float] | None = None) -> None:
    """`results.csv` of rocprof with two launches."""
    told = counters if counters is not None else {"Wavefronts": 1024.0, "GPUBusy": 90.0}
    header = OLD_HEADER + "".join(f',"{c}"' for c in told)
    header += ',"DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"' if timed else ""
    rows = []
    for index, (start, end) in enumerate(((1000, 2000), (3000, 3500))):
        row = f'{index},"{NAME} [clone .kd]",0,0,{index},9,9,65536,256,1024,0,36,4,48,64,0x0,0x7f00'
        row += "".join(f",{value:.10f}" for value in told.values())
        rows.append(row + (f",{start - 9},{start},{end},{end + 9},{end - start}" if timed else ""))
    path.write_text("\n".join([header, *rows, ""]))


def rocprof_statistics(path: Path, names: Sequence[str] = (NAME,)) -> None:
    """`results.stats.csv`, or that of calls."""
    path.write_text("\n".join([STATISTICS, *(f'"{name}",2,1500,750,100.0' for name in names), ""]))


def rocprof_json(path: Path) -> None:
    """`results.json` of rocprof: a chrome trace whose numbers are texts."""

    def event(name: str, pid: str, begin: int, end: int) -> dict[str, Any]:
        args = {
            "BeginNs": str(begin), "EndNs": str(end), "dev-id": "0", "queue-id": "1", "Name": name, "pid": "9",
            "tid": "9", "stream-id": "1", "DurationNs": str(end - begin),
        }  # fmt: skip
        return {
            "ph": "X", "name": name, "pid": pid, "tid": "0", "ts": str(begin // 1000),
            "dur": str((end - begin) // 1000), "args": args,
        }  # fmt: skip

    names = {2: "CPU HIP API", 1: "COPY", 6: "GPU0"}
    events: list[dict[str, Any]] = [{}]
    events += [
        {"ph": "M", "name": "process_name", "pid": p, "args": {"name": n}, "sort_index": 0}
        for p, n in names.items()
    ]
    events += [
        event("CopyHostToDevice", "1", 100, 900),
        event(NAME, "6", 1000, 2000),
        event(NAME, "6", 3000, 3500),
        event("hipLaunchKernel", "2", 910, 990),
    ]
    path.write_text(json.dumps({"traceEvents": events, "otherData": {}}))


def rocprof_database(path: Path) -> None:
    """`results.db` of rocprof: what its JSON has, in tables."""
    columns = (
        '"BeginNs" INTEGER, "EndNs" INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, "pid" INTEGER, '
        '"tid" INTEGER, "stream-id" INTEGER'
    )
    rows = {
        "OPS": ((1000, 2000, 0, 1, NAME, 9, 9, 1), (3000, 3500, 0, 1, NAME, 9, 9, 1)),
        "COPY": ((100, 900, 0, 1, "CopyHostToDevice", 9, 9, 1),),
        "HIP": ((910, 990, 0, 1, "hipLaunchKernel", 9, 9, 1),),
    }
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        for table, cells in rows.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * 8)})", cells)
        database.commit()


def rpd(path: Path, kernels: bool = True) -> None:
    """`trace.rpd` of rocmProfileData: a launch with its call, a copy, and a launch by blocks of work-items."""
    text = f"""
        CREATE TABLE rocpd_metadata (id INTEGER, tag TEXT, value TEXT);
        CREATE TABLE rocpd_string (id INTEGER, string TEXT);
        CREATE TABLE rocpd_api (id, pid, tid, start, end, apiName_id, args_id);
        CREATE TABLE rocpd_op (id, gpuId, queueId, sequenceId, start, end, description_id, opType_id);
        CREATE TABLE rocpd_api_ops (id, api_id, op_id);
        CREATE TABLE rocpd_kernelapi (
            api_ptr_id, stream, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ, groupSegmentSize,
            privateSegmentSize, kernelName_id
        );
        INSERT INTO rocpd_string VALUES (1, ''), (2, '{NAME}'), (3, 'KernelExecution'), (4, 'CopyHostToDevice'),
            (5, 'hipLaunchKernel'), (6, 'hipExtModuleLaunchKernel');
        INSERT INTO rocpd_api VALUES (1, 9, 9, 900, 950, 5, 1), (2, 9, 9, 960, 990, 6, 1);
        INSERT INTO rocpd_op VALUES (3, 0, 1, 1, 100, 900, 1, 4);
        INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2);
        INSERT INTO rocpd_kernelapi VALUES
            (1, '0', 256, 1, 1, 256, 1, 1, 0, 0, 2), (2, '0', 65536, 1, 1, 256, 1, 1, 0, 0, 2);
    """
    if kernels:
        text += "INSERT INTO rocpd_op VALUES (1, 0, 1, 1, 1000, 2000, 2, 3), (2, 0, 1, 2, 3000, 3500, 2, 3);"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.executescript(text)


def kineto(path: Path, device: Mapping[str, Any] = PROPERTIES, packed: bool = False) -> None:
    """A trace of PyTorch's profiler on a GPU of AMD: the shapes stand with the calls."""
    told: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 77, "args": {"name": "python"}}]
    launches = (
        ("hipLaunchKernel", [256, 1, 1], 1.0, 1.0),
        ("hipExtModuleLaunchKernel", [65536, 1, 1], 3.0, 0.5),
    )
    for number, (call, grid, start, time) in enumerate(launches, start=1):
        args = {"correlation": number, "grid": grid, "block": [256, 1, 1], "shared memory": 512}
        told += [
            {"ph": "X", "cat": "cuda_runtime", "name": call, "pid": 77, "tid": 78, "ts": 0.5, "dur": 0.1, "args": args},
            {
                "ph": "X", "cat": "kernel", "name": NAME, "pid": 0, "tid": 3, "ts": start, "dur": time,
                "args": {"device": 0, "stream": 3, "correlation": number},
            },
        ]  # fmt: skip
    told += [
        {
            "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "pid": 0, "tid": 3, "ts": 0.1,
            "dur": 0.3, "args": {"device": 0, "stream": 3, "correlation": 9, "bytes": 4096},
        },
        {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 77, "tid": 78, "ts": 0.2, "dur": 9.0, "args": {}},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 3, "ts": 0, "dur": 99, "args": {}},
    ]  # fmt: skip
    text = json.dumps({"schemaVersion": 1, "deviceProperties": [dict(device)], "traceEvents": told})
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())


def jax(path: Path) -> None:
    """A trace of JAX: kernels are what stands in the streams of a GPU."""

    def name(kind: str, pid: int, text: str, tid: int = 0) -> dict[str, Any]:
        return {"ph": "M", "name": f"{kind}_name", "pid": pid, "tid": tid, "args": {"name": text}}

    def event(text: str, tid: int, ts: float, dur: float, pid: int = 1) -> dict[str, Any]:
        return {"ph": "X", "name": text, "pid": pid, "tid": tid, "ts": ts, "dur": dur}

    events = [
        name("process", 1, "/device:GPU:0"), name("process", 2, "/host:CPU"),
        name("thread", 1, "Stream #1(Compute)", 5), name("thread", 1, "XLA Modules", 6),
        event(NAME, 5, 1.0, 1.0), event(NAME, 5, 3.0, 0.5), event("MemcpyH2D", 5, 0.1, 0.2),
        event("jit_step", 6, 0.0, 9.0), event("python", 5, 0.0, 9.0, pid=2),
    ]  # fmt: skip
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))


def nsys(path: Path) -> None:
    """An export of Nsight Systems, with its stream of identities: process 9, thread 10."""
    text = f"""
        CREATE TABLE StringIds (id INTEGER, value TEXT);
        CREATE TABLE TARGET_INFO_GPU (
            vmId, id, name, smCount, clockRate, computeMajor, computeMinor, maxWarpsPerSm, threadsPerWarp, maxShmemPerSm
        );
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
            start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName, registersPerThread,
            gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory
        );
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, bytes, copyKind);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
        INSERT INTO StringIds VALUES (1, '{NAME}'), (2, 'scale'), (3, 'cudaLaunchKernel');
        INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'Tesla T4', 40, 1590000000, 7, 5, 32, 32, 65536);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
            (1000, 2000, 0, 7, 1, {9 << 24}, 1, 2, 36, 256, 1, 1, 256, 1, 1, 1024, 0),
            (3000, 3500, 0, 7, 2, {9 << 24}, 1, 2, 36, 256, 1, 1, 256, 1, 1, 1024, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (100, 900, 0, 7, 3, 4096, 1);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (910, 990, {9 << 24 | 10}, 1, 3);
    """
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.executescript(text)


def nsys_summary(path: Path) -> None:
    """`nsys stats --report cuda_gpu_kern_sum --format csv`."""
    path.write_text(
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
        f'100.0,1500,2,750.0,750.0,500,1000,353.6,"{NAME}"\n'
    )


def nsys_trace(path: Path) -> None:
    """`nsys stats --report cuda_gpu_trace --format csv`."""
    path.write_text(
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
        "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
        "100,800,3,,,,,,,,,,0.004,5.12,Pageable,Device,Tesla T4 (0),1,,7,[CUDA memcpy Host-to-Device]\n"
        f'1000,1000,1,256,1,1,256,1,1,36,0.001,0.000,,,,,Tesla T4 (0),1,,7,"{NAME}"\n'
        f'3000,500,2,256,1,1,256,1,1,36,0.001,0.000,,,,,Tesla T4 (0),1,,7,"{NAME}"\n'
    )


def ncu_details(path: Path, timed: bool = True) -> None:
    """What `ncu --csv` prints, behind a line of the program's own."""
    header = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",'
        '"Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
    )
    lines = ["the program says something, with a comma", "==PROF== Connected to process 9", header]
    for number, time in enumerate((1.0, 0.5)):
        cells = f'"{number}","9","app","127.0.0.1","{NAME}","1","7","(256, 1, 1)","(256, 1, 1)","0","8.0"'
        told = [
            ("GPU Speed Of Light Throughput", "L2 Hit Rate", "%", "50.00"),
            ("Launch Statistics", "Registers Per Thread", "register/thread", "36"),
            ("Launch Statistics", "Static Shared Memory Per Block", "Kbyte/block", "1.02"),
            ("Command line profiler metrics", "dram__bytes.sum", "Mbyte", "1,024.5"),
        ]
        if timed:
            told.append(("GPU Speed Of Light Throughput", "Duration", "us", f"{time:.2f}"))
        lines += [f'{cells},"{section}","{name}","{unit}","{value}"' for section, name, unit, value in told]
    path.write_text("\n".join([*lines, ""]))


OTHERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "rocprof": ("results.csv", rocprof_csv),
    "rocprof statistics": ("results.stats.csv", rocprof_statistics),
    "rocprof JSON": ("results.json", rocprof_json),
    "rocprof database": ("results.db", rocprof_database),
    "rocmProfileData": ("trace.rpd", rpd),
    "PyTorch": ("rank0.pt.trace.json", kineto),
    "PyTorch packed": ("rank1.pt.trace.json.gz", lambda path: kineto(path, packed=True)),
    "JAX": ("perfetto.trace.json", jax),
    "nsys": ("report.sqlite", nsys),
    "nsys summary": ("report_cuda_gpu_kern_sum.csv", nsys_summary),
    "nsys trace": ("report_cuda_gpu_trace.csv", nsys_trace),
    "ncu details": ("details.csv", ncu_details),
}
"""A file name and its writer, by format: each has two launches of one kernel, of 1000 and of 500 ns."""
