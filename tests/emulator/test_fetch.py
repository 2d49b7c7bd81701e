"""Code that fits the instruction cache is there: none of its instructions waits for a fetch, in any launch."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import device_table, write_device_config
from hipscope.emulator.raw import read_dispatches, read_profile
from hipscope.emulator.runner import EmulatorOptions, emulator_environment
from tests.sampling import sampled

HERE = Path(__file__).parent
EXAMPLES = sorted((HERE.parents[1] / "examples").glob("*.hip"))
PROGRAMS = sorted((HERE / "programs").glob("*.hip"))


@pytest.mark.parametrize(
    "source",
    [
        *EXAMPLES[:2],
        *sampled([*EXAMPLES[2:], *PROGRAMS[::4]], 4, lambda source: source.stem),
    ],
    ids=lambda source: source.stem,
)
def test_code_that_fits_waits_for_no_fetch(source: Path, tmp_path: Path) -> None:
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(source), toolchain)
    options = EmulatorOptions(
        out=tmp_path / "out",
        objdump=toolchain.objdump,
        device_config=write_device_config("mi300x", tmp_path / "device.txt"),
        time_budget_s=5,
    )
    environment = {**os.environ, **built.env, **emulator_environment(options)}
    subprocess.run(built.argv, env=environment, cwd=tmp_path, capture_output=True, check=True, timeout=300)
    room = int(device_table()["mi300x"]["icache_bytes"])
    looked_at = 0
    for launch in read_dispatches(tmp_path / "out"):
        profile = read_profile(tmp_path / "out", launch.id) if launch.profiled else None
        code = profile.instructions if profile is not None else ()
        if not code or max(i.address for i in code) - min(i.address for i in code) > room:
            continue
        looked_at += 1
        assert sum(i.stalls.get("instruction_fetch", 0) for i in code) == 0, launch.kernel
    assert looked_at or source.parent != EXAMPLES[0].parent
