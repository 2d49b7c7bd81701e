"""Waits go to what they waited for: by counters, over loops, and by registers, where the capture does not say it."""

from __future__ import annotations

import pytest

from hipscope.analysis.metrics.producers import with_producers
from hipscope.analysis.profile import Instruction, Kernel, KernelName, Resources, StallReason


def kernel(*rows: tuple[str, int, float], reason: StallReason = StallReason.OTHER) -> Kernel:
    """A kernel of instructions of 4 bytes: text, executions, and cycles that each of them stalled."""
    made = []
    for index, (text, hits, stall) in enumerate(rows):
        made.append(
            Instruction(
                index=index, address=4 * index, text=text, hits=hits, latency=hits * (4 + stall), stall=hits * stall,
                stalls={reason: hits * stall} if stall else {},
            )
        )  # fmt: skip
    return Kernel(
        name=KernelName("k()"), mangled="k", dispatches=(), resources=Resources(), instructions=tuple(made)
    )


def waited(found: Kernel, index: int) -> dict[int, float]:
    """The parts of an instruction's stall by what it waited for."""
    instruction = found.instructions[index]
    return {
        producer: round(cycles / instruction.stall, 2) for producer, cycles in instruction.waited_for.items()
    }


@pytest.mark.parametrize(
    ("load", "wait"),
    [
        ("global_load_dword v1, v[2:3], off", "s_waitcnt vmcnt(0)"),
        ("global_load_b32 v1, v[2:3], off", "s_wait_loadcnt 0x0"),
        ("ds_read_b32 v1, v2", "s_waitcnt lgkmcnt(0)"),
        ("ds_load_b32 v1, v2", "s_wait_dscnt 0x0"),
        ("s_load_dword s2, s[0:1], 0x0", "s_waitcnt vmcnt(0) lgkmcnt(0)"),
        ("s_load_b32 s2, s[0:1], 0x0", "s_wait_kmcnt 0x0"),
        ("global_store_b32 v[2:3], v1, off", "s_waitcnt_vscnt null, 0x0"),
        ("global_store_b32 v[2:3], v1, off", "s_wait_storecnt 0x0"),
    ],
)
def test_a_wait_goes_to_the_operation_that_its_counter_counts(load: str, wait: str) -> None:
    found = with_producers(kernel((load, 1, 0), ("v_mov_b32 v9, v8", 1, 0), (wait, 1, 500)))
    assert waited(found, 2) == {0: 1.0}
    assert StallReason.OTHER not in found.instructions[2].stalls


def test_only_what_the_counter_still_counted_was_waited_for() -> None:
    load = "global_load_dword v1, v[2:3], off"
    found = with_producers(kernel((load, 1, 0), (load, 1, 0), (load, 1, 0), ("s_waitcnt vmcnt(2)", 1, 500)))
    assert waited(found, 3) == {0: 1.0}
    again = with_producers(
        kernel((load, 1, 0), ("s_waitcnt vmcnt(0)", 1, 300), (load, 1, 0), ("s_waitcnt vmcnt(0)", 1, 500))
    )
    assert (waited(again, 1), waited(again, 3)) == ({0: 1.0}, {2: 1.0})


def test_another_counter_is_not_asked() -> None:
    found = with_producers(
        kernel(
            ("ds_read_b32 v1, v2", 1, 0),
            ("global_load_dword v4, v[2:3], off", 1, 0),
            ("s_waitcnt lgkmcnt(0)", 1, 90),
        )
    )
    assert waited(found, 2) == {0: 1.0}


def test_a_wait_at_the_top_of_a_loop_goes_to_what_the_loop_asked_for_before() -> None:
    found = with_producers(
        kernel(
            ("global_load_dword v1, v[2:3], off", 1, 0),
            ("s_waitcnt vmcnt(0)", 100, 400),
            ("v_add_f32 v5, v5, v1", 100, 0),
            ("global_load_dword v1, v[2:3], off", 100, 0),
            ("s_cbranch_scc1 65532", 100, 0),  # to the wait
            ("s_endpgm", 1, 0),
        )
    )
    parts = waited(found, 1)
    assert parts[3] > 0.95
    assert sum(parts.values()) == pytest.approx(1, abs=0.02)


def test_a_load_from_the_wait_shares_with_the_store_before_it() -> None:
    # Both are outstanding; they are done in their order, and a contended atomic before a load has nearly all of it.
    found = with_producers(
        kernel(
            ("global_atomic_add v[2:3], v1, off", 10, 0),
            ("global_load_dword v1, v[4:5], off", 10, 0),
            ("s_waitcnt vmcnt(0)", 10, 100_000),
        )
    )
    assert waited(found, 2)[0] > 0.95
    assert found.instructions[2].stalls[StallReason.ATOMIC] > 0.95 * found.instructions[2].stall


def test_a_stall_on_operands_goes_to_their_last_writer() -> None:
    code = kernel(
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", 1, 0),
        ("v_mov_b32_e32 v9, v8", 1, 0),
        ("v_accvgpr_read_b32 v4, a7", 1, 60),
        reason=StallReason.DEPENDENCY,
    )
    assert waited(with_producers(code), 2) == {0: 1.0}


def test_what_is_not_known_stays_where_it_was_noticed() -> None:
    for code in (
        kernel(("s_waitcnt vmcnt(0)", 1, 50)),
        kernel(("s_barrier", 1, 50), reason=StallReason.BARRIER),
    ):
        assert with_producers(code).instructions == code.instructions


def test_what_the_capture_says_is_not_changed() -> None:
    code = kernel(("global_load_dword v1, v[2:3], off", 1, 0), ("s_waitcnt vmcnt(0)", 1, 50))
    told = code.instructions[1].model_copy(update={"waited_for": {0: 10.0}})
    known = code.model_copy(update={"instructions": (code.instructions[0], told)})
    assert with_producers(known) == known


def test_the_cycles_stay_what_they_were() -> None:
    load = "global_load_dword v1, v[2:3], off"
    found = with_producers(kernel((load, 3, 0), (load, 3, 10), ("s_waitcnt vmcnt(0)", 3, 700)))
    for instruction in found.instructions:
        assert sum(instruction.stalls.values()) == pytest.approx(instruction.stall)
        assert sum(instruction.waited_for.values()) <= instruction.stall + 1e-9
