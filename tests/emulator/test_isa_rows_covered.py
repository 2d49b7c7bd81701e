"""Every row of the instruction table has a case with an independent oracle, or is listed here with what tests it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.emulator import (
    test_isa_atomics,
    test_isa_gfx950,
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
    "gfx950's names of checked handlers": """
        buffer_atomic_pk_add_bf16 buffer_load_dwordx3_lds buffer_load_dwordx4_lds global_load_lds_dwordx3
        global_load_lds_dwordx4
    """,
    "another generation's name of a checked handler; neither gfx90a nor gfx942 has it": """
        v_mad_mix_f32 v_mad_mixhi_f16 v_mad_mixlo_f16
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
    for name in test_isa_gfx950.mnemonics():
        names |= {base(name), f"{base(name)}@gfx950"}
    for name, _, _ in test_isa_transfers.TWO:
        names.add(name.replace("_b", "_rtn_b") if "wrxchg" in name else name)
    # Hand-written tests name their instructions in full, in the text that they give to the assembler.
    for path in HERE.glob("test_isa_*.py"):
        if path.name != Path(__file__).name:
            names |= {base(name) for text in assembled_texts(path) for name in NAME.findall(text)}
    return names


def assembled_texts(path: Path) -> Iterator[str]:
    """The strings of a module, except its docstrings."""
    tree = ast.parse(path.read_text())
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_every_row_is_checked_or_its_exception_is_explained() -> None:
    assert sorted(supported() - covered() - excepted()) == []


def test_no_exception_is_out_of_date() -> None:
    assert sorted(excepted() - supported()) == []
