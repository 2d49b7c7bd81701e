"""Folders of optimization tasks: which program each is, and which kernels it asks for.

Takes a folder, gives its tasks in the order of their names. Reads AgentKernelArena's HIP-to-HIP tasks (a `config.yaml`
for each, both of its schemas), folders of programs (a `.hip` file with a `main`, as KernelBench-HIP style sets of
translated kernels have them), and hipscope's own projects. A task that is no program here says why.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hipscope.analysis.config import CONFIG_FILE, Config, LlmConfig, load_config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.toolchain.project import Project, command_project, resolve_project

_TASK_FILE = "config.yaml"  # github.com/AMD-AGI/AgentKernelArena, tasks/README.md
_HIP_TO_HIP = "hip2hip"
_PROGRAMS = (".hip", ".cu", ".cpp")
_MAIN = re.compile(rb"^[ \t]*(?:int|auto)\s+main\s*\(", re.MULTILINE)
_SOURCES = (*_PROGRAMS, ".cuh", ".h", ".hpp")
_TORCH = re.compile(rb"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)
_IN_PYTHON = re.compile(rb"load_inline\s*\(|torch\.utils\.cpp_extension")


@dataclass(frozen=True)
class TaskFolder:
    """One task. `target` is what hipscope opens; `skipped` says why there is nothing to run here."""

    name: str
    target: Path
    kernels: tuple[str, ...] = ()
    build: str | None = None
    run: str | None = None
    skipped: str | None = None


def read_tasks(folder: Path) -> tuple[TaskFolder, ...]:
    """All tasks below a folder. Raises `UsageError` when there is none."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no folder of tasks", "name one with a task in each folder or file")
    found = tuple(_tasks(folder, folder))
    if not found:
        raise UsageError(
            f"{folder}: no tasks", f"a task is a program with a `main`, a {CONFIG_FILE} or a {_TASK_FILE}"
        )
    return found


def project_of(task: TaskFolder, llm: LlmConfig) -> Project:
    """The program of a task, with these settings of the model. Raises `UsageError`."""
    own = task.target if task.target.is_dir() else task.target.parent
    if task.build is not None and not (own / CONFIG_FILE).is_file():
        # In its own folder, also where a hipscope.toml above it has the settings of the model.
        return command_project(own.resolve(), Config(build=task.build, run=task.run, llm=llm), None)
    config = load_config(own) if (own / CONFIG_FILE).is_file() else Config()
    return resolve_project(task.target, (), config.model_copy(update={"llm": llm}))


def _tasks(folder: Path, top: Path) -> Iterator[TaskFolder]:
    name = folder.relative_to(top).as_posix() if folder != top else folder.resolve().name
    if (folder / _TASK_FILE).is_file():
        yield from _arena_task(folder, name)
    elif folder != top and (folder / CONFIG_FILE).is_file():
        yield TaskFolder(name, folder)
    else:
        for path in sorted(folder.iterdir()):
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_dir():
                yield from _tasks(path, top)
            elif path.suffix in _PROGRAMS and _MAIN.search(path.read_bytes()):
                yield TaskFolder(path.relative_to(top).with_suffix("").as_posix(), path)
            elif path.suffix == ".py" and _IN_PYTHON.search(path.read_bytes()):
                why = "its kernels are strings of a Python program, which needs PyTorch and a GPU"
                yield TaskFolder(path.relative_to(top).with_suffix("").as_posix(), path, skipped=why)


def _arena_task(folder: Path, name: str) -> Iterator[TaskFolder]:
    try:
        values = yaml.safe_load((folder / _TASK_FILE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        yield TaskFolder(name, folder, skipped=f"{_TASK_FILE}: {str(error).splitlines()[0]}")
        return
    if not isinstance(values, Mapping):
        yield TaskFolder(name, folder, skipped=f"{_TASK_FILE}: no mapping")
    elif values.get("schema_version") == 2:
        yield _second_schema(folder, name, values)
    elif values.get("task_type", _HIP_TO_HIP) == _HIP_TO_HIP:
        kernels = _kernels(folder, map(str, _listed(values.get("target_kernel_functions"))))
        build, run = (_command(values.get(f"{what}_command")) for what in ("compile", "correctness"))
        skipped = _without_pytorch(folder)
        if not (build and run):
            skipped = f"{_TASK_FILE}: no compile_command or no correctness_command"
        yield TaskFolder(name, folder, kernels, build, run, skipped)


def _second_schema(folder: Path, name: str, values: Mapping[str, Any]) -> TaskFolder:
    candidate, evaluation = (_mapping(values.get(part)) for part in ("candidate", "evaluation"))
    entries = [_mapping(entry) for entry in _listed(candidate.get("entrypoints"))]
    kernels = _kernels(folder, (str(entry["symbol"]) for entry in entries if "symbol" in entry))
    runner = " ".join(map(str, _listed(evaluation.get("runner"))))
    if candidate.get("language", "hip") != "hip":
        return TaskFolder(name, folder, kernels, skipped=f"its language is {candidate['language']}")
    build = "make" if (folder / "Makefile").is_file() else "true"
    skipped = _without_pytorch(folder) if runner else "no evaluation.runner"
    return TaskFolder(name, folder, kernels, build, runner or None, skipped)


def _kernels(folder: Path, named: Iterable[str]) -> tuple[str, ...]:
    """Those of the named functions that are kernels: some tasks name what launches them."""
    texts = [path.read_bytes() for path in folder.rglob("*") if path.suffix in _SOURCES]
    return tuple(
        name
        for name in named
        if any(re.search(rb"__global__[^;{}]*?\b%s\s*\(" % re.escape(name.encode()), text) for text in texts)
    )


def _without_pytorch(folder: Path) -> str | None:
    """Why a task cannot be run whose own Python needs a PyTorch that is not there."""
    needed = any(_TORCH.search(path.read_bytes()) for path in sorted(folder.rglob("*.py")))
    if not needed or (python := shutil.which("python3")) is None:
        return None
    return None if _has_pytorch(python) else "PyTorch runs it, which python3 does not have"


@functools.cache
def _has_pytorch(python: str) -> bool:
    return subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0


def _command(listed: object) -> str | None:
    return " && ".join(map(str, _listed(listed))) or None


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
