"""The numbers of findings, each checked by hand, from instructions and from counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from hipscope.analysis.devices import DeviceFacts, device_of, find_device
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.metrics.roofline import FLOP_COUNTERS
from hipscope.analysis.profile import (
    Device,
    Dispatch,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    Launches,
    MemoryPattern,
    Profile,
    Resources,
    StallReason,
)
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Finding, Formula
from hipscope.formulas.detect.registry import FORMULAS, all_formulas, detect_all, diagnose, measure_all
from hipscope.formulas.detect.time_at_stake import estimated_speedup, usual_speedup
from tests.formulas.hand_made import modelled_profile

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
FILE = "/k.hip"


def instruction(
    text: str,
    stall: float,
    reason: StallReason,
    memory: MemoryPattern | None,
    hits: int = 100,
    lanes: int = 64,
) -> Instruction:
    """One that is executed `hits` times by waves with that many active lanes; 400 cycles of issue beside its stall."""
    return Instruction(
        index=0, address=0, text=text, source=(Frame(file=FILE, line=7, column=3),), hits=hits, lanes=hits * lanes,
        latency=stall + 400, stall=stall, stalls={reason: stall}, memory=memory,
    )  # fmt: skip


def other(cycles: float) -> Instruction:
    """Vector work of that many cycles, without a finding."""
    return instruction("v_add_f32_e32 v0, v1, v2", cycles - 400, StallReason.DEPENDENCY, None)


def profile_of(
    *instructions: Instruction,
    time_ns: float = 1e4,
    bound_by: str | None = None,
    groups: int = 3040,
    size: int = 256,
    resources: Resources | None = None,
    counters: Mapping[str, float] | None = None,
) -> Profile:
    """One kernel with one launch on an MI300X."""
    indexed = tuple(i.model_copy(update={"index": n, "address": 8 * n}) for n, i in enumerate(instructions))
    kernel = Kernel(
        name=KernelName("k(int)"),
        mangled="_Z1ki",
        dispatches=(
            Dispatch(id=1, grid=(groups * size, 1, 1), workgroup=(size, 1, 1), start_ns=0, end_ns=time_ns),
        ),
        resources=resources or Resources(),
        instructions=indexed,
        counters=dict(counters or {}),
        bound_by=bound_by,
    )
    return modelled_profile(kernel)


def only(profile: Profile, formula: str) -> Finding | None:
    """The one finding of that formula, None when there is none."""
    found = detect_all(profile, SourceTexts(), formulas=[formula], min_share=0.0)
    assert len(found) <= 1
    return found[0] if found else None


def evidence(finding: Finding) -> dict[str, float]:
    return {e.metric: e.value for e in finding.evidence}


# ---- registers ----


def test_spills_are_worth_their_issue_and_their_waits() -> None:
    # 400 of issue and 3600 of waits, in 10000 cycles.
    load = instruction("scratch_load_dword v1, off, off", 3600, StallReason.SCRATCH_MEMORY, None)
    finding = only(
        profile_of(load, other(6000), resources=Resources(vgprs=128, vgpr_spills=9)), "registerPressure"
    )
    assert finding is not None
    assert finding.share == pytest.approx(0.4)
    assert finding.message.startswith("9 registers of each work-item do not fit")
    assert evidence(finding)["scratch instructions per wave"] == pytest.approx(100 / (3040 * 4))


def test_a_kernel_just_above_a_step_of_occupancy_is_told_what_one_wave_more_needs() -> None:
    # 136 registers: 3 waves; 128 would give 4. 9200 of 10000 cycles wait, for memory
    # or for the instruction before: a quarter of that could be filled.
    profile = profile_of(
        waiting_load(7600), other(2000), bound_by="latency", resources=Resources(vgprs=136, lds_bytes=0)
    )
    finding = only(profile, "registerPressure")
    assert finding is not None
    assert finding.share == pytest.approx(0.92 * (1 - 3 / 4))
    assert evidence(finding)["waves per SIMD"] == 3
    assert "128 would let 4 run" in finding.message


@pytest.mark.parametrize(
    ("vgprs", "bound_by", "groups"),
    [
        (168, "latency", 3040),  # 128 is 24 % fewer: too far
        (136, "hbm", 3040),  # more waves do not help
        (136, "latency", 304),  # 304 workgroups of 4 waves: no further waves to run
        (64, "latency", 3040),  # 8 waves already
    ],
)
def test_registers_that_cost_nothing_are_not_reported(vgprs: int, bound_by: str, groups: int) -> None:
    profile = profile_of(
        waiting_load(7600),
        other(2000),
        bound_by=bound_by,
        groups=groups,
        resources=Resources(vgprs=vgprs, lds_bytes=0),
    )
    assert only(profile, "registerPressure") is None


def waiting_load(stall: float, hits: int = 100, **memory: float) -> Instruction:
    pattern = MemoryPattern(
        space="global", kind="load", bytes_per_lane=4, accesses=hits, lanes=64 * hits,
        lines_needed=2 * hits, lines_used=2 * hits, **memory,
    )  # fmt: skip
    return instruction("global_load_dword v1, v2, s[0:1]", stall, StallReason.GLOBAL_MEMORY, pattern, hits)


# ---- divergence ----


def test_idle_lanes_are_worth_their_part_of_what_the_instructions_cost() -> None:
    # 4000 cycles with 16 of 64 lanes: three quarters of them are lost, of 10000.
    slow = instruction("v_mul_f32_e32 v0, v1, v2", 3600, StallReason.DEPENDENCY, None, lanes=16)
    finding = only(profile_of(slow, other(6000), groups=20), "branchDivergence")
    assert finding is not None
    assert finding.share == pytest.approx(0.3)
    assert evidence(finding)["active lanes in divergent code"] == 16
    assert evidence(finding)["active lanes per VALU instruction"] == 40


def test_lanes_that_were_never_launched_are_not_divergent() -> None:
    # Workgroups of 16: 16 of 64 lanes is all that there is.
    slow = instruction("v_mul_f32_e32 v0, v1, v2", 3600, StallReason.DEPENDENCY, None, lanes=16)
    assert (
        only(profile_of(slow, other(6000).model_copy(update={"lanes": 1600}), size=16), "branchDivergence")
        is None
    )


def test_lanes_that_a_tree_reduction_leaves_idle_are_lost_only_where_waves_could_be_saved() -> None:
    # 3040 workgroups of 4 waves, 8 steps each with a barrier; 3 of 8 x 4 times a wave goes on to work, with few lanes.
    barrier = instruction("s_barrier", 0, StallReason.BARRIER, None, hits=3040 * 4 * 8)
    step = instruction("v_min_f32_e32 v0, v1, v2", 3600, StallReason.DEPENDENCY, None, 3040 * 13, lanes=16)
    finding = only(profile_of(step, barrier, other(5600)), "branchDivergence")
    assert finding is not None
    assert finding.share == pytest.approx(0.4 * (1 - 8 / 13))
    alone = instruction("s_barrier", 0, StallReason.BARRIER, None, hits=3040 * 4)  # one barrier: no loop
    once = step.model_copy(update={"hits": 3040 * 2, "lanes": 3040 * 2 * 16})
    finding = only(profile_of(once, alone, other(5600)), "branchDivergence")
    assert finding is not None
    assert finding.share == pytest.approx(0.4 * 0.75)


# ---- locality ----


def test_data_that_come_twice_from_memory_are_worth_half_of_the_waits() -> None:
    load = waiting_load(7600, memory_lines=200.0, distinct_lines=50.0)
    finding = only(profile_of(load, other(2000)), "memoryLocality")
    assert finding is not None
    assert finding.share == pytest.approx(0.76 * 0.75)
    assert evidence(finding)["times that a line comes from memory"] == 4
    assert evidence(finding)["bytes from memory per byte loaded"] == 1.0  # 200 lines of 128 B, 100 x 64 x 4 B
    assert "different XCDs" in finding.message


def test_data_that_come_once_are_not_reported_however_long_they_take() -> None:
    load = waiting_load(99000, memory_lines=200.0, distinct_lines=195.0)
    assert only(profile_of(load, other(500)), "memoryLocality") is None


def test_few_lines_that_come_again_are_worth_no_more_than_the_accesses_that_they_can_hold_up() -> None:
    # 16 lines for each of 8 L2 caches: 112 come again, and 10,000 accesses hit the L1 otherwise.
    load = waiting_load(7600, hits=10000, memory_lines=128.0, distinct_lines=16.0)
    finding = only(profile_of(load, other(2000)), "memoryLocality")
    assert finding is not None
    assert finding.share == pytest.approx(0.76 * 112 / 10000)


def test_without_the_number_of_different_lines_nothing_is_said() -> None:
    assert only(profile_of(waiting_load(7600, memory_lines=200.0), other(2000)), "memoryLocality") is None


# ---- latency ----


def test_a_load_that_every_wave_waits_for_again_and_again() -> None:
    # One workgroup of 256 on each CU: 1216 waves, 12160 loads: 10 each.
    load = waiting_load(7600, hits=12160)
    finding = only(profile_of(load, other(2000), bound_by="latency", groups=304), "latencyHiding")
    assert finding is not None
    assert finding.share == pytest.approx(0.76)
    assert "waits for this load 10 times" in finding.message
    profile = profile_of(load, other(2000), bound_by="latency", groups=304)
    assert measure_all(profile.kernels[0], profile.device)["memory wait cycles per wave"] == 7600 / 1216


@pytest.mark.parametrize("what", ["load", "store"])
def test_what_is_waited_for_has_its_name_in_the_evidence(what: str) -> None:
    access = instruction(f"global_{what}_dword v1, v2", 7600, StallReason.GLOBAL_MEMORY, None)
    profile = profile_of(access, other(2000), bound_by="latency", counters={"SQ_WAVES": 10.0})
    finding = only(profile, "latencyHiding")
    assert finding is not None
    assert f"waits for this {what} " in finding.message
    assert finding.evidence[0].metric == f"wave time waiting for these {what}s"


@pytest.mark.parametrize(
    ("width", "distinct", "words"),
    [
        (1, None, "only 1 byte per lane"),
        (4, 2.0, "cache lines is asked for 100 times"),
        (4, 100.0, "in flight"),
    ],
)
def test_a_load_that_is_narrow_or_repeated_is_told_so(width: int, distinct: float | None, words: str) -> None:
    memory = MemoryPattern(
        space="global", kind="load", bytes_per_lane=width, accesses=100, lanes=6400,
        lines_needed=200, lines_used=200, distinct_lines=distinct,
    )  # fmt: skip
    load = instruction("global_load v1, v2", 8000, StallReason.GLOBAL_MEMORY, memory)
    finding = only(
        profile_of(load, other(1600), bound_by="latency", counters={"SQ_WAVES": 10.0}), "latencyHiding"
    )
    assert finding is not None
    assert words in finding.message


def test_a_kernel_that_spills_has_no_registers_to_load_ahead_into() -> None:
    load = waiting_load(7600, hits=12160)
    spills = Resources(vgprs=128, vgpr_spills=9)
    assert (
        only(profile_of(load, other(2000), bound_by="latency", groups=304, resources=spills), "latencyHiding")
        is None
    )


def test_what_all_lanes_read_from_one_address_is_waited_for_as_well() -> None:
    load = instruction(
        "s_load_dwordx8 s[4:11], s[2:3], 0x0", 7600, StallReason.SCALAR_MEMORY, None, hits=12160
    )
    profile = profile_of(load, other(2000), bound_by="latency", groups=304)
    finding = only(profile, "latencyHiding")
    assert finding is not None
    assert finding.share == pytest.approx(0.76)
    assert measure_all(profile.kernels[0], profile.device)["memory wait cycles per wave"] == 7600 / 1216


@pytest.mark.parametrize(("hits", "bound_by"), [(3648, "latency"), (12160, "mall"), (12160, None)])
def test_few_rounds_or_a_busy_memory_or_an_unknown_limit_are_no_finding(
    hits: int, bound_by: str | None
) -> None:
    profile = profile_of(waiting_load(7600, hits=hits), other(2000), bound_by=bound_by, groups=304)
    assert only(profile, "latencyHiding") is None


# ---- arithmetic ----


def arithmetic(text: str, cycles: float, hits: int = 100) -> Instruction:
    return instruction(text, cycles - 400, StallReason.DEPENDENCY, None, hits)


def test_conversions_are_all_lost_and_double_operations_half() -> None:
    # The peak for double is half of that for float on an MI300X.
    code = [
        arithmetic("v_cvt_f64_f32_e32 v[0:1], v2", 1000),
        arithmetic("v_mul_f64 v[0:1], v[0:1], v[4:5]", 2000),
        arithmetic("v_cvt_f32_f64_e32 v2, v[0:1]", 1000),
    ]
    finding = only(profile_of(*code, other(6000)), "precision")
    assert finding is not None
    assert finding.share == pytest.approx((1000 + 1000 + 0.5 * 2000) / 10000)
    assert evidence(finding)["of these, conversions"] == pytest.approx(100 * 2 / 3)


def test_double_that_was_meant_is_not_reported() -> None:
    code = [arithmetic("v_mul_f64 v[0:1], v[0:1], v[4:5]", 9000), other(1000)]
    assert only(profile_of(*code), "precision") is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("k(int)", True),
        ("fft(HIP_vector_type<float, 2u>*, long const*, unsigned int)", True),
        ("scale(HIP_vector_type<double, 2u> const*, int)", False),
        ("move(Particle*, float)", False),
        ("void step<double>(double*, float)", False),
        ("apply(float (*)(double, double), void (*)(int))", False),
        ("k", False),
    ],
)
def test_loads_of_eight_bytes_are_double_only_where_the_signature_leaves_it_open(
    name: str, *, found: bool
) -> None:
    pattern = MemoryPattern(
        space="global", kind="load", bytes_per_lane=8, accesses=100, lanes=6400, line_bytes=128,
        lines_needed=400, lines_used=400,
    )  # fmt: skip
    code = [
        instruction("global_load_dwordx2 v[6:7], v0, s[0:1]", 0, StallReason.GLOBAL_MEMORY, pattern),
        arithmetic("v_cvt_f64_u32_e32 v[0:1], v2", 5000),
        arithmetic("v_cvt_f32_f64_e32 v2, v[0:1]", 5000),
    ]
    profile = profile_of(*code)
    kernels = [kernel.model_copy(update={"name": KernelName(name)}) for kernel in profile.kernels]
    renamed = profile.model_copy(update={"kernels": tuple(kernels)})
    assert (only(renamed, "precision") is not None) is found


def test_a_division_is_worth_what_is_beyond_a_fast_one() -> None:
    # 11 instructions of 4 cycles and one of 16 for each division: 60 cycles, of which 20 remain.
    code = [arithmetic("v_rcp_f32_e32 v0, v1", 500)]
    code += [arithmetic("v_fma_f32 v0, v1, v2, v3", 500) for _ in range(11)]
    finding = only(profile_of(*code), "precision")
    assert finding is not None
    assert finding.share == pytest.approx(1 - 20 / 60)
    assert finding.message == "divides: 60 cycles of the vector unit for each, where a fast form takes 20"


# ---- launches ----


@pytest.mark.parametrize(
    ("groups", "size", "share", "words"),
    [
        (76, 1024, 0.75, "leaves 228 of 304 CUs without work"),
        (608, 64, 0.5, "leaves 608 of 1,216 SIMDs without a wave"),
        (3040, 96, 0.25, "leaves 25% of the lanes of its waves idle"),
        (305, 256, 1 - 305 / 608, "runs in 2 rounds of 304, the last of which is not full"),
    ],
)
def test_what_a_launch_leaves_idle_is_at_stake(groups: int, size: int, share: float, words: str) -> None:
    # Without instructions nothing says what waves wait for.
    finding = only(profile_of(groups=groups, size=size, bound_by="valu"), "launchConfig")
    assert finding is not None
    assert finding.share == pytest.approx(share)
    assert words in finding.message


@pytest.mark.parametrize(
    ("groups", "size", "reason", "share"),
    [
        (
            76,
            1024,
            StallReason.ISSUE_CONTENTION,
            0.8 * 0.5,
        ),  # 4 waves on a SIMD wait for each other half of their time
        (76, 512, StallReason.ISSUE_CONTENTION, 0.8 * 0.5),
        (76, 1024, StallReason.GLOBAL_MEMORY, 0.0),  # they wait as long when each has a SIMD to itself
        (76, 256, StallReason.ISSUE_CONTENTION, 0.0),  # each has one
        (304 * 4, 1024, StallReason.ISSUE_CONTENTION, 0.0),  # and here nobody could
    ],
)
def test_another_launch_saves_what_waves_wait_for_each_other(
    groups: int, size: int, reason: StallReason, share: float
) -> None:
    half = groups * size // 64 * 0.4 * 1e4 * 2.1  # of the waves' cycles: each takes 8 of 10 us, at 2.1 GHz
    waits = instruction("v_add_f32_e32 v0, v1, v2", half, reason, None)
    profile = profile_of(waits, other(half), groups=groups, size=size, time_ns=1e4, bound_by="latency")
    finding = only(profile, "launchConfig")
    assert (finding.share if finding is not None else 0.0) == pytest.approx(share, rel=1e-3)


def test_few_workgroups_are_said_apart_from_what_the_code_should_change() -> None:
    made = profile_of(other(10000), groups=4, time_ns=6000, bound_by="latency")
    kernel = made.kernels[0].model_copy(update={"file": FILE, "line": 3})
    profile = made.model_copy(update={"kernels": (kernel,)})
    assert detect_all(profile, SourceTexts()) == []
    (found,) = diagnose(profile, [], SourceTexts())
    (few,) = found.related
    assert few.message == (
        "4 workgroups on 304 CUs at this size of the problem; up to 76 times as many would take about as long"
    )


@pytest.mark.parametrize(("size", "times"), [(4, "16"), (96, "1.3"), (56, None)])
def test_idle_lanes_are_said_where_filling_them_saves_nothing_yet(size: int, times: str | None) -> None:
    made = profile_of(other(10000), groups=304, size=size, time_ns=6000, bound_by="latency")
    kernel = made.kernels[0].model_copy(update={"file": FILE, "line": 3})
    (found,) = diagnose(made.model_copy(update={"kernels": (kernel,)}), [], SourceTexts())

    said = [related.message for related in found.related]
    lanes = 64 if size < 64 else 128
    words = (
        f"workgroups of {size} work-items use {size} of the {lanes} lanes of their waves: where the device is full, "
        f"whole waves take up to {times} times less time"
    )
    assert said == ([] if times is None else [words])


def test_waves_that_wait_fill_a_round_up_to_the_occupancy() -> None:
    # 8 waves per SIMD of 4 SIMDs: 8 workgroups of 4 waves on each CU at once, so 305 are one round.
    profile = profile_of(groups=305, bound_by="latency", resources=Resources(vgprs=64, lds_bytes=0))
    assert only(profile, "launchConfig") is None


def test_a_launch_that_is_mostly_launching_is_not_looked_at() -> None:
    assert only(profile_of(other(10000), groups=1, time_ns=4000), "launchConfig") is None


# ---- counters only ----

NO_FLOPS = dict.fromkeys(FLOP_COUNTERS, 0.0)
LATENCY = NO_FLOPS | {"TCC_EA0_RDREQ_sum": 1000.0, "TCC_EA0_WRREQ_sum": 0.0}
WAITS = {"SQ_WAIT_ANY": 80.0, "SQ_WAVE_CYCLES": 100.0}
BUSY_US = 21000 * 304  # cycles of all CUs in 10 us at 2.1 GHz

COUNTED = {
    # 0.4 of the time of all LDS units in conflicts, of which the accesses need half as long without.
    "bankConflict": ({"SQ_LDS_BANK_CONFLICT": 0.4 * BUSY_US, "SQ_LDS_IDX_ACTIVE": 0.8 * BUSY_US}, 0.4),
    # 64 lines per read where the widest dense one has 8: 7/8 of 80 % waits.
    "memoryAccess": ({"TCP_TCC_READ_REQ_sum": 6400.0, "TA_FLAT_READ_WAVEFRONTS_sum": 100.0, **WAITS}, 0.7),
    # Half of the requests, and 80 % of the time is waiting.
    "atomicContention": ({"TCC_ATOMIC_sum": 500.0, "TCC_REQ_sum": 1000.0, **WAITS, **LATENCY}, 0.4),
    # 3 waves where 4 could be: a quarter of the waits.
    "registerPressure": ({**WAITS, **LATENCY}, 0.2),
    # 16 of 64 lanes in half of the issue slots: 1216 SIMDs in 21000 cycles have 1216 * 5250 slots.
    "branchDivergence": (
        {
            "SQ_THREAD_CYCLES_VALU": 16 * 0.5 * 1216 * 5250,
            "SQ_ACTIVE_INST_VALU": 0.5 * 1216 * 5250,
            "GRBM_GUI_ACTIVE": 8 * 21000,
        },
        0.375,
    ),
}


@pytest.mark.parametrize("formula", COUNTED)
def test_a_finding_from_counters_is_one_of_the_kernel(formula: str) -> None:
    counters, share = COUNTED[formula]
    finding = only(profile_of(counters=counters, resources=Resources(vgprs=136, lds_bytes=0)), formula)
    assert finding is not None
    assert finding.share == pytest.approx(share)
    assert (finding.file, finding.line) == ("", 0)


@pytest.mark.parametrize(
    ("formula", "missing"), [(f, c) for f, (counters, _) in COUNTED.items() for c in counters]
)
def test_a_missing_counter_is_no_finding(formula: str, missing: str) -> None:
    counters = {name: value for name, value in COUNTED[formula][0].items() if name != missing}
    found = only(profile_of(counters=counters, resources=Resources(vgprs=136, lds_bytes=0)), formula)
    # Waits only cap what the LDS counters say.
    assert found is None


@pytest.mark.parametrize("formula", COUNTED)
def test_the_counters_of_a_finding_are_those_that_the_formula_says_it_needs(formula: str) -> None:
    needs = next(f for f in FORMULAS if f.name == formula).needs
    assert set(COUNTED[formula][0]) in [set(need.counters) for need in needs]


def test_a_copy_on_a_real_mi300x_has_no_finding_and_is_diagnosed() -> None:
    recorded = read_capture(CAPTURES / "mi300x_vcopy")
    profile = recorded.model_copy(update={"device": find_device("mi300x")})
    assert detect_all(profile, SourceTexts()) == []
    (diagnosis,) = diagnose(profile, [], SourceTexts())
    assert evidence(diagnosis)["memory bandwidth used"] == pytest.approx(44.2, abs=0.1)
    assert measure_all(profile.kernels[0], profile.device)["active lanes per VALU instruction"] == 64


def test_a_trace_without_counters_says_only_what_launches_tell() -> None:
    profile = read_capture(CAPTURES / "mi300x_trace")
    assert detect_all(profile, SourceTexts()) == []
    assert diagnose(profile, [], SourceTexts()) == []
    assert set(measure_all(profile.kernels[0], find_device("mi300x"))) == {
        "waves per SIMD",
        "CUs with a workgroup",
        "launches",
    }


def test_a_capture_without_an_agent_table_has_the_numbers_of_no_other_device() -> None:
    profile = read_capture(CAPTURES / "mi300x_trace")
    assert profile.device == Device(name="unknown device", arch="")
    assert set(measure_all(profile.kernels[0], profile.device)) == {"launches"}


# ---- all formulas ----


def launched(
    number: int, time_ns: float, mangled: str = "_Z1ki", first: float = 0, step: float = 1e4
) -> Kernel:
    """A kernel with so many launches of that length."""
    kernel = profile_of(other(1000)).kernels[0]
    one = kernel.dispatches[0]
    starts = [first + n * step for n in range(number)]
    launches = tuple(one._replace(start_ns=s, end_ns=s + time_ns) for s in starts)
    name = KernelName(f"{mangled[3:4]}(int)")
    return kernel.model_copy(update={"name": name, "mangled": mangled, "dispatches": launches})


def test_many_tiny_launches_are_worth_what_launching_them_takes() -> None:
    (finding,) = detect_all(
        modelled_profile(launched(100, 3000.0)), SourceTexts(), formulas=["launchOverhead"]
    )
    assert finding.share == pytest.approx(0.5 * 0.99)
    assert finding.estimated_speedup == pytest.approx(1 / (1 - 0.495))
    assert "100 launches" in finding.message
    assert "up to 100 with no other kernel" in finding.message


def test_the_sequence_of_launches_is_named() -> None:
    profile = modelled_profile(launched(20, 3000.0), launched(20, 3000.0, "_Z1mi", first=5e3))
    findings = detect_all(profile, SourceTexts(), formulas=["launchOverhead"])
    assert any("again and again in the order k, m" in f.message for f in findings)


def counted_launches(kernels: int, formula: str) -> list[int]:
    """How often the launches of each kernel are gone through while that formula is asked."""
    passes = [0] * kernels

    def made(which: int, launches: Sequence[Dispatch]) -> Launches:
        def make(part: slice) -> Iterator[Dispatch]:
            passes[which] += 1
            return iter(launches[part])

        return Launches(make, len(launches), sum(d.time_ns for d in launches))

    told = [launched(20, 3000.0, f"_Z1{chr(97 + n)}i", first=n * 4e3) for n in range(kernels)]
    told = [k.model_copy(update={"dispatches": made(n, k.dispatches)}) for n, k in enumerate(told)]
    detect_all(modelled_profile(*told), SourceTexts(), formulas=[formula])
    return passes


def test_all_launches_are_put_in_order_once_and_only_where_that_is_asked() -> None:
    few, many = counted_launches(2, "launchOverhead"), counted_launches(12, "launchOverhead")
    assert max(many) == max(few)
    assert max(counted_launches(12, "bankConflict")) < max(many)


@pytest.mark.parametrize(("number", "time_ns"), [(7, 2000.0), (1000, 20000.0)])
def test_a_few_launches_or_long_ones_are_no_overhead(number: int, time_ns: float) -> None:
    profile = modelled_profile(launched(number, time_ns))
    assert detect_all(profile, SourceTexts(), formulas=["launchOverhead"], min_share=0.0) == []


@pytest.mark.parametrize(
    ("arch", "told"), [("gfx942", ""), ("", "1.5 us on an MI300X"), ("gfx1100", None), ("sm_90", None)]
)
def test_a_launch_has_no_time_of_another_family(arch: str, told: str | None) -> None:
    profile = modelled_profile(launched(100, 3000.0))
    profile = profile.model_copy(update={"device": device_of(DeviceFacts(arch=arch or None))})
    findings = detect_all(profile, SourceTexts(), formulas=["launchOverhead"])
    assert len(findings) == (told is not None)
    assert all((told or "") in f.message and (told or "us: they") in f.message for f in findings)


def uneven(part: float, time_ns: float = 1e5, groups: int = 304, *instructions: Instruction) -> Profile:
    """One wave per SIMD (or as many as the groups make), each of which runs that part of the launch."""
    cycles = 8 * 2100.0 * time_ns / 1000
    fits = min(8.0, groups / 304)
    waves = {"GRBM_GUI_ACTIVE": cycles, "SQ_WAVE_CYCLES": part * fits * 1216 * cycles / 8 / 4, **LATENCY}
    return profile_of(
        *instructions,
        time_ns=time_ns,
        groups=groups,
        counters=waves,
        resources=Resources(vgprs=32, lds_bytes=0),
        bound_by="latency",
    )


def test_what_the_mean_wave_leaves_of_the_launch_is_uneven_work() -> None:
    finding = only(uneven(0.6), "loadImbalance")
    assert finding is not None
    assert finding.share == pytest.approx(1 - 0.6 * 1e5 / (1e5 - 1500))


@pytest.mark.parametrize(("caches", "found"), [("", True), (" sc0 sc1", False)])
def test_waves_that_wait_for_each_other_are_not_uneven(caches: str, *, found: bool) -> None:
    flag = instruction(f"global_load_dword v1, v2, off{caches}", 5000, StallReason.GLOBAL_MEMORY, None)
    assert (only(uneven(0.6, 1e5, 304, flag, other(5000)), "loadImbalance") is not None) is found


@pytest.mark.parametrize(
    ("part", "time_ns", "groups"), [(0.9, 1e5, 304), (0.6, 1e4, 304), (0.6, 1e5, 304 * 9)]
)
def test_even_work_short_launches_and_a_last_round_are_not_uneven(
    part: float, time_ns: float, groups: int
) -> None:
    assert only(uneven(part, time_ns, groups), "loadImbalance") is None


def test_a_gain_is_bounded_by_what_is_at_stake_and_by_the_roofline() -> None:
    # 40 % of the time in scratch: 1 / 0.6. With the bytes at half of the peak, conflicts can gain no more than 2.
    spill = instruction("scratch_load_dword v1, off, off", 3600, StallReason.SCRATCH_MEMORY, None)
    finding = only(profile_of(spill, other(6000)), "registerPressure")
    assert finding is not None
    assert finding.estimated_speedup == pytest.approx(1 / 0.6)
    half_peak = 0.5 * 5.3e12 * 10e-6 / 64
    counters = {"SQ_LDS_BANK_CONFLICT": 0.8 * BUSY_US, "SQ_LDS_IDX_ACTIVE": 0.9 * BUSY_US}
    traffic = {"TCC_EA0_RDREQ_sum": half_peak, "TCC_EA0_WRREQ_sum": 0.0}
    bounded = only(profile_of(counters={**counters, **traffic}), "bankConflict")
    assert bounded is not None
    assert bounded.share == pytest.approx(0.8)
    assert bounded.estimated_speedup == pytest.approx(2.0)


def test_no_gain_is_larger_than_what_an_empty_launch_leaves() -> None:
    """All but 0.1 % of 6 us is at stake, but the shortest launch takes 1.5 us."""
    profile = profile_of(other(6000), time_ns=6000.0)
    assert estimated_speedup(profile, profile.kernels[0], 0.999, ()) == pytest.approx(4.0)


def test_a_gain_comes_with_the_range_in_which_edits_usually_end() -> None:
    spill = instruction("scratch_load_dword v1, off, off", 3600, StallReason.SCRATCH_MEMORY, None)
    finding = only(profile_of(spill, other(6000)), "registerPressure")
    assert finding is not None
    assert finding.usual_speedup == pytest.approx(((1 / 0.6) ** 0.4, (1 / 0.6) ** 1.4))
    assert usual_speedup(4.0, 5.0) == pytest.approx((4**0.4, 5.0))  # no more than the device allows


def test_a_kernel_with_a_finding_is_not_diagnosed() -> None:
    profile = profile_of(groups=76, size=1024, bound_by="latency")
    findings = detect_all(profile, SourceTexts())
    assert [f.formula for f in findings] == ["launchConfig"]
    assert diagnose(profile, findings, SourceTexts()) == []
    assert [f.formula for f in diagnose(profile, [], SourceTexts())] == ["diagnoseOnly"]
    assert diagnose(profile, [], SourceTexts(), formulas=["launchConfig"]) == []


@pytest.mark.parametrize("formula", all_formulas(), ids=lambda f: f.name)
def test_the_page_of_a_formula_names_its_metrics_and_counters(formula: Formula) -> None:
    name = formula.name
    text = " ".join((Path(__file__).parents[3] / "docs" / "formulas" / f"{name}.md").read_text().split())
    for objective in formula.objectives:
        assert objective.metric in text
    for need in formula.needs:
        assert all(counter in text for counter in need.counters)
