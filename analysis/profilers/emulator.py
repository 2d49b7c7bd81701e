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
from hipscope.analysis.errors import CannotWrite, MissingTool, ProgramFailed, UsageError
from hipscope.analysis.profilers.base import (
    KERNEL_TIME,
    Profiler,
    ProfilerRun,
    program_failed,
    shown,
)
from hipscope.analysis.profilers.missing_files import Lacking, what_is_missing
from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.system.process import Completed, run_process
from hipscope.analysis.system.sandbox import Box, paths_in, plain_environment, private_copy, run_confined
from hipscope.emulator.devices import device_info, write_device_config
from hipscope.emulator.layout import ProgramInfo, Selection, computed_by_host, write_rocprofv3
from hipscope.emulator.processes import join_processes
from hipscope.emulator.raw import RawDispatch, read_dispatches, read_faults, read_library_calls, read_loss
from hipscope.emulator.runner import EmulatorOptions, NativePartsMissing, emulator_environment

RECORDED_DISPATCHES = "dispatches"
_EFFECTS = (
    "effects*",
    "copies*",
)  # what launches leave and the host is given, to be compared with a rewrite's run
_EFFECTS_BYTES = 1 << 30
_OF_RESOURCES = 8  # a recording is in memory some times: unpacked, as the original left it, as a rewrite did
_LEAST_RECORDING, _MOST_RECORDING = 512 << 20, 4 << 30  # bytes
UNTIMED_NS = 1e5  # a launch that is not timed, for the program's events and in its profile


class EmulatorProfiler(Profiler):
    """Needs no GPU. Times are modelled."""

    title: ClassVar[str] = "the emulator"

    def record(self, job: ProfilerRun) -> Path | None:
        """Run once with everything recorded."""
        device = find_device(job.device)
        if device.arch != job.config.arch:
            raise UsageError(
                f"the emulated device {device.name} is {device.arch}; the program is compiled for {job.config.arch}",
                f'set arch = "{device.arch}", or leave `arch` out',
            )
        raw = job.directory / "raw"
        raw.mkdir()
        recorded = job.directory / RECORDED_DISPATCHES if job.capture_kernels is not None else None
        completed = run_emulated(job, raw, recorded)
        if next(read_dispatches(raw), None) is None and not read_faults(raw):
            library_calls = read_library_calls(raw)
            if library_calls and completed.returncode == 0:
                raise ProgramFailed(
                    f"the program launched no kernel of its own; {computed_by_host(library_calls)}",
                    "hipscope profiles the kernels of a program, not those of libraries",
                    output=shown(completed),
                    exit_code_of_program=0,
                )
            raise program_failed(completed, job.config.timeout_s, lambda: what_it_lacks(job, completed.text))
        job.run.say("writing the capture")
        write_rocprofv3(
            raw,
            job.directory,
            device=device_info(find_device(job.device).name),
            program=ProgramInfo(
                command=job.built.argv,
                exit_code=None if completed.timed_out else completed.returncode,
                output=shown(completed),
                source_line=job.run.texts.shown,
            ),
            stopped=f"the program was stopped after {job.config.timeout_s:g} s (timeout_s)"
            if completed.timed_out
            else None,
            selection=_selection(job),
        )
        for path in (path for pattern in _EFFECTS for path in raw.glob(pattern)):
            path.rename(job.directory / path.name)
        shutil.rmtree(raw)
        return recorded


def _selection(job: ProfilerRun) -> Selection:
    """What is written of the launches. Those that are not timed are listed all the same.

    Of a run with a rewrite, launches, times and output are compared, so it is written without its instructions, unless
    its launches are recorded: then a search goes on with it.
    """
    untimed_ns = None if job.timed else UNTIMED_NS
    if not job.confined or job.capture_kernels is not None:
        return Selection(waves=job.waves, untimed_ns=untimed_ns)
    return Selection(counted=_none, traced=_none, untimed_ns=untimed_ns)


def _none(_launch: RawDispatch) -> bool:
    return False


def what_it_lacks(job: ProfilerRun, output: str) -> Lacking | None:
    """What the program lacks that ended before a kernel: files and commands that are not there."""
    texts = (job.run.texts.read(path) or b"" for path in sorted(job.built.units))
    return what_is_missing(job.built.argv, job.built.directory, texts, output)


def run_emulated(
    job: ProfilerRun, raw: Path | None, recorded: Path | None, sanitize: str | None = None
) -> Completed:
    """Run the program on the emulator; `raw` and `recorded` None record nothing of that kind.

    Raises `CannotWrite` when what was to be recorded could not be written.
    """
    config = job.config
    cache = cache_directory() / "disassembly"
    cache.mkdir(parents=True, exist_ok=True)
    device_config = job.directory / "device.txt"
    write_device_config(find_device(job.device).name, device_config)
    # Of a run by another clock only what it prints is looked at.
    leaves = recorded is not None or (job.confined and job.clock_percent is None)
    options = EmulatorOptions(
        out=raw,
        objdump=job.toolchain.objdump,
        compiler=job.toolchain.compiler,
        device_config=device_config,
        cache=cache,
        threads=config.emulator.threads,
        time_budget_s=job.time_budget_s,
        time_limit_s=job.launch_limit_s or KERNEL_TIME * config.timeout_s,
        profile_launches=config.emulator.profile_launches if job.timed else 0,
        capture=recorded,
        capture_kernels=job.capture_kernels or (),
        capture_per_shape=config.accordo.max_dispatches_per_shape if recorded else None,
        capture_variants=config.accordo.max_variants if recorded else None,
        capture_max_bytes=(config.accordo.max_bytes or largest_recording(recorded)) if recorded else None,
        capture_all_bytes=free_disk(recorded) // 2 if recorded else None,
        effects_bytes=_EFFECTS_BYTES if leaves else None,
        sanitize=sanitize,
        clock_percent=job.clock_percent,
        seed=job.order,
        poison=job.poison[0] if job.poison else None,
        poison_inverted=bool(job.poison and job.poison[1]),
        keep_going=config.emulator.keep_going,
        libraries=job.toolchain.emulated_libraries,
    )
    given = {**os.environ, **config.env, **job.built.env}
    try:
        variables = emulator_environment(options, given)
    except NativePartsMissing as error:
        raise MissingTool(str(error), "run make, or install a wheel of hipscope") from error
    if job.confined:
        completed = _run_confined(job, variables, [d for d in (raw, recorded, cache) if d is not None])
    else:
        completed = run_process(
            job.built.argv,
            timeout=config.timeout_s,
            cwd=job.built.directory,
            env={**given, **variables},
            cancel=job.run.cancel,
        )
    if raw is not None:
        join_processes(raw)
        if reason := read_loss(raw):
            raise CannotWrite(reason)
    return completed


def largest_recording(directory: Path) -> int:
    """Bytes of device memory that one launch recorded in there may hold, where the project does not say it."""
    room = min(_available_memory(), free_disk(directory)) // _OF_RESOURCES
    return max(_LEAST_RECORDING, min(_MOST_RECORDING, room))


def free_disk(directory: Path) -> int:
    """Bytes that its disk has left, or that of the nearest folder above it that exists."""
    nearest = next(folder for folder in (directory, *directory.absolute().parents) if folder.exists())
    return shutil.disk_usage(nearest).free


def _available_memory() -> int:
    """Bytes of memory that processes can have without swapping (MemAvailable of proc(5)); 0 where nothing says it."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)


def _run_confined(job: ProfilerRun, variables: Mapping[str, str], writable: Sequence[Path]) -> Completed:
    """The program with no network, a private home, and a copy of its directory to write to."""
    with private_copy(job.built.tree) as shown:
        words = [*job.built.argv, *variables.values(), *job.config.env.values()]
        read = (
            job.built.tree,
            *(p if p.is_dir() else p.parent for p in paths_in(words)),
            *job.config.optimize.read_paths,
        )
        for directory in writable:
            directory.mkdir(parents=True, exist_ok=True)
        return run_confined(
            job.built.argv,
            Box(read=read, write=tuple(writable), shown=shown),
            timeout=job.config.timeout_s,
            cwd=job.built.directory,
            env=plain_environment({**job.config.env, **job.built.env, **variables}),
            cancel=job.run.cancel,
        )
