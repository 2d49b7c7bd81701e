"""What came of an attempt: which reason says most, and what the words are on the wire."""

from __future__ import annotations

import json

from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize.result import Attempt


def test_what_went_wrong_with_a_rewrite_says_more_than_why_there_was_none() -> None:
    wrong = [o for o in Outcome if o.wrong]
    assert wrong == [
        "program_differs", "different", "inconclusive", "implausible", "refused", "not_compiled",
    ]  # fmt: skip
    ranked = sorted(Outcome, key=lambda o: o.rank)
    assert ranked[: len(wrong)] == wrong
    assert ranked.index(Outcome.NOT_FASTER) < ranked.index(Outcome.NO_RECIPE)
    silent = {
        Outcome.NOT_TRIED,
        Outcome.TRIED_BEFORE,
        Outcome.ENDED,
        Outcome.MODEL_FAILED,
        Outcome.UNUSABLE,
        Outcome.ACCEPTED,
    }
    assert {o for o in Outcome if o.rank == max(o.rank for o in Outcome)} == silent


def test_an_outcome_is_a_word_in_json() -> None:
    attempt = Attempt(
        formula="f", kernel="k", recipe="", title="", outcome=Outcome.NOT_FASTER, reason="slower"
    )
    assert json.loads(attempt.model_dump_json())["outcome"] == "not_faster"
    assert attempt.model_dump(mode="json")["outcome"] == "not_faster"
