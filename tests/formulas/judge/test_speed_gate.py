"""The gate after timing: speed, the promised metric, occupancy cliffs, and trades."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.analysis.profile import (
    Dispatch,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    MemoryPattern,
    Resources,
    StallReason,
)
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.registry import find_formula
from hipscope.formulas.judge.judge import Judgement, weigh
from hipscope.formulas.judge.speed_gate import Decision, decide, depends_on_assumption, trade_sentence
from hipscope.formulas.judge.timed_replay import Measured, SpeedupRange
from hipscope.formulas.propose.candidate import Candidate
from tests.formulas.hand_made import modelled_profile


def measured(
    time_us: float,
    *,
    vgprs: int = 64,
    groups: int = 100000,
    conflicts: float = 0.0,
    lines: float = 200.0,
    group: int = 256,
) -> Measured:
    """One launch of workgroups of `group` with an LDS load of so many conflict cycles and a load of so many lines."""
    lds = MemoryPattern(
        space="lds", kind="load", bytes_per_lane=4, accesses=100, lanes=6400,
        lds_cycles=200 + conflicts, lds_conflict_cycles=conflicts,
    )  # fmt: skip
    load = MemoryPattern(
        space="global", kind="load", bytes_per_lane=4, accesses=100, lanes=6400, lines_needed=200, lines_used=lines,
    )  # fmt: skip
    patterns = (("ds_read_b32 v1, v2", lds, StallReason.LDS), ("global_load_dword v1, v[2:3], off", load,
                StallReason.GLOBAL_MEMORY))  # fmt: skip
    instructions = tuple(
        Instruction(
            index=n, address=8 * n, text=text, source=(Frame(file="/k.hip", line=7 + n, column=3),), hits=100,
            lanes=6400, latency=10400, stall=10000, stalls={reason: 10000.0}, memory=pattern,
        )
        for n, (text, pattern, reason) in enumerate(patterns)
    )  # fmt: skip
    kernel = Kernel(
        name=KernelName("k(int)"),
        mangled="_Z1ki",
        dispatches=(
            Dispatch(
                id=1, grid=(groups * group, 1, 1), workgroup=(group, 1, 1), start_ns=0, end_ns=time_us * 1e3
            ),
        ),
        resources=Resources(vgprs=vgprs, agprs=0, sgprs=16, lds_bytes=1024),
        instructions=instructions,
    )
    profile = modelled_profile(kernel)
    return Measured(profile, kernel, SourceTexts())


def decided(before: Measured, after: Measured, formula: str | None = "bankConflict") -> Decision:
    return decide(before, after, find_formula(formula) if formula else None, min_speedup=1.03)


BEFORE = measured(100, conflicts=6000)


def test_faster_with_fewer_conflicts_is_accepted_without_a_trade() -> None:
    decision = decided(BEFORE, measured(50, conflicts=0))
    assert (decision.stage, decision.speedup, decision.trades) == ("accepted", 2.0, ())


def test_less_than_three_per_cent_is_not_faster_and_a_metric_that_stays_is_said() -> None:
    assert decided(BEFORE, measured(98, conflicts=0)).stage == "not_faster"
    stays = decided(BEFORE, measured(50, conflicts=5900))
    assert stays.stage == "metric_not_moved"
    assert "not for the reason it was made" in stays.reason
    assert decided(BEFORE, measured(50, conflicts=5900), formula=None).stage == "accepted"


@pytest.mark.parametrize(("only_for", "conflicts"), [("", 6000.0), ("bankConflict", 0.0)])
def test_what_is_made_for_one_metric_is_faster_by_chance_while_that_stays(
    only_for: str, conflicts: float
) -> None:
    """The search over variants asks no formula, and a new order of workgroups is good for one thing only."""
    after = measured(50, conflicts=conflicts, lines=200)
    assert weighed(after, only_for).stage == "accepted"
    stays = weighed(measured(50, conflicts=6000, lines=200), "bankConflict")
    assert stays.stage == "metric_not_moved"


def test_the_instance_of_a_template_that_became_faster_explains_the_gain() -> None:
    """What it was the longest one by before it is the shortest of after, and the other one has stayed as it was."""
    before = both_of(measured(100, conflicts=6000), measured(60, conflicts=6000))
    after = both_of(measured(10, conflicts=0), measured(60, conflicts=6000))
    decision = decided(before, replace(after, kernel=after.profile.kernels[1]))
    assert (decision.stage, decision.metric and decision.metric[2]) == ("accepted", 2.0), decision.reason


def both_of(one: Measured, other: Measured) -> Measured:
    """Two instances of a template in one measurement."""
    second = other.kernel.model_copy(update={"mangled": "_Z1kl", "name": KernelName("k(long)")})
    profile = one.profile.model_copy(update={"kernels": (one.kernel, second)})
    return replace(one, profile=profile)


def weighed(after: Measured, only_for: str) -> Judgement:
    candidate = Candidate("a_recipe", "A title", b"", "Less of it.", only_for=only_for)
    config = SimpleNamespace(optimize=SimpleNamespace(min_speedup=1.03), min_share=0.05)
    project = SimpleNamespace(config=config)
    bench: Any = SimpleNamespace(baseline=BEFORE, timed_later=False, project=project)
    return weigh(bench, candidate, None, after, None, others=())


def test_a_gain_that_another_metric_explains_is_accepted_and_says_so() -> None:
    before, after = measured(100, conflicts=6000, lines=6400), measured(50, conflicts=6000, lines=200)
    assert decided(before, after).stage == "metric_not_moved"  # a recipe is asked for each finding
    decision = decide(before, after, find_formula("bankConflict"), min_speedup=1.03, others=[])
    assert decision.stage == "accepted", decision.reason
    assert "It was made for" in decision.reason
    assert "explained by this" in decision.reason


def test_a_gain_by_any_finding_that_the_rewrite_answers_is_accepted() -> None:
    first, second = find_formula("bankConflict"), find_formula("memoryAccess")
    assert second is not None
    before, after = measured(100, conflicts=6000, lines=6400), measured(50, conflicts=6000, lines=200)
    decision = decide(before, after, first, min_speedup=1.03, others=[second])
    assert decision.stage == "accepted", decision.reason
    assert "It was made for" not in decision.reason


def test_a_metric_that_was_0_and_is_0_has_not_moved() -> None:
    assert decided(measured(100), measured(50), formula="precision").stage == "metric_not_moved"


def test_half_of_the_waves_may_go_but_not_more() -> None:
    at_half = decided(BEFORE, measured(50, vgprs=128))  # 4 instead of 8 waves per SIMD
    assert at_half.stage == "accepted"
    assert [(t.metric, t.before, t.after) for t in at_half.trades if t.formula == ""] == [
        ("occupancy in waves per SIMD", 8.0, 4.0)
    ]
    over = decided(BEFORE, measured(50, vgprs=168))
    assert over.stage == "occupancy_cliff"
    assert "3 instead of 8 waves per SIMD" in over.reason


def test_where_a_gpu_measures_the_time_decides_and_the_rest_is_told() -> None:
    bank = find_formula("bankConflict")
    stays = decide(BEFORE, measured(50, conflicts=5900), bank, min_speedup=0.0)
    assert stays.stage == "accepted"
    assert "Not for the reason it was made" in stays.reason
    over = decide(BEFORE, measured(50, vgprs=168), bank, min_speedup=0.0)
    assert over.stage == "accepted"
    assert "3 instead of 8 waves per SIMD" in over.reason


def test_waves_that_no_launch_can_fill_are_no_cliff() -> None:
    small, smaller = measured(100, conflicts=6000, groups=304), measured(50, vgprs=256, groups=304)
    assert decided(small, smaller).stage == "accepted"  # one wave per SIMD is launched, two would fit


def test_fewer_waves_are_no_cliff_where_they_are_fuller() -> None:
    """4096 workgroups of 4 work-items are 3.4 waves per SIMD, each a sixteenth full; as 256 full ones they are 0.2."""
    narrow = measured(100, conflicts=6000, groups=4096, group=4)
    assert decided(narrow, measured(50, groups=256, group=64)).stage == "accepted"
    over = decided(narrow, measured(50, groups=64, group=64))  # a quarter of the work-items at a time
    assert over.stage == "occupancy_cliff"
    assert "0.0526 instead of 0.211 full waves per SIMD" in over.reason


def test_resources_that_leave_fewer_waves_are_a_cliff_in_workgroups_of_few_work_items_too() -> None:
    over = decided(
        measured(100, conflicts=6000, groups=40960, group=4), measured(50, vgprs=168, groups=40960, group=4)
    )
    assert over.stage == "occupancy_cliff"
    assert "3 instead of 8 waves per SIMD" in over.reason


def test_a_new_bottleneck_is_told_as_a_trade_with_its_share() -> None:
    decision = decided(BEFORE, measured(50, conflicts=0, lines=6400))
    assert decision.stage == "accepted"
    (trade,) = (t for t in decision.trades if t.formula == "memoryAccess")
    assert trade.before is not None
    assert trade.after > trade.before
    assert trade.share is not None
    sentence = trade_sentence(trade)
    assert sentence.startswith(f"what gets worse: {trade.metric} rises from 2 to 64")
    assert "of the kernel's time is now at stake there (memoryAccess)" in sentence


def test_faster_at_both_ends_depends_on_nothing() -> None:
    assert depends_on_assumption(SpeedupRange(1.01, 1.5), 1.03) is None


def test_slower_at_an_end_names_the_constant_that_does_it() -> None:
    reason = depends_on_assumption(SpeedupRange(0.9, 1.5, ("l1_line_cycles", 2), 0.95), 1.03)
    assert reason is not None
    assert reason.startswith("Equivalent, but whether it is faster depends on an assumed constant")
    unproved = depends_on_assumption(SpeedupRange(0.9, 1.5), 1.03, proved=False)
    assert unproved is not None
    assert unproved.startswith("Not proved, because whether it is faster depends on assumed constants")
    assert "l1_line_cycles at 2" in reason
    several = depends_on_assumption(SpeedupRange(0.9, 1.5, ("l1_line_cycles", 2), 1.02), 1.03)
    assert several is not None
    assert "several of them" in several
    assert "l1_line_cycles at 2 counts most (1.02x by itself" in several
