"""Compares the emulator's hardware counters with those of a real MI300X for the same three kernels.

Takes mi300x/reference.hip and mi300x/counters.csv (measured values: vecCopy from the sample workload of AMD's
rocprofiler-compute, MIT licence beside it; vectorAdd and transpose from results that AMD published with IntelliPerf),
gives one row per counter. `--update` writes the table into docs/emulator/timing.md:

    python benchmarks/mi300x_counters.py [--update]
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.raw import RawDispatch, read_dispatches
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

HERE = Path(__file__).resolve().parent
DATA = HERE / "mi300x"
PAGE = HERE.parent / "docs" / "emulator" / "timing.md"
BEGIN, END = "<!-- begin: mi300x_counters.py -->\n", "<!-- end: mi300x_counters.py -->\n"


@dataclass(frozen=True)
class Comparison:
    """One counter of one kernel. `tolerance` is a share; 0 must be equal, None was not meant to agree."""

    kernel: str
    counter: str
    measured: float
    tolerance: float | None
    emulated: float | None

    @property
    def ratio(self) -> float | None:
        """Emulated over measured, None where that says nothing."""
        return self.emulated / self.measured if self.emulated is not None and self.measured else None

    @property
    def agrees(self) -> bool:
        """Within the tolerance; always true where there is none."""
        if self.tolerance is None:
            return True
        if self.emulated is None:
            return False
        return abs(self.emulated - self.measured) <= self.tolerance * abs(self.measured)


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the table into docs/emulator/timing.md")
    options = parser.parse_args()
    text = "\n".join(table(compare())) + "\n"
    print(text, end="")
    if options.update:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        tail = rest.partition(END)[2]
        PAGE.write_text(head + BEGIN + text + END + tail, encoding="utf-8")


def compare() -> list[Comparison]:
    """Build and run the reference kernels on the emulated MI300X and put both values of each counter together."""
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(DATA / "reference.hip"), toolchain)
    with tempfile.TemporaryDirectory(prefix="hipscope-counters-") as folder:
        out = Path(folder) / "out"
        environment = emulator_environment(
            EmulatorOptions(
                out=out,
                objdump=toolchain.objdump,
                device_config=write_device_config("mi300x", Path(folder) / "device.txt"),
            )
        )
        subprocess.run(built.argv, env={**os.environ, **built.env, **environment}, check=True, timeout=300)
        emulated = {_short(d.kernel): _values(d) for d in read_dispatches(out)}
    return [
        Comparison(
            kernel=row["kernel"],
            counter=row["counter"],
            measured=float(row["measured"]),
            tolerance=float(row["tolerance"]) if row["tolerance"] else None,
            emulated=emulated[row["kernel"]].get(row["counter"]),
        )
        for row in _rows()
    ]


def _rows() -> list[dict[str, str]]:
    with (DATA / "counters.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _short(kernel: str) -> str:
    return next(name for name in ("vecCopy", "vectorAdd", "transpose") if name in kernel)


def _values(dispatch: RawDispatch) -> Mapping[str, float]:
    """The counters, and what the published results give instead of counters."""
    c = dispatch.counters
    assert dispatch.start_ns is not None
    assert dispatch.end_ns is not None
    wide, all_reads = c["TCC_BUBBLE_sum"], c["TCC_EA0_RDREQ_sum"]
    full, all_writes = c["TCC_EA0_WRREQ_64B_sum"], c["TCC_EA0_WRREQ_sum"]
    return {
        **c,
        "fabric_read_bytes": 128 * wide + 64 * (all_reads - wide),
        "fabric_write_bytes": 64 * full + 32 * (all_writes - full),
        "l2_hit_percent": 100 * c["TCC_HIT_sum"] / (c["TCC_HIT_sum"] + c["TCC_MISS_sum"]),
        "duration_ns": dispatch.end_ns - dispatch.start_ns,
    }


def table(rows: list[Comparison]) -> Iterator[str]:
    """Markdown: how many are equal, then those that are not."""
    same = [r for r in rows if r.emulated == r.measured]
    zero = sum(r.measured == 0 for r in same)
    yield (
        f"{len(rows)} values were compared; {len(same)} are equal, {zero} of them 0 on both sides. Equal and not 0:\n"
    )
    for kernel in dict.fromkeys(r.kernel for r in rows):
        names = [f"`{r.counter}` {r.measured:.0f}" for r in same if r.kernel == kernel and r.measured]
        yield f"- {kernel}: {', '.join(names)}."
    yield "\nNot equal:\n"
    yield "| kernel | counter | MI300X | emulated | ratio |"
    yield "|---|---|--:|--:|--:|"
    for r in rows:
        if r in same:
            continue
        emulated = "absent" if r.emulated is None else f"{r.emulated:.0f}"
        ratio = "" if r.ratio is None else f"{r.ratio:.2f}"
        yield f"| {r.kernel} | {r.counter} | {r.measured:.0f} | {emulated} | {ratio} |"


if __name__ == "__main__":
    main()
