"""Contents that inputs get in trials."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from hipscope.accordo.dispatch.access_map import ATOMIC, PAGE, READ, READ_FIRST, WRITTEN, AccessMap, read_runs
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import segments
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement, write_replacement
from hipscope.accordo.reference import trials
from hipscope.accordo.trials import fresh_inputs
from hipscope.accordo.trials.code_constants import Named
from hipscope.accordo.trials.fresh_inputs import permuted, write_unread
from hipscope.analysis.errors import Cancelled
from hipscope.emulator.captures import seal


@pytest.mark.parametrize("count", [1000, (1 << 20) + 77, 3 << 20])
def test_a_permutation_keeps_all_elements_and_moves_nearly_each_of_them(count: int) -> None:
    elements = np.arange(count, dtype="<u4")
    made = permuted(elements, np.random.default_rng(7))
    assert (np.sort(made) == elements).all()
    assert (made == elements).sum() < 20
    assert (
        np.abs(np.diff(made.astype(np.int64))) <= 2
    ).mean() < 0.01  # neighbours are no neighbours any more
    blocks = made[: count // 65536 * 65536].reshape(-1, 65536)
    assert len({tuple(np.argsort(block)[:100]) for block in blocks}) == len(blocks)


def test_the_contents_of_trials_are_not_made_after_the_end_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    made: list[int] = []

    def with_inputs(*given: object) -> list[trials.Planned]:
        made.append(1)
        stop.set()
        return []

    monkeypatch.setattr(trials, "named_in", Mock())
    monkeypatch.setattr(trials, "with_guesses", Mock())
    monkeypatch.setattr(trials, "_with_inputs", with_inputs)
    with pytest.raises(Cancelled):
        trials.plan(Mock(), Mock(), (), Mock(), tmp_path, stop)
    assert made == [1]


@pytest.mark.parametrize(("large", "pages"), [(1 << 30, 512), (1 << 20, 3)])
def test_of_a_large_buffer_that_is_not_read_only_what_is_written_gets_other_numbers(
    large: int, pages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh_inputs, "_LARGE_BUFFER", large)
    monkeypatch.setattr(fresh_inputs, "_MARGIN", 0)
    size = 512 * 4096
    (tmp_path / "buffer_0.before").write_bytes(bytes(size))
    seal(tmp_path)
    one = CapturedBuffer(0, 0, size, ((0, 0),), tmp_path / "buffer_0.before", tmp_path / "buffer_0.after")
    written = AccessMap(size, ((4096 * 100, np.full(4096, WRITTEN, dtype=np.uint8)),))
    known = {0: segments(one, {0: "float"})}
    assert write_unread((one,), known, {0: written}, tmp_path / "fresh") == 1
    kept = replacement(tmp_path / "fresh", 0)
    assert kept is not None
    fresh = np.frombuffer(replaced_contents(kept, one.before), dtype="<f4").reshape(512, 1024)
    assert (fresh != 0).all(axis=1).sum() == pages
    assert (fresh[99:102] != 0).all()
    read = AccessMap(size, ((0, np.full(4, READ, dtype=np.uint8)),))
    assert write_unread((one,), known, {0: read}, tmp_path / "none") == 0


def test_lengths_that_a_program_names_fit_into_their_type(tmp_path: Path) -> None:
    """One more than the largest is no number of 32 bits."""
    held = np.array([5, 2**32 - 1, 7, 8], dtype="<u4")
    (tmp_path / "buffer_0.before").write_bytes(held.tobytes())
    seal(tmp_path)
    one = CapturedBuffer(0, 0, 16, ((0, 0),), tmp_path / "buffer_0.before", tmp_path / "buffer_0.after")
    read = AccessMap(16, ((0, np.full(16, READ, dtype=np.uint8)),))
    known, folder = {0: segments(one, {0: "unsigned int"})}, tmp_path / "fresh"
    named = Named(frozenset(), frozenset({2**32 - 1, 32, -4}))
    lengths = fresh_inputs.NAMED_LENGTHS
    assert fresh_inputs.write_fresh_inputs((one,), known, {0: read}, folder, lengths, named) == 1
    kept = replacement(folder, 0)
    assert kept is not None
    made = np.frombuffer(replaced_contents(kept, one.before), dtype="<u4")
    assert list(made) == [32, *held[1:]]


def with_ends(folder: Path, trial: int, **held: tuple[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the trial makes of inputs by name, of those that it changes."""
    buffers, known, read = [], {}, {}
    for index, (kind, numbers) in enumerate(held.values()):
        before = folder / f"buffer_{index}.before"
        before.write_bytes(numbers.tobytes())
        one = CapturedBuffer(index, 0, numbers.nbytes, ((index, 0),), before, before)
        buffers.append(one)
        known[index] = segments(one, {index: kind})
        read[index] = AccessMap(one.size, ((0, np.full(one.size, READ, dtype=np.uint8)),))
    seal(folder)
    fresh_inputs.write_fresh_inputs(tuple(buffers), known, read, folder / "fresh", trial)
    found = {}
    for buffer, (name, (_, numbers)) in zip(buffers, held.items(), strict=True):
        if (kept := replacement(folder / "fresh", buffer.index)) is not None:
            found[name] = np.frombuffer(replaced_contents(kept, buffer.before), dtype=numbers.dtype)
    return found


def test_a_sorted_list_stays_one_beside_infinities_of_which_neighbours_are_equal(tmp_path: Path) -> None:
    places = ("float", np.arange(40, dtype="<f4") / 8)
    values = ("float", np.random.default_rng(1).normal(size=400).astype("<f4"))
    made = with_ends(tmp_path, fresh_inputs.ENDS, places=places, values=values)
    assert (made["places"][:2] == -np.inf).all()
    assert (made["places"][-2:] == np.inf).all()
    assert (np.diff(made["places"][2:-2]) > 0).all()
    pairs = list(itertools.pairwise(made["values"].tolist()))
    for pair in ((np.inf, np.inf), (-np.inf, -np.inf), (np.inf, -np.inf)):
        assert pair in pairs
    assert np.isfinite(made["values"]).mean() > 0.6


def test_without_a_sorted_list_there_is_no_such_trial(tmp_path: Path) -> None:
    values = ("float", np.random.default_rng(1).normal(size=400).astype("<f4"))
    offsets = ("int", np.arange(41, dtype="<i4") * 10)
    assert with_ends(tmp_path, fresh_inputs.ENDS, values=values, offsets=offsets) == {}


def test_sorted_keys_end_in_the_largest_and_offsets_do_not(tmp_path: Path) -> None:
    keys, offsets = ("int", np.arange(40, dtype="<i4") * 30), ("int", np.arange(41, dtype="<i4"))
    made = with_ends(tmp_path, fresh_inputs.WHOLE_ENDS, keys=keys, offsets=offsets)
    assert set(made) == {"keys"}
    assert (made["keys"][0], made["keys"][-1]) == (-(2**31), 2**31 - 1)
    unsigned = ("unsigned int", keys[1].astype("<u4"))
    assert with_ends(tmp_path, fresh_inputs.WHOLE_ENDS, keys=unsigned)["keys"][[0, -1]].tolist() == [
        0,
        2**32 - 1,
    ]


def changed(
    folder: Path, trial: int, held: np.ndarray, name: str, bits: int, only: int | None = None
) -> np.ndarray | None:
    """What a trial makes of a buffer of elements of a type that is accessed so; None where it leaves it alone."""
    folder.mkdir(exist_ok=True)
    path = folder / "buffer_0.before"
    path.write_bytes(held.tobytes())
    seal(folder)
    one = CapturedBuffer(0, 0, held.nbytes, ((0, 0),), path, path)
    access = {0: AccessMap.of(np.full(held.nbytes, bits, dtype=np.uint8))}
    pieces = {0: segments(one, {0: name})}
    if not fresh_inputs.write_fresh_inputs((one,), pieces, access, folder / "fresh", trial, only=only):
        return None
    kept = replacement(folder / "fresh", 0)
    assert kept is not None
    return np.frombuffer(replaced_contents(kept, one.before), dtype=held.dtype)


def test_a_total_to_which_an_atomic_adds_carries_beyond_32_bits(tmp_path: Path) -> None:
    totals = np.zeros(1, dtype="<u8")
    made = changed(tmp_path, fresh_inputs.LARGE_UPDATED, totals, "unsigned long", READ | ATOMIC | WRITTEN)
    assert made is not None
    assert made[0] & 0xFFFFFFFF == 0xFFFFFFFF
    assert changed(tmp_path, fresh_inputs.LARGE_UPDATED, totals, "unsigned long", READ | WRITTEN) is None


def test_what_is_updated_is_farther_below_zero_than_any_input(tmp_path: Path) -> None:
    numbers = np.linspace(-5, 5, 64, dtype="<f4")
    updated = changed(tmp_path / "updated", fresh_inputs.FAR_BELOW, numbers, "float", READ | ATOMIC | WRITTEN)
    assert updated is not None
    assert (updated < -1e11).all()
    assert changed(tmp_path / "read", fresh_inputs.FAR_BELOW, numbers, "float", READ | READ_FIRST) is None


def test_large_integers_go_into_one_input_alone(tmp_path: Path) -> None:
    numbers, read = np.arange(64, dtype="<i4"), READ | READ_FIRST
    assert changed(tmp_path, fresh_inputs.LARGE_INTEGERS, numbers, "int", read, only=1) is None
    made = changed(tmp_path, fresh_inputs.LARGE_INTEGERS, numbers, "int", read, only=0)
    assert made is not None
    assert (np.abs(made.astype(np.int64)) > 1 << 19).all()


def test_parts_that_are_no_whole_pages_are_kept_as_whole_pages(tmp_path: Path) -> None:
    held = np.zeros(1 << 21, dtype=np.uint8)
    write_replacement(tmp_path, 0, held, [(12, np.full(4, 7, dtype=np.uint8)), (9000, np.ones(4, np.uint8))])
    kept = replacement(tmp_path, 0)
    assert kept is not None
    assert kept.suffix == ".runs"
    runs = list(read_runs(kept.read_bytes()))
    assert [(at, len(part)) for at, part in runs] == [(0, PAGE), (2 * PAGE, PAGE)]
    made = np.frombuffer(replaced_contents(kept, held.tobytes), dtype=np.uint8)
    assert made[12:16].tolist() == [7] * 4
    assert made.sum() == 32


def test_nothing_is_empty_in_a_full_table(tmp_path: Path) -> None:
    table, keys = np.zeros(64, dtype="<u8"), np.arange(1, 33, dtype="<u8")
    table[::3] = 7
    bits = READ | READ_FIRST
    held = []
    for index, numbers in enumerate((table, keys)):
        path = tmp_path / f"buffer_{index}.before"
        path.write_bytes(numbers.tobytes())
        held.append(CapturedBuffer(index, 0, numbers.nbytes, ((index, 0),), path, path))
    seal(tmp_path)
    access = {b.index: AccessMap.of(np.full(b.size, bits, dtype=np.uint8)) for b in held}
    pieces = {b.index: segments(b, {b.index: "unsigned long"}) for b in held}
    assert (
        fresh_inputs.write_fresh_inputs(tuple(held), pieces, access, tmp_path / "fresh", fresh_inputs.FULL)
        == 1
    )
    kept = replacement(tmp_path / "fresh", 0)
    assert kept is not None
    made = np.frombuffer(replaced_contents(kept, held[0].before), dtype="<u8")
    assert (made != 0).all()
    assert (made[::3] == 7).all()
