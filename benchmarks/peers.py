"""The emulator beside what else runs kernels on a CPU: POCL (OpenCL C compiled for the CPU) and plain loops of g++ -O3.

The same kernels, in one run on one core, in millions of results a second of CPU time; the median of the launches
counts. POCL compiles the kernel for this machine and neither knows a GPU nor counts anything, so it says what an
emulator of instructions is up against, not what it should reach. `--update` writes the table into docs/benchmarks.md:

    apt-get install pocl-opencl-icd ocl-icd-opencl-dev
    python -m benchmarks.peers [--update]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import emulator_speed

HERE = Path(__file__).resolve().parent
KERNELS = ("vadd", "daxpy", "fma_loop", "stencil", "matmul")
ELEMENTS = {"vadd": 1 << 20, "daxpy": 1 << 20, "fma_loop": 1 << 18, "stencil": 1 << 20, "matmul": 1 << 16}
BEGIN, END = "<!-- begin: peers.py -->\n", "<!-- end: peers.py -->\n"


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the table into docs/benchmarks.md")
    options = parser.parse_args()
    text = "\n".join(table()) + "\n"
    print(text, end="")
    if options.update:
        emulator_speed.write_between(BEGIN, END, text)


def table() -> Iterator[str]:
    """Markdown rows."""
    yield f"Load of the machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n"
    plain, profiled = emulated(record=False), emulated(record=True)
    with tempfile.TemporaryDirectory(prefix="hipscope-peers-") as folder:
        pocl = native("peers_opencl.cpp", Path(folder), "-lOpenCL")
        loops = native("peers_loops.cpp", Path(folder))
    yield "| kernel | plain loop | POCL | emulated | emulated and profiled | POCL over emulated |"
    yield "|---|--:|--:|--:|--:|--:|"
    for kernel in KERNELS:
        over = f"{pocl[kernel] / plain[kernel]:.1f} x" if pocl else ""
        cells = [
            f"{side[kernel]:.1f} M/s" if side else "not there" for side in (loops, pocl, plain, profiled)
        ]
        yield f"| {kernel} | {' | '.join(cells)} | {over} |"


def emulated(*, record: bool) -> Mapping[str, float]:
    """Millions of results a second of CPU time by kernel."""
    launches = emulator_speed.run(1, record=record)
    return {
        kernel: ELEMENTS[kernel] / statistics.median(float(row["cpu_ms"]) for row in launches[kernel]) / 1e3
        for kernel in KERNELS
    }


def native(source: str, folder: Path, *libraries: str) -> Mapping[str, float]:
    """The same of a program that prints its launches; empty, with a line that says why, when it cannot be had."""
    program = folder / Path(source).stem
    compiler = [
        "g++",
        "-O3",
        "-march=native",
        "-std=c++17",
        str(HERE / source),
        "-o",
        str(program),
        *libraries,
    ]
    built = subprocess.run(compiler, capture_output=True, text=True, timeout=300, check=False)
    if built.returncode != 0:
        print(f"{source}: not compiled (are its headers and libraries installed?)")
        return {}
    done = subprocess.run(
        [str(program)],
        env={**os.environ, "POCL_MAX_PTHREAD_COUNT": "1", "POCL_CACHE_DIR": str(folder / "pocl")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        print(f"{source}: {done.stderr.strip() or f'ended with status {done.returncode}'}")
        return {}
    times = defaultdict(list)
    for line in done.stdout.splitlines():
        kernel, elements, milliseconds = line.split()
        times[kernel].append(int(elements) / float(milliseconds) / 1e3)
    return {kernel: statistics.median(rates) for kernel, rates in times.items()}


if __name__ == "__main__":
    main()
