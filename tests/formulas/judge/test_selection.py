"""Proofs that begin before they are certain to be needed: given on request, else ended."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.accordo.model.verdict import Mismatch, Verdict
from hipscope.analysis.errors import Cancelled
from hipscope.analysis.run import Run
from hipscope.analysis.source.parse import device_functions, parse
from hipscope.analysis.system.process import Stop
from hipscope.formulas.facts.called_functions import CalledFunction
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.judge import selection
from hipscope.formulas.judge.bench import OnDemand
from hipscope.formulas.judge.compile_sweep import Admitted, Swept
from hipscope.formulas.judge.judge import Judgement
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.propose.candidate import Candidate

SAME = Verdict(outcome="equivalent", reason="Equivalent.")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=1) as threads:
        yield threads


@pytest.fixture
def bench(pool: ThreadPoolExecutor) -> Any:
    """A bench whose reference is ready at once."""
    reference = OnDemand(pool, lambda: None)
    return SimpleNamespace(
        ahead=SimpleNamespace(reference=reference), seconds_to_verify=300.0, passed_over=frozenset()
    )


def admitted(text: bytes, *, exact: bool = True) -> Any:
    return SimpleNamespace(candidate=SimpleNamespace(text=text, exact=exact), compiled=None)


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
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "prove", lambda *_, **__: SAME)
    ready = threading.Event()
    waiting = SimpleNamespace(ahead=SimpleNamespace(reference=OnDemand(pool, ready.wait)))
    with proofs(waiting) as begun:
        begun.begin(admitted(b"one"))
        begun.drop(admitted(b"one"))
        with pytest.raises(Cancelled):
            begun.finish(admitted(b"one"))
        begun.begin(admitted(b"two"))
        ready.set()
        assert begun.finish(admitted(b"two")) is SAME


def test_the_reference_begins_with_the_first_proof_and_tells_its_seconds(pool: ThreadPoolExecutor) -> None:
    ready, begun = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        assert ready.wait(20)
        return "reference"

    reference = OnDemand(pool, work)
    assert not reference.done()
    assert reference.seconds == 0.0
    assert reference.begin() is reference.begin()
    assert begun.wait(20)
    assert not reference.done()
    ready.set()
    assert reference.begin().result() == "reference"
    assert reference.done()
    assert 0.0 < reference.seconds < 40.0


@pytest.mark.parametrize(
    ("found", "rounds"),
    [
        ({"element": "fp32", "expected": "1.34730208", "got": "1.34730196"}, True),
        ({"element": "fp32", "expected": "1.34730208", "got": "1.3512"}, False),
        ({"element": "i32", "expected": "100000000", "got": "100000001"}, False),
        ({"element": "fp32", "expected": "nan", "got": "1.0"}, False),
        ({"element": "fp32", "expected": "0x1", "got": "1.0"}, False),
    ],
)
def test_what_differs_in_the_last_places_rounds_otherwise(found: dict[str, str], rounds: bool) -> None:
    mismatch = Mismatch(kind="wrong_value", message="", **found)
    verdict = Verdict(outcome="different", reason="", mismatches=(mismatch,))
    assert selection.rounds_otherwise(verdict) is rounds
    assert not selection.rounds_otherwise(SAME)


def test_what_rounds_otherwise_is_proved_by_double_precision(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mismatch = Mismatch(kind="wrong_value", message="", element="fp32", expected="1.0", got="1.0000001")
    other = Verdict(outcome="different", reason="", mismatches=(mismatch,))
    asked: list[bool] = []

    def prove(_bench: Any, candidate: Candidate, _compiled: Any, _run: Run) -> Verdict:
        asked.append(candidate.exact)
        return other if candidate.exact else SAME

    monkeypatch.setattr(selection, "prove", prove)
    monkeypatch.setattr(selection, "broken_configuration", lambda *_: None)
    monkeypatch.setattr(selection, "depends_on_place", lambda *_: None)
    monkeypatch.setattr(selection, "over_ranges", lambda _bench, judgement, *_: judgement)
    monkeypatch.setattr(selection, "with_proof", lambda _bench, judgement, _verdict: judgement)
    bench.prepare_precision, bench.run = lambda: None, Run()
    candidate = Candidate("unroll", "", b"text", "")
    one: Any = Admitted(candidate, None)  # type: ignore[arg-type]
    quick = Judgement(candidate, Outcome.ACCEPTED, "")
    with proofs(bench) as begun:
        (judged,) = selection.prove_in_order(bench, [(quick, one)], begun, None)
    assert asked == [True, False]
    assert judged.accepted
    assert not judged.candidate.exact


def test_no_proof_is_made_to_its_end_where_assumed_constants_decide(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def prove(_bench: Any, _candidate: Any, _compiled: Any, run: Run) -> Verdict:
        assert run.cancel is not None
        while not run.cancel.is_set():
            pass
        ended.set()
        raise Cancelled

    def over_ranges(_bench: Any, judgement: Judgement, *_: Any) -> Judgement:
        return replace(judgement, stage=Outcome.NOT_FASTER, reason="It depends.")

    monkeypatch.setattr(selection, "prove", prove)
    monkeypatch.setattr(selection, "broken_configuration", lambda *_: None)
    monkeypatch.setattr(selection, "depends_on_place", lambda *_: None)
    monkeypatch.setattr(selection, "over_ranges", over_ranges)
    bench.run = Run()
    candidate = Candidate("unroll", "", b"text", "")
    dropped: list[bytes] = []
    rehearsals: Any = SimpleNamespace(begin=lambda *_: None, drop=dropped.append)
    quick = Judgement(candidate, Outcome.ACCEPTED, "")
    with proofs(bench) as begun:
        in_turn = selection.prove_in_order(bench, [(quick, Admitted(candidate, None))], begun, rehearsals)  # type: ignore[arg-type]
        (judged,) = in_turn
        assert ended.wait(20)
    assert (judged.stage, judged.verdict, dropped) == (Outcome.NOT_FASTER, None, [b"text"])


def test_what_the_end_of_a_search_leaves_unproved_is_said_of_each(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prove(_bench: Any, candidate: Candidate, _compiled: Any, _run: Run) -> Verdict:
        if candidate.text == b"first":
            return Verdict(outcome="inconclusive", reason="Not proved.")
        raise Cancelled

    monkeypatch.setattr(selection, "prove", prove)
    monkeypatch.setattr(selection, "broken_configuration", lambda *_: None)
    monkeypatch.setattr(selection, "depends_on_place", lambda *_: None)
    monkeypatch.setattr(selection, "over_ranges", lambda _bench, judgement, *_: judgement)
    bench.run = Run()
    tried: list[Any] = [
        (Judgement(c, Outcome.ACCEPTED, "", speedup=1.5), Admitted(c, None))  # type: ignore[arg-type]
        for c in (Candidate("r", "", text, "") for text in (b"first", b"second", b"third"))
    ]
    with proofs(bench) as begun:
        in_turn = selection.prove_in_order(bench, tried, begun, None)
        judged = [next(in_turn) for _ in tried]
        with pytest.raises(Cancelled):
            next(in_turn)
    assert [j.stage for j in judged] == [Outcome.INCONCLUSIVE, Outcome.ENDED, Outcome.ENDED]
    assert judged[1].reason == (
        "Not judged to the end: 1.50x as fast on the recorded launches; the search ended before it was proved."
    )


def test_a_gain_that_another_formula_explains_is_a_gain(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe is asked for one finding, and what it moves may be the metric of another."""

    def weigh(*_: Any, others: Any = None) -> Any:
        return SimpleNamespace(accepted=others is not None, speedup=1.2)

    monkeypatch.setattr(selection, "weigh", weigh)
    monkeypatch.setattr(selection, "time_candidate", lambda *_, **__: object())
    monkeypatch.setattr(selection, "prove_in_order", lambda _bench, hopeful, *_: iter(hopeful))
    monkeypatch.setattr(selection, "prove", lambda *_: SAME)
    tried = [admitted(b"one"), admitted(b"two")]
    offers = selection.Offers((), (), ())
    monkeypatch.setattr(selection, "sweep", lambda *_: Swept(tuple(tried), ()))
    bench.project = SimpleNamespace(config=SimpleNamespace(optimize=SimpleNamespace(max_attempts=8)))
    found: list[Any] = list(selection.contest(bench, offers, None, Run()))
    assert [one for _, one in found] == tried


@pytest.mark.parametrize(
    ("seconds", "fast", "timed"), [(290.0, True, 1), (310.0, True, 2), (290.0, False, 2)]
)
def test_a_limit_that_is_near_leaves_the_time_for_a_proof(
    bench: Any, monkeypatch: pytest.MonkeyPatch, seconds: float, *, fast: bool, timed: int
) -> None:
    made: list[bytes] = []

    def time_candidate(_bench: Any, candidate: Any, *_: Any, **__: Any) -> object:
        made.append(candidate.text)
        return object()

    def weigh(_bench: Any, candidate: Any, *_: Any, **__: Any) -> Any:
        stage = Outcome.ACCEPTED if fast else Outcome.NOT_FASTER
        return Judgement(candidate, stage, "Timed.", speedup=1.2)

    monkeypatch.setenv("HIPSCOPE_THREADS", "1")
    monkeypatch.setattr(selection, "time_candidate", time_candidate)
    monkeypatch.setattr(selection, "weigh", weigh)
    monkeypatch.setattr(
        selection, "prove_in_order", lambda _bench, hopeful, *_: (quick for quick, _ in hopeful)
    )
    tried = [Admitted(Candidate("r", text.decode(), text, ""), None) for text in (b"one", b"two")]  # type: ignore[arg-type]
    run = Run(Stop(None, seconds))
    with selection.Proofs(bench, run) as begun:
        found = list(selection._timed_and_proved(bench, tried, None, None, begun, run))
    assert len(made) == timed
    left = [j.candidate.text for j in found if j.stage is Outcome.ENDED]
    assert left == ([] if timed == len(tried) else [b"two"])


CALLING = b"""
__device__ float damped(float x) { return expf(-x) * 0.5; }
__host__ __device__ float both(float x) { return expf(-x) * 0.5; }
__global__ void k(float* out) { out[threadIdx.x] = damped(out[threadIdx.x]) + both(1.0f); }
"""


NOTHING = LaunchFacts()


def asked(
    *names: str, fast_math: bool = False, host: str = "", text: bytes = CALLING, facts: LaunchFacts = NOTHING
) -> selection.Offers:
    """What is answered to a finding in the first of these hot functions."""
    file = Path("k.hip")
    listed = [f for f in device_functions(text) if f.name in names]
    optimize = SimpleNamespace(fast_math=fast_math)
    bench: Any = SimpleNamespace(
        original=text,
        kernel=parse(text).kernels[0],
        facts=LaunchFacts(),
        source=file,
        functions=[CalledFunction(file, text, f, facts, host=host) for f in listed],
        project=SimpleNamespace(config=SimpleNamespace(optimize=optimize)),
    )
    finding: Any = SimpleNamespace(formula="precision", file="k.hip", line=2, end_line=2)
    return selection.ask_recipes(bench, finding)


def test_the_functions_that_a_kernel_calls_are_asked_as_the_kernel_is() -> None:
    offers = asked("damped", fast_math=True)
    titles = {c.title: c for c in offers.single}
    assert set(titles) == {
        "Compute in float: literals with `f` in `damped`",
        "Use the device's fast approximations in `damped`",
    }
    for candidate in titles.values():
        assert candidate.function is not None
        assert (candidate.function.name, candidate.file) == ("damped", None)
    assert "fast_math" not in [c.recipe for c in asked("damped").single]
    assert "in `damped`: it divides no integers by a variable" in " ".join(r.reason for r in offers.refused)


def test_a_function_that_may_not_change_is_named_with_the_reason() -> None:
    offers = asked("both", fast_math=True)
    assert [c.title for c in offers.single] == ["Compute in float: literals with `f` in `both`"]
    reasons = {r.recipe: r.reason for r in offers.refused}
    assert "in `both`: it is compiled for the host, too" in reasons["fast_math"]
    offers = asked("damped", fast_math=True, host="the host may run it, too")
    assert not offers.single
    reasons = {r.recipe: r.reason for r in offers.refused}
    assert "in `damped`: the host may run it, too" in reasons["fast_math"]


DIVIDING = b"""
__host__ __device__ float both(int i, int n) { int q = i / n; int r = i % n; return expf(q) * 0.5 + r; }
__global__ void k(float* out, int n) { out[threadIdx.x] = both(threadIdx.x, n); }
"""


def test_a_function_of_the_host_too_takes_what_holds_for_any_caller() -> None:
    offers = asked("both", fast_math=True, host="the host may run it, too", text=DIVIDING)
    assert [c.recipe for c in offers.single] == ["division"]
    assert b"i - q * n" in offers.single[0].text
    reasons = {r.recipe: r.reason for r in offers.refused}
    assert "in `both`: the host may run it, too" in reasons["float_math"]
    assert "in `both`: the host may run it, too" in reasons["fast_math"]


def test_a_function_of_the_host_too_takes_nothing_that_only_launches_show() -> None:
    wide = DIVIDING.replace(
        b"int i, int n) { int q = i / n; int r = i % n", b"long i, long n) { long q = i / n, r = q"
    )
    facts = LaunchFacts((LaunchFact((64, 1, 1), (64, 1, 1), scalars={"i": 5, "n": 7}),))
    (shorter,) = (c for c in asked("both", text=wide, facts=facts).single if c.recipe == "division")
    assert shorter.assumes
    assert not asked("both", host="the host may run it, too", text=wide, facts=facts).single


def test_advice_on_a_function_gives_way_to_what_is_said_of_it_itself() -> None:
    offers = asked("damped", text=CALLING.replace(b"* 0.5; }", b"* double(x) * 0.5; }", 1))
    assert not [a for a in offers.advice if a.recipe == "float_math"]
    reasons = {r.recipe: r.reason for r in offers.refused}
    assert reasons["float_math"] == "in `damped`: it asks for `double` itself, on line 2"
    elsewhere = asked(text=CALLING)
    assert [a.recipe for a in elsewhere.advice] == ["float_math"]


@pytest.mark.parametrize(("load", "idle"), [(0.5, True), (3.5, False)])
def test_what_may_not_be_needed_waits_while_the_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch, load: float, idle: bool
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 9.0, 9.0))
    assert selection.cores_idle() is idle
