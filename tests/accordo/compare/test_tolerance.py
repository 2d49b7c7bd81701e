"""How far floats may be off that no declared type tells apart: nothing small hides behind something large."""

from __future__ import annotations

import numpy as np
import pytest

from hipscope.accordo.compare.tolerance import (
    Tolerance,
    UserTolerance,
    sizes_of_stored,
    tolerance_for,
)
from hipscope.analysis.source.number_types import element_of


def test_arrays_side_by_side_do_not_hide_small_numbers() -> None:
    numbers = np.concatenate([np.full(2048, 1e6), np.full(256, 1e-6), np.full(4096, 1e6)])
    assert sizes_of_stored(numbers, None, None)[:, 0] == pytest.approx([1e6, 1e6, 1e-6, 1e6, 1e6, 1e6, 1e6])


def test_members_of_structures_of_floats_do_not_hide_small_ones() -> None:
    assert sizes_of_stored(np.tile([1e6, 1.0, 1e-6], 500), None, None) == pytest.approx(1e-6)
    assert sizes_of_stored(np.array([1e6, 1e-6]), None, None) == pytest.approx(1e-6)
    unwritten = np.arange(1500) < 1400
    assert sizes_of_stored(np.tile([1e6, 1.0, 1e-6], 500), unwritten, None) == pytest.approx(1e-6)


def test_what_other_instructions_store_has_sizes_of_its_own() -> None:
    numbers = np.tile([1e6, 4e9, 1e-6, 7.0], 500)
    only, sites = np.tile([True, False, True, True], 500), np.tile([0, 0, 2, 1], 500).astype(np.uint8)
    tolerance = Tolerance(0.0, sizes_of_stored(numbers, only, sites))
    allowed = np.asarray(tolerance.absolute_at(np.arange(2000), sites))
    assert allowed[only] == pytest.approx(np.tile([1e6, 1e-6, 7.0], 500))


def test_a_single_number_beside_larger_ones_has_its_own_size_where_another_instruction_stores_it() -> None:
    numbers = np.concatenate([[1e-6], np.full(2000, 1e6)])
    sites = (np.arange(2001) == 0).astype(np.uint8)
    tolerance = Tolerance(0.0, sizes_of_stored(numbers, None, sites))
    assert np.asarray(tolerance.absolute_at(np.array([0, 1]), sites)) == pytest.approx([1e-6, 1e6])


def test_what_is_zero_in_a_member_or_not_finite_leaves_the_relative_part_alone() -> None:
    assert sizes_of_stored(np.tile([5.0, 0.0], 100), None, None) == pytest.approx(0.0)
    assert sizes_of_stored(np.full(10, np.nan), None, None) == pytest.approx(0.0)
    assert sizes_of_stored(np.array([np.inf, 3.0, np.nan]), None, None) == pytest.approx(3.0)


def test_the_last_places_of_denormals_may_differ_but_not_be_flushed() -> None:
    least = float(np.float32(1e-45))  # the smallest of 32 bits
    tolerance = tolerance_for(element_of("float"), lambda: 16 * least)
    assert tolerance.absolute == 4 * least
    assert tolerance_for(element_of("float"), lambda: 1.0).absolute == pytest.approx(1e-6)
    assert tolerance_for(element_of("__half"), lambda: 0.0).absolute == 0.0
    assert tolerance_for(element_of("float"), lambda: 0.0, user=UserTolerance(0.0)).exact
