"""Arguments that differ together, for a candidate with conditions of its own."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

from hipscope.accordo.trials.code_constants import Named, compared_in
from hipscope.accordo.trials.crossed_arguments import crossed_arguments
from tests.accordo.dispatch.test_code_addresses import code
from tests.accordo.trials.test_scalar_variants import launch

LAUNCH = struct.Struct("<iiff")
TYPES = ["int", "int", "float", "float"]


def rows(folder: Path, conditions: Named) -> list[tuple[int, int, float, float]]:
    dispatch = launch(folder, LAUNCH.pack(1000, 0, 2.0, 0.5), 4, 4, 4, 4)
    return [LAUNCH.unpack(row.kernarg) for row in crossed_arguments(dispatch, TYPES, conditions)]


def test_flags_and_signs_meet_in_pairs_and_few_launches_do(tmp_path: Path) -> None:
    found = rows(tmp_path, Named(frozenset(), frozenset()))
    assert len(found) == 10
    assert found[0] == (1000, 0, 2.0, 0.5)  # other inputs alone
    signs = {(row[2] < 0, row[3] < 0) for row in found}
    assert signs == set(itertools.product((True, False), repeat=2))
    assert {row[0] for row in found} >= {999, 1000}
    assert {row[1] for row in found} >= {0, 1, -1}


def test_what_only_one_of_the_codes_compares_with_is_tried(tmp_path: Path) -> None:
    found = rows(tmp_path, Named(frozenset({7.0}), frozenset({33})))
    assert {33, 34} & {row[1] for row in found}
    assert any(abs(row[2] - 7.07) < 0.01 or abs(row[3] - 7.07) < 0.01 for row in found)


def test_how_often_a_number_is_compared_with_counts() -> None:
    floats, integers = compared_in(
        code("v_cmp_lt_f32 vcc, 1.0, v1\ns_cmp_eq_u32 s3, 7\nv_cmp_gt_i32 vcc, 7, v2")
    )
    assert floats[1.0] == 1
    assert integers[7] == 2
