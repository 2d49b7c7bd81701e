"""What rewrites bring on the examples, and how long "optimize" takes: the table of benchmarks/notes/rewrites.md.

For each example with a finding, by recipe and by a language model whose answer is a stored kernel
(tests/formulas/propose/llm/answers, sent over a loopback server): the recipe that won, the metric that had to move
before and after, the modelled speed-up, and the time to the verified edit over one compile of the example's device
code. `--update` writes the table. The program is profiled once before, as an editor has done when a rewrite is asked
for.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.rewrite_speed import plain_compile
from hipscope.analysis.config import Config, LlmConfig
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.base import Objective
from hipscope.formulas.detect.registry import find_formula
from hipscope.formulas.optimize.loop import OptimizeOptions, OptimizeResult, optimize_project

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "notes" / "rewrites.md"
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.hip") if "hipscope: expect" in p.read_text())
BEGIN, END = "<!-- begin: rewrites -->\n", "<!-- end: rewrites -->\n"


def main() -> int:
    """Measure, print, and on request write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--update", action="store_true", help="write the table into benchmarks/notes/rewrites.md"
    )
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
    """Two rows per example, by recipe and by a model's answer, and the medians of the times."""
    yield "| example | rewriter | metric | before | after | speed-up | time |"
    yield "|---|---|---|--:|--:|--:|--:|"
    totals: dict[str, list[float]] = {}
    for example in examples:
        for rewriter in ("recipes", "llm"):
            result, ratio = measured(example, rewriter)
            totals.setdefault(rewriter, []).append(ratio)
            yield f"| `{example.name}` | {what_moved(result)} | {ratio:.1f} |"
    medians = {rewriter: statistics.median(found) for rewriter, found in totals.items()}
    yield (
        f"\nMedian time: by recipe {medians['recipes']:.1f} compiles of the device code, by an answer of a model "
        f"{medians['llm']:.1f}.\n"
    )


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
    objective = next((o for o in formula.objectives if _better(o, before, after)), formula.objectives[0])
    was, now = before.get(objective.metric), after.get(objective.metric)
    shown = " | ".join("none" if value is None else f"{value:.3g}" for value in (was, now))
    by = "a model's answer" if won.recipe == "llm" else f"`{won.recipe}`"
    return f"{by} | {objective.metric} | {shown} | {result.speedup:.2f}x"


def _better(objective: Objective, before: Mapping[str, float], after: Mapping[str, float]) -> bool:
    """The metric moved by 3 % at least, as the gate asks."""
    was, now = before.get(objective.metric), after.get(objective.metric, 0.0)
    if was is None or was == now:
        return False
    return now <= 0.97 * was if objective.direction == "down" else was <= 0.97 * now


def measured(example: Path, rewriter: str) -> tuple[OptimizeResult, float]:
    """The result for a copy of an example, and its time in compiles of the device code."""
    with tempfile.TemporaryDirectory() as folder, model_answers(example, Path(folder)) as llm:
        file = Path(folder) / example.name
        file.write_bytes(example.read_bytes())
        project = resolve_project(file, config=Config(backend="emulator", llm=llm))
        profile_project(project, options=ProfileOptions(backend="emulator"))
        options = OptimizeOptions(rewriter=rewriter, yes_send=True)
        begun = time.perf_counter()
        result = optimize_project(project, options=options)
        whole = time.perf_counter() - begun
        started = time.perf_counter()
        plain_compile(find_toolchain(project.config), file)
        return result, whole / (time.perf_counter() - started)


@contextlib.contextmanager
def model_answers(example: Path, folder: Path) -> Iterator[LlmConfig]:
    """Settings of a loopback model that sends a stored answer; its consent stays in `folder`."""
    spec = importlib.util.spec_from_file_location(
        "loopback", ROOT / "tests" / "formulas" / "propose" / "llm" / "loopback.py"
    )
    assert spec is not None
    assert spec.loader is not None
    loopback = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loopback
    spec.loader.exec_module(loopback)
    server = loopback.Loopback(loopback.Reply(loopback.said(*loopback.answer_for(example.stem))))
    before = dict(os.environ)
    os.environ.update({"XDG_STATE_HOME": str(folder / "state"), "BENCHMARK_KEY": "none"})
    try:
        yield LlmConfig(
            model="openai/test-model",
            api_base=server.url,
            key_env="BENCHMARK_KEY",
            candidates=1,
            max_attempts=1,
        )
    finally:
        server.close()
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    sys.exit(main())
