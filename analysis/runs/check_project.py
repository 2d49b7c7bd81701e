"""Builds a project and runs it on the emulator under the sanitizers.

Takes a `Project`, gives the reports with their source positions. Nothing is profiled, and no GPU is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import ProgramFailed, UsageError
from hipscope.analysis.inspection.wave_order import order_is_kept
from hipscope.analysis.profilers.base import ProfilerRun, program_failed, shown
from hipscope.analysis.profilers.emulator import run_emulated, what_it_lacks
from hipscope.analysis.run import Run
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed, signal_name
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.raw import RawFault, read_faults
from hipscope.emulator.sanitize import SanitizerReport, SanitizerRun, read_sanitizer_run
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
    checks = _listed(checks, project)
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
        faults = tuple(_fault(f, code_object) for f in read_faults(raw))
        if found is None or found.dispatches == 0:
            raise _nothing_checked(completed, prepared, faults)
        found = with_source(found, run.texts.of(lambda: built.narrowed(project).sources))
        return CheckResult(
            argv=built.argv,
            exit_code=None if completed.timed_out else completed.returncode,
            output=shown(completed),
            failure=_failure(completed, config.timeout_s),
            run=found,
            faults=faults,
        )


def _listed(checks: str, project: Project) -> str:
    """The checks as the engine names them: with what it lists for this command only."""
    if "all" in checks.split(",") and project.build_kind == "single":
        checks += ",exact-alignment"
    return f"{checks},wave-order" if {"all", "races"} & set(checks.split(",")) else checks


def with_source(found: SanitizerRun, texts: SourceTexts) -> SanitizerRun:
    """The reports without exchanges in a wave whose order the source keeps, and one of each pair of lines."""
    kept: dict[object, SanitizerReport] = {}
    for report in found.reports:
        if report.defect != "wave-synchronous":
            kept[report] = report
        elif report.other is not None and not order_is_kept(report.other.chain, report.at.chain, texts):
            lines = frozenset(
                (p.position.file, p.position.line) for p in (report.at, report.other) if p.position
            )
            kept.setdefault((report.kernel, lines), report)
    shown = tuple(name for name in found.checks if name != "wave-order")
    return replace(found, reports=tuple(kept.values()), checks=shown)


def _nothing_checked(completed: Completed, job: ProfilerRun, faults: Sequence[KernelFault]) -> ProgramFailed:
    lacks = what_it_lacks(job, completed.text)
    failed = program_failed(completed, job.config.timeout_s, lambda: lacks)
    refused = [f"the launch of {f.kernel} was refused: {f.message}" for f in faults if f.refused]
    if refused and not completed.timed_out:
        failed.message = f"no kernel ran; {'; '.join(dict.fromkeys(refused))}"
        failed.hint = "HIP returned an error that hipGetLastError() gives behind the launch"
    elif completed.returncode == 0 and not completed.timed_out:
        look = "hipscope checks GPU kernels; look at its arguments"
        failed.hint = f"{lacks.clause}; {look}" if lacks is not None else look
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
