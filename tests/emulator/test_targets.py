"""Programs for the other instruction sets: compiled for gfx90a or gfx950, run on a device that has it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.build import build_program
from hipscope.analysis.config import Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.project import resolve_project
from hipscope.analysis.toolchain import find_toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
PROGRAMS = [
    HERE / "programs" / "atomics.hip",
    HERE / "programs" / "control_flow.hip",
    HERE / "programs" / "grid_barrier.hip",
    HERE / "programs" / "half_math.hip",
    HERE / "programs" / "memory_spaces.hip",
    HERE / "programs" / "wave_operations.hip",
    EXAMPLES / "lds_column_read.hip",
    EXAMPLES / "register_spill.hip",
    EXAMPLES / "contended_histogram.hip",
]


@pytest.mark.parametrize("device", ["mi210", "mi250x", "mi355x"])
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_finds_its_own_results_right(source: Path, device: str, tmp_path: Path) -> None:
    if device == "mi250x" and source.parent != EXAMPLES:
        pytest.skip("the same code as on mi210")
    config = Config.model_validate({"device": device})
    try:
        toolchain = find_toolchain(config)
    except UsageError as error:
        pytest.skip(error.message)
    built = build_program(resolve_project(source, config=config), toolchain)
    options = EmulatorOptions(
        objdump=toolchain.objdump, device_config=write_device_config(device, tmp_path / "device.txt")
    )
    done = subprocess.run(
        built.argv,
        cwd=built.directory,
        env={**os.environ, **built.env, **emulator_environment(options)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1].startswith("PASS")
