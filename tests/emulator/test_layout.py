"""The emulator's output in rocprofv3's layout: what AMD's tools expect, and what our own reader makes of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.ingest import read_capture
from hipscope.analysis.profile import Profile, Provenance, Source, StallReason
from hipscope.emulator.csv_tables import (
    AGENT_COLUMNS,
    KERNEL_TRACE_COLUMNS,
    DeviceInfo,
    trace_lines,
    trace_row,
    write_table,
)
from hipscope.emulator.layout import ProgramInfo, write_rocprofv3
from hipscope.emulator.raw import read_dispatches

DEVICE = DeviceInfo(
    key="mi300x", arch="gfx942", product_name="AMD Instinct MI300X", compute_units=304, simds_per_cu=4, xcds=8,
    clock_mhz=2100, wave_size=64, max_waves_per_simd=8, lds_bytes=65536, memory_bytes=206158430208,
)  # fmt: skip
PROGRAM = ProgramInfo(command=("./app", "--size", "3"), exit_code=0, output="PASS\n")
KERNEL = "_Z4copyPfS_i"
NAME = "copy(float*, float*, int)"


def dispatch(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number, "kernel": KERNEL, "code_object": "00000000000000aa", "grid": [256, 2, 1],
        "workgroup": [64, 1, 1], "dynamic_lds": 0, "start_ns": 1000.0 * number, "end_ns": 1000.0 * number + 400,
        "profiled": True, "occupancy_waves_per_simd": 8.0, "waves": 8, "wall_ms": 1.0, "process": 70, "thread": 71,
        "counters": {"SQ_WAVES": 8, "GRBM_GUI_ACTIVE": 6720.0, "TCC_MISS_sum": 0.25}, "bound_by": "hbm",
        "busy": {"hbm": 0.75, "launch": 0.5},
        "resources": {"vgprs": 12, "agprs": 0, "sgprs": 16, "lds": 1, "scratch": 0}, **changes,
    }  # fmt: skip


def unprofiled(number: int, **changes: Any) -> dict[str, Any]:
    without: dict[str, Any] = {"start_ns": None, "end_ns": None, "profiled": False, "counters": {}}
    return dispatch(number, **{**without, **changes})


LOAD = {
    "address": 256, "text": "global_load_dword v1, v0, s[0:1]", "hits": 8, "lanes": 512, "issue": 32.0, "stall": 8.0,
    "stalls": {"pipe_busy": 8.0}, "waited_for": {},
    "memory": {
        "space": "global", "kind": "load", "bytes": 4, "accesses": 8, "lanes": 512, "lines_needed": 16,
        "lines_used": 64, "l1_hits": 4.0, "l2_hits": 10.0, "memory_lines": 50.0,
    },
}  # fmt: skip
WAIT = {
    "address": 264, "text": "s_waitcnt vmcnt(0)", "hits": 8, "lanes": 512, "issue": 32.0, "stall": 4000.5,
    "stalls": {"global_memory": 4000.5}, "waited_for": {"256": 4000.5},
}  # fmt: skip
READ = {
    "address": 272, "text": "ds_read_b32 v1, v2", "hits": 8, "lanes": 512, "issue": 32.0, "stall": 100.0,
    "stalls": {"lds": 100.0}, "waited_for": {},
    "memory": {
        "space": "lds", "kind": "load", "bytes": 4, "accesses": 8, "lanes": 512, "lds_cycles": 512,
        "lds_conflict_cycles": 496,
    },
}  # fmt: skip
WAVE = {
    "xcd": 0, "cu": 0, "simd": 2, "slot": 1, "begin": 100, "end": 160,
    "instructions": [[104, 3, 4, 8, 256], [112, 9, 30, 34, 264], [146, 5, 0, 4, 272]],
}  # fmt: skip


def write_raw(directory: Path, dispatches: list[dict[str, Any]], **run: Any) -> Path:
    directory.mkdir()
    (directory / "run.json").write_text(
        json.dumps(
            {
                "version": 1,
                "device": {},
                "kernels_seen": 1,
                "dispatches": len(dispatches),
                "partial": None,
                **run,
            }
        )
    )
    (directory / "dispatches.jsonl").write_text("".join(json.dumps(d) + "\n" for d in dispatches))
    for d in dispatches:
        if d["profiled"]:
            profile = {"id": d["id"], "instructions": [LOAD, WAIT, READ], "waves": [WAVE]}
            (directory / f"profile_{d['id']}.json").write_text(json.dumps(profile))
    return directory


def write(tmp_path: Path, *dispatches: dict[str, Any], **run: Any) -> Path:
    raw = write_raw(tmp_path / "raw", list(dispatches), **run)
    out = tmp_path / "out"
    write_rocprofv3(raw, out, device=DEVICE, program=PROGRAM)
    return out


def read(tmp_path: Path, *dispatches: dict[str, Any], **run: Any) -> Profile:
    return read_capture(write(tmp_path, *dispatches, **run))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_the_kernel_trace_has_the_columns_and_conventions_of_rocprofv3(tmp_path: Path) -> None:
    lines = (write(tmp_path, dispatch(1)) / "hipscope_kernel_trace.csv").read_text().splitlines()
    assert lines[0].startswith('"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id"')
    assert len(lines[0].split(",")) == 22
    # LDS is shown in granules of 512 bytes, the grid in work-items.
    assert lines[1] == (
        f'"KERNEL_DISPATCH","Agent 1",1,0,71,1,1,"{NAME}",1,1000,1400,512,0,12,4,16,64,1,1,256,2,1'
    )


def test_what_launches_of_a_shape_share_is_put_into_words_once(tmp_path: Path) -> None:
    shapes = [dispatch(1), dispatch(2, grid=[512, 2, 1]), dispatch(3), dispatch(4, thread=72)]
    launches = list(read_dispatches(write_raw(tmp_path / "raw", shapes)))
    asked: list[str] = []

    class Names(dict[str, str]):
        def __getitem__(self, kernel: str) -> str:
            asked.append(kernel)
            return NAME

    table = tmp_path / "rows.csv"
    write_table(table, KERNEL_TRACE_COLUMNS, (trace_row(d, 1, NAME) for d in launches))
    lines = list(trace_lines(launches, {KERNEL: 1}, Names()))
    assert lines == table.read_text().splitlines(keepends=True)[1:]
    assert asked == [KERNEL] * 3


@pytest.mark.parametrize(
    ("resources", "shown"),
    [
        ({"vgprs": 40, "agprs": 0, "sgprs": 23}, ("40", "0", "32")),
        ({"vgprs": 5, "agprs": 0, "sgprs": 0}, ("8", "0", "16")),
        (
            {"vgprs": 92, "agprs": 32, "sgprs": 41},
            ("60", "36", "48"),
        ),  # the code object counts both kinds in the first
    ],
)
def test_registers_are_shown_in_the_granules_of_the_descriptor(
    tmp_path: Path, resources: dict[str, int], shown: tuple[str, str, str]
) -> None:
    table = rows(write(tmp_path, dispatch(1, resources=resources)) / "hipscope_kernel_trace.csv")
    assert (table[0]["VGPR_Count"], table[0]["Accum_VGPR_Count"], table[0]["SGPR_Count"]) == shown


def test_dynamic_lds_belongs_to_the_launch_not_to_the_kernel(tmp_path: Path) -> None:
    """The runtime counts both kinds together; rocprofv3's tables show the kernel's own."""
    out = write(tmp_path, dispatch(1, dynamic_lds=4096, resources={"vgprs": 12, "lds": 4096 + 700}))
    (row,) = rows(out / "hipscope_kernel_trace.csv")
    assert row["LDS_Block_Size"] == "1024"
    (kernel,) = read_capture(out).kernels
    assert kernel.resources.lds_bytes == 4096 + 1024


def test_counters_are_long_rows_with_six_decimals(tmp_path: Path) -> None:
    counters = {"SQ_WAVES": 8, "TCC_MISS_sum": 0.25, "SQ_INSTS_LDS": 0.0}
    table = rows(write(tmp_path, dispatch(1, counters=counters)) / "hipscope_counter_collection.csv")
    assert len(table[0]) == 19
    values = {row["Counter_Name"]: row["Counter_Value"] for row in table}
    assert values["SQ_WAVES"] == "8.000000"
    assert values["TCC_MISS_sum"] == "2.50000000e-01"
    assert values["SQ_INSTS_LDS"] == "0.00000000e+00"
    assert {row["Grid_Size"] for row in table} == {"512"}


def test_the_agent_table_has_all_columns_and_no_made_up_numbers(tmp_path: Path) -> None:
    (agent,) = rows(write(tmp_path, dispatch(1)) / "hipscope_agent_info.csv")
    assert len(AGENT_COLUMNS) == len(agent) == 53
    assert agent["Gfx_Target_Version"] == "90402"
    assert (agent["Cu_Count"], agent["Num_Xcc"], agent["Lds_Size_In_Kb"]) == ("304", "8", "64")
    assert agent["Location_Id"] == ""


def test_statistics_sum_up_the_trace(tmp_path: Path) -> None:
    out = write(tmp_path, dispatch(1), dispatch(2, end_ns=2600.0))
    (stats,) = rows(out / "hipscope_kernel_stats.csv")
    assert (stats["Calls"], stats["TotalDurationNs"], stats["MinNs"], stats["MaxNs"]) == (
        "2",
        "1000",
        "400",
        "600",
    )
    assert (stats["AverageNs"], stats["Percentage"], stats["StdDev"]) == (
        "500.000000",
        "100.00",
        "141.421356",
    )


def test_code_json_has_a_label_and_thirteen_columns(tmp_path: Path) -> None:
    folder = write(tmp_path, dispatch(1)) / "ui_output_agent_1_dispatch_1"
    code = json.loads((folder / "code.json").read_text())
    assert code["version"] == "3.0.0"
    assert code["header"][:4] == ["ISA", "_", "LineNumber", "Source"]
    label, load, wait, _ = code["code"]
    assert label[0] == f"; {KERNEL}"
    assert label[3] == NAME
    assert load[:3] == [LOAD["text"], 0, 1]
    assert load[5:10] == [256, 8, 40, 8, 0]
    assert wait[12] == [0, 0, 0, 4000, 0, 0, 0, 0, 0, 0]  # WAITCNT is reason 3
    assert all(len(row) == len(code["header"]) == 13 for row in code["code"])


def test_statistics_of_the_trace_repeat_code_json(tmp_path: Path) -> None:
    table = rows(write(tmp_path, dispatch(1)) / "stats_ui_output_agent_1_dispatch_1.csv")
    assert [row["Instruction"] for row in table][1:] == [LOAD["text"], WAIT["text"], READ["text"]]
    assert [int(row["Latency"]) for row in table][1:] == [40, 4032, 132]


def test_a_wave_file_tells_what_each_wait_waited_for(tmp_path: Path) -> None:
    folder = write(tmp_path, dispatch(1)) / "ui_output_agent_1_dispatch_1"
    wave = json.loads((folder / "se0_sm2_sl1_wv0.json").read_text())
    assert wave["num_insts"] == 3
    assert wave["wave"]["instructions"][0] == [104, 3, 4, 8, 1]
    assert wave["wave"]["waitcnt"] == [[2, [[1, 0]]]]
    index = json.loads((folder / "filenames.json").read_text())
    assert index["wave_filenames"] == {"0": {"2": {"1": {"0": ["se0_sm2_sl1_wv0.json", 100, 160]}}}}
    assert (index["gfxv"], index["gfxip"]) == ("vega", 9)


def test_a_timeline_has_no_gaps(tmp_path: Path) -> None:
    folder = write(tmp_path, dispatch(1)) / "ui_output_agent_1_dispatch_1"
    timeline = json.loads((folder / "se0_sm2_sl1_wv0.json").read_text())["wave"]["timeline"]
    idle, execute, wait, stall = 1, 2, 3, 4
    assert timeline == [[idle, 4], [stall, 4], [execute, 4], [wait, 30], [execute, 8], [idle, 10]]
    assert sum(duration for _, duration in timeline) == 60


def test_occupancy_has_a_start_and_an_end_for_each_wave(tmp_path: Path) -> None:
    folder = write(tmp_path, dispatch(1)) / "ui_output_agent_1_dispatch_1"
    data = json.loads((folder / "occupancy.json").read_text())
    assert data["0"] == [[100, 0, 2, 1, 1, 1], [160, 0, 2, 1, 0, 1]]
    assert data["dispatches"] == {"1": NAME}


def test_memory_analysis_is_one_json_array_with_lines_and_conflicts(tmp_path: Path) -> None:
    out = write(tmp_path, dispatch(1), dispatch(2))
    first, second = json.loads((out / "memory_analysis.json").read_text())
    analysis = first["kernel_analysis"]
    assert analysis["kernel_info"] == {"name": NAME, "dispatch_id": 1}
    (access,) = analysis["cache_analysis"]["accesses"]
    assert access["access_info"]["cache_lines"] == {"needed": 16, "used": 64}
    assert access["access_info"]["isa_instruction"] == "global_load_dword"
    (conflict,) = analysis["bank_conflicts"]["accesses"]
    assert conflict["access_info"]["total_conflicts"] == 496
    assert second["kernel_analysis"]["kernel_info"]["dispatch_id"] == 2


def test_how_busy_units_are_counts_by_the_times_of_the_launches(tmp_path: Path) -> None:
    longer = dispatch(2, end_ns=3200.0, busy={"hbm": 0.25})
    (kernel,) = read(tmp_path, dispatch(1), longer).kernels
    assert kernel.busy == pytest.approx(
        {"hbm": (0.75 * 400 + 0.25 * 1200) / 1600, "launch": 0.5 * 400 / 1600}
    )


def test_everything_is_read_back(tmp_path: Path) -> None:
    profile = read(tmp_path, dispatch(1))
    assert (profile.source, profile.provenance) == (Source.EMULATOR, Provenance.MODELLED)
    assert profile.device.name == "mi300x"
    assert profile.program.command == ("./app", "--size", "3")
    (kernel,) = profile.kernels
    assert (kernel.name, kernel.mangled, kernel.bound_by) == (NAME, KERNEL, "hbm")
    assert kernel.time_ns == 400
    assert kernel.busy == {"hbm": 0.75, "launch": 0.5}
    load, wait, lds = kernel.instructions
    assert (load.hits, load.lanes, load.latency) == (8, 512, 40)
    assert wait.stalls == {StallReason.GLOBAL_MEMORY: 4000.5}
    assert wait.waited_for == {0: 4000.5}
    assert load.memory is not None
    assert (load.memory.bytes_per_lane, load.memory.lines_used, load.memory.memory_lines) == (4, 64, 50)
    assert lds.memory is not None
    assert lds.memory.lds_conflict_cycles == 496


def test_several_launches_are_added_up(tmp_path: Path) -> None:
    (kernel,) = read(tmp_path, dispatch(1), dispatch(2)).kernels
    assert kernel.counters["SQ_WAVES"] == 16
    assert [i.hits for i in kernel.instructions] == [16, 16, 16]
    assert kernel.instructions[1].waited_for == {0: 8001.0}
    assert kernel.instructions[0].memory is not None
    assert kernel.instructions[0].memory.l1_hits == 8


def test_a_launch_that_ran_plain_gets_the_mean_of_its_shape(tmp_path: Path) -> None:
    launches = [dispatch(1), dispatch(2, end_ns=2600.0), unprofiled(3)]
    (kernel,) = read(tmp_path, *launches).kernels
    assert [d.time_ns for d in kernel.dispatches] == [400, 600, 500]
    assert [d.profiled for d in kernel.dispatches] == [True, True, False]


def test_a_launch_of_an_unknown_shape_has_no_time_and_the_profile_says_so(tmp_path: Path) -> None:
    profile = read(
        tmp_path, dispatch(1), unprofiled(2, grid=[64, 1, 1]), partial="time budget of 20 s used up"
    )
    assert len(profile.kernels[0].dispatches) == 1
    untimed = "1 of 2 launches were not profiled and have no time: copy(float*, float*, int)"
    assert profile.partial == f"time budget of 20 s used up; {untimed}"


def test_a_run_that_was_killed_is_read_up_to_there(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw", [dispatch(1), dispatch(2)])
    with (raw / "dispatches.jsonl").open("a") as stream:
        stream.write('{"id": 3, "kernel": "_Z4co')
    (raw / "profile_2.json").write_text('{"id": 2, "instr')
    write_rocprofv3(raw, tmp_path / "out", device=DEVICE, program=PROGRAM)
    (kernel,) = read_capture(tmp_path / "out").kernels
    assert len(kernel.dispatches) == 2
    assert kernel.instructions[0].hits == 8


def test_a_launch_that_was_stopped_makes_its_kernel_and_the_profile_partial(tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    profile = read(tmp_path, dispatch(1, stopped_after=40, workgroups=1000), dispatch(2))
    assert profile.partial is not None
    assert f"{NAME} was stopped at the program's time limit after 40 of 1000 workgroups" in profile.partial
    assert profile.kernels[0].partial is not None
    assert profile.kernels[0].partial.startswith("launch 1 was stopped after 40 of 1000 workgroups")
    assert read(other, dispatch(1)).kernels[0].partial is None


def test_a_fault_is_kept_with_its_instruction(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw", [dispatch(1)])
    fault = {
        "dispatch": 2, "kernel": KERNEL, "kind": "out_of_bounds", "message": "out-of-bounds store of 4 bytes",
        "address": 264, "instruction": "global_store_dword v0, v1, s[2:3]", "code_object": "00000000000000aa",
    }  # fmt: skip
    (raw / "faults.jsonl").write_text(json.dumps(fault) + "\n")
    write_rocprofv3(raw, tmp_path / "out", device=DEVICE, program=PROGRAM)
    (found,) = read_capture(tmp_path / "out").faults
    assert (found.kernel, found.message) == (NAME, "out-of-bounds store of 4 bytes")
    assert found.instruction == "global_store_dword v0, v1, s[2:3]"


def test_a_second_write_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    out = write(tmp_path, dispatch(1))
    empty = write_raw(tmp_path / "empty", [])
    write_rocprofv3(empty, out, device=DEVICE, program=PROGRAM)
    assert not (out / "hipscope_kernel_trace.csv").exists()


@pytest.mark.parametrize("arch", ["gfx942", "gfx90a", "gfx1100"])
def test_the_target_version_is_in_decimal_digits(arch: str, tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw", [dispatch(1)])
    device = DeviceInfo(**{**DEVICE.__dict__, "arch": arch})
    write_rocprofv3(raw, tmp_path / "out", device=device, program=PROGRAM)
    (agent,) = rows(tmp_path / "out" / "hipscope_agent_info.csv")
    assert agent["Gfx_Target_Version"] == {"gfx942": "90402", "gfx90a": "90010", "gfx1100": "110000"}[arch]
