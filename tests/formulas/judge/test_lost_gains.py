"""What the program did not show of one rewrite it does not show of those that gain no more on any launch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.formulas.judge import selection
from hipscope.formulas.judge.compile_sweep import Admitted
from hipscope.formulas.judge.judge import Judgement
from hipscope.formulas.judge.outcome import Outcome, ProgramTimes
from hipscope.formulas.judge.timed_replay import LostGains
from hipscope.formulas.judge.whole_program import Rehearsed
from hipscope.formulas.optimize.kernel_search import _confirmed
from hipscope.formulas.propose.candidate import Candidate


def timed(*times_ns: float) -> Any:
    """A kernel whose recorded launches take so long."""
    dispatches = [SimpleNamespace(id=number, time_ns=time) for number, time in enumerate(times_ns, 1)]
    return SimpleNamespace(profile=SimpleNamespace(kernels=[SimpleNamespace(dispatches=dispatches)]))


@pytest.mark.parametrize(
    ("times", "covered"),
    [
        ((80.0, 90.0), True),
        ((79.5, 95.0), True),  # as fast, but for the last places of a model
        ((60.0, 90.0), False),
        ((200.0, 80.0), False),  # slower in all, and faster where the program may spend its time
        ((80.0,), False),
    ],
)
def test_no_launch_may_be_faster(times: tuple[float, ...], *, covered: bool) -> None:
    lost = LostGains()
    assert lost.against(timed(*times)) is None
    lost.add("Unroll it", timed(80.0, 90.0))
    why = lost.against(timed(*times))
    assert (why is not None) == covered
    assert why is None or "than `Unroll it`, whose gain does not show in the program" in why


def test_no_more_is_proved_than_the_program_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    bench: Any = SimpleNamespace(lost_gains=LostGains(), passed_over=frozenset())
    proved: list[str] = []

    def prove(_bench: Any, quick: Judgement, *_: Any) -> Judgement:
        proved.append(quick.candidate.title)
        return quick

    monkeypatch.setattr(selection, "_proved", prove)
    tried: list[Any] = [
        (Judgement(c, Outcome.ACCEPTED, "", after=timed(*t)), Admitted(c, None))  # type: ignore[arg-type]
        for c, t in [
            (Candidate("r", title, title.encode(), ""), times)
            for title, times in (("first", (80.0, 100.0)), ("worse", (85.0, 100.0)), ("other", (99.0, 80.0)))
        ]
    ]
    dropped: list[Any] = []
    proofs: Any = SimpleNamespace(drop=dropped.append)
    judged = []
    for one in selection.prove_in_order(bench, tried, proofs, None):
        judged.append(one.stage)
        if one.candidate.title == "first":
            bench.lost_gains.add("first", one.after)
    assert proved == ["first", "other"]
    assert judged == [Outcome.ACCEPTED, Outcome.NOT_FASTER, Outcome.ACCEPTED]
    assert [one.candidate.title for one in dropped] == ["worse"]


@pytest.mark.parametrize(
    ("only_for", "after_ns", "kept"),
    [("", 99.0, True), ("", 80.0, False), ("memoryLocality", 99.0, False)],
)
def test_the_search_keeps_what_the_program_did_not_show(
    only_for: str, after_ns: float, *, kept: bool
) -> None:
    """But for new orders of workgroups: they gain by what the caches hold, as no other rewrite does."""
    bench: Any = SimpleNamespace(lost_gains=LostGains())
    optimize = SimpleNamespace(min_speedup=1.03)
    work: Any = SimpleNamespace(
        hardware=None, project=SimpleNamespace(config=SimpleNamespace(optimize=optimize))
    )
    candidate = Candidate("r", "t", b"", "", only_for=only_for)
    judgement = Judgement(candidate, Outcome.ACCEPTED, "", after=timed(80.0), speedup=1.25)
    whole = Rehearsed(None, (), ProgramTimes(before_ns=100.0, after_ns=after_ns))
    assert _confirmed(work, bench, judgement, whole).accepted == (after_ns < 97.0)
    assert (bench.lost_gains.against(timed(80.0)) is not None) == kept
