"""Folders of tasks as others publish them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import LlmConfig
from hipscope.analysis.errors import UsageError
from hipscope.formulas.optimize.task_folders import project_of, read_tasks

MAIN = "__global__ void k() {}\nint main() { k<<<1, 64>>>(); }\n"


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_tasks_of_the_first_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As AgentKernelArena's tasks/README.md defines it."""
    written(
        tmp_path / "hip2hip" / "rmsnorm" / "config.yaml",
        "source_file_path:\n- source/norm.hip\ntarget_kernel_functions:\n- rms_norm_kernel\n"
        "compile_command:\n- make\ncorrectness_command:\n- ./norm --check\nperformance_command:\n- ./norm\n"
        "task_type: hip2hip\n",
    )
    written(
        tmp_path / "hip2hip" / "rmsnorm" / "source" / "norm.hip", MAIN.replace("k()", "rms_norm_kernel()")
    )
    written(tmp_path / "torch2hip" / "gelu" / "config.yaml", "task_type: torch2hip\n")
    monkeypatch.chdir(tmp_path)
    (task,) = read_tasks(Path())
    assert (task.name, task.kernels, task.skipped) == ("hip2hip/rmsnorm", ("rms_norm_kernel",), None)
    assert (task.build, task.run) == ("make", "./norm --check")
    written(tmp_path / "hipscope.toml", '[llm]\nmodel = "openai/m"\n')
    project = project_of(task, LlmConfig(model="openai/m"))
    assert project.root == tmp_path / "hip2hip" / "rmsnorm"
    assert (project.config.build, project.config.llm.model) == ("make", "openai/m")


def test_tasks_of_the_second_schema(tmp_path: Path) -> None:
    written(
        tmp_path / "knn" / "config.yaml",
        "schema_version: 2\ncandidate:\n  language: hip\n  editable: [src/knn.hip]\n  entrypoints:\n"
        "  - {file: src/knn.hip, kind: function, symbol: knn_kernel}\n"
        "evaluation:\n  runner: [python3, scripts/evaluate.py]\n",
    )
    written(tmp_path / "knn" / "src" / "knn.hip", "__global__ void knn_kernel(float* p) {}\n")
    (task,) = read_tasks(tmp_path)
    assert (task.kernels, task.run, task.skipped) == (("knn_kernel",), "python3 scripts/evaluate.py", None)


def test_a_task_that_names_a_function_of_the_host_is_about_any_kernel(tmp_path: Path) -> None:
    """As the tasks of AgentKernelArena that come from GPU MODE do: `forward` launches the kernels."""
    config = "target_kernel_functions: [forward, scale]\ncompile_command: make\ncorrectness_command: ./a\n"
    written(tmp_path / "a" / "config.yaml", config)
    written(
        tmp_path / "a" / "hip" / "a.hip",
        "template <int N>\n__global__ __launch_bounds__(64) void scale() {}\n",
    )
    written(tmp_path / "b" / "config.yaml", config)
    written(tmp_path / "b" / "b.cu", "__global__ void other() {}\nvoid forward() { other<<<1, 1>>>(); }\n")
    assert [task.kernels for task in read_tasks(tmp_path)] == [("scale",), ()]


def test_a_task_that_pytorch_runs_is_skipped_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given two machines: the `python3` of one has a torch, that of the other has none."""
    config = "target_kernel_functions: [k]\ncompile_command: make\ncorrectness_command: python3 check.py\n"
    written(tmp_path / "tasks" / "a" / "config.yaml", config)
    written(tmp_path / "tasks" / "a" / "tools" / "check.py", "import sys\nimport torch.nn as nn\n")
    written(tmp_path / "tasks" / "b" / "config.yaml", config)
    written(tmp_path / "tasks" / "b" / "check.py", "import sys  # no import torch\n")
    for code, skipped in ((0, [False, False]), (1, [True, False])):
        python = tmp_path / f"bin{code}" / "python3"
        written(python, f"#!/bin/sh\nexit {code}\n")
        python.chmod(0o755)
        monkeypatch.setenv("PATH", f"{python.parent}:/usr/bin:/bin")
        tasks = read_tasks(tmp_path / "tasks")
        assert [task.skipped is not None for task in tasks] == skipped
        assert not skipped[0] or "PyTorch" in (tasks[0].skipped or "")


def test_programs_and_what_needs_pytorch(tmp_path: Path) -> None:
    written(tmp_path / "level1" / "sum.hip", MAIN)
    written(tmp_path / "level1" / "part.hip", "__device__ int f();\n")
    written(
        tmp_path / "level1" / "gelu.py",
        "from torch.utils.cpp_extension import load_inline\nload_inline('x')\n",
    )
    written(tmp_path / "own" / "hipscope.toml", 'build = "make"\nrun = "./a"\n')
    found = {task.name: task.skipped for task in read_tasks(tmp_path)}
    assert list(found) == ["level1/gelu", "level1/sum", "own"]
    assert "PyTorch" in (found["level1/gelu"] or "")
    assert found["level1/sum"] is found["own"] is None


@pytest.mark.parametrize(
    "text", ["a: [", "just words", "task_type: hip2hip\n", "schema_version: 2\n", "- 1\n"]
)
def test_a_task_that_cannot_be_read_is_a_row_that_says_why(tmp_path: Path, text: str) -> None:
    written(tmp_path / "bad" / "config.yaml", text)
    (task,) = read_tasks(tmp_path)
    assert task.skipped
    assert "\n" not in task.skipped


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no tasks"):
        read_tasks(tmp_path)
    with pytest.raises(UsageError, match="no folder"):
        read_tasks(tmp_path / "gone")
