"""Captures of every format: what each gives, what belongs together, and what a counter covers."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hipscope.analysis.counters.metrics import kernel_metrics
from hipscope.analysis.ingest import read_captures
from hipscope.analysis.ingest.formats.rocpd import read_rocpd
from hipscope.analysis.ingest.others.ncu_report import MAGIC
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.profile import Kernel, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.registry import detect_all
from tests.analysis.ingest.capture_files import (
    AGENTS,
    ALL,
    COUNTED,
    NAME,
    OMNIPROBE_TEXT,
    PLACE,
    counter_table,
    kernel_trace,
    ncu_raw,
    ncu_source,
    omniprobe,
    pc_samples,
    results_json,
    rocpd,
    roofline_table,
    sysinfo,
    thread_trace,
    wide_counters,
)


def only(profile: Profile) -> Kernel:
    (kernel,) = profile.kernels
    return kernel


def whys(profile: Profile) -> dict[str, str | None]:
    return {Path(c.path).name: c.why for c in profile.captures}


@pytest.mark.parametrize("kind", ALL)
def test_each_format_is_a_capture_by_itself_whatever_its_name(tmp_path: Path, kind: str) -> None:
    name, write = ALL[kind]
    path = tmp_path / (name if kind in ("thread trace", "wide counters") else f"x{Path(name).suffix}")
    write(path)
    profile = read_captures([path])
    assert profile.kernels
    assert all(c.read for c in profile.captures)


@pytest.mark.parametrize(
    "columns",
    [
        ("LDS_Block_Size", "VGPR_Count", "SGPR_Count"),
        ("Lds_Block_Size", "Vgpr_Count", "Sgpr_Count"),
        ("Group_Segment_Size", "Arch_VGPR", "SGPR"),
    ],
)
def test_registers_and_lds_are_read_under_every_spelling(
    tmp_path: Path, columns: tuple[str, str, str]
) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", columns=columns)
    resources = only(read_captures([tmp_path])).resources
    assert (resources.vgprs, resources.sgprs, resources.lds_bytes) == (36, 48, 1024)


def test_results_json_gives_launches_counters_samples_and_calls(tmp_path: Path) -> None:
    results_json(tmp_path / "1_results.json")
    profile = read_captures([tmp_path])
    kernel = only(profile)
    assert [(d.id, d.time_ns, d.dynamic_lds) for d in kernel.dispatches] == [(1, 401, 0), (2, 402, 1024)]
    assert kernel.resources.lds_bytes == 2048
    assert kernel.counters == {"SQ_WAVES": 2 * 100 + 2 * 101}
    assert kernel.counter_instances == {"SQ_WAVES": (201.0, 201.0)}
    assert profile.device.name == "mi300x"
    (barrier,) = kernel.instructions
    assert (barrier.code_object, barrier.address) == (3, 0x1F00)
    assert barrier.samples is not None
    assert (barrier.samples.total, barrier.samples.stalled) == (3, 2)
    assert barrier.samples.reasons == {StallReason.BARRIER: 2.0}
    assert "1 of 4 PC samples" in (whys(profile)["1_results.json"] or "")
    assert profile.tables is not None
    assert profile.tables.events("api calls")["function"].tolist() == ["hipMalloc"]
    launches = profile.tables.launches
    assert launches[["queue", "stream", "process", "thread", "correlation"]].values.tolist() == [
        [5, 2, 41, 3, 1],
        [5, 2, 41, 3, 2],
    ]


@pytest.mark.parametrize(("view", "wide"), [(True, True), (True, False), (False, False)])
def test_rocpd_is_read_from_its_views_or_from_its_tables(tmp_path: Path, view: bool, wide: bool) -> None:
    path = tmp_path / "1_results.db"
    rocpd(path, view=view, wide=wide)
    profile = read_captures([path])
    kernel = only(profile)
    with closing(sqlite3.connect(path)) as database:
        table = "rocpd_kernel_dispatch_00112233_4455"
        (total,) = database.execute(f"SELECT SUM(end - start) FROM {table}").fetchone()
    assert (len(kernel.dispatches), kernel.time_ns) == (2, total)
    assert profile.device.compute_units == 304
    assert kernel.counters == ({"SQ_WAVES": 2048.0} if view else {})
    assert kernel.resources.vgprs == (36 if wide or not view else None)
    assert "hunter2" not in profile.model_dump_json()


def test_a_column_of_one_value_takes_no_memory_and_one_that_changes_late_is_exact(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "1_results.db")) as database:
        database.execute("CREATE TABLE rocpd_metadata (id INT)")
        database.execute("CREATE TABLE kernels (name TEXT, start INT, end INT, queue_id INT, stream_id INT)")
        rows = [("k", n, n + 1 + n % 3, 7 if n < 4500 else n, 2) for n in range(10_000)]
        database.executemany("INSERT INTO kernels VALUES (?, ?, ?, ?, ?)", rows)
        database.commit()
    (found,) = read_rocpd(tmp_path / "1_results.db").launches
    assert found.stream.tolist() == [2] * 10_000
    assert found.stream.strides == (0,)  # one cell
    assert found.queue.tolist() == [queue for _, _, _, queue, _ in rows]
    assert (found.end - found.start).tolist() == [end - start for _, start, end, _, _ in rows]


@pytest.mark.parametrize("kind", ["rocpd", "json", "csv"])
def test_launches_of_a_graph_have_its_number_and_their_node(tmp_path: Path, kind: str) -> None:
    path = tmp_path / {"rocpd": "1_results.db", "json": "1_results.json", "csv": "1_kernel_trace.csv"}[kind]
    if kind == "rocpd":
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE rocpd_metadata (id INT)")
            database.execute(
                "CREATE TABLE kernels (name TEXT, start INT, end INT, graph_exec_id INT, graph_node_id INT)"
            )
            rows = [(1, 2, 9, 1), (3, 4, None, None), (5, 6, 0, 0)]  # the schema writes 0 where there is none
            database.executemany("INSERT INTO kernels VALUES ('k', ?, ?, ?, ?)", rows)
            database.commit()
    elif kind == "json":
        results_json(path, samples=False)
        data = json.loads(path.read_text())
        first, second = data["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]
        first |= {"graph_exec_id": 9, "graph_node_id": 1}
        second |= {"graph_exec_id": 0, "graph_node_id": 0}
        path.write_text(json.dumps(data))
    else:
        kernel_trace(path)
        header, first, second, _ = path.read_text().split("\n")
        header += ',"Graph_Exec_Id","Graph_Node_Id"'
        path.write_text("\n".join([header, first + ",9,1", second + ",,", ""]))
    tables = read_captures([tmp_path]).tables
    assert tables is not None
    assert tables.launches["graph"].dropna().tolist() == [9]
    assert tables.launches["graph_node"].dropna().tolist() == [1]
    assert tables.launches["graph"].isna().tolist()[:2] == [False, True]


def counted_database(path: Path, *, streamed: bool) -> None:
    """Two launches with a counter of two XCDs: values of one moment, or samples over time as of schema 3.0.3."""
    rocpd(path)
    with closing(sqlite3.connect(path)) as database:
        symbols = "rocpd_info_kernel_symbol_00112233_4455"
        launches = f"rocpd_kernel_dispatch_00112233_4455 d JOIN {symbols} s ON s.id = d.kernel_id"
        database.executescript(
            f"""
            DROP VIEW counters_collection;
            CREATE TABLE rocpd_pmc_event_1 (id INTEGER PRIMARY KEY, event_id INT, sample_id INT, pmc_id INT, value REAL,
                xcc INT, shader_engine INT, instance INT);
            CREATE VIEW counters_collection AS SELECT d.dispatch_id, d.pid, s.display_name AS kernel_name,
                'SQ_WAVES' AS counter_name, SUM(e.value) AS value, d.start, d.end, e.event_id, 900 AS counter_id
                FROM rocpd_pmc_event_1 e JOIN {launches} WHERE d.id = e.event_id AND e.sample_id IS NULL GROUP BY d.id;
            CREATE VIEW spm_counters AS SELECT d.dispatch_id, d.pid, s.display_name AS kernel_name,
                'SQ_WAVES' AS counter_name, e.value, e.xcc, e.shader_engine, e.instance
                FROM rocpd_pmc_event_1 e JOIN {launches} WHERE d.id = e.event_id AND e.sample_id IS NOT NULL;
            """
        )
        # Ten waves of the first XCD and eleven of the second in launch 1, twenty and twenty-one in launch 2.
        rows: list[tuple[object, ...]] = [
            (launch, None, 900, 10.0 * launch + xcc, None, None, None) for launch in (1, 2) for xcc in (0, 1)
        ]
        if streamed:
            rows = [
                (launch, moment, 900, 5.0 * launch + (xcc if moment == 1 else 0), xcc, 0, 0)
                for launch in (1, 2)
                for moment in (1, 2)
                for xcc in (1, 0)
            ]
        insert = "INSERT INTO rocpd_pmc_event_1 (event_id, sample_id, pmc_id, value, xcc, shader_engine, instance) "
        database.executemany(f"{insert} VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.commit()


@pytest.mark.parametrize("streamed", [False, True])
def test_counters_of_a_database_have_the_parts_that_it_has(tmp_path: Path, streamed: bool) -> None:
    counted_database(tmp_path / "1_results.db", streamed=streamed)
    kernel = only(read_captures([tmp_path]))
    assert kernel.counters == {"SQ_WAVES": 10 + 11 + 20 + 21}
    assert kernel.counter_instances == {"SQ_WAVES": (30.0, 32.0)}
    assert kernel.counted["SQ_WAVES"].time_ns == 401 + 402


def test_counters_over_time_of_results_json_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "1_results.json"
    results_json(path, samples=False)
    data = json.loads(path.read_text())
    callbacks = data["rocprofiler-sdk-tool"][0]["callback_records"]
    for record in callbacks["counter_collection"]:
        record["records"] = [
            {
                "counter_id": {"handle": 900},
                "value": 1.0 + part,
                "timestamp": moment,
                "instance_id": part << 12,
            }
            for moment in (5, 9)
            for part in (1, 0)
        ]
    callbacks["spm_counter_collection"] = callbacks.pop("counter_collection")
    path.write_text(json.dumps(data))
    kernel = only(read_captures([tmp_path]))
    assert kernel.counters == {"SQ_WAVES": 2 * 2 * (1 + 2)}
    assert kernel.counter_instances == {"SQ_WAVES": (4.0, 8.0)}


def test_counters_of_parts_of_the_gpu_in_a_table_are_added_up(tmp_path: Path) -> None:
    names = [f"SQ_WAVES[XCC: {xcc}, Instance: 0, SE: 1, SA: 0, WGP: 2]" for xcc in (0, 1)]
    rows = [(1, NAME, name, 3.0 + n, 1000, 2000) for n, name in enumerate(names)]
    counter_table(tmp_path / "1_counter_collection.csv", rows)
    kernel = only(read_captures([tmp_path]))
    assert (kernel.counters, kernel.counter_instances) == ({"SQ_WAVES": 7.0}, {"SQ_WAVES": (3.0, 4.0)})


def test_pc_samples_of_a_database_are_read_from_their_view(tmp_path: Path) -> None:
    path = tmp_path / "1_results.db"
    rocpd(path)
    reason = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
    rows = [
        ("s_barrier", f"{PLACE}:9", f"{reason}BARRIER_WAIT", 1, 3, 0x1F00, 0),
        ("s_barrier", f"{PLACE}:9", f"{reason}BARRIER_WAIT", 1, 3, 0x1F00, 0),
        ("s_barrier", f"{PLACE}:9", f"{reason}NONE", 2, 3, 0x1F00, 1),
        ("", "", None, 1, None, None, None),
        ("s_endpgm", "", None, 0, 3, 0x1F04, None),
    ]  # fmt: skip
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE pc_sampling (instruction TEXT, instruction_comment TEXT, snapshot_stall_reason TEXT, "
            "dispatch_id INT, code_object_id INT, code_object_offset INT, wave_issued INT)"
        )
        database.executemany("INSERT INTO pc_sampling VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.commit()
    pc_samples(tmp_path / "1_pc_sampling_stochastic.csv")  # the same, without addresses
    profile = read_captures([tmp_path])
    (barrier,) = only(profile).instructions
    assert (barrier.code_object, barrier.address, barrier.source[-1].line) == (3, 0x1F00, 9)
    assert barrier.samples is not None
    assert (barrier.samples.total, barrier.samples.stalled) == (3, 2)
    assert barrier.samples.reasons == {StallReason.BARRIER: 2.0}
    assert whys(profile)["1_results.db"] == (
        "1 PC samples were in code that the tool could not decode; 1 PC samples name no launch"
    )


def test_the_clock_of_a_traced_launch_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "ui_output_agent_1_dispatch_3"
    thread_trace(folder)
    pairs = {"SE0": [[1000, 50], [22_000, 1050]], "SE1": [[0, 0], [20_000, 1000]], "SE2": []}
    (folder / "realtime.json").write_text(json.dumps({**pairs, "metadata": {"frequency": 100_000_000}}))
    assert "the shader clock was 2050 MHz while launch 3 was traced" in read_captures([tmp_path]).notes
    (folder / "realtime.json").write_text(json.dumps({"SE0": [["a", 1], None], "metadata": 7}))
    assert not any("clock" in note for note in read_captures([tmp_path]).notes)


def test_a_view_that_joins_to_nothing_does_not_hide_the_launches(tmp_path: Path) -> None:
    path = tmp_path / "1_results.db"
    rocpd(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP VIEW kernels")
        database.execute("CREATE VIEW kernels AS SELECT '' AS name, 1 AS start, 2 AS end WHERE 0")
        database.commit()
    profile = read_captures([path])
    assert len(only(profile).dispatches) == 2
    assert "the tables were read" in (whys(profile)["1_results.db"] or "")


def test_a_database_beside_a_thread_trace_gives_its_launches(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    rocpd(tmp_path / "host" / "41_results.db")
    thread_trace(tmp_path / "ui_output_agent_99_dispatch_2")
    kernel = only(read_captures([tmp_path]))
    assert len(kernel.dispatches) == 2
    assert kernel.instructions[1].stalls == {StallReason.GLOBAL_MEMORY: 62000.0}


def test_a_trace_without_instructions_names_the_kernel_that_was_wanted(tmp_path: Path) -> None:
    rocpd(tmp_path / "41_results.db")
    thread_trace(tmp_path / "ui_output_agent_99_dispatch_2", rows=[])
    code = tmp_path / "ui_output_agent_99_dispatch_2" / "code.json"
    code.write_text(json.dumps({"code": None, "version": "3.0.0", "header": ""}))
    profile = read_captures([tmp_path])
    assert "nothing was traced" in (whys(profile)[code.parent.name] or "")
    assert "nothing was traced" in (only(profile).partial or "")


def test_a_trace_without_a_label_is_not_lost_beside_those_that_have_one(tmp_path: Path) -> None:
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    other = tmp_path / "ui_output_agent_1_dispatch_7"
    thread_trace(other)
    code = json.loads((other / "code.json").read_text())
    code["code"] = [row for row in code["code"] if not row[0].startswith("; ")]
    (other / "code.json").write_text(json.dumps(code))
    profile = read_captures([tmp_path])
    cycles = {str(k.name): sum(i.latency for i in k.instructions) for k in profile.kernels}
    assert set(cycles) == {NAME, "(kernel of launch 7)"}
    assert cycles[NAME] == cycles["(kernel of launch 7)"] > 0
    assert any("launch 7 names no kernel" in note for note in profile.notes)


def test_cycles_and_samples_stand_beside_each_other_and_are_not_added(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv")
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    pc_samples(tmp_path / "1_pc_sampling_stochastic.csv")
    kernel = only(read_captures([tmp_path]))
    assert not kernel.sampled
    assert sum(i.latency for i in kernel.instructions) == 400 + 62400 + 37200
    assert sum(i.samples.total for i in kernel.instructions if i.samples) == 4


def test_wide_counters_are_those_that_pandas_reads(tmp_path: Path) -> None:
    wide_counters(tmp_path / "pmc_perf.csv")
    sysinfo(tmp_path / "sysinfo.csv")
    roofline_table(tmp_path / "roofline.csv")
    profile = read_captures([tmp_path])
    kernel = only(profile)
    import pandas

    table = pandas.read_csv(tmp_path / "pmc_perf.csv")
    hits = table["TCC_HIT[0]"].sum() + table["TCC_HIT[1]"].sum()
    assert kernel.counters == {"SQ_WAVES": table["SQ_WAVES"].sum(), "TCC_HIT_sum": hits}
    channels = tuple(table[f"TCC_HIT[{n}]"].sum() for n in (0, 1))
    assert kernel.counter_instances == {"TCC_HIT_sum": channels}
    assert kernel.time_ns == (table["End_Timestamp"] - table["Start_Timestamp"]).sum()
    assert (profile.device.name, profile.device.xcds) == ("mi300x", 8)
    assert profile.device.ceilings["hbm"].per_s == 4100e9
    assert profile.device.ceilings["matrix_bf16"].per_s == 500100e9
    assert profile.device.ceilings["hbm"].basis == "measured"
    assert profile.program.command[0] == "./vcopy"


@pytest.mark.parametrize(("also", "instances"), [((), {"TCC_HIT_sum": (7.0, 9.0)}), (("TCC_HIT_sum",), {})])
def test_channels_of_a_long_table_are_parts_of_their_sum(
    tmp_path: Path, also: tuple[str, ...], instances: dict[str, tuple[float, ...]]
) -> None:
    """rocprofiler-compute with rocpd: 1,792 of the 2,009 counters of its vecCopy were channels."""
    names = ("TCC_HIT[0]", "TCC_HIT[1]", "SQ_WAVES", *also)
    values = (7.0, 9.0, 64.0, 16.0)
    rows = [(1, NAME, name, value, 1000, 2000) for name, value in zip(names, values, strict=False)]
    counter_table(tmp_path / "1_counter_collection.csv", rows)
    kernel = only(read_captures([tmp_path]))
    assert kernel.counters == {"TCC_HIT_sum": 16.0, "SQ_WAVES": 64.0}
    assert kernel.counter_instances == instances


def test_a_level_is_divided_by_the_cycles_of_its_own_pass(tmp_path: Path) -> None:
    wide_counters(tmp_path / "timestamps.csv")
    sysinfo(tmp_path / "sysinfo.csv")
    head = "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp,GRBM_GUI_ACTIVE"
    (tmp_path / "pmc_perf.csv").write_text(
        f'{head}\n0,2,"{NAME}",1000,2000,80000\n1,2,"{NAME}",3000,3500,80000\n'
    )
    level = f'{head},SQ_ACCUM_PREV_HIRES\n0,2,"{NAME}",1000,2000,16000,400000\n1,2,"{NAME}",3000,3500,16000,400000\n'
    (tmp_path / "SQ_LEVEL_WAVES.csv").write_text(level)
    profile = read_captures([tmp_path])
    waves = {m.metric.key: m.value for m in kernel_metrics(only(profile), profile.device)}["mean_waves"]
    assert waves == 200  # 800,000 waves and cycles over 2 * 16,000 cycles of 8 XCDs
    assert any("5.0 times as long in one counter pass" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("gpu", "bound"),
    [
        ("MI300X_A1,gfx942,304,4,32,64,2100,1300,8", "launch"),
        ("MI200,gfx90a,104,4,32,64,1700,1600,1", "unknown"),
    ],
)
def test_what_a_launch_takes_is_that_of_the_gpu_or_not_known(tmp_path: Path, gpu: str, bound: str) -> None:
    sysinfo(tmp_path / "sysinfo.csv")
    told = (tmp_path / "sysinfo.csv").read_text().replace("MI300X_A1,gfx942,304,4,32,64,2100,1300,8", gpu)
    (tmp_path / "sysinfo.csv").write_text(told)
    kernel_trace(tmp_path / "1_kernel_trace.csv", ((1, NAME, 1000, 2000),))
    profile = read_captures([tmp_path])
    assert roofline(only(profile), profile.device, profile.provenance).bound == bound


def test_the_share_of_a_ceiling_is_the_same_in_the_words_and_in_the_list(tmp_path: Path) -> None:
    sysinfo(tmp_path / "sysinfo.csv")
    roofline_table(tmp_path / "roofline.csv")
    head = "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp"
    read = "TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum"
    (tmp_path / "pmc_perf.csv").write_text(f'{head},{read}\n0,2,"{NAME}",1000,11000,512500,0,0,0,0\n')
    profile = read_captures([tmp_path])  # 32.8 MB in 10 us: 80 % of the 4.1 TB/s that were measured
    found = roofline(only(profile), profile.device, profile.provenance)
    assert (found.bound, found.why) == ("memory", "HBM at 80 % of its ceiling, threshold 60 %")
    assert [round(c.fraction or 0, 3) for c in found.ceilings if c.name == "hbm"] == [0.8]


def test_counters_of_more_bytes_than_a_gpu_can_move_bound_nothing_and_are_named(tmp_path: Path) -> None:
    sysinfo(tmp_path / "sysinfo.csv")
    head = "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp"
    read = "TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum"
    (tmp_path / "pmc_perf.csv").write_text(f'{head},{read}\n0,2,"{NAME}",1000,11000,33551804,0,0,0,0\n')
    profile = read_captures([tmp_path])  # 2.1 GB in 10 us
    found = roofline(only(profile), profile.device, profile.provenance)
    assert (found.bound, found.memory_bytes, found.ceilings) == ("unknown", None, ())
    assert f"the counters of {NAME} tell of up to " in profile.notes[-1]
    assert only(profile).counters["TCC_EA0_RDREQ_sum"] == 33551804


@pytest.mark.parametrize(("chip", "name", "hbm"), [(29861, "mi325x", 6.0e12), (0, "MI300", None)])
def test_a_tool_that_counts_one_die_of_a_gpu_does_not_set_its_peaks(
    tmp_path: Path, chip: int, name: str, hbm: float | None
) -> None:
    """omniperf of ROCm 6.4 on an MI325X: one XCD with 304 CUs, 16 channels, 768 GB/s."""
    (tmp_path / "sysinfo.csv").write_text(
        "command,gpu_model,gpu_arch,chip_id,cu_per_gpu,simd_per_cu,max_waves_per_cu,wave_size,max_sclk,max_mclk,"
        f"total_l2_chan,hbm_bw,num_xcd\n./a,MI300,gfx942,{chip},304,4,32,64,2100,1500,16,768.0,1\n"
    )
    head = "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp"
    read = "TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum"
    (tmp_path / "pmc_perf.csv").write_text(f'{head},{read}\n0,2,"{NAME}",1000,11000,512500,0,0,0,0\n')
    profile = read_captures([tmp_path])
    assert (profile.device.name, profile.device.xcds) == (name, 8 if hbm else None)
    assert profile.device.hbm_bytes_per_s == hbm
    shares = [c.fraction or 0 for c in roofline(only(profile), profile.device, profile.provenance).ceilings]
    assert all(share < 1 for share in shares)
    assert any("one die of a GPU of 304 CUs" in (line.why or "") for line in profile.captures)


def test_the_device_of_omniperf_of_rocm_5(tmp_path: Path) -> None:
    (tmp_path / "sysinfo.csv").write_text(
        "host_rocmver,gpu_soc,numSE,numCU,numSIMD,waveSize,maxWavesPerCU,sclk,mclk,totalL2Banks,name,hbmBW\n"
        "5.7.1-98,gfx908,8,120,4,64,40,1502,1200,32,MI100,1200\n"
    )
    wide_counters(tmp_path / "pmc_perf.csv")
    device = read_captures([tmp_path]).device
    told = (device.name, device.compute_units, device.max_waves_per_simd, device.hbm_bytes_per_s)
    assert told == ("mi100", 120, 10, 1.2e12)


def test_rows_that_are_all_too_short_give_what_they_have(tmp_path: Path) -> None:
    path = tmp_path / "results_0.csv"
    path.write_text(
        "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp,SQ_WAVES,GRBM_GUI_ACTIVE\n"
        '1,4,"gemm.kd",100,160\n2,4,"gemm.kd",200,261\n'
    )
    profile = read_captures([path])
    assert (only(profile).name, only(profile).time_ns, only(profile).counters) == ("gemm", 121, {})
    assert "SQ_WAVES, GRBM_GUI_ACTIVE missing" in (whys(profile)["results_0.csv"] or "")


@pytest.mark.parametrize("text", [False, True])
def test_omniprobes_accesses_become_patterns(tmp_path: Path, text: bool) -> None:
    path = tmp_path / ("memory.txt" if text else "memory.json")
    path.write_text(OMNIPROBE_TEXT) if text else omniprobe(path)
    kernel = only(read_captures([path]))
    assert kernel.name == ("(all kernels)" if text else NAME)
    load, store = sorted((i.memory for i in kernel.instructions if i.memory), key=lambda m: m.space)
    assert (load.lines_needed, load.lines_used, load.accesses) == (32768, 65536, 16384)
    assert (store.space, store.lds_conflict_cycles) == ("lds", 3100)
    assert kernel.instructions[0].source[0].file == PLACE


def test_an_omniprobe_file_without_its_end_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    omniprobe(path)
    path.write_text(path.read_text().rstrip("]") + ', {"kernel_an')
    profile = read_captures([path])
    assert len(only(profile).instructions) == 2
    assert "ends in the middle" in (whys(profile)["memory.json"] or "")


def test_a_source_page_of_ncu_counts_each_instruction_once(tmp_path: Path) -> None:
    ncu_source(tmp_path / "source.csv")
    kernel = only(read_captures([tmp_path]))
    load, reduction, end = kernel.instructions
    assert reduction.memory is not None
    assert reduction.memory.kind == "atomic"
    assert load.text == "LDG.E R2, [R4]"
    assert (load.hits, load.lanes, load.latency, load.stall) == (128, 29, 40, 32)
    assert load.stalls == {StallReason.GLOBAL_MEMORY: 30.0, StallReason.MEMORY_QUEUE: 2.0}
    assert [(f.file, f.line) for f in load.source] == [("/usr/include/atomic.hpp", 88), ("/home/me/k.cu", 7)]
    assert load.memory is not None
    assert (load.memory.lines_used, load.memory.lines_needed, load.memory.line_bytes) == (4096, 512, 32)
    assert end.latency == 1


def test_a_raw_page_of_ncu_has_durations_and_metrics_in_base_units(tmp_path: Path) -> None:
    ncu_raw(tmp_path / "raw.csv")
    profile = read_captures([tmp_path])
    kernel = only(profile)
    (launch,) = kernel.dispatches
    assert (launch.time_ns, launch.workgroup, launch.grid) == (12500, (32, 8, 1), (512, 32, 1))
    assert kernel.counters["dram__bytes.sum"] == 67108864
    assert kernel.counters["sm__throughput.avg.pct_of_peak_sustained_elapsed"] == 61.5
    assert (profile.device.arch, profile.device.compute_units) == ("sm_90", 132)


def test_a_report_of_ncu_without_ncu_says_how_it_can_be_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "run.ncu-rep").write_bytes(MAGIC + bytes(64))
    kernel_trace(tmp_path / "1_kernel_trace.csv")
    assert "--page raw --csv" in (whys(read_captures([tmp_path]))["run.ncu-rep"] or "")


# ---- what belongs together ----


def test_the_same_launches_in_three_formats_count_once(tmp_path: Path) -> None:
    results_json(tmp_path / "41_results.json", samples=False)
    rocpd(tmp_path / "41_results.db")
    kernel_trace(tmp_path / "41_kernel_trace.csv", ((1, NAME, 1000, 1401), (2, NAME, 2000, 2402)))
    profile = read_captures([tmp_path])
    assert len(only(profile).dispatches) == 2
    assert sum("same launches" in note for note in profile.notes) == 2


def test_processes_and_gpus_of_one_run_are_joined_and_listed(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "11_kernel_trace.csv", ((1, NAME, 1000, 2000),), "Agent 1")
    kernel_trace(tmp_path / "12_kernel_trace.csv", ((1, NAME, 9000, 9100),), "Agent 2")
    profile = read_captures([tmp_path])
    assert only(profile).time_ns == 1100
    assert {(p.gpu, p.launches, p.time_ns) for p in profile.parts} == {
        ("Agent 1", 1, 1000.0),
        ("Agent 2", 1, 100.0),
    }


def test_several_runs_are_told_apart_and_one_is_shown(tmp_path: Path) -> None:
    for name, start in (("before", 1000), ("after", 90_000)):
        (tmp_path / name).mkdir()
        kernel_trace(tmp_path / name / "out_kernel_trace.csv", ((1, NAME, start, start + 500),))
    profile = read_captures([tmp_path])
    assert only(profile).time_ns == 500
    assert [p.run for p in profile.parts] == ["after/out", "before/out"]
    assert "several runs" in profile.notes[0]


def test_counter_passes_are_no_runs_of_their_own(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "t_kernel_trace.csv")
    for number, counter in enumerate(("SQ_WAVES", "SQ_BUSY_CYCLES"), start=1):
        (tmp_path / f"pass_{number}").mkdir()
        rows = [(d, NAME, counter, 10.0 * number, 10**6 + d, 10**6 + d + 5) for d in (1, 2)]
        counter_table(tmp_path / f"pass_{number}" / "c_counter_collection.csv", rows, process=number)
    profile = read_captures([tmp_path])
    assert only(profile).counters == {"SQ_WAVES": 20.0, "SQ_BUSY_CYCLES": 40.0}
    assert profile.parts == ()


def test_counters_of_other_programs_are_other_runs(tmp_path: Path) -> None:
    """Three experiments with one kernel name, days apart: neither their counters nor their times are one run's."""
    day = 24 * 3600 * 10**9
    launched = {
        "phases": [(1, "copy", 5), (2, NAME, 900)],
        "banks": [(1, "copy", 5), (2, NAME, 40)],
        "conflicts": [(n, "fill(int)", 3) for n in range(1, 9)] + [(9, NAME, 20)],
    }
    for number, (name, rows) in enumerate(launched.items()):
        counter = "SQ_WAVES" if name == "conflicts" else "SQ_LDS_BANK_CONFLICT"
        table = [
            (d, k, counter, 10.0, number * day + 1000 * d, number * day + 1000 * d + t) for d, k, t in rows
        ]
        counter_table(tmp_path / f"{name}_counter_collection.csv", table, process=number)
    profile = read_captures([tmp_path])
    assert {k.name: (len(k.dispatches), k.time_ns, k.counters) for k in profile.kernels} == {
        NAME: (1, 900, {"SQ_LDS_BANK_CONFLICT": 10.0}),
        "copy": (1, 5, {"SQ_LDS_BANK_CONFLICT": 10.0}),
    }
    assert {(p.run, p.launches, p.time_ns) for p in profile.parts} == {
        ("phases", 2, 905), ("banks", 2, 45), ("conflicts", 9, 44),
    }  # fmt: skip
    assert any("shown is phases" in note for note in profile.notes)


def test_counters_of_the_processes_of_one_run_are_added(tmp_path: Path) -> None:
    """Two ranks count the same at the same time: both are of the run."""
    for rank in (7, 8):
        rows = [(d, NAME, "SQ_WAVES", float(rank), 1000 * d + rank, 1000 * d + 500) for d in (1, 2)]
        counter_table(tmp_path / f"{rank}_counter_collection.csv", rows, process=rank)
    profile = read_captures([tmp_path])
    kernel = only(profile)
    assert (len(kernel.dispatches), kernel.counters) == (4, {"SQ_WAVES": 30.0})
    assert {(p.process, p.launches) for p in profile.parts} == {(7, 2), (8, 2)}


def test_a_kernel_of_another_pass_is_not_lost_without_a_trace(tmp_path: Path) -> None:
    passes = (
        [(1, NAME, "GRBM_GUI_ACTIVE", 9.0, 10, 20)],
        [(1, "other(int)", "SQ_WAVES", 7.0, 30, 45)],
    )
    for number, rows in enumerate(passes, start=1):
        (tmp_path / f"pass_{number}").mkdir()
        counter_table(tmp_path / f"pass_{number}" / "c_counter_collection.csv", rows)
    profile = read_captures([tmp_path])
    assert {k.name: k.counters for k in profile.kernels} == {
        NAME: {"GRBM_GUI_ACTIVE": 9.0},
        "other(int)": {"SQ_WAVES": 7.0},
    }


# ---- what a counter covers ----


def test_a_rate_divides_by_the_time_of_the_launches_that_were_counted(tmp_path: Path) -> None:
    kernel_trace(
        tmp_path / "1_kernel_trace.csv",
        ((1, NAME, 1000, 2000), (2, NAME, 3000, 4000), (3, NAME, 5000, 6000)),
    )
    counter_table(tmp_path / "1_counter_collection.csv", [(2, NAME, "SQ_WAVES", 490.0, 3000, 4000)])
    kernel = only(read_captures([tmp_path]))
    counted = kernel.counted["SQ_WAVES"]
    assert (counted.launches, counted.time_ns, counted.kind) == (1, 1000.0, "count")
    assert kernel.rate("SQ_WAVES") == 0.49


@pytest.mark.parametrize(
    ("counter", "values", "mean"),
    [
        ("OccupancyPercent", (85.0, 85.0), 85.0),
        ("OccupancyPercent", (80.0, 90.0), 87.5),
        ("L2CacheHit", (40.0, 60.0), None),
        ("SQ_WAVES", (40.0, 60.0), 100.0),
    ],
)
def test_a_ratio_is_no_sum(
    tmp_path: Path, counter: str, values: tuple[float, float], mean: float | None
) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", ((1, NAME, 1000, 2000), (2, NAME, 3000, 6000)))
    rows = [(1, NAME, counter, values[0], 1000, 2000), (2, NAME, counter, values[1], 3000, 6000)]
    counter_table(tmp_path / "1_counter_collection.csv", rows)
    assert only(read_captures([tmp_path])).counters.get(counter) == mean


def test_a_ratio_has_the_weight_that_was_counted_with_it(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv")
    rows = [
        (1, NAME, "VALUInsts", 10.0, 1000, 2000),
        (1, NAME, "SQ_WAVES", 300.0, 1000, 2000),
        (2, NAME, "VALUInsts", 20.0, 3000, 3500),
        (2, NAME, "SQ_WAVES", 100.0, 3000, 3500),
    ]
    counter_table(tmp_path / "1_counter_collection.csv", rows)
    assert only(read_captures([tmp_path])).counters["VALUInsts"] == 12.5


def test_the_tables_of_a_profile_are_frames(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv")
    counter_table(
        tmp_path / "1_counter_collection.csv",
        [(2, NAME, "SQ_WAVES", 490.0, 3000, 3500), (2, NAME, "X", 1.0, 3000, 3500)],
    )
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    tables = read_captures([tmp_path]).tables
    assert tables is not None
    assert tables.launches["kernel"].tolist() == [NAME, NAME]
    assert tables.launches["thread"].isna().all()
    assert (tables.launches["end"] - tables.launches["start"]).tolist() == [1000, 500]
    assert tables.counters[["launch", "counter", "value"]].values.tolist() == [
        [1, "SQ_WAVES", 490.0],
        [1, "X", 1.0],
    ]
    assert tables.traced["latency"].sum() == 100_000
    assert tables.samples.empty
    assert tables.events("copies").empty


def test_agents_are_found_by_the_number_that_the_trace_gives(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", agent="Agent 1")
    (tmp_path / "1_agent_info.csv").write_text(
        AGENTS + '5,2,"GPU",20,4,1,1700,8,64,64,90010,"gfx90a","AMD Instinct MI210"\n'
    )
    profile = read_captures([tmp_path])
    assert (profile.device.name, profile.device.arch) == ("mi300x", "gfx942")
    kernel_trace(tmp_path / "1_kernel_trace.csv", agent="Agent 9")
    assert read_captures([tmp_path]).device.arch == ""


def test_large_tables_are_split_as_small_ones_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "void k<float, (int)3>(float*, int)"
    kernel_trace(tmp_path / "a.csv", tuple((n, name, 10**18 + n, 10**18 + 2 * n + 1) for n in range(1, 50)))
    counter_table(tmp_path / "b.csv", [(n, name, "SQ_WAVES", n / 2, 10, 20) for n in range(1, 50)])
    small = read_captures([tmp_path])
    monkeypatch.setattr("hipscope.analysis.ingest.formats.tables._SMALL", 0)
    large = read_captures([tmp_path])
    assert large.kernels == small.kernels
    for odd in ('"void k<"x">(int)"', '"a,"b"', "x,y"):
        text = (tmp_path / "a.csv").read_text().replace(f'"{name}"', odd, 1)
        (tmp_path / "c").mkdir(exist_ok=True)
        (tmp_path / "c" / "a.csv").write_text(text)
        damaged = [read_captures([tmp_path / "c"])]
        monkeypatch.setattr("hipscope.analysis.ingest.formats.tables._SMALL", 1 << 20)
        damaged.append(read_captures([tmp_path / "c"]))
        monkeypatch.setattr("hipscope.analysis.ingest.formats.tables._SMALL", 0)
        assert damaged[0].kernels == damaged[1].kernels
        assert [c.why for c in damaged[0].captures] == [c.why for c in damaged[1].captures]


def test_header_names_and_columns_of_counters_are_found_in_any_capitals(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    counter_table(path, [(1, NAME, "SQ_WAVES", 5.0, 10, 20)])
    path.write_text(
        path.read_text().replace(COUNTED, "Guid," + COUNTED.lower(), 1).replace("\n1,", '\n"g",1,')
    )
    assert only(read_captures([path])).counters == {"SQ_WAVES": 5.0}


def test_a_trace_is_found_through_a_link_and_a_circle_of_links_ends(tmp_path: Path) -> None:
    thread_trace(tmp_path / "real" / "ui_output_agent_1_dispatch_1")
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "back").symlink_to(tmp_path / "shown")
    assert only(read_captures([tmp_path / "shown"])).instructions
    shutil.rmtree(tmp_path / "shown")


@pytest.mark.parametrize("evidence", ["thread trace", "samples", "no lines"])
def test_waits_for_memory_in_a_capture_are_a_finding(tmp_path: Path, evidence: str) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", ((1, NAME, 1000, 901_000),))
    if evidence == "samples":
        results_json(tmp_path / "1_results.json")
        data = json.loads((tmp_path / "1_results.json").read_text())
        (process,) = data["rocprofiler-sdk-tool"]
        texts = ["global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)", "v_mul_f32_e32 v1, v1, v2"]
        process["strings"] |= {
            "pc_sample_instructions": texts,
            "pc_sample_comments": [f"{PLACE}:{n}" for n in (3, 4, 4)],
        }
        (sample, *_) = process["buffer_records"]["pc_sample_stochastic"]
        process["buffer_records"]["pc_sample_stochastic"] = [
            {
                "inst_index": n,
                "record": {
                    **sample["record"],
                    "pc": {"code_object_id": 3, "code_object_offset": 256 + 8 * n},
                    "wave_issued": int(n != 1),
                    "snapshot": {"stall_reason": "WAITCNT"},
                },
            }
            for n, count in ((0, 1), (1, 62), (2, 37))
            for _ in range(count)
        ]
        (tmp_path / "1_results.json").write_text(json.dumps(data))
        (tmp_path / "1_kernel_trace.csv").unlink()
        for launch in process["buffer_records"]["kernel_dispatch"]:
            launch["end_timestamp"] = launch["start_timestamp"] + 900_000
        (tmp_path / "1_results.json").write_text(json.dumps(data))
    else:
        thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    if evidence == "no lines":
        code = tmp_path / "ui_output_agent_1_dispatch_1" / "code.json"
        code.write_text(code.read_text().replace(f"{PLACE}:", ""))
    (finding,) = detect_all(read_captures([tmp_path]), SourceTexts(), formulas=["latencyHiding"])
    assert finding.share == pytest.approx(0.62, abs=0.01)
    assert finding.line == (0 if evidence == "no lines" else 3)
    assert "62% of its time" in finding.message
    assert ("at 0x100" in finding.message) is (evidence == "no lines")
    assert "was not recorded" in finding.message


def test_counters_of_one_launch_of_three_are_over_the_time_of_that_one(tmp_path: Path) -> None:
    kernel_trace(
        tmp_path / "1_kernel_trace.csv",
        ((1, NAME, 10_000, 110_000), (2, NAME, 200_000, 300_000), (3, NAME, 400_000, 500_000)),
    )
    (tmp_path / "1_agent_info.csv").write_text(AGENTS)
    requests = {"TCC_EA0_RDREQ_sum": 4_000_000.0, "TCC_EA0_WRREQ_sum": 0.0, "TCC_EA0_RDREQ_32B_sum": 0.0}
    requests |= {"TCC_BUBBLE_sum": 0.0, "TCC_EA0_WRREQ_64B_sum": 0.0}
    rows = [(2, NAME, counter, value, 200_000, 300_000) for counter, value in requests.items()]
    counter_table(tmp_path / "1_counter_collection.csv", rows)
    profile = read_captures([tmp_path])
    roof = roofline(only(profile), profile.device, profile.provenance)
    assert roof.bytes_per_s == 64 * 4_000_000 / 100e-6
    assert [d.profiled for d in only(profile).dispatches] == [False, True, False]


def test_passes_of_other_launches_are_not_mixed(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "t_kernel_trace.csv", ((1, NAME, 1000, 2000), (2, NAME, 3000, 4000)))
    for number, rows in enumerate(
        ([(1, "SQ_WAVES", 10.0), (2, "SQ_WAVES", 30.0)], [(2, "SQ_BUSY_CYCLES", 90.0)]), start=1
    ):
        (tmp_path / f"pass_{number}").mkdir()
        table = [(d, NAME, counter, value, 10**6 + d, 10**6 + 9) for d, counter, value in rows]
        counter_table(tmp_path / f"pass_{number}" / "c_counter_collection.csv", table)
    assert only(read_captures([tmp_path])).counters == {"SQ_WAVES": 30.0, "SQ_BUSY_CYCLES": 90.0}
