"""`hipscope emulate`: runs any program that is linked against HIP on the emulator and leaves the files of rocprofv3.

Takes a job and a command line, gives the program's exit code; `notes` names requested data that is missing.
The program has our standard streams.
"""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.config import Config
from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import CannotWrite, MissingTool, UsageError
from hipscope.analysis.profilers.base import KERNEL_TIME, shown
from hipscope.analysis.runs.rocprof_options import Job
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import cache_directory, work_directory
from hipscope.analysis.system.process import Completed, ProcessStreams, run_process, signal_name
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.devices import device_info, write_device_config
from hipscope.emulator.layout import ProgramInfo, Selection, replaced_files, write_rocprofv3
from hipscope.emulator.processes import join_processes
from hipscope.emulator.raw import LaunchesRead, RawDispatch, read_faults, read_loss, read_run
from hipscope.emulator.results_json import truncated
from hipscope.emulator.runner import EmulatorOptions, NativePartsMissing, emulator_environment
from hipscope.emulator.symbolize import demangle

_TIMED_LAUNCHES = (
    100  # of each kernel and launch shape, at least; and as many again that differ (native/hip/sampling.hpp)
)
_TIMED_OUT = 124


@dataclass(frozen=True)
class Emulated:
    """How a job ended. `interrupted`: Ctrl-C or a signal stopped it."""

    exit_code: int
    interrupted: bool
    notes: tuple[str, ...]


def emulate(job: Job, argv: Sequence[str], config: Config, interrupt: threading.Event) -> Emulated:
    """Run `argv` on the emulator and write what `job` asks for; of what ran until `interrupt` is set, if it is.

    Raises `UsageError` for an unknown device or a folder that cannot be made, `MissingTool` when the program or a tool
    is not there.
    """
    name = find_device(job.device or config.device).name
    device = device_info(name)
    out = Path(job.directory) / job.folder
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the output directory {out}: {error.strerror}") from error
    if not os.access(out, os.W_OK | os.X_OK):
        raise UsageError(
            f"cannot write into the output directory {out.absolute()}", "name another one with -d"
        )
    cache = cache_directory() / "disassembly"
    cache.mkdir(parents=True, exist_ok=True)
    with work_directory("emulate") as folder, _no_garbage():
        raw = folder / "raw"
        raw.mkdir()
        toolchain = find_toolchain(config)
        options = EmulatorOptions(
            out=raw,
            objdump=toolchain.objdump,
            compiler=toolchain.compiler,
            device_config=write_device_config(name, folder / "device.txt"),
            cache=cache,
            threads=config.emulator.threads,
            time_budget_s=job.timeout_s,
            time_limit_s=KERNEL_TIME * job.timeout_s,
            libraries=toolchain.emulated_libraries,
            profile_launches=max((_TIMED_LAUNCHES, *(job.iterations or ()))),
        )
        given = {**os.environ, **config.env}
        try:
            variables = emulator_environment(options, given)
        except NativePartsMissing as missing:
            raise MissingTool(str(missing), "run make, or install a wheel of hipscope") from missing
        with LaunchesRead(raw) as ended:
            done = run_process(
                argv,
                timeout=job.timeout_s,
                env={**given, **variables},
                given=ProcessStreams(attached_until=interrupt),
            )
        join_processes(raw)
        if reason := read_loss(raw):
            raise CannotWrite(reason)
        launches = ended.rest()
        notes = [*job.notes, *_missing(job, launches)]
        faults = [f"{demangle(f.kernel)}: {f.message}" for f in read_faults(raw)]
        notes += faults
        if (run := read_run(raw)) is not None:
            notes += [*run.warnings, *([run.partial] if run.partial else [])]
        notes += _estimated(launches)
        stopped = _stopped(done, job)
        if stopped:
            notes.append(f"{stopped}; {_recorded(launches)}")
        if launches:
            write_rocprofv3(
                raw,
                out,
                device=device,
                program=ProgramInfo(
                    list(argv), None if stopped else done.returncode, shown(done), SourceTexts().shown
                ),
                stopped=stopped,
                tool="hipscope emulate",
                selection=_selection(job, launches),
                launches=launches,
            )
        elif not stopped and (faults or done.returncode >= 0):
            what = "no kernel came to its end" if faults else "the program started no kernel"
            notes.append(f"{what}; nothing was written")
        if not stopped and done.returncode < 0:
            early = "" if launches or faults else " before it started a kernel"
            notes.append(f"the program was ended by {signal_name(-done.returncode)}{early}")
    return Emulated(
        _TIMED_OUT if done.timed_out else done.returncode, done.interrupted, tuple(dict.fromkeys(notes))
    )


def replaced_by(job: Job) -> list[Path]:
    """The files that are there and that a job would write anew."""
    return replaced_files(Path(job.directory) / job.folder, job.file)


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """What is made of a launch lives to the end, and looking through it all for garbage takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _stopped(done: Completed, job: Job) -> str | None:
    if done.interrupted:
        return "the program was interrupted"
    return f"the program was stopped after {job.timeout_s:g} s (--timeout)" if done.timed_out else None


def _estimated(launches: Sequence[RawDispatch]) -> list[str]:
    untimed = sum(d.start_ns is None for d in launches)
    if not untimed or untimed == len(launches):
        return []
    told = (
        f"{untimed} of {len(launches)} launches were not timed one by one; they take the time of launches of the same"
        " kernel and grid, scaled by the instructions that they executed"
    )
    return [told]


def _recorded(launches: Sequence[RawDispatch]) -> str:
    if not launches:
        return "no kernel had ended by then, nothing was written"
    return f"what was written is of the launches that had ended by then ({len(launches)})"


def _selection(job: Job, launches: Sequence[RawDispatch]) -> Selection:
    matching = _matching(job)
    turn: dict[str, int] = defaultdict(int)
    turn_of = {}
    for d in launches:
        turn[d.kernel] += 1
        turn_of[d.id] = turn[d.kernel]

    def counted(d: RawDispatch) -> bool:
        return (
            bool(job.counters) and matching(d) and (job.iterations is None or turn_of[d.id] in job.iterations)
        )

    def traced(d: RawDispatch) -> bool:
        return job.thread_trace and matching(d) and turn_of[d.id] in (job.iterations or {1})

    return Selection(
        prefix=job.file or f"{platform.node()}/{launches[0].process}",
        kernel_trace=job.kernel_trace,
        stats=job.stats,
        counters=job.counters,
        counted=counted,
        traced=traced,
        csv="csv" in job.formats,
        json="json" in job.formats,
        name=_shown_name(job),
    )


def _shown_name(job: Job) -> Callable[[str], str]:
    if job.mangled:
        return lambda kernel: kernel + ".kd"
    if job.truncated:
        return lambda kernel: truncated(demangle(kernel))
    return demangle


def _matching(job: Job) -> Callable[[RawDispatch], bool]:
    def matches(d: RawDispatch) -> bool:
        name = demangle(d.kernel)
        if job.include is not None and not re.search(job.include, name):
            return False
        return job.exclude is None or not re.search(job.exclude, name)

    return matches


def _missing(job: Job, launches: Sequence[RawDispatch]) -> list[str]:
    profiled = [d for d in launches if d.counters]
    if not job.counters or not profiled:
        return []
    absent = [name for name in job.counters if not any(name in d.counters for d in profiled)]
    return [f"not modelled, and left out: {', '.join(absent)}"] if absent else []
