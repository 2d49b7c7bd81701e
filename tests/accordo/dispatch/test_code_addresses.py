"""Addresses that machine code takes for numbers."""

from __future__ import annotations

import pytest

from hipscope.accordo.dispatch.code_addresses import taken_for_numbers
from hipscope.accordo.dispatch.disassembly import AssemblyInstruction

LOADS = "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dword s8, s[0:1], 0x10\n"  # two pointers and a number


def code(text: str) -> list[AssemblyInstruction]:
    """Instructions as they are printed, a line each."""
    split = [line.split(" ", 1) for line in text.strip().splitlines()]
    return [AssemblyInstruction(word, tuple(w.strip() for w in rest[0].split(","))) for word, *rest in split]


@pytest.mark.parametrize(
    "hashed",
    [
        "s_lshr_b64 s[10:11], s[4:5], 12",
        "v_mov_b32 v3, s4\nv_and_b32 v4, 0xff, v3",
        "s_add_u32 s10, s6, s8\ns_mul_i32 s11, s10, s10",
        "v_lshl_add_u64 v[2:3], v[0:1], 2, s[4:5]\nv_cmp_gt_u64 vcc, v[2:3], v[6:7]",
        "v_mad_u64_u32 v[2:3], s[8:9], s4, s8, v[0:1]",
    ],
)
def test_what_no_access_needs_is_seen(hashed: str) -> None:
    assert taken_for_numbers(code(LOADS + hashed), [0, 8]) == {hashed.splitlines()[-1].split()[0]}


@pytest.mark.parametrize(
    "usual",
    [
        "v_lshl_add_u64 v[2:3], v[0:1], 2, s[4:5]\nglobal_load_dword v4, v[2:3], off\nv_and_b32 v4, 1, v4",
        "s_mul_i32 s10, s8, s8\ns_lshr_b32 s8, s8, 2",
        "s_cmp_eq_u64 s[4:5], 0",
        "v_lshl_add_u64 v[2:3], v[0:1], 2, s[4:5]\nv_pk_fma_f32 v[4:5], v[2:3], v[6:7], v[8:9]",  # it held a float
        "s_add_u32 s10, s4, s8\ns_addc_u32 s11, s5, 0\ns_cmp_lg_u64 s[10:11], s[4:5]",
        "s_sub_u32 s10, s4, s6\ns_lshr_b32 s10, s10, 2",
        "s_load_dword s4, s[0:1], 0x10\ns_lshr_b32 s4, s4, 2",
        "s_or_b64 s[10:11], s[4:5], s[10:11]",
        "v_cmp_lt_i32 s[4:5], v1, v2\ns_or_b64 s[10:11], s[4:5], s[10:11]",
        "s_add_u32 s0, s6, s8\ns_load_dword s9, s[0:1], 0x0\ns_lshr_b32 s9, s9, 2",
        "v_mad_i64_i32 v[2:3], s[4:5], v0, s8, v[2:3]",
        "v_mad_u64_u32 v[2:3], s[8:9], v0, s8, s[4:5]\nglobal_store_dword v[2:3], v0, off",
    ],
)
def test_what_leads_to_memory_is_not(usual: str) -> None:
    assert taken_for_numbers(code(LOADS + usual), [0, 8]) == set()
