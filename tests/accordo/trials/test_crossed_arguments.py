"""Arguments that differ together, for a candidate with conditions of its own."""

from __future__ import annotations

import itertools
import math
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.access_map import READ, AccessMap
from hipscope.accordo.dispatch.captured import read_capture_set
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.trials.code_constants import Named, compared_in
from hipscope.accordo.trials.crossed_arguments import crossed_arguments, moved_numbers
from hipscope.analysis.source.number_types import element_of
from tests.accordo.dispatch.test_code_addresses import code
from tests.accordo.trials.test_launch_variants import launch as grid_launch
from tests.accordo.trials.test_scalar_variants import launch

LAUNCH = struct.Struct("<iiff")
TYPES = ["int", "int", "float", "float"]


def rows(folder: Path, conditions: Named) -> list[tuple[int, int, float, float]]:
    dispatch = launch(folder, LAUNCH.pack(1000, 0, 2.0, 0.5), 4, 4, 4, 4)
    return [LAUNCH.unpack(row.kernarg) for row in crossed_arguments(dispatch, TYPES, conditions)]


def test_flags_and_signs_meet_in_pairs_and_few_launches_do(tmp_path: Path) -> None:
    found = rows(tmp_path, Named(frozenset(), frozenset()))
    assert len(found) == 20
    assert found[0] == (1000, 0, 2.0, 0.5)  # other inputs alone
    signs = {(row[2] < 0, row[3] < 0) for row in found}
    assert signs == set(itertools.product((True, False), repeat=2))
    assert {row[0] for row in found} >= {999, 1000}
    assert {row[1] for row in found} >= {0, 1, -1}


def test_what_only_one_of_the_codes_compares_with_is_tried(tmp_path: Path) -> None:
    found = rows(tmp_path, Named(frozenset({7.0}), frozenset({33})))
    assert {33, 34} & {row[1] for row in found}
    assert any(abs(row[2] - 7.07) < 0.01 or abs(row[3] - 7.07) < 0.01 for row in found)


def test_two_numbers_that_are_compared_with_meet_with_all_else_as_recorded(tmp_path: Path) -> None:
    found = rows(tmp_path, Named(frozenset({7.0}), frozenset({3})))
    alone = {(row[0], round(row[2], 2)) for row in found if row[1] == 0 and row[3] == 0.5}
    assert (3, 7.07) in alone


def test_a_number_somewhat_above_the_recorded_one_is_tried(tmp_path: Path) -> None:
    assert 1800 in {row[0] for row in rows(tmp_path, Named(frozenset(), frozenset({1800})))}
    assert 9000 not in {row[0] for row in rows(tmp_path, Named(frozenset(), frozenset({9000})))}


def test_lists_of_one_element_meet_floats_of_1(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, LAUNCH.pack(700, 900, 2.0, 0.5), 4, 4, 4, 4)
    found = {
        LAUNCH.unpack(r.kernarg) for r in crossed_arguments(dispatch, TYPES, Named(frozenset(), frozenset()))
    }
    assert (1, 1, 1.0, 1.0) in found


def test_how_often_a_number_is_compared_with_counts() -> None:
    floats, integers = compared_in(
        code("v_cmp_lt_f32 vcc, 1.0, v1\ns_cmp_eq_u32 s3, 7\nv_cmp_gt_i32 vcc, 7, v2")
    )
    assert floats[1.0] == 1
    assert integers[7] == 2


def test_a_number_that_lies_in_a_register_where_floats_are_compared_is_a_float() -> None:
    floats, _ = compared_in(code("v_mov_b32 v4, 0x1e3ce508\nv_cmp_lt_f32 vcc, v3, |v4|"))  # 1e-20
    assert any(abs(x / 1e-20 - 1) < 1e-6 for x in floats)
    floats, _ = compared_in(code("v_mov_b32 v4, 0x1e3ce508\nv_cmp_lt_u32 vcc, v3, v4"))
    assert not floats


def test_all_floats_are_negative_at_once_with_flags_on_and_off(tmp_path: Path) -> None:
    found = rows(tmp_path, Named(frozenset(), frozenset()))
    assert {(1000, 1, -2.0, -0.5), (1000, 0, -2.0, -0.5)} <= set(found)


def test_small_integers_are_all_as_large_as_the_conditions_ask_for_or_by_turns(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<iiii", 1000, 3, 2, 1), 4, 4, 4, 4)
    conditions = Named(frozenset(), frozenset({7, 3}))
    made = crossed_arguments(dispatch, ["int"] * 4, conditions)
    found = {struct.unpack("<iiii", row.kernarg)[1:] for row in made}
    assert {(8, 8, 8), (8, 1, 8), (1, 8, 1)} <= found


def test_a_list_of_one_element_has_its_first_element_zero(tmp_path: Path) -> None:
    """Of integers that bound the grid, 1 would leave nothing to do."""
    dispatch = launch(tmp_path, struct.pack("<ii", 250, 30), 4, 4)
    found = crossed_arguments(dispatch, ["int", "int"], Named(frozenset(), frozenset()))
    (draw,) = {row.draw for row in found if struct.unpack("<ii", row.kernarg) == (250, 1)}
    assert draw == 1


def test_a_comparison_with_infinity_counts_however_the_compiler_makes_it() -> None:
    loaded, _ = compared_in(code("s_mov_b32 s0, 0xff800000\nv_cmp_eq_f32 vcc, s0, v2"))
    assert loaded[-math.inf] == 1
    asked, _ = compared_in(code("v_cmp_class_f32 vcc, v2, s0"))
    assert (asked[math.inf], asked[-math.inf]) == (1, 1)


def test_what_begins_a_search_for_the_largest_asks_for_no_infinity() -> None:
    found, _ = compared_in(code("v_mov_b32 v1, 0xff800000\nv_max_f32 v1, v1, v2\nv_cmp_gt_f32 vcc, v2, v1"))
    assert not found


def test_small_integers_have_both_signs_by_turns_and_lists_of_one_element_negative_floats(
    tmp_path: Path,
) -> None:
    dispatch = launch(tmp_path, struct.pack("<iiif", 1000, 3, 0, 2.0), 4, 4, 4, 4)
    made = crossed_arguments(dispatch, ["int"] * 3 + ["float"], Named(frozenset(), frozenset()))
    found = {struct.unpack("<iiif", row.kernarg) for row in made}
    assert {(1000, -1, 1, 2.0), (1000, 1, -1, 2.0), (1, 3, 0, -2.0)} <= found


def test_a_small_argument_and_the_elements_that_are_the_same_become_larger_together(tmp_path: Path) -> None:
    recorded = grid_launch(tmp_path, 47, 0, 12)
    held = replace(recorded, buffers=read_capture_set(tmp_path / "capture")[0].buffers)
    words = {b.index: np.frombuffer(b.before(), dtype="<i4") for b in held.buffers}
    elements = {i: element_of("int") for i in words}
    access = {b.index: AccessMap.of(np.full(b.size, READ, dtype=np.uint8)) for b in held.buffers}
    made = list(moved_numbers(held, ["int", "int", "int", "float"], elements, access, tmp_path / "moved"))
    numbers = [struct.unpack("<3if", one.dispatch.kernarg())[:3] for one in made]
    assert numbers == [(47, 67, 12), (47, 65603, 12)]
    for buffer in held.buffers:
        kept = replacement(made[0].inputs, buffer.index)
        before = words[buffer.index]
        assert (kept is not None) == (before == 0).any()
        if kept is not None:
            after = np.frombuffer(replaced_contents(kept, buffer.before), dtype="<i4")
            assert (after == np.where(before == 0, 67, before)).all()
    floats = {i: replace(element_of("int"), kind="float") for i in words}
    assert not list(moved_numbers(held, ["int"] * 3, floats, access, tmp_path / "none"))
