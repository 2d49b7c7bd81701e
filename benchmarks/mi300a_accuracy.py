"""Compares the emulator's modelled kernel times with measured ones of a real MI300A and prints a table.

Takes the programs and the measured times in benchmarks/mi300a (times: MGPUSim's gpu_perf_scripts, MIT licence beside
them), gives estimate, measurement and their ratio for each size. Needs a HIP compiler and the built native parts:

    python benchmarks/mi300a_accuracy.py [--kernel atax] [--seconds 20] [--jobs 8] [--markdown]
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.parallel import add_jobs, threads_of_each, until_late
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

HERE = Path(__file__).resolve().parent / "mi300a"


@dataclass(frozen=True)
class Point:
    """One measured size; times in microseconds."""

    kernel: str
    size: str
    arguments: tuple[str, ...]
    measured: float
    fastest: float


@dataclass(frozen=True)
class Estimate:
    """What the emulator said."""

    point: Point
    microseconds: float
    covered: float = 1  # share of the timed XCD's workgroups that the model ran; the rest is extrapolated

    @property
    def ratio(self) -> float:
        """Estimate over measurement."""
        return self.microseconds / self.point.measured


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", action="append", help="only this kernel (may be repeated)")
    parser.add_argument("--seconds", type=float, default=20, help="give a size up after this long")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--every", type=int, default=1, help="take every n-th size only")
    add_jobs(parser)
    options = parser.parse_args()
    toolchain = find_toolchain(Config())
    with tempfile.TemporaryDirectory(prefix="hipscope-accuracy-") as folder:
        work = Path(folder)
        results = list(_estimates(options, toolchain, work))
    _print_summary(results, markdown=options.markdown)


def _estimates(options: argparse.Namespace, toolchain: Toolchain, work: Path) -> Iterator[Estimate]:
    points = [p for p in measured_points() if not options.kernel or p.kernel in options.kernel]
    chosen = [p for number, p in enumerate(points) if number % options.every == 0]
    programs = {name: _compile(toolchain, name, work) for name in dict.fromkeys(p.kernel for p in chosen)}
    write_device_config("mi300a", work / "device.txt")

    def run(point: Point) -> Estimate:
        return _run(toolchain, programs[point.kernel], point, work, options)

    print(f"{'kernel':20}{'size':>20}{'measured us':>14}{'modelled us':>14}{'ratio':>8}")
    for point, estimate in until_late(
        run, chosen, lambda p: p.kernel, options.jobs
    ):  # sizes of a kernel grow
        print(
            f"{point.kernel:20}{point.size:>20}{point.measured:14.1f}{estimate.microseconds:14.1f}"
            f"{estimate.ratio:8.2f}" + (f"  {estimate.covered:.0%} timed" if estimate.covered < 1 else ""),
            flush=True,
        )
        yield estimate


def measured_points() -> list[Point]:
    """All rows of the measured data."""
    with (HERE / "kernel_times.csv").open(newline="", encoding="utf-8") as stream:
        return [
            Point(
                kernel=row["kernel_name"],
                size=row["problem_size"],
                arguments=_arguments(row["problem_size"]),
                measured=float(row["avg_ms"]) * 1e3,
                fastest=float(row["min_ms"]) * 1e3,
            )
            for row in csv.DictReader(stream)
        ]


def _arguments(size: str) -> tuple[str, ...]:
    numbers = re.findall(r"\d+", size)
    if size.startswith("N1_C1_"):  # a batch and a channel of one, then the image and the mask
        return (numbers[2], numbers[-1])
    return (numbers[0], numbers[-1]) if re.search(r"_(taps|mask)", size) else (numbers[0],)


def _compile(toolchain: Toolchain, kernel: str, work: Path) -> Path:
    program = work / kernel
    flags = [f"--rocm-device-lib-path={toolchain.device_lib_path}"] if toolchain.device_lib_path else []
    source = HERE / f"{kernel}.hip"
    argv = [str(toolchain.clang), "-w", "-x", "hip", "--offload-arch=gfx942", *flags, "-O3", "-I", str(HERE)]
    subprocess.run([*argv, str(source), "-o", str(program), "--hip-link"], check=True)
    return program


def _run(
    toolchain: Toolchain, program: Path, point: Point, work: Path, options: argparse.Namespace
) -> Estimate:
    out = work / "out" / f"{point.kernel}-{point.size}"
    environment = emulator_environment(
        EmulatorOptions(
            out=out,
            objdump=Path(toolchain.objdump),
            device_config=work / "device.txt",
            cache=work / "cache",
            threads=threads_of_each(options.jobs),
        )
    )
    done = subprocess.run(
        [str(program), *point.arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=options.seconds,
        check=True,
    )
    rows = [json.loads(line) for line in (out / "dispatches.jsonl").read_text().splitlines()]
    return Estimate(point, float(done.stdout), min((r.get("timed_share", 1) for r in rows), default=1))


def _print_summary(results: list[Estimate], *, markdown: bool) -> None:
    kernels = list(dict.fromkeys(e.point.kernel for e in results))
    print()
    print("| kernel | sizes | median error | worst ratio |\n|---|---|---|---|" if markdown else "summary")
    for kernel in [*kernels, "all"]:
        chosen = [e for e in results if kernel in (e.point.kernel, "all")]
        errors = [abs(e.ratio - 1) for e in chosen]
        worst = max((e.ratio for e in chosen), key=lambda r: abs(math.log(r)))
        cells = (kernel, str(len(chosen)), f"{100 * statistics.median(errors):.0f} %", f"{worst:.2f}")
        print(
            "| " + " | ".join(cells) + " |"
            if markdown
            else f"{cells[0]:20}{cells[1]:>6}{cells[2]:>8}{cells[3]:>8}"
        )


if __name__ == "__main__":
    main()
