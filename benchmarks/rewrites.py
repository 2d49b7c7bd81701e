"""What the recipes bring on the examples, and how long "optimize" takes: the table of docs/rewrites.md.

For each example with a finding: the recipe that won, the metric that had to move before and after, the modelled
speed-up, and the time to the verified edit over one compile of the example's device code, split by step. `--update`
writes the table. The program is profiled once before, as an editor has done when somebody asks for a rewrite.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.analysis.build import compile_device
from hipscope.analysis.config import Config
from hipscope.analysis.project import resolve_project
from hipscope.analysis.session import ProfileOptions, profile_project
from hipscope.analysis.toolchain import find_toolchain
from hipscope.formulas.optimize import OptimizeResult, optimize_project
from hipscope.formulas.registry import find_formula

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rewrites.md"
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.hip") if "hipscope: expect" in p.read_text())
BEGIN, END = "<!-- begin: rewrites -->\n", "<!-- end: rewrites -->\n"

# The start of a progress message, and the step that it begins.
_STEPS = {
    "replaying the kernel": "reference",
    "replay of": "reference",
    "compiling": "compile",
    "timing": "time",
    "candidate on": "prove",
    "running the program with": "program",
}


@dataclass
class Clock:
    """Seconds by step, from progress messages."""

    step: str = "profile"
    since: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, message: str, _share: float | None) -> None:
        """A progress callback."""
        started = next((step for start, step in _STEPS.items() if message.startswith(start)), None)
        if started is not None or self.step not in ("program",):
            self.stop(started or ("program" if self.step == "program" else self.step))

    def stop(self, following: str = "") -> None:
        """Account for the time until now."""
        now = time.perf_counter()
        self.seconds[self.step] = self.seconds.get(self.step, 0.0) + now - self.since
        self.step, self.since = following, now


def main() -> int:
    """Measure, print, and on request write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the table into docs/rewrites.md")
    parser.add_argument("--only", default="", help="examples whose name contains this")
    options = parser.parse_args()
    text = "\n".join(table([e for e in EXAMPLES if options.only in e.name])) + "\n"
    print(text, end="")
    if options.update:
        page = PAGE.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        PAGE.write_text(head + BEGIN + text + END + tail, encoding="utf-8")
    return 0


def table(examples: list[Path]) -> Iterator[str]:
    """One row per example, and the medians of the times."""
    steps = ("profile", "reference", "compile", "time", "prove", "program")
    yield f"| example | recipe | metric | before | after | speed-up | time | {' | '.join(steps)} |"
    yield "|---|---|---|--:|--:|--:|--:|" + "--:|" * len(steps)
    totals = []
    for example in examples:
        result, clock, compiled = measured(example)
        total = sum(clock.seconds.values()) / compiled
        totals.append(total)
        parts = " | ".join(f"{clock.seconds.get(step, 0.0) / compiled:.1f}" for step in steps)
        yield f"| `{example.name}` | {what_moved(result)} | {total:.1f} | {parts} |"
    yield f"\nMedian time: {statistics.median(totals):.1f} compiles of the device code.\n"


def what_moved(result: OptimizeResult) -> str:
    """The middle columns: recipe, metric, before, after, speed-up."""
    formula = find_formula(result.formula) if result.formula is not None else None
    won = next((a for a in reversed(result.attempts) if a.outcome == "accepted"), None)
    if (
        result.status != "verified"
        or formula is None
        or won is None
        or result.before is None
        or result.after is None
    ):
        advice = next((a.title for a in result.attempts if a.outcome == "advice"), result.message)
        return f"none: {advice} | | | | "
    before, after = result.before.metrics, result.after.metrics
    objective = next(
        (o for o in formula.objectives if before.get(o.metric) != after.get(o.metric)), formula.objectives[0]
    )
    was, now = before.get(objective.metric), after.get(objective.metric)
    shown = " | ".join("none" if value is None else f"{value:.3g}" for value in (was, now))
    return f"`{won.recipe}` | {objective.metric} | {shown} | {result.speedup:.2f}x"


def measured(example: Path) -> tuple[OptimizeResult, Clock, float]:
    """The result for a copy of an example, the time of each step, and the seconds of one device compile."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / example.name
        file.write_bytes(example.read_bytes())
        project = resolve_project(file, config=Config(backend="emulator"))
        profile_project(project, options=ProfileOptions(backend="emulator"))
        clock = Clock()
        result = optimize_project(project, progress=clock)
        clock.stop()
        # A comment more than before, so that nothing is found in the cache.
        text = file.read_bytes() + f"// {time.time_ns()}\n".encode()
        started = time.perf_counter()
        compile_device(project, find_toolchain(project.config), file, text)
        return result, clock, time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
