"""How long it takes from "Optimize kernel" to a verified edit by recipe, in compiles of the device code.

For each example that a recipe answers: the wall-clock time and the processor time (all processes and threads) of the
whole way, each over what one plain compile of the example's device code takes, measured before and after in the same
run. Twice: *prepared*, as in an editor, which has prepared the needs of rewrites before the request, and *cold*,
after nothing but a profile. With `--update` the table goes into benchmarks/notes/rewrites.md. Run it on a machine
that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hipscope.analysis.config import Config
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.build import DEBUG_FLAGS
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.optimize.loop import OptimizeResult, optimize_project
from hipscope.formulas.optimize.prepared_cache import prepare_project

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "notes" / "rewrites.md"
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.hip") if "hipscope: expect" in p.read_text())
BEGIN, END = "<!-- begin: rewrite speed -->\n", "<!-- end: rewrite speed -->\n"


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock and of processors, children included."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Row:
    """One example: what came of it, what one compile and the whole way take, and whether a preparation was kept."""

    result: OptimizeResult
    compile: Spent
    whole: Spent
    kept: bool

    @property
    def recipe(self) -> str | None:
        """The recipe of the verified edit, if there is one."""
        won = next((a for a in reversed(self.result.attempts) if a.outcome == "accepted"), None)
        return won.recipe if won is not None and self.result.status == "verified" else None

    @property
    def ratios(self) -> tuple[float, float]:
        """The whole way on the clock and of processors, in compiles."""
        return self.whole.wall / self.compile.wall, self.whole.processor / self.compile.processor


def main() -> int:
    """Measure, print, and on request write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--update", action="store_true", help="write the table into benchmarks/notes/rewrites.md"
    )
    parser.add_argument("--only", default="", help="examples whose name contains this")
    options = parser.parse_args()
    lines = []
    for line in table([e for e in EXAMPLES if options.only in e.name]):
        print(line, flush=True)
        lines.append(line)
    if options.update:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        _, _, tail = rest.partition(END)
        PAGE.write_text(head + BEGIN + "\n".join(lines) + "\n" + END + tail, encoding="utf-8")
    return 0


def table(examples: list[Path]) -> Iterator[str]:
    """One row per example with a verified edit both ways, and the medians."""
    yield "| example | recipe | one compile, s | prepared | processor | cold | processor |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    found = []
    for example in examples:
        rows = [measured(example, prepared=prepared) for prepared in (True, False)]
        if any(row.recipe is None for row in rows):
            continue
        ratios = [ratio for row in rows for ratio in row.ratios]
        found.append(ratios)
        one = statistics.mean(row.compile.wall for row in rows)
        cells = " | ".join(f"{ratio:.1f}" for ratio in ratios)
        name = f"`{example.name}`" if rows[0].kept else f"`{example.name}` (nothing kept)"
        yield f"| {name} | `{rows[0].recipe}` | {one:.2f} | {cells} |"
    if found:
        wall, processor, cold, cold_processor = (statistics.median(c) for c in zip(*found, strict=True))
        within = sum(ratios[0] <= 3.0 for ratios in found)
        yield ""
        yield (
            f"Median, in compiles: prepared {wall:.1f} on the clock and {processor:.1f} of processor time, "
            f"cold {cold:.1f} and {cold_processor:.1f}. "
            f"Prepared, {within} of {len(found)} take at most three. {os.cpu_count()} cores."
        )


def measured(example: Path, *, prepared: bool) -> Row:
    """The whole way for a copy of an example, between two plain compiles of its device code.

    The copy lies in a directory of its own, so that nothing is found in the cache but what was made for it.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / example.name
        file.write_bytes(example.read_bytes())
        project = resolve_project(file, config=Config(backend="emulator"))
        profile_project(project, options=ProfileOptions(backend="emulator"))
        kept = prepared and prepare_project(project)
        toolchain = find_toolchain(project.config)
        _, before = spent(lambda: plain_compile(toolchain, file))
        result, whole = spent(lambda: optimize_project(project))
        _, after = spent(lambda: plain_compile(toolchain, file))
        one = Spent((before.wall + after.wall) / 2, (before.processor + after.processor) / 2)
        return Row(result, one, whole, kept)


def plain_compile(toolchain: Toolchain, file: Path) -> None:
    """The compiler alone, with nothing precompiled."""
    device = ("--offload-device-only", "--no-gpu-bundle-output", "-c", str(file), "-o", str(file) + ".co")
    subprocess.run(
        [*toolchain.compiler, "-x", "hip", "-std=c++17", "-O3", *DEBUG_FLAGS, *device],
        check=True,
        timeout=120,
    )
    Path(f"{file}.co").unlink()


def spent(job: Callable[[], T]) -> tuple[T, Spent]:
    """What a job gives, and what it takes."""
    started, before = time.perf_counter(), os.times()
    made = job()
    wall, after = time.perf_counter() - started, os.times()
    return made, Spent(wall, sum(after[:4]) - sum(before[:4]))


if __name__ == "__main__":
    sys.exit(main())
