"""Contents in which numbers of every kind stand among each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.trials.code_constants import Named
from hipscope.accordo.trials.mixed_contents import outweighs, write_dominant, write_mixed
from hipscope.analysis.source.number_types import element_of
from hipscope.emulator.captures import seal


def mixed(
    folder: Path,
    held: np.ndarray,
    type_name: str,
    *,
    wide: bool = False,
    draw: int = 0,
    row: int = 0,
    floats: frozenset[float] = frozenset({77.5}),
) -> np.ndarray:
    """What the only buffer holds afterwards."""
    before = folder / "buffer_0.before"
    before.write_bytes(held.tobytes())
    seal(folder)
    buffer = CapturedBuffer(0, 4096, held.nbytes, (), before, before)
    named = Named(floats, frozenset({40, 3000}))
    element = element_of(type_name)
    any_value = frozenset({0}) if wide else frozenset[int]()
    made = write_mixed((buffer,), {0: element}, folder / "made", named, wide=any_value, draw=draw, row=row)
    return np.fromfile(made / "buffer_0.before", dtype=held.dtype)


def test_floats_are_finite_of_both_signs_zeros_ones_and_what_is_named(tmp_path: Path) -> None:
    found = mixed(tmp_path, np.zeros(4000, dtype="<f4"), "float")
    zeros = found == 0
    assert 200 < zeros.sum() < 700
    assert 50 < np.signbit(found[zeros]).sum() < zeros.sum() - 50
    for number in (1.0, 77.5, -77.5):
        assert (found == np.float32(number)).sum() > 40
    assert (found < 0).sum() > 500
    assert np.isfinite(found).all()


def test_integers_leave_their_range_only_where_they_may(tmp_path: Path) -> None:
    held = np.arange(100, 2100, dtype="<i4")
    narrow = mixed(tmp_path, held, "int")
    assert (narrow.min(), narrow.max()) == (40, 2099)
    wide = mixed(tmp_path, held, "int", wide=True)
    assert {0, 1, -1, -2, 2**31 - 1, -(2**31)} <= set(wide.tolist())


def test_some_rows_are_of_one_kind(tmp_path: Path) -> None:
    found = mixed(tmp_path, np.full(4000, 3.0, dtype="<f4"), "float")
    assert max(len(run) for run in "".join("0" if x == 0 else " " for x in found).split()) >= 24


def test_what_is_named_lies_in_front_and_zeros_do_in_the_other_draw(tmp_path: Path) -> None:
    held = np.full(400, 3.0, dtype="<f4")
    front, zeros = (mixed(tmp_path, held, "float", draw=draw)[:20] for draw in (0, 1))
    assert set(front.tolist()) == {77.5, np.float32(77.5 * 1.01), -77.5}
    assert not zeros.any()
    bytes_ = mixed(tmp_path, np.arange(100, dtype="u1"), "unsigned char", wide=True)
    assert bytes_[:2].tolist() == [40, 41]  # 3000 is no number of eight bits


def test_some_rows_have_nothing_above_zero_and_others_nothing_below(tmp_path: Path) -> None:
    rows = mixed(tmp_path, np.full(6000, 3.0, dtype="<f4"), "float", row=150).reshape(-1, 150)
    most, least = rows.max(axis=1), rows.min(axis=1)
    assert (most == 0).sum() >= 5
    assert (least == 0).sum() >= 5
    assert ((most > 0) & (least < 0)).sum() >= 10


def test_infinity_is_there_only_if_it_is_named(tmp_path: Path) -> None:
    held = np.full(4000, 3.0, dtype="<f4")
    assert np.isfinite(mixed(tmp_path, held, "float")).all()
    assert (mixed(tmp_path, held, "float", floats=frozenset({-np.inf})) == -np.inf).sum() > 40


def test_larger_matrices_outweigh_their_rows_where_the_captured_ones_do(tmp_path: Path) -> None:
    held = np.ones((3, 4, 4), dtype="<f4") + np.eye(4, dtype="<f4") * 5
    before = tmp_path / "buffer_0.before"
    before.write_bytes(held.tobytes())
    longer = tmp_path / "buffer_1.before"
    longer.write_bytes(bytes(4 * (2 * 81 + 5)))
    seal(tmp_path)
    was = CapturedBuffer(0, 4096, held.nbytes, (), before, before)
    now = CapturedBuffer(0, 4096, longer.stat().st_size, (), longer, longer)
    elements = {0: element_of("float")}
    made = write_dominant((now,), (was,), elements, {7: 11, 4: 9}, tmp_path / "made")
    assert made is not None
    found = np.fromfile(made / "buffer_0.before", dtype="<f4")
    assert outweighs(found[: 2 * 81], 9)
    assert (found[:81:10] == 6).all()
    assert write_dominant((now,), (was,), elements, {7: 11}, tmp_path / "none") is None


def test_a_row_that_is_more_than_its_diagonal_is_seen() -> None:
    matrices = np.ones((2, 3, 3)) + 2 * np.eye(3)
    assert outweighs(matrices.reshape(-1), 3)
    matrices[1, 2, 0] = -9.0
    assert not outweighs(matrices.reshape(-1), 3)
    assert not outweighs(np.full(9, np.nan), 3)
    assert not outweighs(np.ones(10), 3)
