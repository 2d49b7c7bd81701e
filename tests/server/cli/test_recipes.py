"""`hipscope recipes`: the list of rewrites, one alone, and a name that is none."""

from __future__ import annotations

import json

from tests.server.command_line import Cli


def test_the_rewrites_are_listed_with_what_they_answer_need_and_assume(cli: Cli) -> None:
    report = json.loads(cli("recipes", "--format", "json").stdout)
    assert report["schema"] == "hipscope.recipes/1"
    found = {entry["name"]: entry for entry in report["recipes"]}
    assert found["pad_lds"]["answers"] == "bankConflict"
    assert found["fast_math"]["approximate"] is True
    assert found["restrict"]["assumes"]
    assert "pad_lds" in cli("recipes").stdout


def test_one_rewrite_is_shown_with_all_that_is_said_of_it(cli: Cli) -> None:
    shown = cli("recipes", "division").stdout
    assert "operands known to be in 0..2^31" in shown
    assert "pad_lds" not in shown


def test_a_name_that_is_none_gets_the_closest_one(cli: Cli) -> None:
    outcome = cli("recipes", "divison")
    assert outcome.code == 2
    assert "did you mean division?" in outcome.stderr
