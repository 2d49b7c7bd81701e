"""Several programs optimized one after another within a budget of time, first those that gain most.

Takes a request per program, gives each one's optimization or why there is none. What is verified is kept at once: a
run over night that is stopped loses no result.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.server.console.programs import ProgramResult

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.analysis.run import Run
    from hipscope.server.jobs.tasks import TaskRequest
    from hipscope.server.reports.schema.optimize import Optimization
    from hipscope.server.reports.schema.profile import Report

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_BUDGET = re.compile(r"(?:\d+(?:\.\d+)?[hms])+")
_NO_IMPROVEMENT = 1

Each = Callable[[ProgramResult["Optimization"]], None]


def read_budget(text: str) -> float:
    """Seconds of a budget such as `2h`, `90m` or `1h30m`. Raises UsageError."""
    from hipscope.analysis.errors import UsageError

    seconds = sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+(?:\.\d+)?)([hms])", text))
    if _BUDGET.fullmatch(text) is None or seconds <= 0:
        raise UsageError(f"{text!r} is no time", "budgets are such as 2h, 90m or 1h30m")
    return seconds


def programs_below(sources: Sequence[Path]) -> list[Path]:
    """The programs of these: of a folder without `hipscope.toml` each source in it that has a `main`."""
    from hipscope.analysis.build_files.source_files import PROGRAM_SUFFIXES, has_main
    from hipscope.analysis.config import CONFIG_FILE
    from hipscope.analysis.source.texts import SourceTexts

    texts = SourceTexts()
    found: list[Path] = []
    for source in sources:
        if source.is_file() or (source / CONFIG_FILE).is_file():
            found.append(source)
            continue
        files = sorted(p for p in source.rglob("*") if p.suffix in PROGRAM_SUFFIXES and p.is_file())
        found += [p for p in files if "__global__" in (text := texts.text(p) or "") and has_main(text)]
    return found


def optimize_programs(
    requests: Sequence[TaskRequest], seconds: float, run: Run, ended: threading.Event, each: Each
) -> list[ProgramResult[Optimization]]:
    """The outcome of each program, in the order in which they were taken; `each` gets it as soon as it is there.

    Raises Cancelled.
    """
    from hipscope.analysis.errors import Cancelled, HipscopeError, UsageError
    from hipscope.server.jobs import tasks

    until = time.monotonic() + seconds
    ranked: list[tuple[float, TaskRequest]] = []
    found: list[ProgramResult[Optimization]] = []

    def done(result: ProgramResult[Optimization]) -> None:
        found.append(result)
        each(result)

    for request in requests:
        run.say(f"profiling {request.target}")
        try:
            ranked.append((gain_at_stake(tasks.profile(request, _fresh(run))), request))
        except Cancelled:
            raise
        except HipscopeError as failure:
            done(ProgramResult(request.target, None, failure, failure.exit_code))
    ranked.sort(key=lambda one: -one[0])
    for _, request in ranked:
        left = until - time.monotonic()
        if left <= 1 or ended.is_set():
            why = UsageError("not begun: the budget was used up", "a larger --budget")
            done(ProgramResult(request.target, None, why, _NO_IMPROVEMENT))
            continue
        try:
            done(_optimized(replace(request, time_limit_s=left), run, ended))
        except Cancelled:
            raise
        except HipscopeError as failure:
            done(ProgramResult(request.target, None, failure, failure.exit_code))
    return found


def gain_at_stake(report: Report) -> float:
    """The part of the program's GPU time that its findings have at stake: of each kernel the worst one; on the longest
    path where that was recorded.
    """
    path = report.time.path if report.time is not None else None
    times = {k.name: k.time_ns or 0.0 for k in report.kernels}
    if path is not None:
        times |= {k.kernel: float(k.on_path_ns) for k in path.kernels}
    total = path.time_ns if path is not None else sum(times.values())
    worst = dict.fromkeys(times, 0.0)
    for kernel in report.kernels:
        shares = (f.share for f in report.findings if kernel.mangled in f.mangled_names)
        worst[kernel.name] = max(shares, default=0.0)
    return sum(times[name] * share for name, share in worst.items()) / total if total else 0.0


def _optimized(request: TaskRequest, run: Run, ended: threading.Event) -> ProgramResult[Optimization]:
    from hipscope.server.console.history_rows import lost_before
    from hipscope.server.jobs import tasks

    run.say(f"optimizing {request.target}")
    report = tasks.optimize(request, _fresh(run), ended, lost=lost_before(request.target))
    good = report.status in ("verified", "nothing_to_do")
    return ProgramResult(request.target, report, None, 0 if good else _NO_IMPROVEMENT)


def _fresh(run: Run) -> Run:
    """The run with texts of its own: the files of a program before may have been edited."""
    from hipscope.analysis.source.texts import SourceTexts

    return replace(run, texts=SourceTexts())


def draw_gains(results: Sequence[ProgramResult[Optimization]], console: Console) -> None:
    """A row for each program: its kernel, what that gains and what the program does."""
    from rich.table import Table
    from rich.text import Text

    from hipscope.analysis.source.kernel_definitions import base_name

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("program", "kernel", "kernel is", "program is", "outcome"):
        table.add_column(name, justify="right" if name.endswith(" is") else "left")
    for result in results:
        report = result.report
        gains = [report.speedup, report.gpu_speedup] if report is not None and report.edit is not None else []
        words = [f"{gain:.2f}x" if gain is not None else "" for gain in gains] or ["", ""]
        if report is None:
            outcome = result.failure.message if result.failure is not None else ""
        elif report.edit is not None:
            outcome = f"verified ({report.provenance})"
        else:
            outcome = report.message
        kernel = base_name(report.kernel or "") if report is not None else ""
        table.add_row(*map(Text, (str(result.source), kernel, *words, outcome)))
    console.print(table)
