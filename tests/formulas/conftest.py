"""Helpers of the rewrite tests: kernels as text, what a recipe makes of them, and whether it compiles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import Project
from tests.unsaved import unsaved

Compile = Callable[..., CodeObject]


@pytest.fixture(scope="session")
def compile_text(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile GPU code: `compile_text(text)` for gfx942 (waves of 64), `arch="gfx1030"` for waves of 32."""
    folder = tmp_path_factory.mktemp("device")
    source = folder / "kernel.hip"
    source.write_text("int main() {}\n")

    def compiled(text: bytes, arch: str = "gfx942") -> CodeObject:
        config = Config(arch=arch, flags=["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        toolchain = find_toolchain(config)
        project = Project(folder, source, (source,), config, (), "single")
        return compile_device(project, toolchain, source, unsaved(source, text))

    return compiled


@pytest.fixture
def examples() -> Path:
    """The folder of the example programs."""
    return Path(__file__).resolve().parents[2] / "examples"
