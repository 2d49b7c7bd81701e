"""Whole HIP programs that check themselves, compiled by the real compiler and run on the emulator.

Each is also run with other orders of waves and workgroups: a right program has one result under all of them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment
from tests.sampling import sampled

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.hip"))
SCHEDULES = 20  # with --exhaustive; else a few
_FEW = 4
# One for each part of the device and of the runtime; all others run with the slow tests.
QUICK = {
    "atomics_float", "ballots", "bfs", "block_scan", "cas_loops", "control_flow",
    "cooperative_tiles", "device_printf", "dpp_scan", "dynamic_lds", "fft", "float_math",
    "fp8", "graphs", "grid_sync", "half_math", "host_api", "indirect_calls",
    "lane_permutes", "managed_memory", "matrix_cores", "scratch_arrays", "streams_events", "wide_integers",
}  # fmt: skip
ORDERED = sorted(PROGRAMS, key=lambda p: p.stem not in QUICK)


@dataclass(frozen=True)
class Programs:
    """The programs, which compile in the background, and where the emulator keeps their disassembly."""

    toolchain: Toolchain
    builds: Mapping[Path, Future[BuiltProgram]]
    cache: Path

    def run(self, source: Path, seed: int) -> tuple[int, str]:
        """Exit status and all output of one run with that order of waves."""
        built = self.builds[source].result()
        options = EmulatorOptions(objdump=self.toolchain.objdump, cache=self.cache, seed=seed)
        done = subprocess.run(
            built.argv,
            cwd=built.directory,
            env={**os.environ, **built.env, **emulator_environment(options)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    config = Config()
    toolchain = find_toolchain(config)
    asked = [item for item in request.session.items if getattr(item, "module", None) is request.module]
    # In the order of the tests: of what they do not come to, little is compiled.
    params = [item.callspec.params for item in asked if isinstance(item, pytest.Function)]
    wanted = [source for source in dict.fromkeys(p["source"] for p in params) if isinstance(source, Path)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        builds = {
            source: pool.submit(build_program, resolve_project(source, config=config), toolchain)
            for source in wanted
        }
        yield Programs(toolchain, builds, tmp_path_factory.mktemp("disassembly"))
        for build in builds.values():
            build.cancel()


@pytest.mark.parametrize(
    "source",
    [pytest.param(p, marks=[] if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in ORDERED],
)
def test_program_finds_its_own_results_right(source: Path, programs: Programs) -> None:
    assert programs.run(source, seed=0) == (0, "PASS\n")


@pytest.mark.slow
@pytest.mark.parametrize("source", sampled(PROGRAMS, 3, lambda p: p.stem), ids=lambda p: p.stem)
def test_program_has_one_result_under_all_orders_of_waves(
    source: Path, programs: Programs, pytestconfig: pytest.Config
) -> None:
    orders = SCHEDULES if pytestconfig.getoption("--exhaustive") else _FEW
    results = {seed: programs.run(source, seed) for seed in range(1, orders + 1)}
    assert {seed: said for seed, said in results.items() if said != (0, "PASS\n")} == {}
