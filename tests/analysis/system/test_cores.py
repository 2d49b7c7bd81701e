"""The cores that a process may keep busy."""

from __future__ import annotations

import os

import pytest

from hipscope.analysis.system.cores import usable_cores


def test_they_are_those_that_the_process_may_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container or a job of a cluster that has two of 128."""
    monkeypatch.delenv("HIPSCOPE_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 7}, raising=False)
    assert usable_cores() == 2


@pytest.mark.parametrize(("asked", "cores"), [("3", 3), ("0", 2), ("", 2), ("many", 2), ("-1", 2)])
def test_fewer_can_be_asked_for(monkeypatch: pytest.MonkeyPatch, asked: str, cores: int) -> None:
    monkeypatch.setenv("HIPSCOPE_THREADS", asked)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 7}, raising=False)
    assert usable_cores() == cores
