"""Proofs that begin before they are certain to be needed: given on request, else ended."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.errors import Cancelled
from hipscope.analysis.run import Run
from hipscope.formulas.judge import selection

SAME = Verdict(outcome="equivalent", reason="Equivalent.")


@pytest.fixture
def bench() -> Any:
    """A bench whose reference is ready."""
    reference: Future[None] = Future()
    reference.set_result(None)
    return SimpleNamespace(ahead=SimpleNamespace(reference=reference))


def admitted(text: bytes) -> Any:
    return SimpleNamespace(candidate=SimpleNamespace(text=text), compiled=None)


def proofs(bench: Any) -> selection.Proofs:
    return selection.Proofs(bench, Run())


def test_a_proof_is_made_once_whether_it_began_early_or_not(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bytes] = []

    def prove(_bench: Any, candidate: Any, _compiled: Any, _run: Run) -> Verdict:
        made.append(candidate.text)
        return SAME

    monkeypatch.setattr(selection, "prove", prove)
    with proofs(bench) as begun:
        begun.begin(admitted(b"early"))
        assert begun.finish(admitted(b"early")) is SAME
        assert begun.finish(admitted(b"late")) is SAME
        begun.drop(admitted(b"never begun"))
    assert made == [b"early", b"late"]


@pytest.mark.parametrize("how", ["dropped", "left"])
def test_an_unneeded_proof_ends(bench: Any, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    started, ended = threading.Event(), threading.Event()

    def prove(_bench: Any, _candidate: Any, _compiled: Any, run: Run) -> Verdict:
        started.set()
        assert run.cancel is not None
        while not run.cancel.is_set():
            pass
        ended.set()
        raise Cancelled

    monkeypatch.setattr(selection, "prove", prove)
    with proofs(bench) as begun:
        begun.begin(admitted(b"slow"))
        assert started.wait(20)
        if how == "dropped":
            begun.drop(admitted(b"slow"))
            assert ended.wait(20)
    assert ended.is_set()


def test_a_proof_waits_for_the_reference_but_not_longer_than_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selection, "prove", lambda *_, **__: SAME)
    reference: Future[None] = Future()
    waiting = SimpleNamespace(ahead=SimpleNamespace(reference=reference))
    with proofs(waiting) as begun:
        begun.begin(admitted(b"one"))
        begun.drop(admitted(b"one"))
        with pytest.raises(Cancelled):
            begun.finish(admitted(b"one"))
        begun.begin(admitted(b"two"))
        reference.set_result(None)
        assert begun.finish(admitted(b"two")) is SAME
