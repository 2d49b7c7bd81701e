"""The emulator as a profiler: the program runs with our HIP runtime first in its library path.

Takes a built program, gives a capture in rocprofv3's layout. The program's exit code and output are part of the
profile: a program that fails its own check is still profiled.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import CannotWrite, MissingTool, UsageError
from hipscope.analysis.profilers.base import (
    KERNEL_TIME,
    Profiler,
    ProfilerRun,
    Progress,
    program_failed,
    shown,
)
from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.system.process import Completed, run_process
from hipscope.analysis.system.sandbox import Box, paths_in, plain_environment, private_copy, run_confined
from hipscope.emulator.devices import device_info, write_device_config
from hipscope.emulator.layout import ProgramInfo, Selection, write_rocprofv3
from hipscope.emulator.processes import join_processes
from hipscope.emulator.raw import read_dispatches, read_faults, read_loss
from hipscope.emulator.runner import EmulatorOptions, NativePartsMissing, emulator_environment

RECORDED_DISPATCHES = "dispatches"
_SOME_NS = 1e5  # a launch that is not timed, for the program's events and in its profile


class EmulatorProfiler(Profiler):
    """Needs no GPU. Times are modelled."""

    title: ClassVar[str] = "the emulator"

    def record(self, run: ProfilerRun, progress: Progress) -> Path | None:
        """Run once with everything recorded."""
        device = find_device(run.device)
        if device.arch != run.config.arch:
            raise UsageError(
                f"the emulated device {device.name} is {device.arch}; the program is compiled for {run.config.arch}",
                f'set arch = "{device.arch}", or leave `arch` out',
            )
        raw = run.directory / "raw"
        raw.mkdir()
        recorded = run.directory / RECORDED_DISPATCHES if run.capture_kernels is not None else None
        completed = run_emulated(run, raw, recorded)
        if next(read_dispatches(raw), None) is None and not read_faults(raw):
            raise program_failed(completed, run.config.timeout_s)
        progress("writing the capture", None)
        write_rocprofv3(
            raw,
            run.directory,
            device=device_info(find_device(run.device).name),
            program=ProgramInfo(
                command=run.built.argv,
                exit_code=None if completed.timed_out else completed.returncode,
                output=shown(completed),
            ),
            stopped=f"the program was stopped after {run.config.timeout_s:g} s (timeout_s)"
            if completed.timed_out
            else None,
            # What a rewrite does, no viewer opens. What is not timed is listed all the same.
            selection=Selection(waves=not run.confined, untimed_ns=None if run.timed else _SOME_NS),
        )
        shutil.rmtree(raw)
        return recorded


def run_emulated(
    run: ProfilerRun, raw: Path | None, recorded: Path | None, sanitize: str | None = None
) -> Completed:
    """Run the program on the emulator; `raw` and `recorded` None record nothing of that kind.

    Raises `CannotWrite` when what was to be recorded could not be written.
    """
    config = run.config
    cache = cache_directory() / "disassembly"
    cache.mkdir(parents=True, exist_ok=True)
    device_config = run.directory / "device.txt"
    write_device_config(find_device(run.device).name, device_config)
    options = EmulatorOptions(
        out=raw,
        objdump=run.toolchain.objdump,
        compiler=run.toolchain.compiler,
        device_config=device_config,
        cache=cache,
        threads=config.emulator.threads,
        time_budget_s=run.time_budget_s,
        time_limit_s=KERNEL_TIME * config.timeout_s,
        profile_launches=config.emulator.profile_launches if run.timed else 0,
        capture=recorded,
        capture_kernels=run.capture_kernels or (),
        capture_per_shape=config.accordo.max_dispatches_per_shape if recorded else None,
        capture_max_bytes=config.accordo.max_bytes if recorded else None,
        sanitize=sanitize,
        clock_percent=run.clock_percent,
    )
    try:
        variables = emulator_environment(options)
    except NativePartsMissing as error:
        raise MissingTool(str(error), "run make, or install a wheel of hipscope") from error
    if run.confined:
        completed = _run_confined(run, variables, [d for d in (raw, recorded, cache) if d is not None])
    else:
        completed = run_process(
            run.built.argv,
            timeout=config.timeout_s,
            cwd=run.built.directory,
            env={**os.environ, **config.env, **run.built.env, **variables},
            cancel=run.cancel,
        )
    if raw is not None:
        join_processes(raw)
        if reason := read_loss(raw):
            raise CannotWrite(reason)
    return completed


def _run_confined(run: ProfilerRun, variables: Mapping[str, str], writable: Sequence[Path]) -> Completed:
    """The program with no network, a private home, and a copy of its directory to write to."""
    with private_copy(run.built.directory) as shown:
        words = [*run.built.argv, *variables.values(), *run.config.env.values()]
        read = (
            run.built.directory,
            *(p if p.is_dir() else p.parent for p in paths_in(words)),
            *run.config.optimize.read_paths,
        )
        for directory in writable:
            directory.mkdir(parents=True, exist_ok=True)
        return run_confined(
            run.built.argv,
            Box(read=read, write=tuple(writable), shown=shown),
            timeout=run.config.timeout_s,
            cwd=run.built.directory,
            env=plain_environment({**run.config.env, **run.built.env, **variables}),
            cancel=run.cancel,
        )
