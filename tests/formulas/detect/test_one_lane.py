"""Loops of one lane for which the other waves of the workgroup wait."""

from __future__ import annotations

import pytest

from hipscope.analysis.profile import Dispatch, Frame, Instruction, Kernel, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.one_lane import lone_work
from hipscope.formulas.detect.registry import detect_all
from tests.formulas.detect.test_dataflow import kernel_of
from tests.formulas.hand_made import modelled_profile

GROUPS, WAVES = 100, 400


def kernel(
    steps: int = 64, lanes: int = 1, waited: float = 3000.0, threads: int = 256, back: int = 65531
) -> Kernel:
    """Workgroups of four waves: all load, one lane adds up what is in LDS, all meet at a barrier.

    `back`: to the load of LDS from behind the branch, in words.
    """
    rows = [
        ("global_load_dword v1, v[2:3], off", 3, WAVES, 64, 1000.0, {}),
        ("v_mov_b32_e32 v3, 0", 5, GROUPS, lanes, 4.0, {}),
        ("ds_read_b32 v6, v4", 5, GROUPS * steps, lanes, 10.0, {}),
        ("v_add_f32_e32 v3, v3, v6", 5, GROUPS * steps, lanes, 34.0, {}),
        (f"s_cbranch_scc0 {back}", 5, GROUPS * steps, lanes, 4.0, {}),
        ("s_barrier", 7, WAVES, 64, waited, {StallReason.BARRIER: waited * WAVES}),
    ]
    code = tuple(
        Instruction(
            index=n, address=8 * n, text=text, hits=hits, lanes=hits * active, latency=each * hits,
            stall=sum(stalls.values()), stalls=stalls, source=(Frame(file="/k.hip", line=line, column=3),),
        )
        for n, (text, line, hits, active, each, stalls) in enumerate(rows)
    )  # fmt: skip
    launch = Dispatch(
        id=1, grid=(GROUPS * threads, 1, 1), workgroup=(threads, 1, 1), start_ns=0.0, end_ns=1e5
    )
    return kernel_of("s_endpgm").model_copy(
        update={"instructions": code, "dispatches": (launch,), "counters": {"SQ_WAVES": WAVES}}
    )


def test_a_loop_of_one_lane_takes_the_time_of_all_waves_that_wait() -> None:
    found = lone_work(kernel())
    assert found is not None
    alone = 64 * 48
    whole = 1000 + (4 + alone) / 4 + 3000
    assert (found.site.line, found.others, sorted(found.instructions)) == (5, 3, [2, 3, 4])
    assert found.share == pytest.approx(alone / whole)


def barrier_inside() -> Kernel:
    """A loop with a barrier in each step."""
    whole = kernel()
    code = [
        i.model_copy(update={"text": "s_barrier"}) if i.text.startswith("v_add") else i
        for i in whole.instructions
    ]
    return whole.model_copy(update={"instructions": tuple(code)})


@pytest.mark.parametrize(
    "other",
    [
        kernel(steps=2),
        kernel(lanes=2),
        kernel(waited=10.0),
        kernel(threads=64),
        kernel(back=1),
        barrier_inside(),
    ],
    ids=["two steps", "two lanes", "nobody waits", "one wave", "no loop", "a tree"],
)
def test_what_is_no_loop_of_one_lane_or_is_not_waited_for_is_left_alone(other: Kernel) -> None:
    single = other.dispatches[0].workgroup[0] == 64
    waves = {"SQ_WAVES": GROUPS if single else WAVES}
    assert lone_work(other.model_copy(update={"counters": waves})) is None


@pytest.mark.parametrize("lanes", [1.0, 0.25])
def test_branches_around_the_last_step_of_a_tree_are_no_loop(lanes: float) -> None:
    """All waves come there, most of them with no lane."""
    tree = kernel(steps=1)
    hits = 8 * WAVES
    first = tree.instructions[1]
    branch = first.model_copy(
        update={"index": 9, "text": "s_cbranch_execz 10", "hits": hits, "lanes": int(hits * lanes)}
    )
    assert lone_work(tree.model_copy(update={"instructions": (*tree.instructions, branch)})) is None


def test_the_finding_comes_before_what_the_idle_lanes_cost() -> None:
    found = detect_all(modelled_profile(kernel()), SourceTexts(), formulas=["branchDivergence"])
    assert [(f.line, "one lane works here, and the other 3 waves wait" in f.message) for f in found] == [
        (5, True)
    ]
