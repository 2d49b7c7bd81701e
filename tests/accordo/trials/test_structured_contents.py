"""Lists with an order get other contents that still have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.trials.structured_contents import (
    in_one_step,
    in_steps_of_one,
    renumbered,
    resorted,
    rises,
    with_ends,
    write_in_order,
    write_parts,
)
from hipscope.analysis.source.number_types import element_of
from hipscope.emulator.captures import seal


def test_a_rising_list_rises_otherwise_between_the_same_ends_in_part_by_nothing() -> None:
    offsets = np.arange(0.0, 3500.0, 5.0)
    made = resorted(offsets, np.random.default_rng(1), whole=True)
    assert made is not None
    steps = np.diff(made)
    assert (made[0], made[-1]) == (0, 3495)
    assert (made == np.floor(made)).all()
    assert (steps >= 0).all()
    assert 100 < (steps == 0).sum() < 600  # rows of nothing
    assert steps.max() > 15  # and long ones


def test_what_does_not_rise_is_no_such_list() -> None:
    generator = np.random.default_rng(1)
    for numbers in ([3.0, 1, 2, 4, 5, 6, 7, 8, 9], [7.0] * 20, [1.0, 2, 3], [0.0, np.nan, *range(20)]):
        assert resorted(np.array(numbers), generator, whole=False) is None


def test_parents_become_long_chains_numbered_from_the_other_end() -> None:
    parents = np.array([0, 1, 0, 1, 2, 3, 4, 0, 5, 6, 7, 8], dtype="<u4")
    made = renumbered(parents)
    assert made is not None
    # 0 and 1 are the roots; each other one leads to the one before it.
    assert made.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11]


def test_numbers_that_lead_out_of_the_list_are_no_numbers_of_elements() -> None:
    assert renumbered(np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], dtype="<u4")) is None
    assert renumbered(np.zeros(100, dtype="<u4")) is None


def test_a_list_with_other_ends_is_still_in_order() -> None:
    raw = np.arange(10, dtype="<f4")
    low, high = np.float32(-np.inf), np.float32(np.inf)
    made = with_ends(raw, low, high)
    assert made.tolist() == [-np.inf, -np.inf, *range(2, 8), np.inf, np.inf]
    assert rises(raw.astype(np.float64))
    assert not rises(raw[::-1].astype(np.float64))


def test_one_of_many_lists_holds_all_elements() -> None:
    made = in_one_step(np.arange(5.0, 55.0, 5.0))
    assert made is not None
    assert made.tolist() == [5.0] * 5 + [50.0] * 5


def test_each_of_many_lists_holds_one_element() -> None:
    made = in_steps_of_one(np.arange(5.0, 505.0, 5.0))
    assert made is not None
    assert made.tolist() == list(range(5, 105))
    assert (
        in_steps_of_one(np.array([0.0, 0, 0, 1, 1, 1, 2, 2, 2, 3])) is None
    )  # it would end beyond its last element


def buffers(folder: Path, *contents: np.ndarray) -> list[CapturedBuffer]:
    folder.mkdir()
    for index, numbers in enumerate(contents):
        (folder / f"buffer_{index}.before").write_bytes(numbers.tobytes())
    seal(folder)
    paths = [folder / f"buffer_{index}.before" for index in range(len(contents))]
    return [
        CapturedBuffer(index, 0, numbers.nbytes, ((index, 0),), path, path)
        for index, (numbers, path) in enumerate(zip(contents, paths, strict=True))
    ]


def left(folder: Path, buffer: CapturedBuffer) -> list[int]:
    kept = replacement(folder, buffer.index)
    assert kept is not None
    return list(np.frombuffer(replaced_contents(kept, buffer.before), dtype="<i4"))


def test_a_sorted_list_goes_on_in_a_longer_launch(tmp_path: Path) -> None:
    keys, values = np.arange(-20, 20, dtype="<i4"), np.arange(40, 0, -1, dtype="<i4")
    was = buffers(tmp_path / "was", keys, values)
    longer = buffers(tmp_path / "longer", *(np.tile(held, 3) for held in (keys, values)))
    elements = {n: element_of("int") for n in (0, 1)}
    assert write_in_order(longer, was, elements, tmp_path / "fresh") == 1
    assert left(tmp_path / "fresh", longer[0]) == [*range(-20, 20), *range(19, 59), *range(58, 98)]


def test_numbers_of_elements_lead_into_each_part_of_what_they_number(tmp_path: Path) -> None:
    offsets, numbers = np.arange(0, 45, 5, dtype="<i4"), np.arange(39, -1, -1, dtype="<i4") % 20
    numbered = np.zeros(20, dtype="<f4")
    held = (offsets, numbers, numbered)
    was = buffers(tmp_path / "was", *held)
    longer = buffers(tmp_path / "longer", *(np.tile(one, 2) for one in held))
    elements = {0: element_of("int"), 1: element_of("int"), 2: element_of("float")}
    assert write_parts(longer, was, elements, {0, 1}, tmp_path / "fresh") == 2
    assert left(tmp_path / "fresh", longer[0]) == [*range(0, 45, 5), *range(40, 85, 5)]
    assert left(tmp_path / "fresh", longer[1]) == [*numbers.tolist(), *(numbers + 20).tolist()]
    assert write_parts(longer, was, elements, {0}, tmp_path / "none") == 0  # a list in order alone
