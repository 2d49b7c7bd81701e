"""Every row of the instruction table has a case with an independent oracle, or is listed here with what tests it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.emulator import (
    test_isa_atomics,
    test_isa_matrix,
    test_isa_scalar,
    test_isa_transfers,
    test_isa_vector,
)
from tests.emulator.test_isa_coverage import base, supported

HERE = Path(__file__).parent
NAME = re.compile(r"\b(?:v|s|ds|global|flat|scratch|buffer|tbuffer)_[a-z0-9_]+")

# Reason -> rows.
EXCEPTIONS = {
    "no effect on results in the emulator: caches, counters, priorities, sleep": """
        buffer_inv buffer_invl2 buffer_wbinvl1 buffer_wbinvl1_vol buffer_wbl2 ds_nop s_atc_probe
        s_atc_probe_buffer s_cbranch_cdbgsys s_cbranch_cdbgsys_and_user s_cbranch_cdbgsys_or_user
        s_cbranch_cdbguser s_dcache_discard s_dcache_discard_x2 s_dcache_inv s_dcache_inv_vol s_dcache_wb
        s_dcache_wb_vol s_decperflevel s_icache_inv s_incperflevel s_nop s_sendmsg s_sendmsghalt s_sethalt
        s_setprio s_sleep s_ttracedata s_waitcnt s_wakeup v_nop
    """,
    "checked; the test makes the name at run time (test_isa_buffers, test_isa_transfers)": """
        buffer_load_format_d16_x buffer_load_format_d16_xy buffer_load_format_d16_xyz
        buffer_load_format_d16_xyzw buffer_store_format_d16_xyz buffer_store_format_xy buffer_store_format_xyz
        buffer_store_format_xyzw s_buffer_load_dwordx16 s_buffer_load_dwordx2 s_buffer_load_dwordx4
        s_buffer_load_dwordx8 s_buffer_store_dwordx2 s_buffer_store_dwordx4 s_load_dwordx16 s_load_dwordx4
        s_store_dwordx2 s_store_dwordx4 tbuffer_load_format_d16_x tbuffer_load_format_d16_xy
        tbuffer_load_format_d16_xyz tbuffer_load_format_d16_xyzw tbuffer_store_format_d16_xyz
        tbuffer_store_format_x tbuffer_store_format_xy tbuffer_store_format_xyz tbuffer_store_format_xyzw
    """,
    "not an instruction of gfx942: another target's name of a checked handler, or no oracle yet": """
        buffer_atomic_pk_add_bf16 buffer_load_dwordx3_lds buffer_load_dwordx4_lds global_load_lds_dwordx3
        global_load_lds_dwordx4 v_dot2_f32_bf16 v_mac_f32 v_mad_f32 v_mad_legacy_f32 v_mad_mix_f32
        v_mad_mixhi_f16 v_mad_mixlo_f16 v_madak_f32 v_madmk_f32 v_mfma_f32_16x16x16bf16_1k
        v_mfma_f32_16x16x16f16 v_mfma_f32_16x16x1f32 v_mfma_f32_16x16x2bf16 v_mfma_f32_16x16x4bf16_1k
        v_mfma_f32_16x16x4f16 v_mfma_f32_16x16x4f32 v_mfma_f32_16x16x8bf16 v_mfma_f32_32x32x1f32
        v_mfma_f32_32x32x2bf16 v_mfma_f32_32x32x2f32 v_mfma_f32_32x32x4bf16 v_mfma_f32_32x32x4bf16_1k
        v_mfma_f32_32x32x4f16 v_mfma_f32_32x32x8bf16_1k v_mfma_f32_32x32x8f16 v_mfma_f32_4x4x1f32
        v_mfma_f32_4x4x2bf16 v_mfma_f32_4x4x4bf16_1k v_mfma_f32_4x4x4f16 v_mfma_f64_16x16x4f64
        v_mfma_f64_4x4x4f64 v_mfma_i32_16x16x16i8 v_mfma_i32_16x16x4i8 v_mfma_i32_32x32x4i8
        v_mfma_i32_32x32x8i8 v_mfma_i32_4x4x4i8
    """,
    "no case of its own; programs of that kind are run whole (division, calls, branches, clocks)": """
        ds_swizzle_b32 s_andn2_saveexec_b64 s_barrier s_branch s_cbranch_execnz s_cbranch_scc0 s_cbranch_vccnz
        s_cbranch_vccz s_memrealtime s_memtime s_swappc_b64 s_trap s_xor_saveexec_b64 v_div_fixup_f16
        v_div_fixup_f32 v_div_fixup_f64 v_div_fmas_f32 v_div_fmas_f64 v_div_scale_f64 v_trig_preop_f64
    """,
    "no oracle yet": """
        ds_permute_b32 s_andn1_saveexec_b64 s_andn1_wrexec_b64 s_andn2_wrexec_b64 s_bitreplicate_b64_b32
        s_call_b64 s_cmov_b32 s_cmov_b64 s_cmovk_i32 s_endpgm_saved s_lshl1_add_u32 s_lshl2_add_u32
        s_lshl4_add_u32 s_movreld_b32 s_movreld_b64 s_movrels_b64 s_nand_saveexec_b64 s_nor_saveexec_b64
        s_orn1_saveexec_b64 s_orn2_saveexec_b64 s_quadmask_b32 s_quadmask_b64 s_set_gpr_idx_idx
        s_set_gpr_idx_mode s_setkill s_setreg_b32 s_wqm_b32 s_wqm_b64 s_xnor_saveexec_b64 v_accvgpr_mov_b32
        v_cubeid_f32 v_cubema_f32 v_cubesc_f32 v_cubetc_f32 v_cvt_sr_bf8_f32 v_cvt_sr_fp8_f32
        v_div_fixup_legacy_f16 v_dot2_f32_f16 v_dot2c_f32_f16 v_exp_f16 v_exp_legacy_f32 v_log_f16
        v_log_legacy_f32 v_swap_b32
    """,
}


def excepted() -> set[str]:
    return {name for names in EXCEPTIONS.values() for name in names.split()}


def covered() -> set[str]:
    lines = [row.text for row in test_isa_vector.ROWS] + [row.text for row in test_isa_scalar.ROWS]
    names = {base(line.split(" ", 1)[0]) for line in lines}
    names |= {base(line.split(" ", 1)[0]) + "_clamp" for line in lines if line.endswith(" clamp")}
    names |= {case.mnemonic for case in test_isa_atomics.CASES}
    names |= {case.mnemonic for case in test_isa_transfers.CASES}
    names |= set(test_isa_matrix.NAMES)
    for name, _, _ in test_isa_transfers.TWO:
        names.add(name.replace("_b", "_rtn_b") if "wrxchg" in name else name)
    # Hand-written tests name their instructions in full.
    for path in HERE.glob("test_isa_*.py"):
        if path.name != Path(__file__).name:
            names |= {base(name) for name in NAME.findall(path.read_text())}
    return names


def test_every_row_is_checked_or_its_exception_is_explained() -> None:
    assert sorted(supported() - covered() - excepted()) == []


def test_no_exception_is_out_of_date() -> None:
    assert sorted(excepted() - supported()) == []
