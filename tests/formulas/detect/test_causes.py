"""Each cycle has one cause, and each cause a remedy."""

from __future__ import annotations

from typing import Literal

import pytest

from hipscope.analysis.profile import Frame, Instruction, Kernel, MemoryPattern, Profile, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.causes import CAUSES, line_causes, time_by_cause
from hipscope.formulas.detect.registry import explain
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
