"""Verified edits of several rounds as one: the whole text, the product of the gains, everything that was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize import loop
from hipscope.formulas.optimize.loop import OptimizeOptions
from hipscope.formulas.optimize.result import Attempt, KernelGain, OptimizeResult
from hipscope.formulas.optimize.rounds import joined
from hipscope.formulas.optimize.verified_edit import edit_between

TEXTS = [b"one\ntwo\nthree\n", b"one!\ntwo\nthree\n", b"one!\ntwo\nthree!\n"]


def verified(file: Path, number: int, speedup: float, kernel: str = "k") -> OptimizeResult:
    return OptimizeResult(
        status="verified",
        message=f"round {number}.",
        kernel=kernel,
        speedup=speedup,
        kernels=(KernelGain(kernel=kernel, line=1, time_ns=100.0, speedup=speedup),),
        gpu_speedup=speedup,
        diff="",
        notes=("it assumes something", f"note {number}"),
        attempts=(attempt(f"recipe {number}", Outcome.ACCEPTED, kernel),),
        edit=edit_between(file, TEXTS[number], TEXTS[number + 1]),
    )


def attempt(recipe: str, outcome: Outcome, kernel: str = "k") -> Attempt:
    return Attempt(formula="f", kernel=kernel, recipe=recipe, title="", outcome=outcome, reason="")


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


def test_one_rounded_step_makes_the_whole_a_rounded_one(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    same = Verdict(outcome="equivalent", reason="Equivalent bit for bit.", bit_exact=True)
    near = Verdict(outcome="equivalent", reason="Equivalent within rounding.")
    for verdicts, expected in (((near, same), near), ((same, near), near), ((same, same), same)):
        rounds = [
            verified(file, number, 1.5, kernel).model_copy(update={"verdict": verdict})
            for number, (verdict, kernel) in enumerate(zip(verdicts, ("k", "other"), strict=True))
        ]
        assert joined(project, rounds, None, TEXTS).verdict == expected


def test_one_round_is_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    only = verified(file, 0, 1.5)
    assert joined(project, [only], None, TEXTS[:2]) is only


def test_two_kernels_keep_their_own_gains(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    whole = joined(project, [verified(file, 0, 1.5), verified(file, 1, 1.2, "other")], None, TEXTS)
    assert whole.speedup == 1.5  # of the first kernel, which the other numbers are of, too
    assert [(k.kernel, k.speedup, k.rounds) for k in whole.kernels] == [("k", 1.5, 1), ("other", 1.2, 1)]
    assert whole.gpu_speedup == pytest.approx(1.8)


def test_after_the_last_gain_of_a_kernel_the_next_one_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(TEXTS[0])
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    answers = [
        verified(file, 0, 1.5),
        verified(file, 1, 1.2, "other").model_copy(
            update={
                "attempts": (attempt("none", Outcome.NOT_FASTER), attempt("r", Outcome.ACCEPTED, "other"))
            }
        ),
        OptimizeResult(status="no_improvement", message=""),
    ]
    asked: list[loop.Earlier | None] = []

    def answer(*arguments: object) -> OptimizeResult:
        earlier = arguments[4] if len(arguments) > 4 else None
        assert earlier is None or isinstance(earlier, loop.Earlier)
        asked.append(earlier)
        return answers[len(asked) - 1]

    monkeypatch.setattr(loop, "_optimize", answer)
    whole = loop.optimize_project(project, Run(), options=OptimizeOptions(rounds=None))
    assert [(e.kernel, sorted(e.done)) for e in asked if e is not None] == [
        ("k", ["k"]),
        ("other", ["k", "other"]),
    ]
    assert [k.kernel for k in whole.kernels] == ["k", "other"]
    assert whole.edit is not None
    assert whole.edit.applied_to(TEXTS[0]) == TEXTS[2]
