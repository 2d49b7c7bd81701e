"""How much longer a program takes under the sanitizers: `python -m benchmarks.sanitizers`.

Runs each program plainly and under all checks in turns, one thread each, and prints the ratio of their CPU times (user
and system, the median of nine runs; start-up and loading included in both): nine examples, then the kernels of
sanitizers.hip, which are of other kinds. The aim is a ratio of at most 5.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hipscope.analysis.runs.check_project import ALIGNED_ACCESSES
from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = (
    "examples/vector_add.hip",
    "examples/tiled_transpose.hip",
    "examples/strided_access.hip",
    "examples/lds_column_read.hip",
    "examples/divergent_branch.hip",
    "examples/contended_histogram.hip",
    "examples/contended_atomic.hip",
    "examples/register_spill.hip",
    "examples/accidental_double.hip",
)
KINDS = ROOT / "benchmarks" / "sanitizers.hip"
RUNS = 9
CACHE = cache_directory() / "disassembly"


def main() -> None:
    """Print the tables."""
    table([(ROOT / name, ()) for name in PROGRAMS])
    print()
    table([(KINDS, (kind,)) for kind in kinds()])


def kinds() -> list[str]:
    """The names that sanitizers.hip prints when it is given none."""
    project = resolve_project(KINDS)
    toolchain = find_toolchain(project.config)
    built = build_program(project, toolchain)
    environment = {
        **os.environ,
        **built.env,
        **emulator_environment(EmulatorOptions(objdump=toolchain.objdump, cache=CACHE)),
    }
    return subprocess.run(
        built.argv, env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()


def table(programs: Sequence[tuple[Path, tuple[str, ...]]]) -> None:
    """Measure programs with their arguments and print a line each."""
    ratios = []
    print(f"{'program':24}{'plain s':>10}{'checked s':>12}{'ratio':>8}")
    for source, arguments in programs:
        project = resolve_project(source)
        toolchain = find_toolchain(project.config)
        plainly = build_program(project, toolchain)
        checked_as = build_program(project, toolchain, device_flags=ALIGNED_ACCESSES)
        times = [
            (
                seconds(plainly, arguments, toolchain, None),
                seconds(checked_as, arguments, toolchain, "all,exact-alignment"),
            )
            for _ in range(RUNS)
        ]
        plain, checked = (statistics.median(column) for column in zip(*times, strict=True))
        ratios.append(checked / plain)
        name = arguments[0] if arguments else source.stem
        print(f"{name:24}{plain:10.2f}{checked:12.2f}{ratios[-1]:8.1f}", flush=True)
    print(f"median {statistics.median(ratios):.1f}, most {max(ratios):.1f}")


def seconds(
    built: BuiltProgram, arguments: tuple[str, ...], toolchain: Toolchain, sanitize: str | None
) -> float:
    """CPU seconds of one run. The system's are among them: of short runs Linux only guesses which were which."""
    with tempfile.TemporaryDirectory() as folder:
        options = EmulatorOptions(
            objdump=toolchain.objdump,
            out=Path(folder) if sanitize else None,
            cache=CACHE,
            threads=1,
            sanitize=sanitize,
        )
        environment = {**os.environ, **built.env, **emulator_environment(options)}
        before = _cpu_seconds_of_children()
        subprocess.run(
            [*built.argv, *arguments],
            env=environment,
            cwd=built.directory,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        return _cpu_seconds_of_children() - before


def _cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
