"""What a run hands on: its event, its progress and its texts, for all of the work and for parts of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hipscope.analysis.errors import Cancelled
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import Stop
from tests.unsaved import unsaved


def test_a_cancelled_run_stops_and_so_do_its_parts_but_not_the_other_way_round() -> None:
    cancel = threading.Event()
    whole = Run(cancel)
    stop = Stop(cancel)
    part = whole.until(stop)
    stop.set()
    whole.check()
    with pytest.raises(Cancelled):
        part.check()
    cancel.set()
    with pytest.raises(Cancelled):
        whole.check()
    with pytest.raises(Cancelled):
        whole.until(Stop(cancel)).check()


def test_a_quiet_run_says_nothing() -> None:
    said: list[tuple[str, float | None]] = []
    run = Run(progress=lambda message, share: said.append((message, share)))
    run.say("half", 0.5)
    run.quietly().say("nothing")
    run.say("done")
    assert said == [("half", 0.5), ("done", None)]


def test_a_candidates_text_is_seen_in_its_own_run_only(tmp_path: Path) -> None:
    file, header = tmp_path / "k.hip", tmp_path / "k.h"
    run = unsaved(header, b"unsaved")
    file.write_bytes(b"on disk")
    candidate = run.replacing(file, b"candidate")
    assert candidate.texts.read(file) == b"candidate"
    assert candidate.texts.read(header) == b"unsaved"
    assert run.texts.read(file) == b"on disk"
