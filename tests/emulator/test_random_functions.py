"""Random functions give the same bits on the emulator as on this machine, at every level of optimisation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.hip_run import run_hip
from tests.emulator.random_functions import program


@pytest.mark.parametrize(("seed", "level"), [(1, "-O0"), (2, "-O1"), (3, "-O2"), (4, "-O3"), (5, "-Os")])
def test_device_and_host_agree(seed: int, level: str, tmp_path: Path) -> None:
    done = run_hip(program(seed), tmp_path, device_flags=(level,))
    assert (done.returncode, done.stdout) == (0, "PASS\n"), done.stdout + done.stderr
