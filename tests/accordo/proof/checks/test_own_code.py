"""What is told of a candidate's machine code beside the original's, and which inputs both take in the same way."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from hipscope.accordo.proof.checks import own_code
from hipscope.accordo.proof.checks.beyond_32_bits import narrowed, wide_products
from hipscope.accordo.reference.input_coverage import BEYOND
from tests.accordo.dispatch.test_code_addresses import code

SINGLE = "v_cvt_f32_f16 v2, v0\nv_fma_f32 v2, v1, v2, v3\nv_cvt_f16_f32 v2, v2"
LOOP = "v_add_u32 v1, s2, v1\ns_cmp_lg_u32 s3, 0\ns_cbranch_scc1 65521"
Z = "the workgroup size along z"


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """A proof whose candidate and original have the code of its attributes `own` and `known`."""
    proof = Mock(candidate=Path("own"))
    monkeypatch.setattr(own_code, "disassemble", lambda path, *_: code(getattr(proof, path.name)))
    monkeypatch.setattr(
        own_code, "mnemonics", lambda path, *_: [one.mnemonic for one in code(getattr(proof, path.name))]
    )
    return proof


def launched() -> Mock:
    argument = Mock(offset=0, size=16, value_kind="by_value")
    return Mock(code_object=Path("known"), explicit_arguments=(argument,))


def told(proof: Mock, own: str, known: str) -> list[str]:
    proof.own, proof.known = own, known
    return list(own_code.told_by_code(proof, launched()))


def alike(proof: Mock, own: str, known: str, *names: str) -> set[str]:
    proof.own, proof.known = own, known
    return own_code.taken_alike(proof, launched(), names)


def test_arithmetic_in_halves_where_the_original_has_singles_is_named(pair: Mock) -> None:
    (one,) = told(pair, "v_fma_f16 v2, v1, v2, v3", SINGLE)
    assert "16 bits of each float" in one
    assert "`v_fma_f16`" in one
    assert told(pair, SINGLE, SINGLE) == []
    assert told(pair, "v_pk_fma_f16 v2, v1, v2, v3", "v_mul_f16 v2, v1, v2") == []  # so does the original


def test_more_work_items_are_no_question_for_a_rewrite_that_has_all_loops(pair: Mock) -> None:
    assert alike(pair, f"{LOOP}\nv_add_u32 v2, 4, v2", LOOP, BEYOND) == {BEYOND}
    assert alike(pair, "v_add_u32 v1, s2, v1", LOOP, BEYOND) == set()


def test_the_shape_of_a_launch_is_no_question_for_other_arithmetic_on_floats(pair: Mock) -> None:
    known = "s_load_dword s3, s[0:1], 0x34\nv_bfe_u32 v1, v0, 10, 10\nv_add_f32 v2, v2, v3"
    names = ("the workgroup size along x", Z, "the grid size", "`nodes`")
    assert alike(pair, known.replace("add", "fma"), known, *names) == set(names[:3])
    assert alike(pair, f"{known}\nds_read_b32 v3, v2", known, *names) == {Z}
    assert alike(pair, f"{known}\nv_bfe_u32 v1, v0, 20, 10", known, *names) == set()


def test_sizes_of_workgroups_are_no_question_where_neither_code_asks_for_them(pair: Mock) -> None:
    known, own = (
        "s_load_dwordx2 s[2:3], s[0:1], 0x0\nds_read_b32 v3, v2",
        "s_load_dwordx2 s[2:3], s[0:1], 0x0",
    )
    assert alike(pair, own, known, "the workgroup size along x", "the grid size") == {
        "the workgroup size along x"
    }
    assert alike(pair, own, f"{known}\ns_load_dword s4, s[0:1], 0x14", "the workgroup size along x") == set()


def test_a_product_of_64_bits_counts_where_both_halves_are_read() -> None:
    product = "v_mad_u64_u32 v[2:3], s[0:1], v0, s4, v[4:5]"
    whole = "v_lshl_add_u64 v[6:7], s[2:3], 0, v[2:3]"
    assert wide_products(code(f"{product}\n{whole}")) == 1
    assert wide_products(code(f"{product}\nv_ashrrev_i32 v3, 31, v2\n{whole}")) == 0
    assert wide_products(code(f"{product}\nv_add_u32 v6, v3, v0")) == 0
    assert wide_products(code(f"{product}\nglobal_store_dwordx2 v0, v[2:3], s[0:1]")) == 1
    division = "v_rcp_iflag_f32 v1, v1\nv_mul_hi_u32 v1, v2, v1"
    assert wide_products(code(division)) == 0
    assert wide_products(code(f"{division}\n{product}\n{whole}")) == 2


def test_a_product_of_32_bits_that_becomes_an_index_of_64_is_narrowed() -> None:
    product = "s_mul_i32 s4, s2, s3\nv_add_u32 v1, s4, v0"
    assert narrowed(code(f"{product}\nv_ashrrev_i32 v2, 31, v1")) == 1
    assert narrowed(code(f"{product}\ns_ashr_i32 s5, s4, 31")) == 1
    assert narrowed(code(f"{product}\nv_ashrrev_i32 v2, 31, v0\nv_ashrrev_i32 v2, 2, v1")) == 0
    assert narrowed(code(f"{product}\nv_mov_b32 v1, v0\nv_ashrrev_i32 v2, 31, v1")) == 0
