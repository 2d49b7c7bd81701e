"""`hipscope llm` from the command line: tasks in, a table or a program file out, with a model behind a real socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hipscope.formulas.optimize.model_training import TaskScore, table
from hipscope.formulas.propose.llm.learn.program_file import read_program

ROOT = Path(__file__).parents[5]
Serve = Callable[..., Any]
KEY = "sk-tasks-77"


def example(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    shutil.copy(ROOT / "examples" / f"{name}.hip", folder)


def settings(folder: Path, server: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "hipscope.toml").write_text(
        f'[llm]\nmodel = "openai/m"\napi_base = "{server.url}"\nkey_env = "TASK_KEY"\ncandidates = 1\n'
        "max_attempts = 1\nstream = false\n"
    )


def hipscope(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "TASK_KEY": KEY}
    command = [sys.executable, "-m", "hipscope.server", "llm", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=600)


def test_the_table_counts_what_was_not_improved_as_one() -> None:
    rows = [
        TaskScore("a", "k", "verified", 4.0, "4.00x"),
        TaskScore("b", "k", "rejected", 1.0, "wrong"),
        TaskScore("c", "", "skipped", 1.0, "needs PyTorch"),
    ]
    text = table(rows)
    assert text.splitlines()[1] == "a\tk\tverified\t4.00\t4.00x"
    assert "2 of 3 tasks run, 1 improved and verified; speed-up: median 2.50, geometric mean 2.00" in text
    assert "none of 1 tasks could be run" in table(rows[2:])


def test_training_needs_a_second_list_and_a_file(tmp_path: Path, serve: Serve) -> None:
    settings(tmp_path / "tasks", serve())
    example(tmp_path / "tasks", "vector_add")
    ran = hipscope(tmp_path, "train", "tasks")
    assert ran.returncode == 2
    assert "--held-out" in ran.stderr
    same = hipscope(tmp_path, "train", "tasks", "--held-out", "tasks", "--program", "p.json", "--yes-send")
    assert (same.returncode, "trained on and held out" in same.stderr) == (2, True)


def test_without_leave_no_task_is_sent(tmp_path: Path, serve: Serve, wire: ModuleType) -> None:
    server = serve(wire.Reply("no"))
    settings(tmp_path / "tasks", server)
    example(tmp_path / "tasks", "vector_add")
    ran = hipscope(tmp_path, "evaluate", "tasks")
    assert (ran.returncode, "nothing was sent" in ran.stderr) == (2, True)
    assert server.requests == []


@pytest.mark.slow
def test_training_on_real_kernels_raises_the_score_of_held_out_ones(
    tmp_path: Path, serve: Serve, wire: ModuleType
) -> None:
    """Given a model that solves a transpose by itself, and a sum only after it has seen a solved kernel."""
    solved = {name: wire.answer_for(name) for name in ("lds_column_read", "slow_division")}

    def mind(request: Any) -> str:
        *shown, last = request.body["messages"]
        if "smooth_transpose" in last["content"]:
            return str(wire.said(*solved["lds_column_read"]))
        seen = any(m["role"] == "assistant" and "smooth_transpose" in m["content"] for m in shown)
        return str(wire.said(*solved["slow_division"]) if seen else "I do not know how.")

    server = serve(wire.Answers(mind))
    settings(tmp_path / "train", server)
    example(tmp_path / "train", "lds_column_read")
    example(tmp_path / "kept", "slow_division")
    words = ["train", "train", "--held-out", "kept", "--program", "p.json", "--yes-send"]
    ran = hipscope(tmp_path, *words)
    assert ran.returncode == 0, ran.stderr
    program = read_program(tmp_path / "p.json")
    assert program.before.mean == 0.0
    assert program.after.mean > 1.03
    settings(tmp_path / "kept", server)
    trained = hipscope(tmp_path, "evaluate", "kept", "--program", "p.json", "--yes-send").stdout
    assert "1 improved and verified" in trained
    assert KEY not in (tmp_path / "p.json").read_text()
