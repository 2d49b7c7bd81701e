"""Verified edits of several rounds as one: the whole text, the product of the gains, everything that was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize.result import Attempt, OptimizeResult
from hipscope.formulas.optimize.rounds import joined
from hipscope.formulas.optimize.verified_edit import edit_between

TEXTS = [b"one\ntwo\nthree\n", b"one!\ntwo\nthree\n", b"one!\ntwo\nthree!\n"]


def verified(file: Path, number: int, speedup: float) -> OptimizeResult:
    return OptimizeResult(
        status="verified",
        message=f"round {number}.",
        speedup=speedup,
        diff="",
        notes=("it assumes something", f"note {number}"),
        attempts=(attempt(f"recipe {number}", Outcome.ACCEPTED),),
        edit=edit_between(file, TEXTS[number], TEXTS[number + 1]),
    )


def attempt(recipe: str, outcome: Outcome) -> Attempt:
    return Attempt(formula="f", kernel="k", recipe=recipe, title="", outcome=outcome, reason="")


def test_two_rounds_are_one_edit(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    last = OptimizeResult(
        status="no_improvement", message="", attempts=(attempt("third", Outcome.NOT_FASTER),)
    )
    whole = joined(project, [verified(file, 0, 1.5), verified(file, 1, 1.2)], last, TEXTS)
    assert whole.speedup == pytest.approx(1.8)
    assert whole.edit is not None
    assert whole.edit.applied_to(TEXTS[0]) == TEXTS[2]
    assert whole.diff is not None
    assert "-one\n+one!\n two\n-three\n+three!\n" in whole.diff
    assert whole.notes == ("it assumes something", "note 0", "note 1")
    assert [a.recipe for a in whole.attempts] == ["recipe 0", "recipe 1", "third"]
    assert whole.message == "round 0. Then: round 1."


def test_one_round_is_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    only = verified(file, 0, 1.5)
    assert joined(project, [only], None, TEXTS[:2]) is only
