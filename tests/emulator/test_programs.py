"""Whole HIP programs that check themselves, compiled by the real compiler and run on the emulator."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.build import build_program
from hipscope.analysis.config import Config
from hipscope.analysis.project import resolve_project
from hipscope.analysis.toolchain import find_toolchain
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.hip"))


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.stem)
def test_program_finds_its_own_results_right(source: Path) -> None:
    config = Config()
    toolchain = find_toolchain(config)
    built = build_program(resolve_project(source, config=config), toolchain)
    added = emulator_environment(EmulatorOptions(objdump=toolchain.objdump))
    done = subprocess.run(
        built.argv,
        cwd=built.directory,
        env={**os.environ, **built.env, **added},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["PASS"], done.stdout[-2000:] + done.stderr[-2000:]
    assert done.returncode == 0
