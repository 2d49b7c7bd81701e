"""What registers say: addresses that loads brought, and values that are the same for all lanes."""

from __future__ import annotations

from hipscope.analysis.metrics.machine_loops import machine_loops
from hipscope.analysis.profile import Dispatch, Instruction, Kernel, KernelName, Resources
from hipscope.formulas.detect.dataflow import addressed_by_loads, uniform_instructions


def kernel_of(*texts: str, size: int = 8) -> Kernel:
    """These instructions, each executed once by one wave."""
    code = tuple(
        Instruction(index=n, address=size * n, text=text, hits=1, lanes=64) for n, text in enumerate(texts)
    )
    launch = Dispatch(id=1, grid=(64, 1, 1), workgroup=(64, 1, 1), start_ns=0, end_ns=1e4)
    return Kernel(
        name=KernelName("k()"), mangled="k", dispatches=(launch,), resources=Resources(), instructions=code
    )


def test_an_index_that_was_loaded_makes_the_next_load_dependent() -> None:
    kernel = kernel_of(
        "global_load_dword v1, v0, s[0:1]",
        "s_waitcnt vmcnt(0)",
        "v_ashrrev_i32_e32 v2, 31, v1",
        "v_lshl_add_u64 v[4:5], v[1:2], 2, s[2:3]",
        "global_load_dword v6, v[4:5], off",
    )
    assert addressed_by_loads(kernel) == {4}


def test_a_register_that_was_overwritten_in_between_leads_nowhere() -> None:
    kernel = kernel_of(
        "global_load_dword v1, v0, s[0:1]",
        "v_mov_b32_e32 v1, s4",
        "global_load_dword v6, v1, s[2:3]",
    )
    assert addressed_by_loads(kernel) == frozenset()


def test_a_chain_goes_round_the_loop() -> None:
    kernel = kernel_of(
        "v_mov_b32_e32 v1, 0",
        "global_load_dword v2, v1, s[2:3]",
        "s_waitcnt vmcnt(0)",
        "v_lshlrev_b32_e32 v1, 2, v2",
        "s_cbranch_scc1 65532",  # 4 words back from the next: to the load
        size=4,
    )
    assert machine_loops(kernel) == ((1, 4),)
    assert addressed_by_loads(kernel) == {1}


def test_what_comes_from_scalars_is_uniform_and_what_lanes_differ_in_is_not() -> None:
    kernel = kernel_of(
        "v_mov_b32_e32 v1, s4",
        "v_rcp_f32_e32 v2, v1",
        "v_mul_f32_e32 v3, v2, v0",  # v0 is the work-item's number
        "v_cmp_gt_f32_e32 vcc, s5, v2",
        "v_cndmask_b32_e32 v4, v1, v2, vcc",
        "v_cmp_gt_f32_e64 s[6:7], v0, v2",
        "v_cndmask_b32_e64 v5, v1, v2, s[6:7]",
    )
    assert uniform_instructions(kernel) == {0, 1, 3, 4}


def test_after_lanes_came_back_nothing_is_called_uniform() -> None:
    kernel = kernel_of(
        "v_mov_b32_e32 v1, 1.0",
        "v_cmp_gt_f32_e64 s[6:7], v0, v2",
        "s_and_saveexec_b64 s[2:3], s[6:7]",
        "v_mov_b32_e32 v1, 2.0",
        "s_or_b64 exec, exec, s[2:3]",
        "v_rcp_f32_e32 v3, v1",
    )
    assert 5 not in uniform_instructions(kernel)


def test_a_sum_in_a_loop_is_not_uniform_though_it_begins_so() -> None:
    kernel = kernel_of(
        "v_mov_b32_e32 v1, 0",
        "v_mul_f32_e32 v2, v1, v1",
        "v_add_f32_e32 v1, v1, v0",
        "s_nop 0",
        "s_cbranch_scc1 65532",
        size=4,
    )
    assert machine_loops(kernel) == ((1, 4),)
    assert uniform_instructions(kernel) == {0}
