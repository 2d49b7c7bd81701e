"""Builds a project and runs it on the emulator under the sanitizers.

Takes a `Project`, gives the reports with their source positions. Nothing is profiled, and no GPU is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import ProgramFailed, UsageError
from hipscope.analysis.profilers.base import ProfilerRun, program_failed, shown
from hipscope.analysis.profilers.emulator import run_emulated, what_it_lacks
from hipscope.analysis.run import Run
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed, signal_name
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.raw import RawFault, read_faults
from hipscope.emulator.sanitize import SanitizerRun, read_sanitizer_run
from hipscope.emulator.symbolize import Position, demangle, symbolizer_of

# Without unaligned accesses the compiler takes no wider instruction than the C++ type's alignment allows, so that an
# address which does not suit its instruction shows a pointer that broke the promise of its type. Private arrays that
# the compiler moves to LDS do not keep their alignment there: they stay where they are.
ALIGNED_ACCESSES = (
    "-Xclang",
    "-target-feature",
    "-Xclang",
    "-unaligned-access-mode",
    "-mllvm",
    "-disable-promote-alloca-to-lds",
)


# Their memory models are the same (LLVM AMDGPUUsage); that of gfx90a fences with other instructions.
_TARGETS = ("gfx942", "gfx950")


@dataclass(frozen=True)
class KernelFault:
    """Something that stopped a dispatch and is no sanitizer's report: a trap, an unknown instruction.

    `refused`: the launch did not begin, and HIP returned an error.
    """

    kernel: str
    message: str
    position: Position | None
    refused: bool = False


@dataclass(frozen=True)
class CheckResult:
    """What a checked run found. `failure` says how the program itself ended when it did not end well."""

    argv: tuple[str, ...]
    exit_code: int | None
    output: str
    failure: str | None
    run: SanitizerRun
    faults: tuple[KernelFault, ...]


def check_project(project: Project, run: Run | None = None, *, checks: str = "all") -> CheckResult:
    """Build and run `project` under `checks` ("all", or names with commas).

    Raises `MissingTool`, `BuildFailed`, `UsageError`, `Cancelled`, or `ProgramFailed` when no kernel was launched.
    """
    run, config = run or Run(), project.config
    if config.arch not in _TARGETS:
        raise UsageError(f"the sanitizers know how {' and '.join(_TARGETS)} order memory, not {config.arch}")
    run.say("finding the compiler")
    toolchain = find_toolchain(config)
    run.say("compiling")
    built = build_program(project, toolchain, run, device_flags=ALIGNED_ACCESSES)
    if project.build_kind == "single" and checks == "all":
        checks = "all,exact-alignment"
    run.say("running under the sanitizers")
    with work_directory("check") as directory:
        raw = directory / "raw"
        raw.mkdir()
        prepared = ProfilerRun(
            built=built,
            toolchain=toolchain,
            config=config,
            device=find_device(config.device).name,
            time_budget_s=config.emulator.time_budget_s,
            directory=directory,
            run=run,
        )
        completed = run_emulated(prepared, raw, None, sanitize=checks)
        run.say("reading the reports")

        def code_object(digest: str) -> Path:
            return raw / "code_objects" / f"{digest}.co"

        found = read_sanitizer_run(raw, code_object)
        if found is None or found.dispatches == 0:
            raise _nothing_checked(completed, prepared)
        return CheckResult(
            argv=built.argv,
            exit_code=None if completed.timed_out else completed.returncode,
            output=shown(completed),
            failure=_failure(completed, config.timeout_s),
            run=found,
            faults=tuple(_fault(f, code_object) for f in read_faults(raw)),
        )


def _nothing_checked(completed: Completed, job: ProfilerRun) -> ProgramFailed:
    lacks = what_it_lacks(job, completed.text)
    failed = program_failed(completed, job.config.timeout_s, lambda: lacks)
    if completed.returncode == 0 and not completed.timed_out:
        failed.hint = "; ".join(filter(None, (lacks, "hipscope checks GPU kernels; look at its arguments")))
    return failed


def _failure(completed: Completed, limit_s: float) -> str | None:
    if completed.timed_out:
        return f"the program did not end within {limit_s:g} s (timeout_s)"
    if completed.returncode < 0:
        return f"the program was ended by {signal_name(-completed.returncode)}"
    return f"the program left with exit code {completed.returncode}" if completed.returncode else None


def _fault(raw: RawFault, code_object: Callable[[str], Path]) -> KernelFault:
    position = None
    if raw.address is not None and raw.code_object:
        chain = symbolizer_of(code_object(raw.code_object)).positions(raw.address)
        position = chain[-1] if chain else None
    return KernelFault(demangle(raw.kernel), raw.message, position, raw.kind == "launch")
