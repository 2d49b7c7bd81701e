"""Two versions of a program, run in turn on a GPU: what each kernel's launches take together in each run.

Takes two projects, gives pairs of runs in the order in which they were made, so that drift of the clock hits both. An
emulator's times do not vary: there is nothing to repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hipscope.analysis.errors import ProgramFailed
from hipscope.analysis.profilers import MeasuringProfiler, ProfilerRun, choose_profiler
from hipscope.analysis.run import Run
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import Project

RunTimes = Mapping[str, float]
"""Nanoseconds of all launches of one run by the profiler's name of the kernel; none of one with a damaged stamp."""


@dataclass(frozen=True)
class _Side:
    """A version that was built, and what runs it."""

    profiler: MeasuringProfiler
    job: ProfilerRun


def run_in_turn(
    base: tuple[Project, Run], head: tuple[Project, Run], pairs: int
) -> list[tuple[RunTimes, RunTimes]] | None:
    """The times of each pair of runs; None where the programs are not measured. The base's run is told of progress.

    Raises `BuildFailed`, `MissingTool`, `ProgramFailed` with the number of the pair, and `Cancelled`.
    """
    run = base[1]
    with work_directory("pairs") as directory:
        sides = []
        for project, own in (base, head):
            config = project.config
            choice = choose_profiler(config.backend, config.wanted_arch, environment=config.env)
            if not isinstance(choice.profiler, MeasuringProfiler):
                return None
            if choice.arch is not None and config.wanted_arch is None:
                config = config.model_copy(update={"arch": choice.arch})
                project = replace(project, config=config)
            toolchain = find_toolchain(config)
            job = ProfilerRun(
                built=build_program(project, toolchain, own),
                toolchain=toolchain,
                config=config,
                device=config.device,
                time_budget_s=config.emulator.time_budget_s,
                directory=directory,
                run=own,
            )
            sides.append(_Side(choice.profiler, job))
        found = []
        for number in range(1, pairs + 1):
            run.say(f"timing on {sides[0].profiler.title}, pair {number} of {pairs}", (number - 1) / pairs)
            try:
                before, after = map(_times, sides)
            except ProgramFailed as failure:
                raise ProgramFailed(
                    f"pair {number} of {pairs}: {failure.message}", output=failure.output
                ) from failure
            found.append((before, after))
        return found


def _times(side: _Side) -> RunTimes:
    times: dict[str, float] = {}
    damaged = set()
    for launch in side.profiler.time_launches(side.job).launches:
        if not launch.timed or launch.start_ns is None or launch.end_ns is None:
            damaged.add(launch.kernel)
            continue
        times[launch.kernel] = times.get(launch.kernel, 0.0) + launch.end_ns - launch.start_ns
    return {name: time for name, time in times.items() if name not in damaged}
