"""Each call of HIP that the corpus of programs makes has a test that notices when the call does nothing.

`programs/host_api.hip` makes these calls. It runs once for each with a function in front that returns 0 (success)
or, where nothing is the right thing to do, an error, and must fail.
"""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment
from tests.emulator import isa_oracle as isa
from tests.sampling import sampled

SOURCE = Path(__file__).parent / "programs" / "host_api.hip"
CORPUS = isa.ROOT.parent / "shared" / "reference" / "hip_api_used.csv"
# Where the corpus is not beside the checkout: one call of each area.
SOME = [
    "__hipRegisterManagedVar",
    "hipEventSynchronize",
    "hipFree",
    "hipFuncSetAttribute",
    "hipGetLastError",
    "hipGraphLaunch",
    "hipHostRegister",
    "hipMallocAsync",
    "hipMemcpyToSymbol",
    "hipStreamWaitEvent",
]
# The emulated device has nothing to do for these; the program looks at what they return.
NOTHING_TO_DO = {"hipFuncSetCacheConfig", "hipGetStreamDeviceId", "hipDeviceReset"}
# The program has ended; its result is invisible.
UNSEEN = {"__hipUnregisterFatBinary"}


def calls() -> list[str]:
    if not CORPUS.exists():
        return SOME
    with CORPUS.open(newline="") as file:
        return [line["symbol"] for line in csv.DictReader(file)]


@pytest.fixture(scope="module")
def built() -> BuiltProgram:
    config = Config()
    return build_program(resolve_project(SOURCE, config=config), find_toolchain(config))


def run(built: BuiltProgram, **env: str) -> subprocess.CompletedProcess[str]:
    options = EmulatorOptions(objdump=find_toolchain(Config()).objdump)
    return subprocess.run(
        built.argv,
        cwd=built.directory,
        env={**os.environ, **built.env, **emulator_environment(options), **env},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("call", sampled(sorted(set(calls()) - UNSEEN), 4))
def test_a_call_that_does_nothing_is_noticed(call: str, built: BuiltProgram, tmp_path: Path) -> None:
    answer = 999 if call in NOTHING_TO_DO else 0
    source, library = tmp_path / "idle.c", tmp_path / "idle.so"
    source.write_text(f'#include <unistd.h>\nlong {call}(void) {{ write(2, "idle", 4); return {answer}; }}\n')
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    spoiled = run(built, LD_PRELOAD=str(library))
    assert "idle" in spoiled.stderr  # the program makes the call
    assert (spoiled.returncode, spoiled.stdout) != (0, "PASS\n")


def test_the_program_passes_when_nothing_is_in_front(built: BuiltProgram) -> None:
    assert run(built).stdout == "PASS\n"
