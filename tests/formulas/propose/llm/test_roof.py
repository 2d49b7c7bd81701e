"""The loop ends at a roof: bytes that have to move, at the bandwidth that there is. Waste is no roof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.llm.attempts import Proposal, Ruling, rewrite_with_model
from hipscope.formulas.propose.llm.client import ModelClient
from hipscope.formulas.propose.llm.model_settings import Budget, ModelKey, ModelSettings
from hipscope.formulas.propose.llm.prompt import Subject
from hipscope.formulas.propose.llm.roof import at_roof

PEAK = 5.3e12  # bytes/s of the device of these tests


def moving(given: ModuleType, megabytes: float, share: float, held: float) -> Subject:
    """A kernel that moves so much at that share of the bandwidth, with buffers that hold so much."""
    moved = megabytes * 1e6
    kernel = given.measured(time_ns=moved / (share * PEAK) * 1e9)
    requests = {"TCC_EA0_RDREQ_sum": moved / 64, "TCC_EA0_WRREQ_sum": 0.0}
    kernel = kernel.model_copy(update={"counters": requests})
    launch = LaunchFact((1024, 32, 1), (32, 32, 1), 0, {}, {"in": int(held * 1e6)})
    subject: Subject = given.subject()
    return replace(subject, kernel=kernel, facts=LaunchFacts((launch,), static_lds=4096))


@pytest.mark.parametrize(
    ("megabytes", "share", "held", "at"),
    [
        (800, 0.95, 800, True),
        (800, 0.95, 100, False),  # eight times what the buffers hold
        (800, 0.60, 800, False),
        (800, 0.95, 0, False),
    ],
)
def test_a_kernel_at_the_bandwidth_that_wastes_nothing_is_at_its_roof(
    given: ModuleType, megabytes: float, share: float, held: float, *, at: bool
) -> None:
    subject = moving(given, megabytes, share, held)
    found = at_roof(subject.kernel, given.DEVICE, subject.profile.provenance, subject.facts)
    assert (found is not None) == at
    assert not at or "95%" in (found or "")


@pytest.mark.parametrize(("share", "asked"), [(0.95, 0), (0.5, 1)])
def test_no_model_is_asked_about_a_kernel_at_its_roof(
    serve: Callable[..., Any],
    wire: ModuleType,
    given: ModuleType,
    settings_for: Callable[..., ModelSettings],
    key: ModelKey,
    share: float,
    asked: int,
) -> None:
    server = serve(wire.Reply("no"))
    settings = settings_for(server, candidates=1, budget=Budget(attempts=1))
    subject = moving(given, 800, share, 800)
    found = rewrite_with_model(subject, settings, ModelClient(settings, key).ask, lambda _: Ruling(False, ()))
    assert len(server.requests) == asked
    assert ("at a roof" in found.stopped) == (not asked)


def test_an_attempt_at_a_roof_is_the_last_one(
    serve: Callable[..., Any],
    wire: ModuleType,
    given: ModuleType,
    settings_for: Callable[..., ModelSettings],
    key: ModelKey,
) -> None:
    server = serve(wire.Reply(wire.said(given.FASTER)))
    settings = settings_for(server, candidates=1, budget=Budget(attempts=5))

    def judge(_: Proposal) -> Ruling:
        return Ruling(True, ("2x",), 2.0, roof="it moves no more than its buffers hold")

    found = rewrite_with_model(given.subject(), settings, ModelClient(settings, key).ask, judge)
    assert (len(found.attempts), found.stopped.partition(":")[0]) == (1, "attempt 1 is at a roof")
