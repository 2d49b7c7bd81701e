"""Each cycle has one cause, and each cause a remedy."""

from __future__ import annotations

from typing import Literal

import pytest

from hipscope.analysis.profile import Frame, Instruction, Kernel, MemoryPattern, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.causes import CAUSES, line_causes, time_by_cause
from hipscope.formulas.detect.diagnose_only import LAUNCHING
from hipscope.formulas.detect.registry import diagnose, explain
from tests.formulas.detect.test_dataflow import kernel_of
from tests.formulas.hand_made import modelled_profile


def waiting(
    text: str, reason: StallReason, hits: int = 1, memory: MemoryPattern | None = None, line: int = 7
) -> Instruction:
    """One that is executed so often by one wave; 900 of its 1000 cycles are that wait."""
    return Instruction(
        index=0, address=0, text=text, source=(Frame(file="/k.hip", line=line, column=3),), hits=hits,
        lanes=64 * hits, latency=1000, stall=900, stalls={reason: 900}, memory=memory,
    )  # fmt: skip


def profile_of(*code: Instruction) -> Profile:
    kernel: Kernel = kernel_of("s_endpgm")
    placed = tuple(i.model_copy(update={"index": n, "address": 8 * n}) for n, i in enumerate(code))
    return modelled_profile(kernel.model_copy(update={"instructions": placed}))


def access(
    kind: Literal["load", "store"], width: int = 4, used: float = 2, distinct: float | None = None
) -> MemoryPattern:
    return MemoryPattern(
        space="global", kind=kind, bytes_per_lane=width, accesses=1, lanes=64,
        lines_needed=width / 2, lines_used=used, distinct_lines=distinct,
    )  # fmt: skip


GLOBAL, SCALAR = StallReason.GLOBAL_MEMORY, StallReason.SCALAR_MEMORY


@pytest.mark.parametrize(
    ("instruction", "cause"),
    [
        (waiting("s_load_dwordx2 s[0:1], s[4:5], 0x0", SCALAR), "start"),
        (waiting("s_load_dword s0, s[4:5], 0x0", SCALAR, hits=50), "uniform loads"),
        (waiting("s_load_dword s0, s[20:21], 0x0", SCALAR), "uniform loads"),
        (waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, memory=access("load")), "first loads"),
        (waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, 50, access("load")), "loop loads"),
        (waiting("global_load_ubyte v1, v0, s[0:1]", GLOBAL, 50, access("load", 1, 1)), "narrow loads"),
        (waiting("global_load_ushort v1, v0, s[0:1]", GLOBAL, 1, access("load", 2, 1)), "narrow loads"),
        (waiting("global_store_short v0, v1, s[0:1]", GLOBAL, 1, access("store", 2, 1)), "narrow stores"),
        (waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, 50, access("load", 4, 64)), "scattered loads"),
        (
            waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, 50, access("load", 4, 2, 0.1)),
            "repeated loads",
        ),
        (waiting("global_store_dword v0, v1, s[0:1]", GLOBAL, 1, access("store")), "stores"),
        (waiting("global_store_dword v0, v1, s[0:1]", GLOBAL, 1, access("store", 4, 64)), "scattered stores"),
        (waiting("global_atomic_add_u32 v0, v1, s[0:1]", StallReason.ATOMIC), "atomics"),
        (waiting("ds_bpermute_b32 v0, v1, v2", StallReason.LDS), "lane exchange"),
        (waiting("s_barrier", StallReason.BARRIER), "barrier"),
        (waiting("v_add_f32_e32 v0, v1, v2", StallReason.DEPENDENCY), "dependency"),
        (waiting("v_add_f32_e32 v0, v1, v2", StallReason.ISSUE_CONTENTION), "contention"),
        (waiting("v_div_fixup_f32 v1, v1, v2, v3", StallReason.DEPENDENCY), "division"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wait_has_a_cause(instruction: Instruction, cause: str) -> None:
    profile = profile_of(instruction)
    assert time_by_cause(profile, profile.kernels[0])[cause] >= 0.9
    assert line_causes(profile, profile.kernels[0])[0].causes[0][0] == cause


@pytest.mark.parametrize("reason", [reason for reason in StallReason if reason is not StallReason.OTHER])
def test_each_reason_that_a_profile_names_is_told(reason: StallReason) -> None:
    profile = profile_of(waiting("LDG.E R1, desc[UR4][R2.64]", reason))
    assert "other" not in time_by_cause(profile, profile.kernels[0])


def test_stores_that_wait_for_stores_wait_for_room_and_loads_for_what_was_stored_before() -> None:
    stored = waiting("global_store_dword v0, v1, s[0:1]", GLOBAL, 1, access("store"))
    after = stored.model_copy(update={"waited_for": {0: 900.0}})
    profile = profile_of(stored.model_copy(update={"stalls": {}, "stall": 0, "latency": 4}), after)
    assert time_by_cause(profile, profile.kernels[0])["store queue"] >= 0.8
    loaded = waiting("s_waitcnt vmcnt(0)", GLOBAL).model_copy(update={"waited_for": {0: 900.0}})
    profile = profile_of(stored.model_copy(update={"stalls": {}, "stall": 0, "latency": 4}), loaded)
    assert time_by_cause(profile, profile.kernels[0])["stores"] >= 0.8


@pytest.mark.parametrize(("copies", "cause"), [(15, "first loads"), (16, "batched loads")])
def test_many_loads_of_one_line_are_an_unrolled_loop(copies: int, cause: str) -> None:
    load = waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, memory=access("load"))
    profile = profile_of(*[load] * copies)
    assert line_causes(profile, profile.kernels[0])[0].causes[0][0] == cause


@pytest.mark.parametrize(("part", "cause"), [(0.45, "narrow loads"), (0.6, "bandwidth")])
def test_narrow_loads_limit_a_kernel_of_memory_until_it_is_at_the_roof(part: float, cause: str) -> None:
    load = waiting("global_load_ubyte v1, v0, s[0:1]", GLOBAL, memory=access("load", 1, 1))
    profile = profile_of(load)
    moved = part / 0.85 * 5.3e12 * 1e-5  # in 10 us, of which 8.5 are work
    counters = {"TCC_EA0_RDREQ_sum": moved / 64, "TCC_EA0_WRREQ_sum": 0.0}
    kernel = profile.kernels[0].model_copy(update={"bound_by": "hbm", "counters": counters})
    profile = profile.model_copy(update={"kernels": (kernel,)})
    assert line_causes(profile, kernel)[0].causes[0][0] == cause


@pytest.mark.parametrize(("busy", "cause"), [(0.65, "first loads"), (0.75, "bandwidth")])
def test_data_move_as_fast_as_memory_can_only_where_memory_is_that_busy(busy: float, cause: str) -> None:
    load = waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, memory=access("load"))
    kernel = profile_of(load).kernels[0]
    kernel = kernel.model_copy(
        update={"bound_by": "mall", "busy": {"launch": 0.14, "hbm": 0.01, "mall": busy}}
    )
    profile = profile_of(load).model_copy(update={"kernels": (kernel,)})
    assert line_causes(profile, kernel)[0].causes[0][0] == cause


@pytest.mark.parametrize(("hits", "cause"), [(1, "first loads"), (50, "polling")])
def test_a_volatile_load_that_is_made_once_looks_for_nobody(hits: int, cause: str) -> None:
    load = waiting("global_load_dword v1, v0, s[0:1] sc0 sc1", GLOBAL, hits, access("load"))
    profile = profile_of(load)
    assert line_causes(profile, profile.kernels[0])[0].causes[0][0] == cause


def test_a_line_that_waits_for_its_turn_is_told_what_it_issues_itself() -> None:
    profile = profile_of(
        waiting("v_div_fixup_f32 v1, v1, v2, v3", StallReason.ISSUE_CONTENTION),
        waiting("v_rcp_f32_e32 v1, v1", StallReason.ISSUE_CONTENTION),
    )
    message = explain(profile, [], SourceTexts())[0].message
    assert "waits for its turn" in message
    assert "divides exactly" in message
    assert CAUSES["division"].remedy in message


def test_the_longest_kernels_are_explained_also_where_none_has_a_good_part_of_the_time() -> None:
    profile = profile_of(waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, memory=access("load")))
    kernels = tuple(profile.kernels[0].model_copy(update={"mangled": f"k{n}"}) for n in range(30))
    told = explain(profile.model_copy(update={"kernels": kernels}), [], SourceTexts())
    assert [f.mangled for f in told] == ["k0", "k1", "k2"]


@pytest.mark.parametrize(("time_ns", "said"), [(4000, True), (8000, False)])
def test_what_a_short_launch_itself_takes_is_said_of_what_bounds_the_kernel(
    time_ns: float, said: bool
) -> None:
    profile = profile_of(waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, memory=access("load")))
    launch = profile.kernels[0].dispatches[0]._replace(end_ns=time_ns)
    kernel = profile.kernels[0].model_copy(update={"dispatches": (launch,)})
    finding = diagnose(profile.model_copy(update={"kernels": (kernel,)}), [], SourceTexts())[0]
    assert ("the launch itself" in finding.message) == said
    assert any(e.metric == LAUNCHING for e in finding.evidence) == said


@pytest.mark.parametrize(("part", "said"), [(0.9, True), (0.8, False)])
def test_a_launch_that_can_hardly_be_shorter_is_said_to_be_so(part: float, said: bool) -> None:
    profile = profile_of(waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, memory=access("load")))
    kernel = profile.kernels[0].model_copy(update={"busy": {"launch": 0.6, "round_trip": part}})
    finding = diagnose(profile.model_copy(update={"kernels": (kernel,)}), [], SourceTexts())[0]
    assert (f"would take {part:.0%} of the time" in finding.message) == said


def test_all_of_the_time_has_a_cause_of_the_table() -> None:
    profile = profile_of(
        waiting("v_add_f32_e32 v0, v1, v2", StallReason.OTHER),
        waiting("v_lshlrev_b32_e32 v0, 2, v2", StallReason.DEPENDENCY),
        waiting("s_cbranch_scc1 3", StallReason.INSTRUCTION_FETCH),
    )
    found = time_by_cause(profile, profile.kernels[0])
    assert sum(found.values()) == pytest.approx(1)
    assert set(found) <= set(CAUSES)


def test_each_hot_line_without_a_finding_gets_cause_and_remedy() -> None:
    profile = profile_of(
        waiting("s_load_dwordx2 s[0:1], s[4:5], 0x0", SCALAR, line=5),
        waiting("global_load_dword v1, v0, s[0:1]", GLOBAL, memory=access("load"), line=9),
    )
    told = explain(profile, [], SourceTexts())
    assert [(f.line, f.share) for f in told] == [(5, 0.5), (9, 0.5)]
    assert "arguments" in told[0].message
    assert CAUSES["first loads"].remedy in told[1].message
    assert explain(profile, told[:1], SourceTexts())[0].line == 9
    assert explain(profile, [], SourceTexts(), formulas=["launchConfig"]) == []
