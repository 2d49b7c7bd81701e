"""How fast the emulator is on kernels of different kinds: wave instructions a second of one core.

Takes speed.hip, gives the rate running plain and the rate with counters, memory patterns and timing model, both of CPU
time (so that other programs on the machine disturb less), and what all cores gain in wall time of each. A rate is that
of a whole launch, from its first instruction to the last: what setting up and starting waves costs is in it, what
loading the program and writing the profile costs is not. The median of the launches counts.
`--threads` gives another table, for machines with more cores: the rates of one thread, and what numbers of them gain.
`--update` writes the table into docs/benchmarks-emulator.md:

    python benchmarks/emulator_speed.py [--threads 2 4 8 16] [--update]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks-emulator.md"
DIVERGENT = ("strided", "gather", "hist")  # lanes of one wave in many lines
BEGIN, END = "<!-- begin: emulator_speed.py -->\n", "<!-- end: emulator_speed.py -->\n"

BY_THREADS = "<!-- begin: emulator_speed.py --threads -->\n", "<!-- end: emulator_speed.py --threads -->\n"


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--update", action="store_true", help="write the table into docs/benchmarks-emulator.md"
    )
    parser.add_argument("--threads", type=int, nargs="+", help="numbers of threads to compare with one")
    options = parser.parse_args()
    text = "\n".join(by_threads(options.threads) if options.threads else table()) + "\n"
    print(text, end="")
    if options.update:
        write_between(*(BY_THREADS if options.threads else (BEGIN, END)), text)


def write_between(begin: str, end: str, text: str) -> None:
    """Put the text between two marks of the page of benchmarks."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    tail = rest.partition(end)[2]
    PAGE.write_text(head + begin + text + end + tail, encoding="utf-8")


def table() -> Iterator[str]:
    """Markdown rows, and what they come to."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    yield f"Load of the machine at the start: {load:.1f} on {cores} cores.\n"
    profiled, plain = run(1, record=True), run(1, record=False)
    quiet = load < cores / 2  # wall time says nothing on a busy machine
    gained = {
        record: {kernel: gain(one[kernel], rows) for kernel, rows in run(cores, record=record).items()}
        for record, one in ((False, plain), (True, profiled))
        if quiet
    }
    yield (
        f"| kernel | wave instructions | plain | profiled | ratio | plain, {cores} threads "
        f"| profiled, {cores} threads |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|"
    rates: dict[str, tuple[float, float]] = {}
    for kernel, rows in profiled.items():
        executed = statistics.median(row["counters"]["SQ_INSTS"] for row in rows)
        fast, slow = (statistics.median(row["cpu_ms"] for row in some[kernel]) for some in (plain, profiled))
        if executed < 1000:
            yield f"| {kernel} | {executed:.0f} | {fast * 1e3:.1f} us a launch | {slow * 1e3:.0f} us a launch | | | |"
            continue
        rates[kernel] = (executed / fast / 1e3, executed / slow / 1e3)
        many = [f"{gained[record][kernel]:.1f} x" if quiet else "not measured" for record in (False, True)]
        yield (
            f"| {kernel} | {executed / 1e6:.2f} M | {rates[kernel][0]:.0f} M/s | {rates[kernel][1]:.0f} M/s "
            f"| {slow / fast:.1f} | {' | '.join(many)} |"
        )
    yield ""
    coalesced = {kernel: rate for kernel, rate in rates.items() if kernel not in DIVERGENT}
    marks = [sum(rate[which] >= mark for rate in coalesced.values()) for which, mark in enumerate((100, 60))]
    yield (
        f"Of {len(coalesced)} kernels with coalesced accesses {marks[0]} reach 100 M/s plain and {marks[1]} "
        "reach 60 M/s profiled."
    )
    for kernel in DIVERGENT:
        ratio = [coalesced["vadd"][which] / rates[kernel][which] for which in (0, 1)]
        yield f"`{kernel}` is {ratio[0]:.1f} times slower than `vadd` plain and {ratio[1]:.1f} times profiled."


def by_threads(counts: Sequence[int]) -> Iterator[str]:
    """Markdown rows: what each number of threads gains in wall time plain, and the largest number profiled."""
    load, most = os.getloadavg()[0], max(counts)
    yield f"Load of the machine at the start: {load:.1f} on {os.cpu_count()} cores. The better of two runs each.\n"
    executed = {
        kernel: statistics.median(row["counters"]["SQ_INSTS"] for row in rows) / 1e3
        for kernel, rows in run(1, record=True).items()
    }
    plain = {count: best(count, record=False) for count in (1, *counts)}
    profiled = {count: best(count, record=True) for count in (1, most)}
    yield f"| kernel | plain | {' | '.join(f'{count} threads' for count in counts)} | profiled | {most} threads |"
    yield "|---|--:|" + "--:|" * len(counts) + "--:|--:|"
    for kernel, instructions in executed.items():
        if instructions < 1:
            continue
        one, slow = plain[1][kernel], profiled[1][kernel]
        gains = " | ".join(f"{one.wall_ms / plain[count][kernel].wall_ms:.1f} x" for count in counts)
        gained = slow.wall_ms / profiled[most][kernel].wall_ms
        rates = [f"{instructions / launch.cpu_ms:.0f} M/s" for launch in (one, slow)]
        yield f"| {kernel} | {rates[0]} | {gains} | {rates[1]} | {gained:.1f} x |"


@dataclass(frozen=True)
class Launch:
    """The median launch of a kernel."""

    cpu_ms: float
    wall_ms: float


def best(threads: int, *, record: bool) -> dict[str, Launch]:
    """By kernel, the quicker of two runs."""
    runs = [run(threads, record=record) for _ in range(2)]
    return {
        kernel: Launch(
            *(
                min(statistics.median(float(row[name]) for row in rows[kernel]) for rows in runs)
                for name in ("cpu_ms", "wall_ms")
            )
        )
        for kernel in runs[0]
    }


def gain(one: list[dict[str, Any]], many: list[dict[str, Any]]) -> float:
    """How much less wall time the launches took on many threads."""
    alone, together = (statistics.median(float(row["wall_ms"]) for row in rows) for rows in (one, many))
    return alone / together


def run(threads: int, *, record: bool) -> Mapping[str, list[dict[str, Any]]]:
    """The raw records of all launches by kernel."""
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(HERE / "speed.hip"), toolchain)
    with tempfile.TemporaryDirectory(prefix="hipscope-speed-") as folder:
        out = Path(folder) / "out"
        options = EmulatorOptions(
            out=out,
            objdump=toolchain.objdump,
            device_config=write_device_config("mi300x", Path(folder) / "device.txt") if record else None,
            threads=threads,
            profile_launches=1_000_000 if record else 0,
        )
        environment = {**os.environ, **built.env, **emulator_environment(options)}
        subprocess.run(built.argv, env=environment, check=True, timeout=600, stdout=subprocess.DEVNULL)
        rows = defaultdict(list)
        for line in (out / "dispatches.jsonl").read_text().splitlines():
            row = json.loads(line)
            length, rest = re.match(r"_Z(\d+)(.*)", row["kernel"]).groups()  # type: ignore[union-attr]
            rows[rest[: int(length)]].append(row)
        return rows


if __name__ == "__main__":
    main()
