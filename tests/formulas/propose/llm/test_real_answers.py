"""What a real model answered, replayed: each answer gets to its verdict again, and no wrong rewrite is accepted.

`real_model/EXAMPLE.txt` is the first answer of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, temperature 0, llama.cpp on
one core) to `hipscope optimize --rewriter llm` of that example. It needs no model.
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
    "accidental_double": ("stop", "not_faster", "no_improvement"),
    # It pads the tile by seven words, and repeats the constants of the file, which cost it the attempt once.
    "lds_column_read": ("stop", "accepted", "verified"),
    # It says the same sentences until it may say no more (600 tokens), and never comes to a kernel.
    "slow_division": ("length", "unusable", "no_improvement"),
}


def test_each_answer_has_its_outcome() -> None:
    assert sorted(OUTCOMES) == sorted(path.stem for path in ANSWERS.glob("*.txt"))


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted(OUTCOMES))
def test_a_recorded_answer_gets_to_its_verdict(
    serve: Callable[..., Any],
    wire: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    example: str,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    finish, outcome, status = OUTCOMES[example]
    text = (ANSWERS / f"{example}.txt").read_text(encoding="utf-8").rstrip("\n")
    server = serve(wire.Reply(text, finish=finish))
    source = tmp_path / f"{example}.hip"
    shutil.copy(ROOT / "examples" / source.name, source)
    llm = LlmConfig(model="openai/qwen", api_base=server.url, candidates=1, max_attempts=1)
    options = OptimizeOptions(rewriter="llm", yes_send=True)
    result = optimize_project(resolve_project(source, (), Config(llm=llm)), options=options)
    (attempt,) = result.attempts
    assert (attempt.outcome, result.status) == (outcome, status), attempt.reason
    assert (result.edit is not None) == (result.status == "verified")
