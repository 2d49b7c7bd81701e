"""Opt-in: one rewrite of an example by a real model on this machine, read and judged. See docs/llm.md."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from hipscope.analysis.config import Config, LlmConfig
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.optimize.loop import OptimizeOptions, optimize_project

ROOT = Path(__file__).parents[4]
API_BASE = os.environ.get("HIPSCOPE_SMOKE_API_BASE")


@pytest.mark.slow
@pytest.mark.skipif(API_BASE is None, reason="set HIPSCOPE_SMOKE_API_BASE and HIPSCOPE_SMOKE_MODEL")
def test_a_real_model_is_asked_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source = tmp_path / "example.hip"
    shutil.copy(ROOT / "examples" / "lds_column_read.hip", source)
    llm = LlmConfig(
        model=os.environ.get("HIPSCOPE_SMOKE_MODEL", "openai/local"),
        api_base=API_BASE,
        candidates=1,
        max_attempts=1,
        max_prompt_tokens=4000,
        max_answer_tokens=1500,
        timeout_s=3600,
        max_seconds=7200,
        temperature=0.0,
    )
    options = OptimizeOptions(rewriter="llm", yes_send=True)
    result = optimize_project(resolve_project(source, (), Config(llm=llm)), options=options)
    (trace,) = (tmp_path / ".hipscope" / "trace").iterdir()
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    answered = next(e for e in events if e["event"] in ("answer", "failure"))
    print(json.dumps(answered, indent=1), result.message, sep="\n")
    assert answered["text"]
    assert result.attempts[-1].reason
    assert (result.edit is not None) == (result.status == "verified")
