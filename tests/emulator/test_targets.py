"""Programs for the other instruction sets: compiled for gfx90a or gfx950, run on a device that has it."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment
from tests.sampling import sampled

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
EVERY_PROGRAM = sorted((HERE / "programs").glob("*.hip"))
NAMES = (
    "atomics",
    "control_flow",
    "cooperative_tiles",
    "fp8_types",
    "grid_barrier",
    "half_math",
    "memory_spaces",
    "newer_functions",
    "wave_operations",
)
SOME_PROGRAMS = [HERE / "programs" / f"{name}.hip" for name in NAMES]
EXAMPLE_PROGRAMS = [
    EXAMPLES / f"{name}.hip" for name in ("lds_column_read", "register_spill", "contended_histogram")
]
GFX950_PROGRAMS = [HERE / "gfx950.hip", HERE / "gfx950_lds.hip"]
NOT_ON = {
    ("matrix_cores", "mi355x"): "gfx950 has no xf32",
    ("fp8", "mi355x"): "it knows the 8-bit formats of gfx942; gfx950 has those of the OCP",
}
CASES = [
    *((source, "mi210") for source in SOME_PROGRAMS + EXAMPLE_PROGRAMS),
    *((source, "mi250x") for source in EXAMPLE_PROGRAMS),
    *((source, "mi355x") for source in [*EVERY_PROGRAM, *EXAMPLE_PROGRAMS, *GFX950_PROGRAMS]),
]


def _named(case: tuple[Path, str]) -> str:
    return f"{case[0].stem}-{case[1]}"


@functools.cache
def toolchain_for(device: str) -> Toolchain | str:
    """The compiler of this machine, or the one that HIPSCOPE_TEST_CLANG names; why not, when it lacks the target."""
    config = Config.model_validate(
        {"device": device, "toolchain": {"clang": os.environ.get("HIPSCOPE_TEST_CLANG")}}
    )
    try:
        return find_toolchain(config)
    except UsageError as error:
        return error.message


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 3, _named), ids=_named)
def test_a_program_finds_its_own_results_right(case: tuple[Path, str], tmp_path: Path) -> None:
    source, device = case
    if (source.stem, device) in NOT_ON:
        pytest.skip(NOT_ON[source.stem, device])
    toolchain = toolchain_for(device)
    if isinstance(toolchain, str):
        pytest.skip(toolchain)
    config = Config.model_validate({"device": device})
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
