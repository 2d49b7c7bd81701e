"""Sizes at which only a rewrite's machine code begins to do something else."""

from __future__ import annotations

import pytest

from hipscope.accordo.trials.code_limits import limits_of, narrower_masks
from tests.accordo.dispatch.test_code_addresses import code

PLAIN = "s_and_b32 s4, s4, 0xffff\nv_and_b32 v0, 0x3ff, v0\nv_cmp_gt_i32 vcc, s5, v0\nv_mul_lo_u32 v3, v2, s5"


@pytest.mark.parametrize(
    ("more", "size", "why"),
    [
        ("v_cmp_gt_u32 vcc, 0x1388, v3", 5000, "compares"),
        ("s_movk_i32 s9, 0x1388\nv_cmp_lt_i32 vcc, s9, v3", 5000, "compares"),
        ("s_mov_b64 s[8:9], 0x1388\nv_cmp_lt_u64 vcc, s[8:9], v[2:3]", 5000, "compares"),
        ("s_movk_i32 s8, 0x1388\ns_mov_b32 s9, 0\nv_cmp_lt_u64 vcc, s[8:9], v[2:3]", 5000, "compares"),
        ("s_min_i32 s6, s5, 0x200", 512, "compares"),
        ("v_bfe_i32 v3, v3, 0, 16", 1 << 16, "16 bits"),
        ("v_and_b32 v3, 0xffff, v3", 1 << 16, "16 bits"),
        ("v_ashrrev_i64 v[4:5], 46, v[4:5]", 1 << 16, "16 bits"),
        ("v_and_b32 v3, 0x1ffff, v3", 1 << 17, "17 bits"),
        ("v_add_u16 v3, v3, v4", 1 << 16, "16 bits"),
        ("v_mul_i32_i24 v3, s5, v3", 1 << 24, "24 bits"),
        ("s_bfe_i32 s7, s6, 0x10007", 1 << 7, "asks for a bit"),
        ("v_bfe_u32 v3, v3, 9, 1", 1 << 9, "asks for a bit"),
        ("s_bitcmp1_b32 s6, 8", 1 << 8, "asks for a bit"),
        ("s_lshr_b32 s7, s6, 7\ns_and_b32 s7, s7, s6\ns_and_b32 s7, s7, 1", 1 << 7, "asks for a bit"),
        ("v_cvt_f32_i32 v3, v3\nv_mul_f32 v3, v3, v4\nv_cvt_i32_f32 v3, v3", 1 << 24, "floats"),
    ],
)
def test_numbers_and_widths_that_the_original_has_not_are_limits(more: str, size: int, why: str) -> None:
    (limit,) = limits_of(code(f"{PLAIN}\n{more}"), code(PLAIN))
    assert limit.size == size
    assert why in limit.why


@pytest.mark.parametrize(
    "more",
    [
        "v_and_b32 v5, 0x3ff, v0\nv_mul_u32_u24 v3, 48, v5",  # numbers of work-items fit into 24 bits
        "s_and_b32 s6, s5, 0x7ff\ns_min_u32 s7, s6, s9\nv_mul_u32_u24 v3, s7, v0",  # nor is the smaller of two sides
        "v_cvt_f32_u32 v3, v3\nv_rcp_iflag_f32 v3, v3\nv_cvt_u32_f32 v3, v3",  # a division of integers
        "global_load_sbyte v5, v[2:3], off\nv_bfe_i32 v6, v7, 8, 8\nv_mad_i32_i24 v3, v5, v6, v3",  # bytes
        "v_lshrrev_b32 v4, 13, v3\nv_and_b32 v4, 0x7ffff, v4",  # all that the shift leaves
        "v_cmp_gt_i32 vcc, 4, v3",
        "s_lshr_b32 s7, s6, 7\ns_and_b32 s8, s8, 1",  # the lowest bit of another number
        "v_bfe_u32 v3, v3, 8, 8",
        "v_mul_lo_u32 v3, v3, v4",
        "v_mov_b32 v3, 0xff800000\nv_cmp_lt_i32 vcc, v2, v3",  # -infinity, in a register that may hold another number
        "v_mov_b32 v3, 0xf149f2ca\nv_cmp_lt_i32 vcc, v2, v3",  # -1e30
    ],
)
def test_what_every_rewrite_may_have_is_none(more: str) -> None:
    assert limits_of(code(f"{PLAIN}\n{more}"), code(PLAIN)) == ()


def test_fewer_bits_of_a_number_than_the_original_keeps_are_told() -> None:
    assert narrower_masks(code("v_and_b32 v3, 0xfff, v3"), code("v_and_b32 v3, 0xffff, v3")) == (12, 16)
    assert narrower_masks(
        code("v_and_b32 v3, 0xfff, v3"), code("v_add_u32_sdwa v3, v3, v4 src0_sel:WORD_0")
    ) == (12, 16)
    assert narrower_masks(code("v_and_b32 v3, 0xffff, v3"), code("v_and_b32 v3, 0xfff, v3")) is None
    assert narrower_masks(code(PLAIN), code(PLAIN)) is None
    assert narrower_masks(code("v_and_b32 v3, 0xfff, v3"), code("v_mov_b32 v3, v4")) is None
