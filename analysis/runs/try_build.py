"""Tries how a directory says that it is built: whether that builds, and whether the program then launches a kernel.

Takes proposals, gives for the first that does what it left; for the others why not, in the tools' own words. The build
is the one that a later profile finds in the cache.
"""

from __future__ import annotations

import re
import shlex
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from hipscope.analysis.build_files.absent_libraries import what_to_install
from hipscope.analysis.build_files.proposal import BuildProposal
from hipscope.analysis.build_files.readme import said_arguments
from hipscope.analysis.build_files.size_options import gpu_switches, guessed_arguments, size_options
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
from hipscope.analysis.toolchain.run_command import arguments_in
from hipscope.emulator.raw import LaunchesRead, RawFault, read_faults
from hipscope.emulator.symbolize import demangle

_LOOK_SECONDS = 0.2
_MORE_SECONDS = 15.0  # that a program may go on after its first launch until it counts as a long one
_TO_WRITE_S = 10.0
_DEVICES = {"gfx90a": "mi250x", "gfx950": "mi355x"}
_OTHER_GPU = re.compile("|".join(_DEVICES))
_CUT_SHORT = re.compile(r"(\d+) of (\d+) (?:workgroups were done|had ended)")  # the emulator's words
_SHOWN = 160
_MANY_OBJECTS = 3
_MOST_EXAMPLES = 2
# What make says where the order of its goals counts and the Makefile does not say so.
_UNORDERED = re.compile(r"No such file|No rule to make|cannot find|unable to open")


@dataclass(frozen=True)
class Tried:
    """What came of a proposal. `built`: it builds. `launched`: its program began a kernel. Else `reason` says why not.

    `asks`: the program speaks of arguments that it wants; `examples` are some that it or a README starts it with, or
    switches for GPUs that its sources know. `idle`: it ended as it should and launched nothing. `lacks`: files.
    `failed`: it ended badly after a launch. `faults`: an access of its first launches ended them.
    """

    proposal: BuildProposal
    built: bool
    launched: bool
    reason: str = ""
    asks: bool = False
    long: LongRun | None = None
    examples: tuple[tuple[str, ...], ...] = ()
    idle: bool = False
    lacks: bool = False
    failed: bool = False
    faults: bool = False


@dataclass(frozen=True)
class LongRun:
    """A program that goes on after `seconds`: how many launches it has ended by then.

    `minutes`: what one launch of `kernel` takes at the pace that was seen; None where no workgroup of it ended.
    `options` are what the sources say of its arguments, `smaller` are arguments for less work, where that is known.
    """

    seconds: float
    launches: int
    kernel: str = ""
    minutes: float | None = None
    options: tuple[str, ...] = ()
    smaller: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """How far it was, as a clause."""
        if self.minutes is not None:
            hours = self.minutes / 60
            long = f"{hours:,.0f} hours" if hours >= 2 else f"{max(1, round(self.minutes))} min"
            return f"one launch of {self.kernel} takes about {long} here"
        if self.kernel:
            return f"no workgroup of {self.kernel} has ended after {self.seconds:.0f} s"
        done = "1 launch" if self.launches == 1 else f"{self.launches} launches"
        return f"it has ended {done} after {self.seconds:.0f} s and goes on"


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

    One whose first launches fault is only taken where no other one gets further. Raises `Cancelled` when the run is.
    """
    tried: list[Tried] = []
    faulty: Tried | None = None
    for proposal in proposals:
        if any(
            proposal.build is not None and proposal.build == one.proposal.build
            for one in tried
            if not one.built
        ):
            continue  # it would fail again, in what the failure left
        run.check()
        run.say(f"trying {proposal.build or proposal.origin}")
        parallel = _in_parallel(proposal)
        tried.append(_with_examples(directory, parallel, config, toolchain, run, seconds, arguments))
        if parallel != proposal and not tried[-1].built and _UNORDERED.search(tried[-1].reason):
            tried[-1] = _with_examples(directory, proposal, config, toolchain, run, seconds, arguments)
        if tried[-1].faults:
            faulty = faulty or tried[-1]
            continue
        if tried[-1].launched:
            return tried
        if tried[-1].built and (other := _from_its_own_folder(proposal)) is not None:
            again = _with_examples(directory, other, config, toolchain, run, seconds, arguments)
            if again.launched:
                return [*tried, again]
            if again.built and tried[-1].lacks and not again.lacks:
                tried[-1] = again
    return tried if faulty is None else [*(one for one in tried if one is not faulty), faulty]


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


def _with_examples(
    directory: Path,
    proposal: BuildProposal,
    config: Config,
    toolchain: Toolchain,
    run: Run,
    seconds: float,
    arguments: Sequence[str],
) -> Tried:
    """Try it; without arguments and where it launches nothing or ends badly, with those of examples or its sources."""
    first = _try(directory, proposal, config, toolchain, run, seconds, arguments)
    by_example = first.asks or first.launched
    where = "an example's, or guessed from its usage" if by_example else "what its sources call the GPU's"
    for given in () if arguments else first.examples[:_MOST_EXAMPLES]:
        again = _try(directory, proposal, config, toolchain, run, seconds, given)
        if again.launched and not again.failed:
            said = f"its arguments are {where}: {shlex.join(given)}"
            return replace(again, reason="; ".join(filter(None, [again.reason, said])))
    return first


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
    if isinstance(ended, RawFault):
        return Tried(changed, True, True, _of_fault(ended), faults=True)
    name = PurePath(proposal.program).name
    if isinstance(ended, Completed):  # after a launch
        said = () if ended.ok or arguments_in(given or "") else _examples(directory, name, ended.text)
        reason = "" if ended.ok else f"{_how(ended, seconds)}, after a launch"
        return Tried(changed, True, True, reason, examples=said, failed=not ended.ok)
    if isinstance(ended, LongRun):
        sizes = size_options(_texts(built.narrowed(project), run), arguments or arguments_in(given or ""))
        return Tried(changed, True, True, long=replace(ended, options=sizes.said, smaller=sizes.smaller))
    completed, lacks = ended
    asks = speaks_of_arguments(completed.text) is not None
    return Tried(
        changed,
        True,
        False,
        _why_not(completed, lacks, seconds),
        asks,
        examples=_examples(directory, name, completed.text)
        if asks
        else gpu_switches(_texts(built.narrowed(project), run)),
        idle=completed.ok and not (asks or lacks),
        lacks=lacks is not None,
    )


def _examples(directory: Path, program: str, printed: str) -> tuple[tuple[str, ...], ...]:
    """Arguments to try: those of examples, or small numbers where the usage wants amounts only."""
    said = said_arguments(directory, program, printed)
    return tuple(said) or tuple(filter(None, [guessed_arguments(printed)]))


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
) -> tuple[Completed, str | None] | LongRun | RawFault | Completed:
    """Run the program until its first launch, and a little longer to see whether it ends.

    How it ended when it does; else how far it came, the access that ended it, or how it ended before a launch, and
    which files it lacks.
    """
    started = time.monotonic()
    # A launch is cut short before the program is, and has to be written down in between.
    config = project.config.model_copy(update={"timeout_s": seconds + _TO_WRITE_S})
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
            launch_limit_s=seconds,
        )
        with LaunchesRead(raw) as launches:
            ended = threading.Event()
            watch = threading.Thread(target=_watch, args=(launches, ended, stop), daemon=True)
            watch.start()
            try:
                completed = run_emulated(job, raw, None)
            except Cancelled:
                run.check()
                return LongRun(time.monotonic() - started, launches.read)
            finally:
                ended.set()
                watch.join()
        for fault in read_faults(raw):
            if (cut := _CUT_SHORT.search(fault.message)) is not None:
                spent = time.monotonic() - started
                done, of_all = int(cut[1]), int(cut[2])
                minutes = spent / 60 / done * of_all if done else None
                return LongRun(spent, len(launches.rest()), _short(fault.kernel), minutes)
        if faults := read_faults(raw):
            return faults[0]
        if launches.rest():
            return completed
        lacks = what_it_lacks(job, completed.text)
        return completed, lacks.clause if lacks is not None else None


def _watch(launches: LaunchesRead, ended: threading.Event, stop: Stop) -> None:
    """Stop the program that goes on for a while after it has launched a kernel."""
    while not ended.wait(_LOOK_SECONDS):
        if launches.read:
            if not ended.wait(_MORE_SECONDS):
                stop.set()
            return


def _of_fault(fault: RawFault) -> str:
    """What a kernel does that ends its launch, and what profiles it all the same."""
    said = f"kernel {_short(fault.kernel)}: {fault.message.partition(', in workgroup')[0]}"
    left_out = (
        "; `--keep-going` of profile leaves such accesses out" if "out-of-bounds" in fault.message else ""
    )
    return f"its first launches stop: {said}{left_out}"


def _texts(project: Project, run: Run) -> list[str]:
    return [run.texts.text(path) or "" for path in project.sources]


def _short(kernel: str) -> str:
    """The name of a kernel without its type and its parameters."""
    return demangle(kernel).removeprefix("void ").partition("(")[0]


def _why_not(completed: Completed, lacks: str | None, seconds: float) -> str:
    """Why a program that builds is not taken: how it ended, what it lacks or asks for, else what it printed."""
    how = _how(completed, seconds)
    if not completed.timed_out and completed.returncode >= 0:
        how += " and launched no kernel"
    lines = [line.strip() for line in completed.text.splitlines() if line.strip()]
    asking = speaks_of_arguments(completed.text)
    printed = [f"it printed: {line[:_SHOWN]}" for line in ([asking] if asking else lines[-1:])]
    if (other := _OTHER_GPU.search(completed.text)) is not None:
        printed.append(
            f'it speaks of {other[0]}: `device = "{_DEVICES[other[0]]}"` in hipscope.toml models one'
        )
    said = [lacks] if lacks and not (asking and lacks.startswith("what it printed")) else []
    return "; ".join([how, *said, *printed])


def _how(completed: Completed, seconds: float) -> str:
    if completed.timed_out:
        return f"it launched no kernel within {seconds:g} s"
    if completed.returncode < 0:
        return f"it was ended by {signal_name(-completed.returncode)}"
    return f"it left with exit code {completed.returncode}"


def _in_parallel(proposal: BuildProposal) -> BuildProposal:
    """The same with make compiling several objects at once, where it has many."""
    if proposal.objects < _MANY_OBJECTS:
        return proposal
    return replace(proposal, build=re.sub(r"\bmake\b", "make -j$(nproc)", proposal.build or "", count=1))


def _from_its_own_folder(proposal: BuildProposal) -> BuildProposal | None:
    """All that CMake builds, started where the program lies: it may read files that the build puts beside it."""
    if proposal.run is None or not re.fullmatch(r"[\w./+-]+/[\w.+-]+", proposal.run):
        return None
    folder, _, name = proposal.run.rpartition("/")
    if folder in ("", "."):
        return None
    build = re.sub(r"(cmake --build build) --target \S+", r"\1", proposal.build or "")
    return replace(proposal, build=build, run=f"cd {folder} && ./{name}")
