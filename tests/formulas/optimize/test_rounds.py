"""Verified edits of several rounds as one: the whole text, the product of the gains, everything that was tried."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.config import Config
from hipscope.analysis.profile import Kernel, KernelName, Resources
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import profile_project
from hipscope.analysis.toolchain.project import Project, resolve_project
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize import loop
from hipscope.formulas.optimize.earlier_rounds import Earlier
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
    whole = joined(
        project, [verified(file, 0, 1.5), verified(file, 1, 1.2)], last, {file: TEXTS[0]}, {file: TEXTS[-1]}
    )
    assert whole.speedup == pytest.approx(1.8)
    assert whole.edit is not None
    assert whole.edit.applied_to(TEXTS[0]) == TEXTS[2]
    assert whole.diff is not None
    assert "-one\n+one!\n two\n-three\n+three!\n" in whole.diff
    of_each = ("edit 1 of 2 (`k`): note 0", "edit 2 of 2 (`k`): note 1")
    assert whole.notes == ("it assumes something", *of_each)
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
        assert joined(project, rounds, None, {file: TEXTS[0]}, {file: TEXTS[-1]}).verdict == expected


def test_one_round_is_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    only = verified(file, 0, 1.5)
    assert joined(project, [only], None, {file: TEXTS[0]}, {file: TEXTS[1]}) is only


def test_two_kernels_keep_their_own_gains(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    whole = joined(
        project,
        [verified(file, 0, 1.5), verified(file, 1, 1.2, "other")],
        None,
        {file: TEXTS[0]},
        {file: TEXTS[-1]},
    )
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

    def answer(_: Project, order: Any, *__: object) -> OptimizeResult:
        asked.append(order.earlier)
        return answers[len(asked) - 1]

    monkeypatch.setattr(loop, "_optimize", answer)
    whole = loop.optimize_project(project, Run(), options=OptimizeOptions(rounds=None))
    assert [(dict(e.gained), sorted(e.done)) for e in asked if e is not None] == [
        ({"k": (1.5,)}, []),
        ({"other": (1.2,)}, ["k"]),
    ]
    assert [k.kernel for k in whole.kernels] == ["k", "other"]
    assert whole.edit is not None
    assert whole.edit.applied_to(TEXTS[0]) == TEXTS[2]


@pytest.mark.parametrize(("rewriter", "rounds"), [("recipes", 3), ("both", 6), ("llm", 1)])
def test_a_model_is_asked_about_the_text_that_the_rules_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewriter: str, rounds: int
) -> None:
    """Given rules that gain five times, the round in which they find nothing more is one with the model."""
    file = tmp_path / "k.hip"
    file.write_bytes(b"")
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    proposer = object()
    seen: list[tuple[bytes, object, bool]] = []

    def answer(_: Project, order: Any, run: Run, *__: object) -> OptimizeResult:
        was = run.texts.needed(file)
        more = order.earlier is None or order.earlier.gained
        seen.append((was, order.proposer, bool(more)))
        if not more:
            return OptimizeResult(status="no_improvement", message="")
        edit = edit_between(file, was, was + (b"!" if len(was) < 5 else b"?"))
        status = "verified" if len(was) < 5 or was.endswith(b"!") else "no_improvement"
        return verified(file, 0, 1.5).model_copy(update={"edit": edit, "status": status})

    monkeypatch.setattr(loop, "_optimize", answer)
    monkeypatch.setattr(loop, "allow_model", lambda *_, **__: proposer)
    whole = loop.optimize_project(project, Run(), options=OptimizeOptions(rewriter=rewriter, rounds=None))
    assert whole.edit is not None
    assert whole.edit.applied_to(b"") == {3: b"!!!", 6: b"!!!!!?", 1: b"!"}[rounds]
    assert all((asked is proposer) == (rewriter != "recipes") for _, asked, _ in seen)


def test_five_hot_kernels_have_a_first_and_a_second_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(b"")
    project = Project(tmp_path, file, (file,), Config(), (), "single")

    def answer(_: Project, order: Any, run: Run, *__: object) -> OptimizeResult:
        was = run.texts.needed(file)
        kernel = f"kernel_{len(was) % 5}"
        edit = edit_between(file, was, was + b"!")
        return verified(file, 0, 1.5, kernel).model_copy(update={"edit": edit})

    monkeypatch.setattr(loop, "_optimize", answer)
    whole = loop.optimize_project(project, Run(), options=OptimizeOptions(rounds=None))
    assert [k.rounds for k in whole.kernels] == [2] * 5


@pytest.mark.parametrize(("left", "taken"), [(1, True), (2, False)])
def test_a_round_begins_with_the_run_that_the_edit_before_was_accepted_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int, *, taken: bool
) -> None:
    """Only if that was with the text that the edit left."""
    file, recording = tmp_path / "k.hip", tmp_path / "recording"
    file.write_bytes(TEXTS[0])
    recording.mkdir()
    project = Project(tmp_path, file, (file,), Config(), (), "single")
    session = SimpleNamespace(capture_dir=recording)
    begun: list[object] = []

    def answer(_: Project, order: Any, __: Run, recorded: object = None) -> OptimizeResult:
        begun.append(recorded)
        if len(begun) > 1:
            return OptimizeResult(status="no_improvement", message="")
        order.accepted.put(session, TEXTS[left])
        return verified(file, 0, 1.5)

    monkeypatch.setattr(loop, "_optimize", answer)
    loop.optimize_project(project, Run(), options=OptimizeOptions(rounds=None))
    assert begun == [None, session if taken else None]
    assert recording.exists() is taken  # the round that takes it removes it


REDUCE = """#pragma once
__device__ inline float wave_sum(float value) {
  for (int mask = 8; mask > 0; mask >>= 1) value += __shfl_xor(value, mask);
  return value;
}
__device__ inline float wave_max(float value) {
  for (int mask = 8; mask > 0; mask >>= 1) value = fmaxf(value, __shfl_xor(value, mask));
  return value;
}
"""
SOFTMAX = """#include <hip/hip_runtime.h>
#include <vector>
#include "reduce.h"
__global__ void softmax(float* rows) {
  float own = rows[threadIdx.x];
  own = expf(own - wave_max(own));
  own /= wave_sum(own);
  own -= wave_max(own);
  rows[threadIdx.x] = own / wave_sum(own);
}
int main() {
  std::vector<float> host(64);
  for (int i = 0; i < 64; ++i) host[i] = i % 37;
  float* rows;
  (void)hipMalloc(&rows, 256);
  (void)hipMemcpy(rows, host.data(), 256, hipMemcpyHostToDevice);
  softmax<<<1, 64>>>(rows);
  return hipDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_functions_of_one_header_gain_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiled_alone = Mock(side_effect=profile_project)
    monkeypatch.setattr(loop, "profile_project", profiled_alone)
    header, source = tmp_path / "reduce.h", tmp_path / "main.hip"
    header.write_text(REDUCE)
    source.write_text(SOFTMAX)
    project = resolve_project(source, config=Config(backend="emulator"))
    whole = loop.optimize_project(project, options=OptimizeOptions(rounds=None))
    assert whole.edit is not None, whole.message
    assert Path(whole.edit.file) == header
    text = whole.edit.applied_to(header.read_bytes())
    assert text.count(b"+= xor_lane(value, mask)") == text.count(b"fmaxf(value, xor_lane(value, mask))") == 1
    assert [(k.kernel.partition("(")[0], k.rounds) for k in whole.kernels] == [("softmax", 2)]
    assert profiled_alone.call_count == 1  # later rounds begin with the runs of the rewrites


def test_a_kernel_beside_the_edited_file_is_asked_while_a_function_there_gains(tmp_path: Path) -> None:
    header, source = tmp_path / "reduce.h", tmp_path / "main.hip"
    earlier = Earlier(header, {"softmax": (1.2,)}, frozenset({"norm"}))
    asked = [("softmax", source), ("norm", header), ("norm", source), ("scale", header), ("scale", source)]
    allowed = [earlier.allows(profiled(name, file)) for name, file in asked]
    assert allowed == [True, False, False, True, False]


def profiled(name: str, file: Path) -> Kernel:
    return Kernel(name=KernelName(name), mangled=name, file=str(file), dispatches=(), resources=Resources())
