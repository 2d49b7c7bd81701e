"""What every profiler gets and does.

Takes a built program and settings, gives a filled capture directory. No profiler knows of projects or findings.
"""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hipscope.analysis.config import Config
from hipscope.analysis.errors import ProgramFailed
from hipscope.analysis.ingest.launches import Launch
from hipscope.analysis.profilers.missing_files import ASKS_FOR_ARGUMENTS, Lacking, speaks_of_arguments
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import Completed, signal_name
from hipscope.analysis.toolchain.build import BuiltProgram
from hipscope.analysis.toolchain.discovery import Toolchain

# Of the program's time; a kernel that still runs then is named, not killed with the program.
KERNEL_TIME = 0.9
_SHOWN_OUTPUT = 20_000
_NO_MEMORY = "the system does that when memory runs out; on the emulator device memory is the host's"


@dataclass(frozen=True)
class ProfilerRun:
    """One run to record. `directory` exists and is empty; `capture_kernels` None records no dispatches for replay.

    `confined`: the program has unreviewed code, so it gets no network and no files but its own.
    `clock_percent`: the part of the modelled time that events report. `timed`: without, the emulator
    executes launches and models no time. `waves`: with the timeline of single waves, for a viewer. `poison`: the
    seed of what LDS, scratch and registers hold before a launch, and whether the other value in every bit of that.
    `order`: the seed of another order of waves and workgroups, of launches that are not timed.
    `launch_limit_s`: after how many seconds of the program a launch is cut short; None: a share of its time.
    """

    built: BuiltProgram
    toolchain: Toolchain
    config: Config
    device: str
    time_budget_s: float
    directory: Path
    capture_kernels: tuple[str, ...] | None = None
    run: Run = field(default_factory=Run)
    confined: bool = False
    clock_percent: int | None = None
    timed: bool = True
    launch_limit_s: float | None = None
    waves: bool = True
    poison: tuple[int, bool] | None = None
    order: int | None = None


class Profiler(ABC):
    """A way to record a program."""

    title: ClassVar[str]

    @abstractmethod
    def record(self, job: ProfilerRun) -> Path | None:
        """Run the program and fill `job.directory`; give the directory of recorded dispatches, if asked for.

        Raises `ProgramFailed` when the program left nothing to look at, `MissingTool` when the profiler is missing.
        """


@dataclass(frozen=True)
class TimedRun:
    """One run of a program: its launches in order, and how it ended."""

    launches: tuple[Launch, ...]
    exit_code: int


class MeasuringProfiler(Profiler):
    """One that runs the program on a GPU: its times are measured, and differ from run to run."""

    @abstractmethod
    def time_launches(self, job: ProfilerRun) -> TimedRun:
        """Run the program once with nothing but time stamps. Nothing is left in `job.directory`.

        Raises `ProgramFailed` when the program or the tool failed, `MissingTool` when there is no tool.
        """


def program_failed(
    completed: Completed,
    limit_s: float,
    missing: Callable[[], Lacking | None] = lambda: None,
    *,
    no_kernel: bool = True,
) -> ProgramFailed:
    """What to say about a program that ended badly; its output goes along. `missing`: what it lacks.

    `no_kernel`: none of its kernels had ended.
    """
    if completed.timed_out:
        message = f"the program did not end within {limit_s:g} s"
        message += ", and no kernel had been launched and ended by then" if no_kernel else ""
        hint: str | None = "raise timeout_s in hipscope.toml, or give it a smaller input"
    elif completed.returncode < 0:
        message = f"the program was ended by {signal_name(-completed.returncode)}"
        hint = _NO_MEMORY if completed.returncode == -signal.SIGKILL else None
    elif completed.returncode:
        message, hint = f"the program left with exit code {completed.returncode}", None
    else:
        message, hint = "the program launched no kernel", "hipscope profiles GPU kernels; check its arguments"
    lacks = None
    if not completed.timed_out and completed.returncode != -signal.SIGKILL and (lacks := missing()):
        hint = lacks.clause + (f"; {hint}" if hint else "")
    return ProgramFailed(
        message,
        hint,
        output=shown(completed),
        exit_code_of_program=None if completed.timed_out else completed.returncode,
        lacks_files=lacks is not None and speaks_of_arguments(completed.text) is None,
        absent=lacks.files if lacks is not None else (),
        wants_arguments=lacks is not None and lacks.clause == ASKS_FOR_ARGUMENTS,
    )


def shown(completed: Completed) -> str:
    """The program's output, cut in the middle when it is long."""
    text = completed.text
    if len(text) <= _SHOWN_OUTPUT:
        return text
    half = _SHOWN_OUTPUT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
