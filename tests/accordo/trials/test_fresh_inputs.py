"""Contents that inputs get in trials."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from hipscope.accordo.dispatch.access_map import READ, WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import segments
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
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
