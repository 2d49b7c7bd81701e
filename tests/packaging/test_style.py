"""The hooks before a commit, and the styles of C++ that they apply."""

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SOURCES = [
    path for part in ("emulator", "accordo") for path in sorted((ROOT / part / "native").rglob("*.?pp"))
]


def test_the_hooks_take_nothing_from_elsewhere() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert [hook["id"] for hook in hooks] == ["ruff", "ruff-format", "clang-format", "mypy"]
    assert {hook["language"] for hook in hooks} == {"system"}


def test_the_style_of_cpp_is_that_of_the_code() -> None:
    """Formatting changed lines must not make them look unlike those around them: of the whole, 3 % may differ."""
    tool = shutil.which("clang-format-19")
    if tool is None:
        pytest.skip("apt-get install clang-format-19")
    lines = changed = 0
    for path in SOURCES[::8]:
        before = path.read_text(encoding="utf-8").splitlines()
        formatted = subprocess.run(
            [tool, path], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        lines += len(before)
        changed += sum(line.startswith("- ") for line in difflib.ndiff(before, formatted))
    assert lines > 1000
    assert changed < 0.03 * lines
