"""Contents that inputs get in trials."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from hipscope.accordo.reference import trials
from hipscope.accordo.trials.fresh_inputs import permuted
from hipscope.analysis.errors import Cancelled


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
