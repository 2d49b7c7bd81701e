"""Captures of rocprof 1, rocmProfileData, PyTorch, JAX and Nsight: the same numbers, or a line with what to do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hipscope.analysis.errors import UsageError
from hipscope.analysis.ingest import read_captures
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.timeline.timeline import timeline
from tests.analysis.ingest.capture_files import kernel_trace, results_json
from tests.analysis.ingest.tool_files import (
    NAME,
    OTHERS,
    PROPERTIES,
    ROCMINFO,
    kineto,
    ncu_details,
    nsys,
    rocprof_csv,
    rocprof_database,
    rocprof_json,
    rocprof_statistics,
    rpd,
)

# Of which formats the shape of a launch can be known.
SHAPED = {"rocprof", "rocmProfileData", "PyTorch", "PyTorch packed", "nsys", "nsys trace", "ncu details"}


def only(profile: Profile) -> Kernel:
    (kernel,) = profile.kernels
    return kernel


def number_of(profile: Profile, kind: str) -> int:
    """How many events of a kind there are."""
    assert profile.tables is not None
    return len(profile.tables.events(kind))


@pytest.mark.parametrize(
    ("instructions", "reasons"),
    [
        (["S2R R0, SR_TID.X", "IMAD R1, R0, R2, R3"], ["dependency"]),
        (["IMAD R1, R0, R2, R3", "LDS R5, [R0]", "FADD R5, R5, R5"], ["dependency", "lds"]),
        (["IMAD R1, R0, R2, R3", "LDS R5, [R0]", "@!P0  BRA 0x10"], ["lds"]),
        (["IMAD R1, R0, R2, R3", "LDS R5, [R0]", "BRX R4"], ["lds"]),
        (["IMAD R1, R0, R2, R3", "LDS R5, [R0]", "BRA 0x30"], ["dependency", "lds"]),
    ],
)
def test_a_short_scoreboard_is_the_shared_memorys_only_behind_an_access_to_it(
    tmp_path: Path, instructions: list[str], reasons: list[str]
) -> None:
    header = '"Address","Source","# Samples","Instructions Executed","stall_short_sb"'
    rows = [f'"{16 + 16 * n:#x}","{text}","10","1","9"' for n, text in enumerate(instructions)]
    (tmp_path / "source.csv").write_text("\n".join(['"Kernel Name","k(float *)"', header, *rows, ""]))
    (kernel,) = read_captures([tmp_path]).kernels
    assert sorted({reason.value for i in kernel.instructions for reason in i.stalls}) == reasons


@pytest.mark.parametrize("kind", OTHERS)
def test_two_launches_have_their_times_and_shapes_in_every_format(tmp_path: Path, kind: str) -> None:
    name, write = OTHERS[kind]
    write(tmp_path / name)
    profile = read_captures([tmp_path])
    kernel = only(profile)
    assert (kernel.name, kernel.time_ns, len(kernel.dispatches)) == (NAME, 1500, 2)
    if kind in SHAPED:
        assert {d.workgroup[0] for d in kernel.dispatches} == {256}
        assert {d.grid[0] for d in kernel.dispatches} == {65536}
    if kind in ("rocprof", "nsys", "nsys trace", "ncu details"):
        assert kernel.resources.vgprs == 36


@pytest.mark.parametrize("kind", ["rocprof JSON", "rocprof database", "rocmProfileData", "PyTorch", "nsys"])
def test_copies_and_calls_stand_beside_the_launches(tmp_path: Path, kind: str) -> None:
    name, write = OTHERS[kind]
    write(tmp_path / name)
    profile = read_captures([tmp_path])
    assert number_of(profile, "copies") == 1
    assert number_of(profile, "api calls")
    found = timeline(profile)
    assert found is not None
    assert any(lane.what == "copy host to device" for lane in found.lanes)


def test_what_two_formats_of_one_run_hold_counts_once(tmp_path: Path) -> None:
    rocprof_json(tmp_path / "results.json")
    rocprof_database(tmp_path / "results.db")
    rocprof_statistics(tmp_path / "results.stats.csv")
    rocprof_statistics(tmp_path / "results.hip_stats.csv", ("hipMalloc", "__hipPushCallConfiguration"))
    profile = read_captures([tmp_path])
    assert (only(profile).time_ns, len(only(profile).dispatches)) == (1500, 2)
    assert {kind: number_of(profile, kind) for kind in ("copies", "api calls")} == {
        "copies": 1,
        "api calls": 1,
    }


def test_calls_of_a_database_and_of_a_table_beside_it_count_once(tmp_path: Path) -> None:
    results_json(tmp_path / "1_results.json")
    before = number_of(read_captures([tmp_path]), "api calls")
    (tmp_path / "2_results.json").write_bytes((tmp_path / "1_results.json").read_bytes())
    assert number_of(read_captures([tmp_path]), "api calls") == before > 0


def test_counters_without_time_stamps_are_of_their_launches(tmp_path: Path) -> None:
    rocprof_csv(tmp_path / "out.csv", timed=False)
    kernel = only(read_captures([tmp_path]))
    assert kernel.counters["Wavefronts"] == 2048
    assert (kernel.without_time, len(kernel.dispatches)) == (2, 0)
    assert kernel.partial == "its launches have no time stamps"


@pytest.mark.parametrize("later_us", [0.5, 1e6])
def test_two_traces_of_pytorch_are_ranks_of_a_run_where_they_overlap_and_else_two_runs(
    tmp_path: Path, later_us: float
) -> None:
    _, write = OTHERS["PyTorch"]
    first, second = tmp_path / "w.1.pt.trace.json", tmp_path / "w.2.pt.trace.json"
    write(first)
    data = json.loads(first.read_text())
    for event in data["traceEvents"]:
        event |= {"ts": event["ts"] + later_us} if "ts" in event else {}
        event |= {"dur": event["dur"] * 2} if "dur" in event else {}
    second.write_text(json.dumps(data))
    profile = read_captures([tmp_path])
    (kernel,) = profile.kernels
    if later_us < 1:
        assert (len(kernel.dispatches), kernel.time_ns, profile.parts) == (4, 4500, ())
        return
    assert (len(kernel.dispatches), kernel.time_ns) == (2, 1500)
    assert [(p.run, p.launches, p.time_ns) for p in profile.parts] == [
        ("w.1.pt.trace", 2, 1500),
        ("w.2.pt.trace", 2, 3000),
    ]
    assert "shown is w.1.pt.trace; the others are w.2.pt.trace" in profile.notes[0]


def test_a_merged_table_of_omniperf_has_counters_beside_the_launches_of_its_time_stamps(
    tmp_path: Path,
) -> None:
    """omniperf 1 leaves the queues out where it merges passes, and their times are means."""
    named = "Index,KernelName,gpu-id,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size"
    shape = "65536,256,0,0,36,4,48,64"
    (tmp_path / "pmc_perf.csv").write_text(
        f"{named},SQ_WAVES,GRBM_GUI_ACTIVE,BeginNs,EndNs\n"
        f'0,"scale(float*, int).kd",0,{shape},1024,5000,1000.5,2000.0\n'
        f'1,"scale(float*, int).kd",0,{shape},1024,5200,3000.5,3500.0\n'
    )
    (tmp_path / "timestamps.csv").write_text(
        f"{named},queue-id,queue-index,BeginNs,EndNs\n"
        f'0,"scale(float*, int).kd",0,{shape},0,0,1000,2000\n'
        f'1,"scale(float*, int).kd",0,{shape},0,0,3000,3500\n'
    )
    (kernel,) = read_captures([tmp_path]).kernels
    assert (len(kernel.dispatches), kernel.time_ns) == (2, 1500)
    assert kernel.counters == {"SQ_WAVES": 2048.0, "GRBM_GUI_ACTIVE": 10200.0}


def test_a_database_of_rocprof_without_a_trace_has_the_launches_of_its_table(tmp_path: Path) -> None:
    names = (
        "Index", "KernelName", "gpu-id", "queue-id", "pid", "tid", "grd", "wgr", "lds", "scr", "arch_vgpr",
        "accum_vgpr", "sgpr", "BeginNs", "EndNs",
    )  # fmt: skip
    columns = ", ".join(f'"{name}"' for name in names)
    with closing(sqlite3.connect(tmp_path / "results.db")) as database:
        database.execute(f"CREATE TABLE KERN ({columns})")
        row = (0, '"scale(float*, int) [clone .kd]"', 2, 1, 9, 9, 4096, 256, 1024, 0, 16, 4, 32, 1000, 1750)
        database.execute(f"INSERT INTO KERN VALUES ({', '.join('?' * len(row))})", row)
        database.commit()
    kernel = only(read_captures([tmp_path]))
    assert (kernel.name, kernel.time_ns, kernel.resources.lds_bytes) == ("scale(float*, int)", 750, 1024)
    assert (kernel.dispatches[0].grid, kernel.dispatches[0].workgroup) == ((4096, 1, 1), (256, 1, 1))


def test_launches_that_are_shorter_than_the_clock_of_the_trace_count(tmp_path: Path) -> None:
    """PyTorch wrote whole microseconds until 2023: of 9,484 published launches 272 last none."""
    events = [
        {"ph": "X", "cat": "Kernel", "name": NAME, "pid": 0, "tid": 7, "ts": 1606911006433417 + 5 * n, "dur": n % 3,
         "args": {"device": 0, "stream": 7}}
        for n in range(12)
    ]  # fmt: skip
    (tmp_path / "trace.json").write_text(json.dumps(events))
    kernel = only(read_captures([tmp_path]))
    assert (len(kernel.dispatches), kernel.time_ns, kernel.without_time) == (12, 12_000, 0)


def test_launches_of_rocprof_without_counters_have_a_timeline(tmp_path: Path) -> None:
    rocprof_csv(tmp_path / "results.csv", counters={})
    assert timeline(read_captures([tmp_path])) is not None


def test_the_gpu_of_rocprof_is_the_one_that_rocminfo_lists(tmp_path: Path) -> None:
    rocprof_csv(tmp_path / "results.csv")
    (tmp_path / "results.sysinfo.txt").write_text(ROCMINFO)
    device = read_captures([tmp_path]).device
    assert (device.name, device.arch, device.compute_units) == ("mi300a", "gfx942", 228)
    other = (
        ROCMINFO[ROCMINFO.index("*******\nAgent 2") :]
        .replace("Agent 2", "Agent 3")
        .replace("gfx942", "gfx90a")
    )
    (tmp_path / "results.sysinfo.txt").write_text(ROCMINFO + other)
    assert not read_captures([tmp_path]).device.arch  # one of two: not known which


@pytest.mark.parametrize(
    ("told", "arch"),
    [
        (PROPERTIES, None),  # 9.0 is also what an H100 has
        ({**PROPERTIES, "name": "", "warpSize": 64}, None),
        ({**PROPERTIES, "name": "AMD Instinct MI300X", "computeMinor": 4, "numSms": 304}, "gfx942"),
        ({**PROPERTIES, "name": "NVIDIA H100 80GB HBM3", "warpSize": 32, "numSms": 132}, "sm_90"),
    ],
)
def test_a_compute_capability_is_an_architecture_of_nvidia_only(
    tmp_path: Path, told: dict[str, object], arch: str | None
) -> None:
    kineto(tmp_path / "trace.json", told)
    device = read_captures([tmp_path]).device
    assert (device.arch or None) == arch
    assert device.compute_units == told["numSms"]
    if arch is None:
        assert not device.ceilings


def test_pairs_of_cus_are_not_taken_for_cus(tmp_path: Path) -> None:
    told = {**PROPERTIES, "name": "AMD Radeon RX 7900 XTX", "computeMajor": 11, "warpSize": 32, "numSms": 48}
    kineto(tmp_path / "trace.json", told)
    device = read_captures([tmp_path]).device
    assert (device.name, device.compute_units, device.partition) == ("rx7900xtx", 96, None)


def test_the_gpu_of_an_export_is_the_one_that_the_program_saw(tmp_path: Path) -> None:
    nsys(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(tmp_path / "report.sqlite")) as database:
        database.execute(
            "INSERT INTO TARGET_INFO_GPU VALUES (1, 1, 'NVIDIA A100', 108, 1410000000, 8, 0, 64, 32, 167936)"
        )
        database.commit()
        assert read_captures([tmp_path]).device.name == "Tesla T4"
        database.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId)")
        database.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0), (0, 1)")
        database.commit()
    assert read_captures([tmp_path]).device.compute_units == 108


def test_waves_have_the_size_that_the_gpu_gives_them_or_none_that_is_known(tmp_path: Path) -> None:
    nsys(tmp_path / "report.sqlite")
    assert only(read_captures([tmp_path])).resources.wave_size == 32
    kineto(tmp_path / "rdna.json", {**PROPERTIES, "name": "AMD Radeon RX 7900 XTX", "warpSize": 32})
    assert only(read_captures([tmp_path / "rdna.json"])).resources.wave_size is None
    rocprof_csv(tmp_path / "results.csv")
    assert only(read_captures([tmp_path / "results.csv"])).resources.wave_size is None


def test_metrics_of_a_details_page_are_in_base_units(tmp_path: Path) -> None:
    ncu_details(tmp_path / "details.csv")
    kernel = only(read_captures([tmp_path]))
    assert kernel.counters == {"dram__bytes.sum": 2 * 1024.5e6}
    assert kernel.resources.lds_bytes == 1020
    ncu_details(tmp_path / "details.csv", timed=False)
    profile = read_captures([tmp_path])
    assert only(profile).without_time == 2
    assert "gpu__time_duration.sum was not collected" in str(profile.captures[0].why)


def test_a_details_page_without_quotes_has_a_launch_for_each_id(tmp_path: Path) -> None:
    """As a spreadsheet leaves it: with a byte order mark, and without quotes where no cell needs them."""
    cells = "app,127.0.0.1,scale,2020-Oct-25 20:27:10,1,15,Command line profiler metrics"
    rows = [f"{n},9,{cells},{name},{unit},{value}" for n in (0, 1) for name, unit, value in (
        ("dram__bytes.sum", "byte", "4096"), ("gpu__time_duration.sum", "nsecond", "750"))]  # fmt: skip
    head = (
        "ID,Process ID,Process Name,Host Name,Kernel Name,Kernel Time,Context,Stream,Section Name,Metric Name,"
        "Metric Unit,Metric Value"
    )
    (tmp_path / "a.csv").write_text("\n".join([head, *rows, ""]), encoding="utf-8-sig")
    kernel = only(read_captures([tmp_path]))
    assert (len(kernel.dispatches), kernel.time_ns, kernel.counters["dram__bytes.sum"]) == (2, 1500, 8192)


def test_launches_with_times_are_read_whatever_else_a_table_has(tmp_path: Path) -> None:
    head = "Index,KernelName,gpu-id,queue-id,grd0,DurationNs,BeginNs,EndNs,CorrelationId"
    (tmp_path / "kernels.csv").write_text(
        f"{head}\n0,scale,0,0,64,5,1000,1005,1\n1,scale,0,0,64,7,2000,2007,2\n"
    )
    kernel = only(read_captures([tmp_path]))
    assert (len(kernel.dispatches), kernel.time_ns, kernel.counters) == (2, 12, {})


def test_statistics_are_of_kernels_or_of_calls_by_what_is_in_them(tmp_path: Path) -> None:
    rocprof_statistics(tmp_path / "a.csv", ("hipMemcpy", "hipLaunchKernel"))
    with pytest.raises(UsageError, match="no profile"):
        read_captures([tmp_path])
    rocprof_statistics(tmp_path / "c.csv", ("KERNEL_DISPATCH", "HIP_API", "MEMORY_COPY"))
    with pytest.raises(UsageError, match="no profile"):
        read_captures([tmp_path])
    rocprof_statistics(tmp_path / "b.csv", ("TRIAD",))
    assert only(read_captures([tmp_path])).time_ns == 1500


def _text(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


@pytest.mark.parametrize(
    ("name", "write", "told"),
    [
        ("r.nsys-rep", _text("x"), "nsys export --type sqlite"),
        ("r", _text("NVIDIA Tegra Profiler Report 1.\n"), "nsys export --type sqlite"),
        ("perfetto-trace-1.proto", _text("x"), "ROCPROFSYS_USE_ROCPD=ON"),
        (
            "wall_clock.txt",
            _text("|  REAL-CLOCK TIMER (I.E. WALL-CLOCK TIMER)  |"),
            "ROCPROFSYS_USE_ROCPD=ON",
        ),
        ("log.txt", _text("==12== NVPROF is profiling process 12\n"), "Nsight Systems"),
        (
            "p.csv",
            _text("Time(%),Time,Calls,Avg,Min,Max,Name\n9.1%,5ms,1,5ms,5ms,5ms,f(int)\n"),
            "Nsight Systems",
        ),
        (
            "p.txt",
            _text("\n======== CPU profiling result (bottom up):\nTime(%)  Time  Name\n"),
            "Nsight Systems",
        ),
        (
            "t.json",
            _text('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 1, "dur": 2}]}'),
            "no kernel of a GPU",
        ),
        ("t.json", _text('{"traceEvents": 7}'), "holds no list"),
        ("data.txt", _text("------ [000] ------\nTA_BUSY_avr [0]\n"), "rocprofv3 --kernel-trace"),
        (
            "inst.csv",
            _text(
                "ID,Process ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,9,f,SQ_INSTS_VALU,inst,7\n"
            ),
            "none of its metrics is one of Nsight Compute",
        ),
        ("t.rpd", lambda path: rpd(path, kernels=False), "no kernel of a GPU"),
        (
            "spm.csv",
            _text('"Dispatch_Id","Counter_Name","Counter_Value"\n1,"SQ_WAVES",64\n'),
            "name no kernel",
        ),
        ("t.json.gz", lambda path: path.write_bytes(b"\x1f\x8b" + bytes(90)), "compressed"),
    ],
)
def test_what_is_not_read_is_named_with_what_to_do(
    tmp_path: Path, name: str, write: Callable[[Path], object], told: str
) -> None:
    write(tmp_path / name)
    (tmp_path / "README.md").write_text("words")
    (tmp_path / "main.cpp").write_text("words")
    with pytest.raises(UsageError) as raised:
        read_captures([tmp_path])
    assert told in str(raised.value.hint)


def test_two_readers_are_not_both_asked(tmp_path: Path) -> None:
    """A kernel trace beside a chrome trace of another run: one is shown, the other named."""
    kernel_trace(tmp_path / "1_kernel_trace.csv", ((1, "other()", 10**12, 10**12 + 7),))
    kineto(tmp_path / "trace.json")
    profile = read_captures([tmp_path])
    assert any("several runs" in note for note in profile.notes)
    only(profile)
