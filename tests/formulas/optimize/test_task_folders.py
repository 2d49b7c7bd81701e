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


def test_tasks_of_the_first_schema(tmp_path: Path) -> None:
    """As AgentKernelArena's tasks/README.md defines it."""
    written(
        tmp_path / "hip2hip" / "rmsnorm" / "config.yaml",
        "source_file_path:\n- source/norm.hip\ntarget_kernel_functions:\n- rms_norm_kernel\n"
        "compile_command:\n- make\ncorrectness_command:\n- ./norm --check\nperformance_command:\n- ./norm\n"
        "task_type: hip2hip\n",
    )
    written(tmp_path / "hip2hip" / "rmsnorm" / "source" / "norm.hip", MAIN)
    written(tmp_path / "torch2hip" / "gelu" / "config.yaml", "task_type: torch2hip\n")
    (task,) = read_tasks(tmp_path)
    assert (task.name, task.kernels, task.skipped) == ("hip2hip/rmsnorm", ("rms_norm_kernel",), None)
    assert (task.build, task.run) == ("make", "./norm --check")
    project = project_of(task, LlmConfig(model="openai/m"))
    assert (project.config.build, project.config.llm.model) == ("make", "openai/m")


def test_tasks_of_the_second_schema(tmp_path: Path) -> None:
    written(
        tmp_path / "knn" / "config.yaml",
        "schema_version: 2\ncandidate:\n  language: hip\n  editable: [src/knn.hip]\n  entrypoints:\n"
        "  - {file: src/knn.hip, kind: function, symbol: knn_kernel}\n"
        "evaluation:\n  runner: [python3, scripts/evaluate.py]\n",
    )
    (task,) = read_tasks(tmp_path)
    assert (task.kernels, task.run, task.skipped) == (("knn_kernel",), "python3 scripts/evaluate.py", None)


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
