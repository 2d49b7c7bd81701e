"""Small captures of every format, written by the tests."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.analysis.ingest.tool_files import OTHERS

NAME = "scale(float*, int)"
MANGLED = "_Z5scalePfi"
PLACE = "/cluster/scale.hip"
ATT_HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
LAUNCH = (
    '"Kind","Agent_Id","Queue_Id","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp","{lds}","Scratch_Size",'
    '"{vgpr}","{sgpr}","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
)
COUNTED = (
    '"Dispatch_Id","Agent_Id","Process_Id","Kernel_Name","Counter_Name","Counter_Value","Start_Timestamp",'
    '"End_Timestamp"'
)
AGENTS = (
    '"Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Simd_Per_Cu","Num_Xcc","Max_Engine_Clk_Fcompute",'
    '"Max_Waves_Per_Simd","Wave_Front_Size","Lds_Size_In_Kb","Gfx_Target_Version","Name","Product_Name"\n'
    '4,1,"GPU",304,4,8,2100,8,64,64,90402,"gfx942","AMD Instinct MI300X"\n'
)


def kernel_trace(
    path: Path,
    launches: Sequence[tuple[int, str, int, int]] = ((1, NAME, 1000, 2000), (2, NAME, 3000, 3500)),
    agent: str = "Agent 1",
    columns: tuple[str, str, str] = ("LDS_Block_Size", "VGPR_Count", "SGPR_Count"),
) -> None:
    """A kernel trace of (dispatch, kernel, start, end); `columns` are spelled as another version does."""
    header = LAUNCH.format(lds=columns[0], vgpr=columns[1], sgpr=columns[2])
    rows = [
        f'"KERNEL_DISPATCH","{agent}",7,{number},"{name}",{start},{end},1024,0,36,48,256,1,1,65536,1,1'
        for number, name, start, end in launches
    ]
    path.write_text("\n".join([header, *rows, ""]))


def counter_table(
    path: Path, rows: Sequence[tuple[int, str, str, float, int, int]], process: int = 9
) -> None:
    """A counter table of (dispatch, kernel, counter, value, start, end)."""
    lines = [
        f'{number},"Agent 1",{process},"{name}","{counter}",{value:.6f},{start},{end}'
        for number, name, counter, value, start, end in rows
    ]
    path.write_text("\n".join([COUNTED, *lines, ""]))


def thread_trace(folder: Path, rows: Any = None, *, waits: bool = True) -> None:
    """A launch whose waves spend most of their time waiting for a load."""
    folder.mkdir(parents=True)
    told = [
        [f"; {MANGLED}", 0, 0, NAME, 1, 256, 0, 0, 0, 0],
        ["global_load_dword v1, v0, s[0:1]", 0, 1, f"{PLACE}:3", 1, 256, 100, 400, 0, 0],
        ["s_waitcnt vmcnt(0)", 0, 2, f"{PLACE}:4", 1, 264, 100, 62400, 62000, 0],
        ["v_mul_f32_e32 v1, v1, v2", 0, 3, f"{PLACE}:4", 1, 268, 100, 37200, 0, 0],
    ]
    code = {"code": told if rows is None else rows, "version": "3.0.0", "header": ATT_HEADER}
    (folder / "code.json").write_text(json.dumps(code))
    (folder / "filenames.json").write_text(json.dumps({"wave_filenames": None, "thread_trace": True}))
    wave = {"instructions": None, "waitcnt": [[2, [[1, 0]]]] if waits else None}
    (folder / "se0_sm0_sl0_wv0.json").write_text(json.dumps({"wave": wave}))


def results_json(path: Path, *, samples: bool = True) -> None:
    """Two launches with a counter of two instances each, PC samples and a HIP call."""
    info = {
        "agent_id": {"handle": 77}, "queue_id": {"handle": 5}, "kernel_id": 12, "private_segment_size": 0,
        "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 65536, "y": 1, "z": 1},
    }  # fmt: skip
    launches = [
        {
            "kind": 11, "operation": 1, "thread_id": 3, "correlation_id": {"internal": n, "external": 1 << 63},
            "start_timestamp": 1000 * n, "end_timestamp": 1000 * n + 400 + n, "stream_id": {"handle": 2},
            "dispatch_info": {**info, "dispatch_id": n, "group_segment_size": 1024 * n},
        }
        for n in (1, 2)
    ]  # fmt: skip
    counted = [
        {
            "thread_id": 3,
            "dispatch_data": launches[n],
            "records": [{"counter_id": {"handle": 900}, "value": 100.0 + n}] * 2,
        }
        for n in (0, 1)
    ]
    sampled = [
        {
            "record": {
                "pc": {"code_object_id": 3, "code_object_offset": 0x1F00}, "exec_mask": (1 << 64) - 1, "dispatch_id": 1,
                "wave_issued": issued, "snapshot": {"stall_reason": "BARRIER_WAIT"}, "hw_id": {"workgroup_id ": 1},
            },
            "inst_index": index,
        }
        for issued, index in ((0, 0), (0, 0), (1, 0), (0, -1))
    ]  # fmt: skip
    process = {
        "metadata": {"pid": 41, "command": ["./app"], "config": {"SECRET": "x"}},
        "agents": [
            {"id": {"handle": 77}, "type": 2, "node_id": 4, "logical_node_id": 1, "name": "gfx942", "cu_count": 304,
             "product_name": "AMD Instinct MI300X", "simd_per_cu": 4, "num_xcc": 8, "wave_front_size": 64},
        ],
        "counters": [{"id": {"handle": 900}, "name": "SQ_WAVES", "expression": ""}],
        "strings": {
            "buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP", "operations": ["hipMalloc"]}],
            "pc_sample_instructions": ["s_barrier"], "pc_sample_comments": [f"{PLACE}:9"],
        },
        "kernel_symbols": [
            {"kernel_id": 0},
            {"kernel_id": 12, "kernel_name": f"{MANGLED}.kd", "formatted_kernel_name": NAME, "arch_vgpr_count": 36,
             "accum_vgpr_count": 4, "sgpr_count": 48, "group_segment_size": 1024},
        ],
        "callback_records": {"counter_collection": counted},
        "buffer_records": {
            "kernel_dispatch": launches,
            "pc_sample_stochastic": sampled if samples else [],
            "hip_api": [{"kind": 1, "operation": 0, "start_timestamp": 5, "end_timestamp": 9, "thread_id": 3}],
        },
    }  # fmt: skip
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [process]}))


def rocpd(path: Path, *, view: bool = True, wide: bool = True) -> None:
    """Two launches with a counter. Without the view, or with one that has fewer columns, the tables have to do."""
    suffix = "00112233_4455"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        make = database.execute
        make(f"CREATE TABLE rocpd_info_process_{suffix} (id INT, guid TEXT, environment TEXT, command TEXT)")
        make(f"INSERT INTO rocpd_info_process_{suffix} VALUES (1, 'g', 'TOKEN=hunter2', 'app --key hunter2')")
        make(
            f"CREATE TABLE rocpd_info_agent_{suffix} (id INT, guid TEXT, type TEXT, logical_index INT, name TEXT, "
            "product_name TEXT, extdata TEXT)"
        )
        extra = json.dumps({"cu_count": 304, "simd_per_cu": 4, "num_xcc": 8, "wave_front_size": 64})
        make(
            f"INSERT INTO rocpd_info_agent_{suffix} VALUES (4, 'g', 'GPU', 1, 'gfx942', 'AMD Instinct MI300X', ?)",
            (extra,),
        )
        make(
            f"CREATE TABLE rocpd_info_kernel_symbol_{suffix} (id INT, guid TEXT, kernel_name TEXT, display_name TEXT, "
            "arch_vgpr_count INT, accum_vgpr_count INT, sgpr_count INT)"
        )
        make(
            f"INSERT INTO rocpd_info_kernel_symbol_{suffix} VALUES (12, 'g', '{MANGLED}.kd', '{NAME}', 36, 4, 48)"
        )
        make(
            f"CREATE TABLE rocpd_kernel_dispatch_{suffix} (id INT, guid TEXT, pid INT, tid INT, agent_id INT, "
            "kernel_id INT, dispatch_id INT, queue_id INT, stream_id INT, start INT, end INT, group_segment_size INT, "
            "private_segment_size INT, workgroup_size_x INT, workgroup_size_y INT, workgroup_size_z INT, "
            "grid_size_x INT, grid_size_y INT, grid_size_z INT)"
        )
        for n in (1, 2):
            make(
                f"INSERT INTO rocpd_kernel_dispatch_{suffix} VALUES "
                f"({n}, 'g', 41, 3, 4, 12, {n}, 5, 2, {1000 * n}, {1000 * n + 400 + n}, "
                "1024, 0, 256, 1, 1, 65536, 1, 1)"
            )
        if view:
            columns = (
                "d.dispatch_id, d.pid, 1 AS agent_log_index, s.arch_vgpr_count AS vgpr_count, "
                if wide
                else ""
            )
            make(
                f"CREATE VIEW kernels AS SELECT {columns}s.display_name AS name, d.start, d.end "
                f"FROM rocpd_kernel_dispatch_{suffix} d JOIN rocpd_info_kernel_symbol_{suffix} s ON s.id = d.kernel_id"
            )
            make(
                "CREATE VIEW counters_collection AS SELECT d.dispatch_id, d.pid, s.display_name AS kernel_name, "
                f"'SQ_WAVES' AS counter_name, 1024.0 AS value, d.start, d.end FROM rocpd_kernel_dispatch_{suffix} d "
                f"JOIN rocpd_info_kernel_symbol_{suffix} s ON s.id = d.kernel_id"
            )
        database.commit()


def omniprobe(path: Path) -> None:
    """A load that touches twice the cache lines it needs."""
    access = {
        "source_location": {"file": PLACE, "line": 3, "column": 10},
        "access_info": {
            "type": "read", "execution_count": 16384, "ir_bytes": 4, "isa_bytes": 4,
            "isa_instruction": "global_load_dword", "cache_lines": {"needed": 32768, "used": 65536},
        },
    }  # fmt: skip
    conflict = {
        "source_location": {"file": PLACE, "line": 5, "column": 2},
        "access_info": {"type": "write", "execution_count": 100, "ir_bytes": 4, "total_conflicts": 3100},
    }
    analysis = {
        "kernel_info": {"name": NAME, "dispatch_id": 1},
        "cache_analysis": {"accesses": [access]},
        "bank_conflicts": {"accesses": [conflict]},
    }
    path.write_text(
        json.dumps([{"kernel_analysis": analysis, "metadata": {"gpu_info": {"cache_line_size": 128}}}])
    )


OMNIPROBE_TEXT = f"""\
=== L2 cache line use report ===
{PLACE}:3:10
float v = p[i];
      ^
\tread of 4 bytes at IR level (4 bytes at ISA level: "global_load_dword")
\texecuted 16384 times, 32768 cache lines needed, 65536 cache lines used
=== End of L2 cache line use report ===
=== Bank conflicts report ===
{PLACE}:5:2
\twrite of 4 bytes at IR level
\texecuted 100 times, 3100 bank conflicts in total
=== End of bank conflicts report ===
"""


def omniprobe_text(path: Path) -> None:
    """The same as a printed report."""
    path.write_text(OMNIPROBE_TEXT)


def ncu_source(path: Path) -> None:
    """A source page with two columns called "Source", an inlined header, `29(31)` and `-`."""
    header = [
        "Line No", "Source", "Address", "Source", "# Samples", "Instructions Executed",
        "Predicated-On Thread Instructions Executed", "Address Space", "Access Operation", "Access Size",
        "L2 Theoretical Sectors Global", "L2 Theoretical Sectors Global Ideal", "stall_long_sb", "stall_mio",
    ]  # fmt: skip
    load = ["LDG.E R2, [R4]", "40", "128", "29(31)", "Global", "Load", "32", "4,096", "512", "30", "2"]
    lines = [
        ["File Path", "/usr/include/atomic.hpp"],
        ["Function Name", "k(float *)"],
        header,
        ["88", "  return *p;", "0x7f10", *load],
        ["File Path", "/home/me/k.cu"],
        ["Function Name", "k(float *)"],
        header,
        ["7", "x = f(p);", "-", "-", "40", "128", "29(31)", "-", "-", "-", "0", "0", "30", "2"],
        ["7", "x = f(p);", "0x7f10", *load],
        ["...", "...", "-", "-"],
        [
            "8",
            "g(p);",
            "0x7f18",
            "@P0 RED.E.ADD [R2], R7",
            "5",
            "128",
            "4096",
            "Global",
            "-",
            "32",
            "9",
            "9",
            "0",
            "5",
        ],
        ["9", "}", "0x7f20", "EXIT", "1", "128", "29(31)", "-", "-", "-", "0", "0", "0", "0"],
    ]
    path.write_text("\n".join(",".join(f'"{c}"' for c in row) for row in lines) + "\n")


def ncu_raw(path: Path) -> None:
    """A raw page of one launch: names, units, values."""
    columns = {
        "ID": ("", "0"), "Process ID": ("", "5"), "Process Name": ("", "k"), "Host Name": ("", "h"),
        "Kernel Name": ("", "k(float *)"), "Context": ("", "1"), "Stream": ("", "7"), "Block Size": ("", "(32, 8, 1)"),
        "Grid Size": ("", "(16, 4, 1)"), "Device": ("", "0"), "CC": ("", "9.0"),
        "gpu__time_duration.sum": ("us", "12.5"), "dram__bytes.sum": ("Mbyte", "67.108864"),
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "61.5"),
        "launch__registers_per_thread": ("register/thread", "40"),
        "device__attribute_display_name": ("", "NVIDIA H200"), "device__attribute_multiprocessor_count": ("", "132"),
        "device__attribute_compute_capability_major": ("", "9"),
        "device__attribute_compute_capability_minor": ("", "0"),
    }  # fmt: skip
    rows = [list(columns), [unit for unit, _ in columns.values()], [value for _, value in columns.values()]]
    path.write_text("\n".join(",".join(f'"{c}"' for c in row) for row in rows) + "\n")


def pc_samples(path: Path) -> None:
    """Samples of one launch: three in a wait, one that issued, one undecoded."""
    header = (
        '"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment","Correlation_Id",'
        '"Wave_Issued_Instruction","Instruction_Type","Stall_Reason","Wave_Count"'
    )
    wait = f'1,18446744073709551615,1,"s_waitcnt vmcnt(0)","{PLACE}:4",1,0,"NO_INST","WAITCNT",4'
    rows = [
        *[wait] * 3,
        f'1,1,1,"v_mul_f32_e32 v1, v1, v2","{PLACE}:4",1,1,"VALU","NONE",4',
        '1,1,1,"","Unrecognized code object id, physical virtual address of PC:7",1,0,"NO_INST","NONE",4',
    ]
    path.write_text("\n".join([header, *rows, ""]))


def wide_counters(path: Path) -> None:
    """One row per launch, a column per counter, channels apart, as rocprofiler-compute writes it."""
    path.write_text(
        "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,"
        "wave_size,Kernel_Name,Start_Timestamp,End_Timestamp,SQ_WAVES,SQ_WAVES_1,TCC_HIT[0],TCC_HIT[1],SQ_NONE\n"
        f'0,2,65536,256,1024,0,36,4,48,64,"{NAME} [clone .kd]",1000,2000,1024.0,1024.0,40,60,\n'
        f'1,2,65536,256,1024,0,36,4,48,64,"{NAME} [clone .kd]",3000,3500,1024.0,1024.0,41,61,\n'
    )


def sysinfo(path: Path) -> None:
    """The device of a workload."""
    path.write_text(
        "workload_name,command,gpu_model,gpu_arch,cu_per_gpu,simd_per_cu,max_waves_per_cu,wave_size,max_sclk,max_mclk,"
        "num_xcd,num_hbm_channels,total_l2_chan,rocm_version\n"
        "vcopy,./vcopy -n 5,MI300X_A1,gfx942,304,4,32,64,2100,1300,8,128,128,7.0.0\n"
    )


def roofline_table(path: Path) -> None:
    """Measured ceilings of two devices."""
    path.write_text(
        "device,HBMBw,HBMBwLow,hbmBwHigh,L2Bw,LDSBw,FP32Flops,MFMABF16Flops\n0,4000,1,9,25000,70000,120000,500000\n"
        "1,4200,1,9,25200,70200,120200,500200\n"
    )


Write = Callable[[Path], None]
ALL: dict[str, tuple[str, Write]] = {
    "kernel trace": ("1_kernel_trace.csv", kernel_trace),
    "counters": (
        "1_counter_collection.csv",
        lambda path: counter_table(path, [(1, NAME, "SQ_WAVES", 1024.0, 1000, 2000)] * 2),
    ),
    "wide counters": ("pmc_perf.csv", wide_counters),
    "rocprofv3 JSON": ("1_results.json", results_json),
    "rocpd": ("1_results.db", rocpd),
    "thread trace": ("ui_output_agent_1_dispatch_1", thread_trace),
    "Omniprobe": ("memory.json", omniprobe),
    "Omniprobe text": ("memory.txt", omniprobe_text),
    "ncu source page": ("source.csv", ncu_source),
    "ncu raw page": ("raw.csv", ncu_raw),
    "PC samples": ("1_pc_sampling_stochastic.csv", pc_samples),
    **OTHERS,
}
"""A file or folder name and its writer, by format: each is a capture when it stands alone."""
