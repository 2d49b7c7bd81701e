"""rocPRIM, hipCUB and Thrust, libraries of headers, on the emulator: device, workgroup and wave functions.

Runs where the headers are: in `/usr/include` (Debian's librocprim-dev), `/opt/rocm/include`, or the folder that
`HIPSCOPE_TEST_ROCPRIM` names.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

PROGRAMS = sorted((Path(__file__).parent / "rocprim").glob("*.hip"))
_PLACES = (os.environ.get("HIPSCOPE_TEST_ROCPRIM", ""), "/usr/include", "/opt/rocm/include")
HEADERS = next((p for p in _PLACES if p and Path(p, "rocprim/rocprim.hpp").is_file()), None)


@pytest.mark.slow
@pytest.mark.skipif(HEADERS is None, reason="rocPRIM's headers are not installed (Debian: librocprim-dev)")
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.stem)
def test_rocprim_gives_the_results_of_plain_loops(source: Path) -> None:
    assert HEADERS is not None
    if source.stem == "thrust" and not Path("/usr/include/thrust").is_dir():
        pytest.skip("Thrust's headers are not installed (Debian: libthrust-dev)")
    config = Config()
    toolchain = find_toolchain(config)
    # As system headers: those of rocPRIM 5 have what newer clangs call an error in code of one's own.
    flags = () if HEADERS == "/usr/include" else (f"-isystem{HEADERS}",)
    built = build_program(
        resolve_project(source, config=config), replace(toolchain, flags=(*toolchain.flags, *flags))
    )
    for seed in (0, 3):
        done = subprocess.run(
            built.argv,
            cwd=built.directory,
            env={
                **os.environ,
                **built.env,
                **emulator_environment(EmulatorOptions(objdump=toolchain.objdump, seed=seed)),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "PASS\n", "")
