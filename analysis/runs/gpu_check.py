"""Whether measured profiles work on this machine's GPU: each step of one, tried on six small kernels of our own.

Takes settings, gives a record of every step (command, exit code, files, columns, what is wrong and its fix) and the
kernels' times and counters beside those of the emulator. Nothing of it names the user, the machine or a variable.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shlex
import shutil
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from hipscope.analysis.config import Config
from hipscope.analysis.errors import BuildFailed, HipscopeError, MissingTool
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.ingest.shapes import columns_of
from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.profilers.base import ProfilerRun
from hipscope.analysis.profilers.rocm import RocmProfiler
from hipscope.analysis.profilers.rocm_tool import RocmTool, find_rocm_tool
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.amd_gpu import find_amd_gpus
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed, run_process
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import Project, resolve_project
from hipscope.emulator.devices import device_table

Status = Literal["ok", "failed", "skipped"]
Emulate = Callable[[Project, Run], Profile]

PROGRAM = Path(__file__).with_name("gpu_check.hip")
_STEP_SECONDS = 60.0
_MOST_FILES, _MOST_COLUMNS, _LONGEST = 60, 60, 1200
# What a line of a tool might give away: a variable with its value.
_VARIABLE = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]*=\S+")
_TRACE = "thread trace"
_DECODER_FIX = "install rocprof-trace-decoder and set ROCPROF_ATT_LIBRARY_PATH to its folder"


@dataclass(frozen=True)
class RecordedFile:
    """A file that a step left. `columns` are those of a table, the views of a database, the keys of JSON."""

    path: str
    bytes: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class GpuStep:
    """One step. `said` is what it found out, or what is wrong with the fix in brackets."""

    name: str
    status: Status
    said: str
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    files: tuple[RecordedFile, ...] = ()


@dataclass(frozen=True)
class ComparedCounter:
    """A counter of one kernel, on the GPU and on the emulator."""

    name: str
    measured: float
    modelled: float


@dataclass(frozen=True)
class ComparedKernel:
    """A kernel's median launch in nanoseconds on the GPU and on the emulator; None: there is none."""

    kernel: str
    measured_ns: float | None
    modelled_ns: float | None
    counters: tuple[ComparedCounter, ...]


@dataclass(frozen=True)
class GpuCheck:
    """All of it. `modelled` is the device that the emulator modelled."""

    gpus: tuple[str, ...]
    tool: str
    modelled: str
    seconds: float
    steps: tuple[GpuStep, ...]
    kernels: tuple[ComparedKernel, ...]

    @property
    def works(self) -> bool:
        """Nothing failed; what this machine lacks the parts for was left out."""
        return all(step.status != "failed" for step in self.steps)


def check_gpu(run: Run, root: Path = Path("/"), emulate: Emulate | None = None) -> GpuCheck:
    """Try all steps, each at most a minute. `root` is where `/dev` and `/sys` are.

    Raises `MissingTool` where there is no AMD GPU that this user can use, or no rocprofv3.
    """
    begun = time.monotonic()
    archs = _gpus(root)
    run.say("rocprofv3")
    tool = find_rocm_tool()
    with work_directory("gpu-check") as folder:
        shutil.copy(PROGRAM, folder)
        config = Config.model_validate(
            {"arch": archs[0], "timeout_s": _STEP_SECONDS, "backend": "rocm", "device": _model_of(archs[0])}
        )
        project = resolve_project(folder / PROGRAM.name, config=config)
        version = tool.version()
        check = _Check(tool, project, run)
        check.steps += [_driver_step(archs), _tool_step(tool, version)]
        measured = check.profile()
        modelled = check.emulated(emulate or _emulated)
    kernels = _compared(measured, modelled) if measured and modelled else ()
    seconds = round(time.monotonic() - begun, 1)
    return GpuCheck(archs, version, config.device, seconds, tuple(check.steps), kernels)


def _gpus(root: Path) -> tuple[str, ...]:
    gpus = find_amd_gpus(root, os.environ)
    if gpus is None:
        raise MissingTool(
            "no AMD GPU: the kernel driver of this machine lists none",
            "run hipscope doctor --gpu where the GPU is; hipscope doctor lists what works here",
        )
    if gpus.obstacle is not None:
        raise MissingTool(f"the AMD GPU cannot be used: {gpus.obstacle}", gpus.remedy)
    return gpus.archs


def _model_of(arch: str) -> str:
    """The device of the emulator that has this architecture, else the one that it models best."""
    table = device_table()
    default = Config().device
    return next((name for name in (default, *table) if table.get(name, {}).get("arch") == arch), default)


def _driver_step(archs: Sequence[str]) -> GpuStep:
    return GpuStep("driver", "ok", f"{len(archs)} GPU{'s' if len(archs) != 1 else ''}: {', '.join(archs)}")


def _tool_step(tool: RocmTool, version: str) -> GpuStep:
    can = [f"{len(tool.offers)} options", "rocpd" if tool.rocpd else "csv and json, no rocpd"]
    can += ["replays kernels"] if tool.replays_kernels else []
    return GpuStep("rocprofv3", "ok", f"{version}: {', '.join(can)}", f"{tool.path} --help", 0)


def _emulated(project: Project, run: Run) -> Profile:
    return profile_project(project, run, options=ProfileOptions(backend="emulator")).profile


@dataclass
class _Check:
    """The steps so far."""

    tool: RocmTool
    project: Project
    run: Run
    steps: list[GpuStep] = field(default_factory=list)

    def profile(self) -> Profile | None:
        """Compile, run alone, profile, read; None where one of these gives nothing."""
        built = self._compiled()
        if built is None or not self._runs_alone(built):
            return None
        begun = time.monotonic()
        config = self.project.config
        directory = self.project.root / "capture"
        directory.mkdir()
        job = ProfilerRun(
            built=built, toolchain=find_toolchain(config), config=config, device=config.device,
            time_budget_s=config.emulator.time_budget_s, directory=directory, run=self.run,
        )  # fmt: skip
        try:
            RocmProfiler(everything=True).record(job)
            profile = read_capture(directory)
        except HipscopeError as error:
            self._failed("kernel trace", str(error), seconds=time.monotonic() - begun)
            return None
        self._recorded(job, profile)
        return profile

    def emulated(self, emulate: Emulate) -> Profile | None:
        """The same program on the emulator, of its own device."""
        self.run.say("the same on the emulator")
        device = self.project.config.device
        own = Config.model_validate({"device": device, "timeout_s": _STEP_SECONDS})
        begun = time.monotonic()
        try:
            profile = emulate(replace(self.project, config=own), self.run.quietly())
        except HipscopeError as error:
            self._failed("emulator", str(error), seconds=time.monotonic() - begun)
            return None
        said = f"{len(profile.kernels)} kernels on {device} ({own.arch})"
        self._add("emulator", "ok", said, seconds=time.monotonic() - begun)
        return profile

    def _compiled(self) -> BuiltProgram | None:
        self.run.say("compiling six kernels")
        begun = time.monotonic()
        try:
            built = build_program(self.project, find_toolchain(self.project.config), self.run.quietly())
        except HipscopeError as error:
            words = str(error)
            if isinstance(error, BuildFailed):
                words = f"{error.message}: {_first_line(error.output)}"
            self._failed("compile", words, seconds=time.monotonic() - begun)
            return None
        self._add("compile", "ok", f"for {self.project.config.arch}", seconds=time.monotonic() - begun)
        return built

    def _runs_alone(self, built: BuiltProgram) -> bool:
        self.run.say("running them")
        done = run_process(
            built.argv,
            timeout=_STEP_SECONDS,
            cwd=built.directory,
            env={**os.environ, **built.env},
            cancel=self.run.cancel,
        )
        wrong = [line for line in done.text.splitlines() if line.strip() and not line.endswith(" right")]
        said = "all results are right" if done.ok else _ending(done) + (f": {wrong[0]}" if wrong else "")
        self._add(
            "program",
            "ok" if done.ok else "failed",
            said,
            _command(built.argv),
            done.returncode,
            done.seconds,
        )
        return done.ok

    def _recorded(self, job: ProfilerRun, profile: Profile) -> None:
        """A step for each run of rocprofv3, for what it cannot do here, and for reading the capture."""
        rows = json.loads((job.directory / "hipscope.json").read_text(encoding="utf-8"))["runs"]
        traced = any(row["gave"] for row in rows if row["step"].startswith(_TRACE))
        for row in rows:
            again = traced and row["step"].startswith(_TRACE)  # another CU was tried, and gave waves
            status: Status = "ok" if row["gave"] else "skipped" if again else "failed"
            said = row["why"] if row["gave"] else row["said"]
            files = tuple(_files_of(row["command"], job.directory))
            command = _command(row["command"], job.directory, job.built.argv[0])
            self._add(row["step"], status, said, command, row["exit_code"], row["seconds"], files)
        if "--att" in self.tool.offers and self.tool.decoder is None:
            self._add(_TRACE, "skipped", f"the decoder of thread traces is not installed ({_DECODER_FIX})")
        elif not self.tool.traces_threads:
            self._add(_TRACE, "skipped", "this rocprofv3 has none (it came with ROCm 7.0)")
        if self.tool.sampling(stochastic=False) is None:
            self._add("samples", "skipped", "this rocprofv3 has none (they came with ROCm 6.4)")
        unread = [f"{c.path}: {c.why}" for c in profile.captures if not c.read and c.format]
        named = sorted({base_name(kernel.name) for kernel in profile.kernels})
        missing = [name for name in _own_kernels() if name not in named]
        words = [f"{len(named)} kernels"]
        words += [f"missing: {', '.join(missing)}"] if missing else []
        words += unread
        if profile.partial:
            words.append(profile.partial)
        self._add("reading", "failed" if missing or unread else "ok", "; ".join(words))

    def _failed(self, name: str, words: str, *, seconds: float) -> None:
        self._add(name, "failed", words, seconds=seconds)

    def _add(
        self,
        name: str,
        status: Status,
        said: str,
        command: str = "",
        exit_code: int | None = None,
        seconds: float = 0.0,
        files: tuple[RecordedFile, ...] = (),
    ) -> None:
        step = GpuStep(
            name, status, _anonymous(said), _anonymous(command), exit_code, round(seconds, 2), files
        )
        self.steps.append(step)


def _own_kernels() -> tuple[str, ...]:
    return tuple(re.findall(r"__global__ void (\w+)", PROGRAM.read_text(encoding="utf-8")))


def _compared(measured: Profile, modelled: Profile) -> tuple[ComparedKernel, ...]:
    sides = [{base_name(k.name): k for k in profile.kernels} for profile in (measured, modelled)]
    return tuple(_compare(name, *(side.get(name) for side in sides)) for name in _own_kernels())


def _compare(name: str, gpu: Kernel | None, emulator: Kernel | None) -> ComparedKernel:
    both: Mapping[str, tuple[float, float]] = {}
    if gpu is not None and emulator is not None:
        both = {
            counter: (value, emulator.counters[counter])
            for counter, value in sorted(gpu.counters.items())
            if counter in emulator.counters
        }
    counters = tuple(ComparedCounter(counter, *values) for counter, values in both.items())
    return ComparedKernel(name, _median(gpu), _median(emulator), counters)


def _median(kernel: Kernel | None) -> float | None:
    times = [launch.time_ns for launch in kernel.dispatches if launch.time_ns] if kernel is not None else []
    return float(statistics.median(times)) if times else None


def _files_of(command: Sequence[str], run_dir: Path) -> Iterator[RecordedFile]:
    """What a run left in the folder that its command names, with the shape of each file and none of its values."""
    folder = Path(command[list(command).index("-d") + 1])
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in paths[:_MOST_FILES]:
        with suppress(OSError):
            name = re.sub(r"out_\d+_", "out_%pid%_", str(path.relative_to(run_dir)))
            yield RecordedFile(name, path.stat().st_size, columns_of(path)[:_MOST_COLUMNS])


def _command(words: Sequence[str], run_dir: Path | None = None, program: str | None = None) -> str:
    """A command line with OUT for the folder of the capture and PROGRAM for the six kernels."""
    told = " ".join(shlex.quote(word) for word in words)
    told = told.replace(str(run_dir), "OUT") if run_dir else told
    return told.replace(program or words[0], "PROGRAM")


def _ending(done: Completed) -> str:
    if done.timed_out:
        return f"it did not end within {_STEP_SECONDS:g} s"
    return f"it ended with exit code {done.returncode}"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "it said nothing")


def _anonymous(words: str) -> str:
    """One line without the user's name and home, the machine's name, and values of variables."""
    words = " ".join(words.split())
    with suppress(RuntimeError):
        words = words.replace(str(Path.home()), "~") if str(Path.home()) != "/" else words
    for name, shown in ((_user(), "USER"), (socket.gethostname(), "HOST")):
        if len(name) > 2:
            words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", shown, words)
    words = _VARIABLE.sub(lambda found: found[0].split("=")[0] + "=...", words)
    return words if len(words) <= _LONGEST else words[:_LONGEST] + "..."


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
