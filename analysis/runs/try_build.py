"""Tries how a directory says that it is built: whether that builds, and whether the program then launches a kernel.

Takes proposals, gives for the first that does what it left; for the others why not, in the tools' own words. The build
is the one that a later profile finds in the cache.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.analysis.build_files.absent_libraries import what_to_install
from hipscope.analysis.build_files.proposal import BuildProposal
from hipscope.analysis.config import Config
from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import BuildFailed, Cancelled, UsageError
from hipscope.analysis.profilers.base import ProfilerRun
from hipscope.analysis.profilers.emulator import run_emulated, what_it_lacks
from hipscope.analysis.profilers.missing_files import speaks_of_arguments
from hipscope.analysis.run import Run
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed, Stop, signal_name
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import Project, command_project, resolve_project
from hipscope.emulator.raw import LaunchesRead, read_faults

_LOOK_SECONDS = 0.2
_SHOWN = 160


@dataclass(frozen=True)
class Tried:
    """What came of a proposal. `built`: it builds. `launched`: its program began a kernel. Else `reason` says why not.

    `asks`: the program speaks of arguments that it wants.
    """

    proposal: BuildProposal
    built: bool
    launched: bool
    reason: str = ""
    asks: bool = False


def try_builds(
    directory: Path,
    proposals: Sequence[BuildProposal],
    config: Config,
    toolchain: Toolchain,
    run: Run,
    *,
    seconds: float,
    arguments: Sequence[str] = (),
) -> list[Tried]:
    """Try the proposals in turn until a program of one launches a kernel, within `seconds`; that one comes last.

    Raises `Cancelled` when the run is.
    """
    tried: list[Tried] = []
    for proposal in proposals:
        run.check()
        run.say(f"trying {proposal.build or proposal.origin}")
        tried.append(_try(directory, proposal, config, toolchain, run, seconds, arguments))
        if tried[-1].launched:
            break
        if tried[-1].built and (other := _from_its_own_folder(proposal)) is not None:
            again = _try(directory, other, config, toolchain, run, seconds, arguments)
            if again.launched:
                return [*tried, again]
    return tried


def project_of(
    directory: Path, proposal: BuildProposal, config: Config, arguments: Sequence[str] = ()
) -> Project:
    """The project that these settings would make of a directory. Raises UsageError."""
    if proposal.build is None:
        return resolve_project(directory / proposal.origin, arguments, config)
    changes = {
        "build": proposal.build,
        "run": proposal.run,
        "source_dirs": [".", *proposal.source_dirs] if proposal.source_dirs else ["."],
    }
    return command_project(directory, config.model_copy(update=changes), None, arguments)


def _try(
    directory: Path,
    proposal: BuildProposal,
    config: Config,
    toolchain: Toolchain,
    run: Run,
    seconds: float,
    arguments: Sequence[str],
) -> Tried:
    try:
        project = project_of(directory, proposal, config, arguments)
        built = build_program(project, toolchain, run)
    except (BuildFailed, UsageError) as failure:
        reasons = [failure.message, what_to_install(failure.message)]
        return Tried(proposal, False, False, "; ".join(filter(None, reasons)))
    given = project.config.run
    changed = replace(proposal, run=given) if given is not None else proposal
    if (absent := _not_made(built, given)) is not None:
        return Tried(changed, False, False, absent)
    ended = _first_launch(project, built, toolchain, run, seconds)
    if ended is None:
        return Tried(changed, True, True)
    return Tried(
        changed, True, False, _why_not(*ended, seconds), speaks_of_arguments(ended[0].text) is not None
    )


def _not_made(built: BuiltProgram, command: str | None) -> str | None:
    """Why there is nothing to start though the build left with 0, as scripts do that go on after a mistake."""
    words = [word for word in (command or "").split(" ") if "=" not in word]  # variables stand in front
    program = words[0] if words else ""
    if "/" not in program or (built.directory / program).exists():
        return None
    errors = [line.strip() for line in built.output.splitlines() if "error" in line]
    return f"it leaves no {program}" + (f": {errors[0][:_SHOWN]}" if errors else "")


def _first_launch(
    project: Project, built: BuiltProgram, toolchain: Toolchain, run: Run, seconds: float
) -> tuple[Completed, str | None] | None:
    """Run the program until its first launch: None, or how it ended before that, and which files it lacks."""
    config = project.config.model_copy(update={"timeout_s": seconds})
    stop = Stop(run.cancel)
    with work_directory("try") as directory:
        raw = directory / "raw"
        raw.mkdir()
        job = ProfilerRun(
            built=built,
            toolchain=toolchain,
            config=config,
            device=find_device(config.device).name,
            time_budget_s=config.emulator.time_budget_s,
            directory=directory,
            run=run.until(stop).quietly(),
            timed=False,
        )
        with LaunchesRead(raw) as launches:
            ended = threading.Event()
            watch = threading.Thread(target=_watch, args=(launches, ended, stop), daemon=True)
            watch.start()
            try:
                completed = run_emulated(job, raw, None)
            except Cancelled:
                run.check()
                return None
            finally:
                ended.set()
                watch.join()
        if launches.rest() or read_faults(raw):
            return None
        return completed, what_it_lacks(job, completed.text)


def _watch(launches: LaunchesRead, ended: threading.Event, stop: Stop) -> None:
    """Stop the program as soon as it has launched a kernel."""
    while not ended.wait(_LOOK_SECONDS):
        if launches.read:
            stop.set()
            return


def _why_not(completed: Completed, lacks: str | None, seconds: float) -> str:
    """Why a program that builds is not taken: how it ended, what it lacks or asks for, else what it printed."""
    if completed.timed_out:
        how = f"it launched no kernel within {seconds:g} s"
    elif completed.returncode < 0:
        how = f"it was ended by {signal_name(-completed.returncode)}"
    else:
        how = f"it left with exit code {completed.returncode} and launched no kernel"
    lines = [line.strip() for line in completed.text.splitlines() if line.strip()]
    asking = speaks_of_arguments(completed.text)
    printed = [f"it printed: {line[:_SHOWN]}" for line in ([asking] if asking else lines[-1:])]
    return "; ".join([how, *([lacks] if lacks and not asking else []), *printed])


def _from_its_own_folder(proposal: BuildProposal) -> BuildProposal | None:
    """All that CMake builds, started where the program lies: it may read files that the build puts beside it."""
    if proposal.run is None or not re.fullmatch(r"[\w./+-]+/[\w.+-]+", proposal.run):
        return None
    folder, _, name = proposal.run.rpartition("/")
    if folder in ("", "."):
        return None
    build = re.sub(r"(cmake --build build) --target \S+", r"\1", proposal.build or "")
    return replace(proposal, build=build, run=f"cd {folder} && ./{name}")
