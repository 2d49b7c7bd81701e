"""What a real model answered, replayed: each answer gets to its verdict again, and no wrong rewrite is accepted.

`real_model/RUN/EXAMPLE.N.txt` is the Nth answer of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, temperature 0, llama.cpp) to
`hipscope optimize --rewriter llm` of that example; it saw what compiler, proof and clock had said of its answers
before. `one_attempt` is of 2026-11-29, `three_attempts` of 2026-12-01, when it was asked for a launch as well. It
needs no model.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hipscope.analysis.config import Config, LlmConfig
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.optimize.loop import OptimizeOptions, optimize_project

ROOT = Path(__file__).parents[4]
ANSWERS = Path(__file__).parent / "real_model"
OUTCOMES = {
    # The source without its comment, with the line numbers of the report; then the prompt, which is not waited for.
    "one_attempt/accidental_double": ("not_faster",),
    # It pads the tile by seven words, and repeats the constants of the file, which cost it the attempt once.
    "one_attempt/lds_column_read": ("accepted",),
    # It says the same sentences until it may say no more (600 tokens), and never comes to a kernel.
    "one_attempt/slow_division": ("unusable",),
    # Two of four literals made float; the same again; the loop dropped.
    "three_attempts/accidental_double": ("not_faster", "unusable", "different"),
    # A copy; then a second sum over the counters behind a barrier that is none for the grid; then out of bounds.
    "three_attempts/contended_histogram": ("not_faster", "different", "different"),
    # The window wraps at the padded width; then an array with an index too many, twice.
    "three_attempts/lds_column_read": ("different", "not_compiled", "unusable"),
    # No kernel; then a copy that it calls free of divisions; then that again.
    "three_attempts/slow_division": ("unusable", "not_faster", "unusable"),
}
CUT = ("one_attempt/slow_division",)


def _answers(name: str) -> list[str]:
    run, example = name.split("/")
    files = sorted((ANSWERS / run).glob(f"{example}.*.txt"))
    return [file.read_text(encoding="utf-8").rstrip("\n") for file in files]


def test_each_answer_has_its_outcome() -> None:
    recorded = {f"{path.parent.name}/{path.name.split('.')[0]}" for path in ANSWERS.glob("*/*.txt")}
    assert sorted(OUTCOMES) == sorted(recorded)
    assert {name: len(_answers(name)) for name in OUTCOMES} == {n: len(o) for n, o in OUTCOMES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OUTCOMES))
def test_recorded_answers_get_to_their_verdicts(
    serve: Callable[..., Any],
    wire: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    answers, outcomes = _answers(name), OUTCOMES[name]
    server = serve(*(wire.Reply(text, finish="length" if name in CUT else "stop") for text in answers))
    source = tmp_path / f"{name.split('/')[1]}.hip"
    shutil.copy(ROOT / "examples" / source.name, source)
    llm = LlmConfig(model="openai/qwen", api_base=server.url, candidates=1, max_attempts=len(answers))
    options = OptimizeOptions(rewriter="llm", yes_send=True)
    result = optimize_project(resolve_project(source, (), Config(llm=llm)), options=options)
    assert tuple(a.outcome for a in result.attempts) == outcomes, [a.reason for a in result.attempts]
    assert (result.edit is not None) == (result.status == "verified") == ("accepted" in outcomes)
