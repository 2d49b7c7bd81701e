"""Stalls, lines, memory patterns, occupancy and roofline: numbers worked out by hand, and real ones of an MI300X."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.devices import DeviceFacts, device_of, find_device
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.metrics.ceilings import Reach
from hipscope.analysis.metrics.line_costs import is_foreign, line_costs, user_frame
from hipscope.analysis.metrics.memory_patterns import (
    add_patterns,
    coalescing,
    conflict_degree,
    ideal_lines_per_access,
    lines_per_access,
    memory_bytes,
)
from hipscope.analysis.metrics.occupancy import achieved_waves, occupancy, occupancy_of
from hipscope.analysis.metrics.roofline import (
    FLOP_COUNTERS,
    flop_count,
    read_bytes,
    roofline,
    traffic_bytes,
    written_bytes,
)
from hipscope.analysis.metrics.stalls import blamed_stalls, stall_table, total_cycles
from hipscope.analysis.profile import (
    Dispatch,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    MemoryPattern,
    Provenance,
    Resources,
    StallReason,
)

MI300X = find_device("mi300x")
VCOPY = Path(__file__).parents[2] / "data" / "captures" / "mi300x_vcopy"


NO_FLOPS = dict.fromkeys(FLOP_COUNTERS, 0.0)


def kernel_of(
    *instructions: Instruction,
    resources: Resources | None = None,
    workgroup: tuple[int, int, int] = (256, 1, 1),
    counters: dict[str, float] | None = None,
    bound_by: str | None = None,
) -> Kernel:
    dispatch = Dispatch(id=1, grid=(1 << 20, 1, 1), workgroup=workgroup, start_ns=0, end_ns=10_000)
    return Kernel(
        name=KernelName("k()"),
        mangled="_Z1kv",
        dispatches=(dispatch,),
        resources=resources or Resources(),
        instructions=tuple(i.model_copy(update={"index": n}) for n, i in enumerate(instructions)),
        counters=counters or {},
        bound_by=bound_by,
    )


def instruction(text: str, line: int, issue: float = 4, **stalls: float) -> Instruction:
    reasons = {StallReason(name): cycles for name, cycles in stalls.items()}
    stall = sum(reasons.values())
    return Instruction(
        index=0, address=0, text=text, source=(Frame(file="/k.hip", line=line, column=line),), hits=1, lanes=64,
        latency=issue + stall, stall=stall, stalls=reasons,
    )  # fmt: skip


# ---- stalls ----


def test_a_wait_is_blamed_on_the_loads_it_waits_for() -> None:
    wait = instruction("s_waitcnt vmcnt(0) lgkmcnt(0)", 3, global_memory=300, lds=100, instruction_fetch=20)
    wait = wait.model_copy(update={"waited_for": {0: 300.0, 1: 100.0}})
    kernel = kernel_of(instruction("global_load_dword v0", 1), instruction("ds_read_b32 v1", 2), wait)
    load, read, rest = blamed_stalls(kernel)
    assert load == {StallReason.GLOBAL_MEMORY: 300}
    assert read == {StallReason.LDS: 100}
    assert rest == {StallReason.INSTRUCTION_FETCH: 20}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ds_add_u32 v0, v1", StallReason.LDS),
        ("ds_or_b32 v0, v1", StallReason.LDS),
        ("global_atomic_add_f32 v0, v1, s[0:1]", StallReason.ATOMIC),
        ("buffer_load_dword v0, off, s[0:3], 0", StallReason.GLOBAL_MEMORY),
        ("v_exp_f32 v0, v1", StallReason.DEPENDENCY),
    ],
)
def test_a_wait_that_is_blamed_keeps_its_kind(text: str, reason: StallReason) -> None:
    wait = instruction("s_waitcnt vmcnt(0) lgkmcnt(0)", 2, **{reason.value: 40})
    wait = wait.model_copy(update={"waited_for": {0: 40.0}})
    kernel = kernel_of(instruction(text, 1), wait)
    assert blamed_stalls(kernel)[0] == {reason: 40} == stall_table(kernel)


def test_blame_moves_cycles_and_makes_none() -> None:
    wait = instruction("s_waitcnt vmcnt(0)", 3, global_memory=50, dependency=5)
    wait = wait.model_copy(update={"waited_for": {0: 80.0}})  # more than it stalled
    kernel = kernel_of(instruction("global_load_dword v0", 1, pipe_busy=7), wait)
    blamed = [sum(table.values()) for table in blamed_stalls(kernel)]
    assert sum(blamed) == sum(stall_table(kernel).values()) == 62
    assert blamed == [62, 0]


def test_the_stall_table_is_sorted() -> None:
    kernel = kernel_of(instruction("a", 1, lds=1, barrier=5), instruction("b", 1, lds=2))
    assert list(stall_table(kernel).items()) == [(StallReason.BARRIER, 5), (StallReason.LDS, 3)]
    assert total_cycles(kernel) == 16


# ---- lines ----


def test_a_line_costs_what_it_issues_and_what_others_wait_for_it() -> None:
    wait = instruction("s_waitcnt vmcnt(0)", 9, global_memory=92)
    wait = wait.model_copy(update={"waited_for": {0: 92.0}})
    costs = line_costs(kernel_of(instruction("global_load_dword v0", 7), wait))
    assert [(c.line, c.latency, c.share) for c in costs] == [(7, 96, 0.96), (9, 4, 0.04)]
    assert costs[0].stalls == {StallReason.GLOBAL_MEMORY: 92}


def test_lines_add_up_to_the_kernel() -> None:
    kernel = kernel_of(instruction("a", 1, lds=10), instruction("b", 2, barrier=3), instruction("c", 1))
    assert sum(cost.latency for cost in line_costs(kernel)) == total_cycles(kernel)


def test_an_inlined_header_counts_for_the_line_that_calls_it() -> None:
    chain = (Frame(file="/opt/rocm/include/hip/hip.h", line=900), Frame(file="/home/me/k.hip", line=4))
    assert user_frame(chain) == chain[1]
    assert user_frame(chain[:1]) == chain[0]
    assert user_frame(()) is None


def test_an_inlined_function_of_the_user_counts_for_itself() -> None:
    chain = (Frame(file="/home/me/math.h", line=2), Frame(file="/home/me/k.hip", line=4))
    assert user_frame(chain) == chain[0]


@pytest.mark.parametrize(
    ("file", "foreign"),
    [
        ("/usr/include/hip/amd_detail/x.h", True),
        ("/opt/rocm-6.4.0/include/hip/x.h", True),
        ("/build/rocm/lib/clang/19/include/math.h", True),
        ("/home/me/rocm-6.4.1/include/rocprim/x.hpp", True),
        (
            "/home/me/.venv/lib/python3.12/site-packages/hipscope/emulator/overlay/hip/hip_cooperative_groups.h",
            True,
        ),
        ("/home/me/rocm-systems/projects/kernel.cpp", False),
        ("/home/me/project/include/kernel.h", False),
        ("kernel.hip", False),
    ],
)
def test_headers_of_the_system_are_told_from_the_users(file: str, foreign: bool) -> None:
    assert is_foreign(file) is foreign


# ---- memory ----


def pattern(**changes: object) -> MemoryPattern:
    base = {"space": "global", "kind": "load", "bytes_per_lane": 4, "accesses": 10, "lanes": 640}
    return MemoryPattern.model_validate({**base, "lines_needed": 20, "lines_used": 80, **changes})


def test_coalescing_compares_lines_needed_with_lines_used() -> None:
    assert coalescing(pattern()) == 0.25
    assert lines_per_access(pattern()) == 8
    assert ideal_lines_per_access(pattern()) == 2


def test_conflicts_compare_with_the_same_access_without_them() -> None:
    assert conflict_degree(pattern(space="lds", lds_cycles=640, lds_conflict_cycles=620)) == 32


@pytest.mark.parametrize("measure", [coalescing, lines_per_access, ideal_lines_per_access, conflict_degree])
def test_what_was_not_accessed_has_no_ratio(measure: object) -> None:
    nothing = pattern(accesses=0, lines_needed=0, lines_used=0)
    assert measure(nothing) is None  # type: ignore[operator]


def test_sums_keep_kinds_apart_and_do_not_invent_what_is_missing() -> None:
    parts = [pattern(l1_hits=5), pattern(l1_hits=None), pattern(kind="store", l2_hits=3)]
    loads, stores = add_patterns(parts)
    assert (loads.lines_used, loads.l1_hits) == (160, None)
    assert (stores.lines_used, stores.l2_hits) == (80, 3)


def test_memory_bytes_are_unknown_without_a_record() -> None:
    assert memory_bytes(kernel_of(instruction("a", 1))) is None
    load = instruction("a", 1).model_copy(update={"memory": pattern(memory_lines=10)})
    assert memory_bytes(kernel_of(load)) == 1280


# ---- occupancy ----


@pytest.mark.parametrize(
    ("resources", "workgroup", "waves", "limiter"),
    [
        (Resources(vgprs=64, agprs=0, sgprs=32, lds_bytes=0), (256, 1, 1), 8, "hardware maximum"),
        (Resources(vgprs=65, agprs=0, lds_bytes=0), (256, 1, 1), 7, "VGPRs"),
        (Resources(vgprs=80, agprs=0, lds_bytes=0), (256, 1, 1), 6, "VGPRs"),
        (Resources(vgprs=128, agprs=0, lds_bytes=0), (256, 1, 1), 4, "VGPRs"),
        (Resources(vgprs=256, agprs=256, lds_bytes=0), (256, 1, 1), 1, "VGPRs"),
        (Resources(vgprs=126, agprs=4, lds_bytes=0), (256, 1, 1), 3, "VGPRs"),  # 128 + 4, granted as 136
        (Resources(vgprs=16, agprs=0, sgprs=102, lds_bytes=0), (256, 1, 1), 7, "SGPRs"),
        (Resources(vgprs=16, agprs=0, lds_bytes=16384), (256, 1, 1), 4, "LDS"),
        (Resources(vgprs=16, agprs=0, lds_bytes=16385), (256, 1, 1), 3, "LDS"),
        (
            Resources(vgprs=16, agprs=0, lds_bytes=0),
            (768, 1, 1),
            6,
            "workgroup size",
        ),  # 2 of 12 waves in 32 places
        (Resources(vgprs=16, agprs=0, lds_bytes=0), (64, 1, 1), 8, "hardware maximum"),
    ],
)
def test_the_scarcest_resource_limits_occupancy(
    resources: Resources, workgroup: tuple[int, int, int], waves: float, limiter: str
) -> None:
    found = occupancy(kernel_of(resources=resources, workgroup=workgroup), MI300X)
    assert found is not None
    assert (found.theoretical, found.limiter) == (waves, limiter)


def test_a_small_launch_cannot_fill_the_device() -> None:
    kernel = kernel_of(resources=Resources(vgprs=8, agprs=0, lds_bytes=0))
    dispatch = kernel.dispatches[0]._replace(grid=(1000, 1, 1))
    found = occupancy(kernel.model_copy(update={"dispatches": (dispatch,)}), MI300X)
    assert found is not None
    assert found.launched == 16 / (304 * 4)


@pytest.mark.parametrize(
    "resources",
    [Resources(), Resources(lds_bytes=0), Resources(vgprs=200, agprs=0)],
    ids=["nothing", "LDS", "registers"],
)
def test_occupancy_is_unknown_when_a_part_of_it_is_not_known(resources: Resources) -> None:
    assert occupancy(kernel_of(resources=resources), MI300X) is None


def test_a_trace_without_launches_has_no_occupancy() -> None:
    # Its workgroups would have to be guessed: 64 work-items were, for 14 of 14 real folders.
    resources = Resources(vgprs=128, agprs=0, lds_bytes=32768)
    kernel = kernel_of(resources=resources).model_copy(update={"dispatches": ()})
    assert occupancy(kernel, MI300X) is None


@pytest.mark.parametrize(
    ("resources", "step"),
    [
        (Resources(vgprs=128, agprs=0, lds_bytes=0), "128 -> 96 VGPRs gives 5 waves"),
        (Resources(vgprs=126, agprs=4, lds_bytes=0), "126 -> 124 VGPRs gives 4 waves"),
        (Resources(vgprs=16, agprs=0, lds_bytes=16385), "16,385 -> 16,384 LDS bytes gives 4 waves"),
        (Resources(vgprs=16, agprs=0, sgprs=102, lds_bytes=0), "102 -> 100 SGPRs gives 8 waves"),
        (Resources(vgprs=16, agprs=0, lds_bytes=0), "None"),
        (Resources(vgprs=128, agprs=0, lds_bytes=16384), "None"),  # both hold it at 4
    ],
)
def test_the_next_step_is_the_least_that_gives_more_waves(resources: Resources, step: str) -> None:
    found = occupancy_of(resources, 256, MI300X)
    assert found is not None
    assert str(found.next_step) == step


@pytest.mark.parametrize(
    ("arch", "resources", "threads", "waves"),
    [
        ("gfx950", Resources(vgprs=64, agprs=0, lds_bytes=81920), 256, 2),  # 64 granules of 1,280
        ("gfx950", Resources(vgprs=64, agprs=0, lds_bytes=53_760), 256, 3),  # 42 of them; by 512 it would be 3, too
        ("gfx950", Resources(vgprs=64, agprs=0, lds_bytes=40_961), 256, 3),  # 33 granules of 1,280: 3 of them fit
        ("gfx908", Resources(vgprs=128, agprs=32, lds_bytes=0), 256, 2),  # two files: the larger need counts
        ("gfx908", Resources(vgprs=24, agprs=0, lds_bytes=0), 256, 10),
        ("gfx1100", Resources(vgprs=97, lds_bytes=0), 256, 12),  # granted 120 of 1,536
        ("gfx1030", Resources(vgprs=97, lds_bytes=0), 256, 8),  # 112 of 1,024 would be 9: a WGP takes 4 of 8 waves each
        ("gfx1100", Resources(vgprs=32, lds_bytes=65536), 256, 4),  # two of them on a WGP of 128 KiB
        ("sm_80", Resources(vgprs=255, lds_bytes=0), 256, 2),
        ("sm_90", Resources(vgprs=32, lds_bytes=48 * 1024), 128, 4),  # 49 KiB with what the system takes: 4 of 228 KiB
    ],
)  # fmt: skip
def test_each_architecture_has_its_own_limits(
    arch: str, resources: Resources, threads: int, waves: float
) -> None:
    found = occupancy_of(resources, threads, device_of(DeviceFacts(arch=arch)))
    assert found is not None
    assert found.theoretical == waves


def test_nothing_is_said_of_an_unknown_device() -> None:
    resources = Resources(vgprs=64, agprs=0, sgprs=32, lds_bytes=1024)
    counters = NO_FLOPS | {
        "SQ_WAVE_CYCLES": 100.0,
        "GRBM_GUI_ACTIVE": 100.0,
        "SQ_INSTS_VALU_ADD_F32": 1e9,
        "TCC_EA0_RDREQ_sum": 1e9,
    }
    counters["TCC_EA0_WRREQ_sum"] = 0.0
    kernel = kernel_of(resources=resources, counters=counters)
    unknown = device_of(DeviceFacts(arch="gfx1399"))
    assert occupancy(kernel, unknown) is None
    assert achieved_waves(kernel, unknown) is None
    roof = roofline(kernel, unknown, Provenance.MEASURED)
    assert roof.flops_per_s is not None
    assert (roof.peak_flops_per_s, roof.flops_fraction, roof.memory_fraction, roof.ridge) == (
        None,
        None,
        None,
        None,
    )


# ---- the MI300X copy: 1 M doubles, 16384 waves, three launches ----


def test_the_occupancy_of_a_real_copy() -> None:
    kernel = read_capture(VCOPY).kernels[0]
    waves = achieved_waves(kernel, MI300X)
    assert waves is not None
    # rocprofiler-compute shows 1919 waves on the device, from another counter of another pass.
    assert waves * 304 * 4 == pytest.approx(1918.7, rel=0.1)


def test_the_traffic_of_a_real_copy() -> None:
    counters = read_capture(VCOPY).kernels[0].counters
    read = read_bytes(counters)
    assert read is not None
    assert read / 3 == pytest.approx(8.40e6, rel=0.01)
    assert written_bytes(counters) == pytest.approx(3 * 8 * 1024 * 1024, rel=0.05)
    hits, misses = counters["TCC_HIT_sum"], counters["TCC_MISS_sum"]
    assert 100 * hits / (hits + misses) == pytest.approx(34.3, abs=0.5)


def test_the_roofline_of_a_real_copy() -> None:
    profile = read_capture(VCOPY)
    roof = roofline(profile.kernels[0], MI300X, profile.provenance)
    assert roof.time_ns == 8052 + 2 * 6730
    assert roof.flops == 0
    assert roof.intensity == 0
    # 16.8 MB in about 7 us is 2.4 TB/s of 5.3.
    assert roof.memory_fraction == pytest.approx(0.44, abs=0.03)
    assert roof.provenance is Provenance.MEASURED


# ---- roofline ----


def test_flops_count_fma_twice_and_matrix_operations_by_512() -> None:
    counters = NO_FLOPS | {
        "SQ_INSTS_VALU_ADD_F32": 1.0,
        "SQ_INSTS_VALU_FMA_F64": 2.0,
        "SQ_INSTS_VALU_MFMA_MOPS_F16": 3.0,
    }
    assert flop_count(counters) == 64 * (1 + 4) + 512 * 3


@pytest.mark.parametrize("name", NO_FLOPS)
def test_work_of_a_type_that_was_not_counted_is_not_zero(name: str) -> None:
    counters = {n: 1.0 for n in NO_FLOPS if n != name}
    assert flop_count(counters) is None
    assert flop_count({**counters, name: 0.0}) is not None
    if "MFMA" in name:
        assert (flop_count(counters, "gfx90a") is None) == (not name.endswith("_F8"))
        assert (
            flop_count({**counters, "SQ_INSTS_MFMA": 0.0}) is not None
        )  # no matrix instruction was executed


def test_missing_counters_stay_missing() -> None:
    assert flop_count({}) is None
    assert traffic_bytes({"TCC_EA0_RDREQ_sum": 1.0}) is None
    roof = roofline(kernel_of(), MI300X, Provenance.MODELLED)
    assert (roof.flops, roof.memory_bytes, roof.intensity, roof.memory_fraction) == (None, None, None, None)
    assert roof.bound == "unknown"


def test_a_kernel_without_time_has_no_rates() -> None:
    kernel = kernel_of(counters=NO_FLOPS | {"SQ_INSTS_VALU_ADD_F32": 100.0}).model_copy(
        update={"dispatches": ()}
    )
    roof = roofline(kernel, MI300X, Provenance.MEASURED)
    assert roof.flops == 6400
    assert roof.flops_per_s is None


def test_a_kernel_near_a_ceiling_is_bound_by_it() -> None:
    lines = 0.7 * 5.3e12 * 10e-6 / 64
    streaming = {"TCC_EA0_RDREQ_sum": lines, "TCC_EA0_WRREQ_sum": 0.0, "SQ_INSTS_VALU_ADD_F32": 1.0}
    assert roofline(kernel_of(counters=streaming), MI300X, Provenance.MEASURED).bound == "memory"
    busy = NO_FLOPS | {"SQ_INSTS_VALU_FMA_F32": 0.7 * 163.4e12 * 10e-6 / 128}
    assert roofline(kernel_of(counters=busy), MI300X, Provenance.MEASURED).bound == "compute"


def test_double_precision_is_held_against_its_own_peak() -> None:
    counters = {"SQ_INSTS_VALU_ADD_F32": 0.0, "SQ_INSTS_VALU_FMA_F64": 10.0}
    assert roofline(kernel_of(counters=counters), MI300X, Provenance.MEASURED).peak_flops_per_s == 81.7e12


@pytest.mark.parametrize(
    ("reason", "bound"),
    [
        ("lds", "lds"),
        ("atomic", "atomics"),
        ("issue_contention", "issue"),
        ("global_memory", "latency"),
        ("barrier", "latency"),
    ],
)
def test_far_from_every_ceiling_the_largest_wait_tells(reason: str, bound: str) -> None:
    kernel = kernel_of(instruction("v_mov_b32 v0, v1", 1, **{reason: 100.0}))
    assert roofline(kernel, MI300X, Provenance.MEASURED).bound == bound


def test_the_models_own_verdict_wins() -> None:
    kernel = kernel_of(instruction("ds_read_b32", 1, lds=100), bound_by="atomic")
    assert roofline(kernel, MI300X, Provenance.MODELLED).bound == "atomics"


@pytest.mark.parametrize(("waits", "bound"), [(100.0, "issue"), (2.0, "latency")])
def test_no_unit_is_busy_for_the_model_where_simds_are_busy_with_issuing(waits: float, bound: str) -> None:
    kernel = kernel_of(instruction("s_add_u32 s0, s0, 1", 1, issue_contention=waits), bound_by="latency")
    assert roofline(kernel, MI300X, Provenance.MODELLED).bound == bound


# ---- ceilings ----


def reach_of(counters: dict[str, float], time_ns: float = 10_000) -> dict[str, Reach]:
    kernel = kernel_of(counters=counters)
    dispatch = kernel.dispatches[0]._replace(end_ns=time_ns)
    found = roofline(kernel.model_copy(update={"dispatches": (dispatch,)}), MI300X, Provenance.MEASURED)
    return {reach.name: reach for reach in found.ceilings}


def test_matrix_work_is_held_against_the_matrix_peak() -> None:
    # A bf16 GEMM was "65 % of peak, compute bound": of the peak of single-precision vectors.
    work = 106e12 * 10e-6
    counters = NO_FLOPS | {"SQ_INSTS_VALU_MFMA_MOPS_BF16": work / 512}
    memory = {"TCC_EA0_RDREQ_sum": 0.3 * 5.3e12 * 10e-6 / 64, "TCC_EA0_WRREQ_sum": 0.0}
    narrow = {"TCC_BUBBLE_sum": 0.0, "TCC_EA0_RDREQ_32B_sum": 0.0, "TCC_EA0_WRREQ_64B_sum": 0.0}
    roof = roofline(kernel_of(counters={**counters, **memory, **narrow}), MI300X, Provenance.MEASURED)
    assert roof.flops_fraction == pytest.approx(0.081, abs=0.001)
    assert roof.bound != "compute"
    assert roof.nearest == "hbm"


def test_each_level_and_data_type_has_its_own_ceiling() -> None:
    counters = {
        "TCP_TCC_READ_REQ_sum": 1000.0, "TCP_TCC_WRITE_REQ_sum": 0.0, "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0.0,
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 0.0, "TCP_TOTAL_CACHE_ACCESSES_sum": 1000.0, "SQ_LDS_IDX_ACTIVE": 1000.0,
        "SQ_LDS_BANK_CONFLICT": 0.0, "SQ_INSTS": 100.0, "SQ_INSTS_VALU": 50.0, "SQ_INSTS_VALU_MFMA_MOPS_I8": 10.0,
        **{f"SQ_INSTS_VALU_{operation}_F64": 10.0 for operation in ("ADD", "MUL", "TRANS", "FMA")},
    }  # fmt: skip
    found = reach_of(counters)
    assert set(found) == {"l2", "l1", "lds", "issue", "valu", "matrix_i8", "vector_f64"}
    assert found["l2"].per_s == 128_000 / 10e-6
    assert found["vector_f64"].per_s == 64 * 50 / 10e-6
    assert (found["matrix_i8"].unit, found["matrix_i8"].ceiling) == ("OP/s", 977e12)
    assert (found["issue"].unit, found["issue"].ceiling) == ("instructions/s", 5 * 304 * 2100e6)
    assert (found["l1"].ceiling, found["l1"].basis) == (33.0e12, "measured")


@pytest.mark.parametrize(
    ("tb_per_s", "name", "fraction"),
    [
        (2.12, "hbm", 0.5),
        (5.0, "hbm", 5.0 / 5.3),  # beyond what was measured: the sum of the units is the ceiling
        (6.0, "mall", 6.0 / 6.42),  # beyond what memory can: the cache in front of it served it
    ],
)
def test_no_kernel_is_above_its_ceiling(tb_per_s: float, name: str, fraction: float) -> None:
    requests = tb_per_s * 1e12 * 10e-6 / 64
    counters = {"TCC_EA0_RDREQ_sum": requests, "TCC_EA0_WRREQ_sum": 0.0}
    (reach,) = reach_of(counters).values()
    assert reach.name == name
    assert reach.fraction == pytest.approx(fraction)


def test_a_copy_on_an_mi200_is_read_by_its_own_counters() -> None:
    device = device_of(DeviceFacts(arch="gfx90a", product="MI210", compute_units=104, xcds=1))
    counters = {"TCC_EA_RDREQ_sum": 100.0, "TCC_EA_RDREQ_32B_sum": 20.0, "TCC_EA_WRREQ_sum": 10.0}
    counters["TCC_EA_WRREQ_64B_sum"] = 5.0
    roof = roofline(kernel_of(counters=counters), device, Provenance.MEASURED)
    assert roof.memory_bytes == 32 * 20 + 64 * 80 + 64 * 5 + 32 * 5


def test_without_time_nothing_is_close_to_anything() -> None:
    assert reach_of({"SQ_INSTS": 100.0}, time_ns=0) == {}
