"""Defects that were seen in other tools of this kind: each test would catch its defect here.

Names: `guided_tuning_1_5`, `metrix_3_1` and `linex_3_2` are IntelliPerf's counters, IntelliKit's counters and its
thread traces; `perf_lab_a5` to `a10` are the parts of rocm-perf-lab, `opal_b2` is Opal's reading of profiles.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.counters.metrics import metrics_of
from hipscope.analysis.counters.table import metric_table, tables
from hipscope.analysis.devices import DeviceFacts, device_of
from hipscope.analysis.ingest import read_captures
from hipscope.analysis.metrics.line_costs import line_costs
from hipscope.analysis.metrics.occupancy import achieved_waves, occupancy_of
from hipscope.analysis.metrics.roofline import Roofline, roofline
from hipscope.analysis.metrics.stalls import blamed_stalls, total_cycles
from hipscope.analysis.profile import Dispatch, Kernel, KernelName, Provenance, Resources, StallReason
from hipscope.analysis.timeline.timeline import timeline
from tests.analysis.ingest.capture_files import (
    AGENTS,
    NAME,
    PLACE,
    counter_table,
    kernel_trace,
    pc_samples,
    results_json,
    rocpd,
    thread_trace,
)

MI300X = device_of(DeviceFacts(arch="gfx942", product="MI300X", compute_units=304, xcds=8, clock_mhz=2100))
NO_WORK = ("TCP_TOTAL_ACCESSES_sum", "TA_TOTAL_WAVEFRONTS_sum", "TCC_HIT_sum", "TCC_MISS_sum")


def metrics(counters: dict[str, float], time_ns: float = 1000, launches: int = 1) -> dict[str, float | None]:
    return {m.metric.key: m.value for m in metrics_of(counters, time_ns, launches, MI300X)}


def placed(counters: dict[str, float], launches: int = 1, time_ns: float = 10_000) -> Roofline:
    kernel = Kernel(
        name=KernelName("k()"),
        mangled="_Z1kv",
        dispatches=tuple(Dispatch(n, (64, 1, 1), (64, 1, 1), 0, time_ns) for n in range(launches)),
        resources=Resources(),
        counters=counters,
    )
    return roofline(kernel, MI300X, Provenance.MEASURED)


# ---- IntelliPerf's Guided Tuning ----


def test_guided_tuning_1_5_the_peak_of_hbm_is_not_made_of_the_engine_clock() -> None:
    hbm = MI300X.ceilings["hbm"]
    assert max(hbm.per_s, hbm.peak_per_s or 0) < 5.4e12  # there: 8.6 TB/s


def test_guided_tuning_1_5_no_accesses_have_no_hit_rate_and_no_coalescing() -> None:
    found = metrics(dict.fromkeys((*NO_WORK, "TCP_TOTAL_CACHE_ACCESSES_sum"), 0.0))
    assert (found["l2_hit"], found["l1_hit"], found["coalescing"]) == (None, None, None)  # there: 0, 100, 0


def test_guided_tuning_1_5_a_counter_that_was_not_collected_is_named_and_is_not_zero() -> None:
    (latency,) = (
        m for m in metrics_of({"SQ_INSTS_VMEM": 5.0}, 1000, 1, MI300X) if m.metric.key == "vmem_latency"
    )
    assert latency.value is None
    assert latency.missing == ("SQ_INST_LEVEL_VMEM_ACCUM",)


def test_guided_tuning_1_5_occupancy_without_its_counter_is_unknown_and_not_zero(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv")
    (tmp_path / "1_agent_info.csv").write_text(AGENTS)
    profile = read_captures([tmp_path])
    assert achieved_waves(profile.kernels[0], profile.device) is None


def test_guided_tuning_1_5_accumulation_registers_are_read(tmp_path: Path) -> None:
    results_json(tmp_path / "1_results.json")
    resources = read_captures([tmp_path]).kernels[0].resources
    assert (resources.vgprs, resources.agprs, resources.sgprs) == (36, 4, 48)  # there: agprs always 0


def test_guided_tuning_1_5_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "1_kernel_trace.csv").write_text(
        '"Kind","SGPR_Count","Kernel_Name","VGPR_Count","LDS_Block_Size","Scratch_Size","End_Timestamp","Start_Timestamp"\n'
        '"KERNEL_DISPATCH",48,"k()",36,1024,16,2000,1000\n'
    )
    (kernel,) = read_captures([tmp_path]).kernels
    found = kernel.resources
    assert (found.sgprs, found.vgprs, found.lds_bytes, found.scratch_bytes) == (48, 36, 1024, 16)
    assert kernel.time_ns == 1000


def test_guided_tuning_1_5_kernels_with_a_common_beginning_are_not_averaged_together(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", [(1, "scale()", 0, 100), (2, "scale_all()", 200, 500)])
    rows = [(1, "scale()", "SQ_WAVES", 10.0, 0, 100), (2, "scale_all()", "SQ_WAVES", 70.0, 200, 500)]
    counter_table(tmp_path / "1_counter_collection.csv", rows)
    found = {k.name: k.counters["SQ_WAVES"] for k in read_captures([tmp_path]).kernels}
    assert found == {"scale()": 10.0, "scale_all()": 70.0}


@pytest.mark.parametrize(
    "name", ["k[abi:v1](int)", "a|b()", "f<1+2>(x?)", "k{lambda()#1}::operator()() const"]
)
def test_guided_tuning_1_5_no_sign_in_a_kernels_name_is_a_pattern(tmp_path: Path, name: str) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", [(1, name, 0, 100), (2, "other()", 200, 500)])
    counter_table(tmp_path / "1_counter_collection.csv", [(1, name, "SQ_WAVES", 10.0, 0, 100)])
    kernel = read_captures([tmp_path]).kernel(name)
    assert kernel is not None
    assert kernel.counters == {"SQ_WAVES": 10.0}


def test_guided_tuning_1_5_values_that_are_no_whole_numbers_stay_so(tmp_path: Path) -> None:
    counter_table(tmp_path / "1_counter_collection.csv", [(1, NAME, "SQ_X", 12.25, 1000, 2000)])
    assert read_captures([tmp_path]).kernels[0].counters["SQ_X"] == 12.25  # there: BIGINT


def test_guided_tuning_1_5_times_are_those_of_the_trace_and_not_of_a_pass_of_counters(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", [(1, NAME, 1000, 2000)])
    counter_table(tmp_path / "2_counter_collection.csv", [(1, NAME, "SQ_WAVES", 1.0, 90_000, 99_000)])
    assert read_captures([tmp_path]).kernels[0].time_ns == 1000


def test_guided_tuning_1_5_each_data_type_has_its_own_peak() -> None:
    double = {"SQ_INSTS_VALU_ADD_F32": 0.0, "SQ_INSTS_VALU_FMA_F64": 1e6}
    single = {"SQ_INSTS_VALU_ADD_F32": 0.0, "SQ_INSTS_VALU_FMA_F32": 1e6}
    peaks = [placed(counters).peak_flops_per_s for counters in (double, single)]
    assert peaks[0] is not None
    assert peaks[1] is not None
    assert peaks[0] < 0.6 * peaks[1]


def test_guided_tuning_1_5_every_architecture_of_amd_instinct_has_its_table() -> None:
    assert {"gfx908", "gfx90a", "gfx942", "gfx950"} <= set(tables())  # there: none for gfx908, and it ends


# ---- IntelliKit ----


def test_metrix_3_1_bandwidth_is_bytes_over_the_time_of_the_launches() -> None:
    # A real vector add on an MI300X: 8.4 MB read in 5.809 us. GRBM_GUI_ACTIVE is a sum over 8 XCDs.
    counters = {
        "TCC_EA0_RDREQ_sum": 8_400_896 / 64, "TCC_EA0_RDREQ_32B_sum": 0.0, "TCC_BUBBLE_sum": 0.0,
        "GRBM_GUI_ACTIVE": 8 * 17_000.0,
    }  # fmt: skip
    assert metrics(counters, 5809)["read_rate"] == pytest.approx(1446, rel=0.01)  # there: 40.7


def test_metrix_3_1_rates_of_many_launches_are_those_of_one() -> None:
    one = {"TCC_EA0_RDREQ_sum": 1e5, "TCC_EA0_RDREQ_32B_sum": 0.0, "TCC_BUBBLE_sum": 0.0}
    many = {name: 7 * value for name, value in one.items()}
    assert metrics(many, 7000, 7)["read_rate"] == pytest.approx(metrics(one, 1000, 1)["read_rate"])
    assert metrics(many, 7000, 7)["time"] == metrics(one, 1000, 1)["time"]  # there: divided twice


def test_metrix_3_1_a_division_by_zero_is_no_number() -> None:
    assert metrics({"TCC_EA0_RDREQ_LEVEL_sum": 9.0, "TCC_EA0_RDREQ_sum": 0.0})["read_latency"] is None


def test_metrix_3_1_grids_of_a_trace_are_read(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv")
    assert read_captures([tmp_path]).kernels[0].dispatches[0].grid == (65536, 1, 1)  # there: 0


def test_metrix_3_1_every_process_counts(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "1_kernel_trace.csv", [(1, NAME, 1000, 2000)])
    kernel_trace(tmp_path / "2_kernel_trace.csv", [(1, NAME, 1500, 2500)])
    assert len(read_captures([tmp_path]).kernels[0].dispatches) == 2  # there: the first file


def test_linex_3_2_the_label_of_a_kernel_is_no_line(tmp_path: Path) -> None:
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    (kernel,) = read_captures([tmp_path]).kernels
    assert [(cost.file, cost.line) for cost in line_costs(kernel)] == [(PLACE, 3), (PLACE, 4)]


def test_linex_3_2_every_dispatch_of_a_trace_is_read(tmp_path: Path) -> None:
    for n in (1, 2):
        thread_trace(tmp_path / f"ui_output_agent_1_dispatch_{n}")
    (kernel,) = read_captures([tmp_path]).kernels
    assert total_cycles(kernel) == 2 * 100_000  # there: the first


def test_linex_3_2_an_inline_chain_is_no_file(tmp_path: Path) -> None:
    chain = f"/cluster/inner.hpp:7 -> {PLACE}:4"
    rows = [
        ["; _Z5scalePfi", 0, 0, NAME, 1, 256, 0, 0, 0, 0],
        ["v_add_f32 v0, v0, v1", 0, 1, chain, 1, 260, 9, 90, 0, 0],
    ]
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1", rows, waits=False)
    (kernel,) = read_captures([tmp_path]).kernels
    assert {frame.file for i in kernel.instructions for frame in i.source} == {"/cluster/inner.hpp", PLACE}


# ---- rocm-perf-lab ----


def test_perf_lab_a5_no_table_asks_for_a_counter_that_does_not_exist() -> None:
    for arch in tables():
        table = metric_table(arch)
        assert table is not None
        formulas = [*table.names.values(), *(m.formula for m in table.metrics.values())]
        assert not any("WRREQ_32B" in formula for formula in formulas)


def test_perf_lab_a5_reads_of_128_bytes_count() -> None:
    counters = {"TCC_EA0_RDREQ_sum": 10.0, "TCC_EA0_RDREQ_32B_sum": 2.0, "TCC_BUBBLE_sum": 3.0}
    counters |= {"TCC_EA0_WRREQ_sum": 0.0, "TCC_EA0_WRREQ_64B_sum": 0.0}
    assert placed(counters).memory_bytes == 3 * 128 + 5 * 64 + 2 * 32


def test_perf_lab_a6_the_ridge_is_where_the_device_has_it() -> None:
    ridge = placed({"SQ_INSTS_VALU_ADD_F32": 1.0}).ridge
    assert ridge == pytest.approx(163.4 / 5.3, rel=0.01)  # there: 3269


def test_perf_lab_a6_integer_and_move_instructions_are_no_floating_point_work() -> None:
    assert placed({"SQ_INSTS_VALU": 1e9}).flops is None


def test_perf_lab_a6_work_of_all_launches_is_over_the_time_of_all_launches() -> None:
    one = placed({"SQ_INSTS_VALU_ADD_F32": 1e6}, launches=1)
    many = placed({"SQ_INSTS_VALU_ADD_F32": 100e6}, launches=100)
    assert many.flops_per_s == pytest.approx(one.flops_per_s)  # there: 100 times


def test_perf_lab_a6_counters_that_failed_bound_nothing() -> None:
    assert placed({}).bound == "unknown"  # there: compute


def test_perf_lab_a7_runs_that_were_left_in_a_folder_are_not_mixed(tmp_path: Path) -> None:
    for run, start in (("old", 1000), ("new", 9_000_000_000_000)):
        (tmp_path / run).mkdir()
        kernel_trace(tmp_path / run / "1_kernel_trace.csv", [(1, NAME, start, start + 500)])
    profile = read_captures([tmp_path])
    assert len(profile.kernels[0].dispatches) == 1
    assert any("several runs" in note for note in profile.notes)


def test_perf_lab_a8_launches_of_two_queues_that_follow_closely_are_no_path(tmp_path: Path) -> None:
    header = '"Kind","Queue_Id","Kernel_Name","Start_Timestamp","End_Timestamp"'
    rows = ['"KERNEL_DISPATCH",1,"a()",1000,2000', '"KERNEL_DISPATCH",2,"b()",2019,3019']
    (tmp_path / "1_kernel_trace.csv").write_text("\n".join([header, *rows, ""]))
    found = timeline(read_captures([tmp_path]))
    assert found is not None
    assert found.path is not None
    assert found.path.time_ns == 1000  # there: 2000
    assert [k.least_slack_ns for k in found.path.kernels] == [0, 0]


@pytest.mark.parametrize("view", [True, False])
def test_perf_lab_a8_kernels_are_read_from_the_view_too(tmp_path: Path, view: bool) -> None:
    rocpd(tmp_path / "1_results.db", view=view)
    assert len(read_captures([tmp_path]).kernels[0].dispatches) == 2


def test_perf_lab_a9_latency_holds_the_stall_and_is_not_added_to_it(tmp_path: Path) -> None:
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    (kernel,) = read_captures([tmp_path]).kernels
    stalled = sum(i.stall for i in kernel.instructions)
    assert stalled / total_cycles(kernel) == 0.62  # there: 0.38


def test_perf_lab_a9_a_wait_for_memory_is_the_loads_and_no_scalar_work(tmp_path: Path) -> None:
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    (kernel,) = read_captures([tmp_path]).kernels
    load = next(n for n, i in enumerate(kernel.instructions) if i.text.startswith("global_load"))
    assert blamed_stalls(kernel)[load] == {StallReason.GLOBAL_MEMORY: 62_000}


def test_perf_lab_a9_traces_of_two_kernels_are_not_pooled(tmp_path: Path) -> None:
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    rows = [
        ["; _Z5otherv", 0, 0, "other()", 2, 512, 0, 0, 0, 0],
        ["s_nop 0", 0, 1, f"{PLACE}:9", 2, 512, 1, 7, 0, 0],
    ]
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_2", rows, waits=False)
    found = {k.name: total_cycles(k) for k in read_captures([tmp_path]).kernels}
    assert found == {NAME: 100_000, "other()": 7}


def test_perf_lab_a10_waits_for_memory_are_no_scalar_bottleneck(tmp_path: Path) -> None:
    thread_trace(tmp_path / "ui_output_agent_1_dispatch_1")
    profile = read_captures([tmp_path])
    assert roofline(profile.kernels[0], profile.device, profile.provenance).bound == "latency"


def test_perf_lab_a10_registers_of_one_simd_are_not_counted_twice() -> None:
    found = occupancy_of(Resources(vgprs=128, agprs=0, lds_bytes=0), 64, MI300X)
    assert found is not None
    assert found.theoretical == 4  # A13: there 8


# ---- Opal ----


def test_opal_b2_counters_without_words_still_name_what_bounds_the_kernel() -> None:
    lines = 0.8 * 5.3e12 * 10e-6 / 64
    found = placed({"TCC_EA0_RDREQ_sum": lines, "TCC_EA0_WRREQ_sum": 0.0, "TCC_EA0_RDREQ_32B_sum": 0.0,
                    "TCC_BUBBLE_sum": 0.0, "TCC_EA0_WRREQ_64B_sum": 0.0})  # fmt: skip
    assert found.bound == "memory"
    assert "threshold 60 %" in found.why


def test_opal_b2_a_shorter_form_of_samples_loses_none_of_them(tmp_path: Path) -> None:
    pc_samples(tmp_path / "1_pc_sampling_stochastic.csv")
    profile = read_captures([tmp_path])
    kept = sum(i.samples.total for i in profile.kernels[0].instructions if i.samples)
    (file,) = profile.captures
    assert kept == 4
    assert "1 of 5 samples" in (file.why or "")  # what has no instruction is named
