"""`hipscope emulate` as a stand-in for rocprofv3: its options, and every field of the files that it leaves."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.runs import rocprof_options
from hipscope.analysis.runs.emulate import emulate as run_emulated
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from tests.server.command_line import Outcome, hipscope

PROGRAM = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void scale(float* a, float f) { int i = blockIdx.x * blockDim.x + threadIdx.x; a[i] = a[i] * f; }
__global__ void shift(float* a) {
  __shared__ float t[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  t[threadIdx.x] = a[i];
  __syncthreads();
  a[i] = t[255 - threadIdx.x];
}
int main(int argc, char** argv) {
  float* a = nullptr;
  if (hipMalloc(reinterpret_cast<void**>(&a), 65536 * 4) != hipSuccess) return 1;
  for (int k = 0; k < 3; ++k) { scale<<<256, 256>>>(a, 2.0f); shift<<<256, 256>>>(a); }
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  std::printf("ran with %d argument(s)\\n", argc - 1);
  return argc > 1 ? 7 : 0;
}
"""
ENDLESS = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
__global__ void quick(int* p) { p[threadIdx.x] = 0; }
__global__ void forever(volatile int* p) { while (p[0] == 0) {} }
int main(int, char** argv) {
  int* p = nullptr;
  if (hipMalloc(reinterpret_cast<void**>(&p), 4096) != hipSuccess) return 1;
  if (std::strcmp(argv[1], "quick") == 0) { quick<<<1, 64>>>(p); (void)hipDeviceSynchronize(); }
  (void)hipMemset(p, 0, 4096);
  std::puts("one ended");
  std::fflush(stdout);
  forever<<<1, 64>>>(p);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 3;
}
"""
HIPSCOPE = Path(sys.executable).with_name("hipscope")

TRACE = (
    "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp "
    "End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Workgroup_Size_X "
    "Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z"
)
COUNTERS = (
    "Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size Kernel_Id Kernel_Name "
    "Workgroup_Size LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Counter_Name Counter_Value "
    "Start_Timestamp End_Timestamp"
)
STATS = "Name Calls TotalDurationNs AverageNs Percentage MinNs MaxNs StdDev"
AGENT = (
    "Node_Id Logical_Node_Id Agent_Type Cpu_Cores_Count Simd_Count Cpu_Core_Id_Base Simd_Id_Base Max_Waves_Per_Simd "
    "Lds_Size_In_Kb Gds_Size_In_Kb Num_Gws Wave_Front_Size Num_Xcc Cu_Count Array_Count Num_Shader_Banks "
    "Simd_Arrays_Per_Engine Cu_Per_Simd_Array Simd_Per_Cu Max_Slots_Scratch_Cu Gfx_Target_Version Vendor_Id "
    "Device_Id Location_Id Domain Drm_Render_Minor Num_Sdma_Engines Num_Sdma_Xgmi_Engines "
    "Num_Sdma_Queues_Per_Engine Num_Cp_Queues Max_Engine_Clk_Ccompute Max_Engine_Clk_Fcompute Sdma_Fw_Version "
    "Fw_Version Capability Cu_Per_Engine Max_Waves_Per_Cu Family_Id Workgroup_Max_Size Grid_Max_Size "
    "Local_Mem_Size Hive_Id Gpu_Id Workgroup_Max_Dim_X Workgroup_Max_Dim_Y Workgroup_Max_Dim_Z Grid_Max_Dim_X "
    "Grid_Max_Dim_Y Grid_Max_Dim_Z Name Vendor_Name Product_Name Model_Name"
)
CODE = "ISA _ LineNumber Source Codeobj Vaddr Hit Latency Stall Idle"
WAVE = "cu id simd slot begin end instructions timeline waitcnt"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("emulate"), PROGRAM)


@pytest.fixture(scope="module")
def files(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run with everything."""
    out = tmp_path_factory.mktemp("out")
    words = "-o run -f csv json --kernel-trace --stats --pmc SQ_WAVES,SQ_INSTS_LDS TCC_HIT_sum --att"
    done = emulate("-d", out, *words.split(), "--", program)
    assert (done.code, done.stdout, done.stderr) == (0, "ran with 0 argument(s)\n", "")
    return out


def built(folder: Path, text: str) -> Path:
    source = folder / "program.hip"
    source.write_text(text)
    return Path(build_program(resolve_project(source), find_toolchain(Config())).argv[0])


def emulate(*words: str | Path) -> Outcome:
    return hipscope("emulate", *words, folder=Path.cwd(), variables=os.environ)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def data(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize(
    ("name", "columns", "count"),
    [
        ("kernel_trace", TRACE, 6),
        ("counter_collection", COUNTERS, 18),
        ("kernel_stats", STATS, 2),
        ("domain_stats", STATS, 1),
        ("agent_info", AGENT, 1),
    ],
)
def test_tables_have_the_columns_of_rocprofv3(files: Path, name: str, columns: str, count: int) -> None:
    table = rows(files / f"run_{name}.csv")
    assert list(table[0]) == columns.split()
    assert len(table) == count


def test_values_are_those_of_the_launches(files: Path) -> None:
    trace = rows(files / "run_kernel_trace.csv")
    assert {row["Kernel_Name"] for row in trace} == {"scale(float*, float)", "shift(float*)"}
    assert all(int(row["End_Timestamp"]) > int(row["Start_Timestamp"]) for row in trace)
    counted = {
        (r["Kernel_Name"], r["Counter_Name"]): float(r["Counter_Value"])
        for r in rows(files / "run_counter_collection.csv")
    }
    assert counted["shift(float*)", "SQ_WAVES"] == 1024
    assert counted["shift(float*)", "SQ_INSTS_LDS"] == 2048
    assert counted["scale(float*, float)", "SQ_INSTS_LDS"] == 0


def test_the_thread_trace_has_every_file_and_field(files: Path) -> None:
    folders = sorted(files.glob("ui_output_agent_*_dispatch_*"))
    assert [f.name for f in folders] == ["ui_output_agent_1_dispatch_1", "ui_output_agent_1_dispatch_2"]
    folder = folders[1]
    assert (
        (files / f"stats_{folder.name}.csv")
        .read_text()
        .startswith('"CodeObj","Vaddr","Instruction","Hitcount","Latency","Stall","Idle","Source"\n')
    )
    code = data(folder / "code.json")
    assert list(code) == ["code", "version", "header"]
    assert code["header"][:10] == CODE.split()
    label, *listing = code["code"]
    assert label[0].startswith("; ")
    lines = [row[2] for row in listing]
    assert lines == sorted(set(lines))
    for row in listing:
        text, _, _, source, codeobj, address, hit, latency, stall, idle = row[:10]
        assert text
        assert re.fullmatch(r"(.+:\d+( -> )?)*", source)
        assert codeobj == 1
        assert address > 0
        assert 0 <= stall <= latency
        assert hit > 0
        assert idle >= 0
    text_of = {row[2]: row[0] for row in listing}
    names = data(folder / "filenames.json")
    for key in ("global_begin_time", "gfxv", "gfxip", "version", "counter_names", "wave_filenames"):
        assert key in names
    found = 0
    blamed: set[str] = set()
    for se, simds in names["wave_filenames"].items():
        for simd, slots in simds.items():
            for slot, waves in slots.items():
                assert 0 <= int(slot) < 8
                for number, (file, begin, end) in waves.items():
                    assert file == f"se{se}_sm{simd}_sl{slot}_wv{number}.json"
                    found += 1
                    wave = data(folder / file)
                    assert list(wave) == ["name", "duration", "num_insts", "num_stitched", "wave"]
                    inner = wave["wave"]
                    assert list(inner) == WAVE.split()
                    assert (inner["begin"], inner["end"]) == (begin, end)
                    assert sum(duration for _, duration in inner["timeline"]) == end - begin
                    assert all(state in range(5) for state, _ in inner["timeline"])
                    for time, category, stall, duration, line in inner["instructions"]:
                        assert begin <= time
                        assert category in range(1, 13)
                        assert 0 <= stall <= duration
                        assert line in text_of
                    for waiter, producers in inner["waitcnt"]:
                        assert text_of[waiter].startswith("s_waitcnt")
                        blamed.update(text_of[line].split("_")[0] for line, _ in producers)
    assert found > 0
    assert {"global", "ds", "s"} <= blamed
    assert len(list(folder.glob("se*_sm*_sl*_wv*.json"))) == found
    occupancy = data(folder / "occupancy.json")
    assert occupancy.pop("version") == "3.0.0"
    assert occupancy.pop("dispatches") == {"2": "shift(float*)"}
    for events in occupancy.values():
        assert all(len(event) == 6 and event[4] in (0, 1) for event in events)
    for state in range(5):
        steps = data(folder / f"wstates{state}.json")
        assert list(steps) == ["time", "state", "name"]
        assert len(steps["time"]) == len(steps["state"])
    copies = re.findall(r"source_\d+_[\w.]+", (folder / "snapshots.json").read_text())
    assert copies
    assert all((folder / name).is_file() for name in copies)
    assert (files / "run_gfx942_code_object_id_1.out").read_bytes()[:4] == b"\x7fELF"


def test_omniprobes_file_has_its_fields(files: Path) -> None:
    for record in data(files / "memory_analysis.json"):
        analysis = record["kernel_analysis"]
        assert list(analysis) == ["kernel_info", "cache_analysis", "bank_conflicts"]
        for access in analysis["cache_analysis"]["accesses"]:
            assert list(access["source_location"]) == ["file", "line", "column"]
            assert set(access["access_info"]["cache_lines"]) == {"needed", "used"}


def test_results_json_joins_launches_kernels_and_counters(files: Path) -> None:
    (process,) = data(files / "run_results.json")["rocprofiler-sdk-tool"]
    wanted = "metadata agents counters strings code_objects kernel_symbols callback_records buffer_records"
    assert set(wanted.split()) <= set(process)
    symbols = process["kernel_symbols"]
    for name, key in (("kernel_symbols", "kernel_id"), ("code_objects", "code_object_id")):
        assert [entry[key] for entry in process[name]] == list(range(len(process[name])))  # ids are places
    launches = process["buffer_records"]["kernel_dispatch"]
    launched = [symbols[d["dispatch_info"]["kernel_id"]]["truncated_kernel_name"] for d in launches]
    assert launched == ["scale", "shift"] * 3
    counters = {c["id"]["handle"]: c["name"] for c in process["counters"]}
    first = process["callback_records"]["counter_collection"][0]
    values = {counters[r["counter_id"]["handle"]]: r["value"] for r in first["records"]}
    assert values["SQ_WAVES"] == 1024
    table = rows(files / "run_counter_collection.csv")
    pid = process["metadata"]["pid"]
    assert {int(row["Process_Id"]) for row in table} == {pid}
    # One thread made all launches, the program's first, which has the number of its process.
    trace = rows(files / "run_kernel_trace.csv")
    assert {int(row["Thread_Id"]) for row in (*table, *trace)} == {d["thread_id"] for d in launches} == {pid}
    for record in process["callback_records"]["counter_collection"]:
        launch = record["dispatch_data"]["dispatch_info"]
        row = next(row for row in table if int(row["Dispatch_Id"]) == launch["dispatch_id"])
        for column, key in (
            ("LDS_Block_Size", "lds_block_size_v"),
            ("VGPR_Count", "arch_vgpr_count"),
            ("Accum_VGPR_Count", "accum_vgpr_count"),
            ("SGPR_Count", "sgpr_count"),
        ):
            assert int(row[column]) == record[key]
    assert set(process["agents"][0]["capability"].values()) == {0}
    assert {"agent_id", "rocp_agent", "hsa_agent"} <= set(process["code_objects"][1])
    assert process["agents"][0]["workgroup_max_dim"] == {"x": 1024, "y": 1024, "z": 1024}


def test_exit_code_filters_and_absent_counters(program: Path, tmp_path: Path) -> None:
    words = "-o c --pmc SQ_WAVES NO_SUCH --kernel-include-regex ^shift --kernel-iteration-range [2-3] -T"
    done = emulate("-d", tmp_path, *words.split(), "--", program, "x")
    assert done.code == 7
    assert done.stderr == "hipscope: not modelled, and left out: NO_SUCH\n"
    table = rows(tmp_path / "c_counter_collection.csv")
    assert [(r["Kernel_Name"], r["Dispatch_Id"], r["Counter_Name"]) for r in table] == [
        ("shift", "4", "SQ_WAVES"),
        ("shift", "6", "SQ_WAVES"),
    ]
    assert not (tmp_path / "c_kernel_trace.csv").exists()
    assert not list(tmp_path.glob("ui_output*"))


def test_jobs_of_an_input_file_have_folders_of_their_own(program: Path, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.json"
    jobs.write_text(
        json.dumps({"jobs": [{"pmc": ["SQ_WAVES"]}, {"kernel_trace": True, "truncate_kernels": True}]})
    )
    done = emulate("-i", jobs, "-d", tmp_path / "out", "-o", "r", "--", program)
    assert (done.code, done.stderr) == (0, "")
    assert (tmp_path / "out" / "pass_1" / "r_counter_collection.csv").exists()
    assert rows(tmp_path / "out" / "pass_2" / "r_kernel_trace.csv")[0]["Kernel_Name"] == "scale"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("section table", "the code object is truncated"),
        ("metadata", "the code object is damaged: its metadata is not a map"),
        ("ELF magic", "the device code is not an ELF file"),
    ],
)
def test_damaged_device_code_is_told_in_a_line(program: Path, tmp_path: Path, part: str, said: str) -> None:
    image = bytearray(program.read_bytes())
    elf = image.index(b"\x7fELF", image.index(b"__CLANG_OFFLOAD_BUNDLE__"))
    at = {
        "section table": elf + 40,
        "metadata": image.index(b"AMDGPU\0", elf) + 8,
        "ELF magic": elf,
    }[part]
    image[at : at + 8] = b"\xfb" * 8
    broken = tmp_path / "broken"
    broken.write_bytes(image)
    broken.chmod(0o755)
    done = emulate("-d", tmp_path / "out", "--kernel-trace", "--", broken)
    assert done.code == 0  # the program's own, which does not look at errors
    assert done.stderr.splitlines() == [
        f"hipscope emulator: {said}",
        "hipscope: the program started no kernel; nothing was written",
    ]


def test_bytes_that_are_no_instruction_are_told_before_the_kernel_starts(
    program: Path, tmp_path: Path
) -> None:
    image = bytearray(program.read_bytes())
    wait = image.index(b"\x7f\xc0\x8c\xbf", image.index(b"__CLANG_OFFLOAD_BUNDLE__"))  # s_waitcnt lgkmcnt(0)
    image[wait : wait + 4] = b"\xfe\xff\xff\xff"
    broken = tmp_path / "broken"
    broken.write_bytes(image)
    broken.chmod(0o755)
    done = emulate("-d", tmp_path / "out", "--kernel-trace", "--", broken)
    assert done.code == 1  # the program's own
    assert "(these bytes are no instruction of gfx942)" in done.stderr
    assert done.stderr.endswith("hipscope: no kernel came to its end; nothing was written\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hip-trace"], "rocprofv3's --hip-trace is not emulated"),
        (["--no-such-option"], "unrecognized arguments: --no-such-option"),
        (["-f", "rocpd"], "does not write rocpd"),
        (["--stats"], "--stats needs --kernel-trace"),
        (["--kernel-iteration-range", "[x]"], "is not like [1,3-5]"),
        (["--kernel-include-regex", "("], "is not a regular expression"),
        (["-i", "/no/such/file.json"], "cannot read the input file"),
        (["--kernel-trace"], "no program"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(words: list[str], said: str) -> None:
    done = emulate(*words)
    assert done.code == 2
    assert done.stdout == ""
    assert said in done.stderr.splitlines()[0]
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_had_ended_before_a_stop_is_written(tmp_path: Path, number: signal.Signals) -> None:
    program = built(tmp_path, ENDLESS)
    command: list[str | Path] = [
        HIPSCOPE,
        "emulate",
        "-d",
        tmp_path,
        "-o",
        "run",
        "--kernel-trace",
        "--",
        program,
        "quick",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()  # comes while the program runs
        running.send_signal(number)
        rest, told = running.communicate(timeout=60)
    assert (running.returncode, said, rest) == (130, "one ended\n", "")
    assert told == (
        "hipscope: the program was interrupted; what was written is of the launches that had ended by then (1)\n"
    )
    assert [row["Kernel_Name"] for row in rows(tmp_path / "run_kernel_trace.csv")] == ["quick(int*)"]


def test_a_program_that_is_stopped_in_its_first_kernel_is_not_said_to_have_none(tmp_path: Path) -> None:
    command: list[str | Path] = [HIPSCOPE, "emulate", "-d", tmp_path, "--", built(tmp_path, ENDLESS), "now"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    said = "the program was interrupted; no kernel had ended by then, nothing was written"
    assert (running.returncode, told) == (130, f"hipscope: {said}\n")


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_named(tmp_path: Path) -> None:
    words: list[str | Path] = ["-d", tmp_path, "-o", "run", "--kernel-trace", "--timeout", "4"]
    done = emulate(*words, "--", built(tmp_path, ENDLESS), "quick")
    assert done.code == 3
    assert "hipscope: forever(int volatile*): runaway kernel: it still runs" in done.stderr
    assert len(rows(tmp_path / "run_kernel_trace.csv")) == 1


def test_a_signal_that_ends_the_program_is_named(tmp_path: Path) -> None:
    done = emulate("-d", tmp_path, "--", "sh", "-c", "kill -XFSZ $$")
    assert done.code == 128 + signal.SIGXFSZ
    assert done.stderr == "hipscope: the program was ended by SIGXFSZ before it started a kernel\n"


def test_the_program_reads_what_we_are_given(tmp_path: Path) -> None:
    words = ("emulate", "-d", tmp_path, "--", "cat")
    done = hipscope(*words, folder=tmp_path, variables=os.environ, given="a b\n3")
    assert (done.code, done.stdout) == (0, "a b\n3")


def test_a_folder_that_cannot_be_written_is_told_before_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    (job,) = rocprof_options.parse(["-d", str(tmp_path)])
    with pytest.raises(UsageError, match="cannot write into the output directory"):
        run_emulated(job, ["touch", str(tmp_path / "ran")], Config(), threading.Event())
    assert not (tmp_path / "ran").exists()


def test_variables_of_the_settings_reach_the_program(tmp_path: Path) -> None:
    (job,) = rocprof_options.parse(["-d", str(tmp_path)])
    config = Config(
        env={"LD_LIBRARY_PATH": "/of/the:/settings", "LD_PRELOAD": "", "HIP_VISIBLE_DEVICES": "0"}
    )
    run_emulated(job, ["sh", "-c", f"env -0 > {tmp_path}/seen"], config, threading.Event())
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text()[:-1].split("\0"))
    assert seen["LD_LIBRARY_PATH"].split(":")[1:3] == ["/of/the", "/settings"]
    assert (seen["LD_PRELOAD"], seen["HIP_VISIBLE_DEVICES"]) == ("", "0")


def test_an_input_file_and_the_command_line_must_agree(tmp_path: Path) -> None:
    file = tmp_path / "pmc.txt"
    file.write_text("# two runs\npmc: SQ_WAVES SQ_INSTS\npmc: TCC_HIT_sum\n")
    jobs = rocprof_options.parse(["-i", str(file)])
    assert [(job.folder, job.counters) for job in jobs] == [
        ("pmc_1", ("SQ_WAVES", "SQ_INSTS")),
        ("pmc_2", ("TCC_HIT_sum",)),
    ]
    with pytest.raises(UsageError, match="different values for --pmc"):
        rocprof_options.parse(["-i", str(file), "--pmc", "SQ_BUSY_CU_CYCLES"])


def test_of_many_launches_the_first_are_timed_and_all_are_listed(tmp_path: Path) -> None:
    text = PROGRAM.replace("k < 3", "k < 160")
    done = emulate("-d", tmp_path, "-o", "run", "--kernel-trace", "--", built(tmp_path, text))
    assert done.code == 0, done.stderr
    assert "120 of 320 launches were not timed one by one" in done.stderr
    trace = rows(tmp_path / "run_kernel_trace.csv")
    assert len(trace) == 320
    assert all(int(row["End_Timestamp"]) > int(row["Start_Timestamp"]) for row in trace)
