"""The whole way from a project to its Profile: find the compiler, build, run under a profiler, read, tidy up.

Takes a `Project` and options, gives a `ProfileSession`. Captures are kept below the user's cache directory
(`captures/<project>/`), the newest few per project, so that a report can be drawn again without a new run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.analysis.ingest import read_capture
from hipscope.analysis.profile import Profile
from hipscope.analysis.profilers import ProfilerRun, choose_profiler
from hipscope.analysis.run import Run
from hipscope.analysis.source.kernel_definitions import definition_in
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.cache_size import limit_cache_sometimes
from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import Project

_KEPT_CAPTURES = 4
_IN_USE_SECONDS = 600.0  # a capture this young may still be read by another process


@dataclass(frozen=True)
class ProfileOptions:
    """What to do differently from the project's settings; None leaves what they say.

    `capture_dispatches` asks the emulator to record the
    dispatches of the kernels it names (mangled; empty: of all) for replay. `confined` builds and runs without network
    and without any file but the project's: for an unreviewed rewrite. `clock_percent`: of
    the modelled time, what the emulator's events report; it shows what of its output is a time. `timed`:
    without, launches are executed and listed, and nothing says how long they take. `waves`: with the timeline of
    single waves in the capture, which viewers show and nothing here reads. `poison`: the seed of what LDS, scratch and
    registers hold before each launch, and whether the other value in every bit of that; None: what is there. `order`:
    the seed of another order of waves and workgroups, of launches that are not timed.
    """

    device: str | None = None
    backend: str | None = None
    time_budget_s: float | None = None
    capture_dispatches: tuple[str, ...] | None = None
    confined: bool = False
    clock_percent: int | None = None
    timed: bool = True
    waves: bool = True
    poison: tuple[int, bool] | None = None
    order: int | None = None


@dataclass(frozen=True)
class ProfileSession:
    """One profiled run with everything that a next step needs.

    `run_dir` holds the capture in rocprofv3's layout, `capture_dir` the recorded dispatches when they were asked for,
    `prepared_dir` what was made of them before. `seconds` is what building and running took; 0 where that was before.
    """

    profile: Profile
    built: BuiltProgram
    toolchain: Toolchain
    run_dir: Path
    capture_dir: Path | None
    prepared_dir: Path | None = None
    seconds: float = 0.0


def profile_project(
    project: Project, run: Run | None = None, *, options: ProfileOptions | None = None
) -> ProfileSession:
    """Build and profile a project.

    Raises `MissingTool`, `BuildFailed`, `ProgramFailed` or `UsageError`, and `Cancelled` when the run is cancelled.
    Whatever the failure, no process and no half-written capture stays behind.
    """
    begun = time.monotonic()
    run, options = run or Run(), options or ProfileOptions()
    config = project.config
    run.say("finding the compiler")
    choice = choose_profiler(options.backend or config.backend, config.wanted_arch, environment=config.env)
    profiler = choice.profiler
    if choice.arch is not None and config.wanted_arch is None:  # the GPU's own, whatever device is modelled
        config = config.model_copy(update={"arch": choice.arch})
        project = replace(project, config=config)
    toolchain = find_toolchain(config)
    run.check()
    run.say("compiling")
    built = build_program(project, toolchain, run, confined=options.confined)
    run.check()
    run.say(f"running on {profiler.title}")
    limit_cache_sometimes(cache_directory(), config.cache_max_bytes)
    with _new_capture(project) as directory:
        job = ProfilerRun(
            built=built,
            toolchain=toolchain,
            config=config,
            device=options.device or config.device,
            time_budget_s=options.time_budget_s or config.emulator.time_budget_s,
            directory=directory,
            capture_kernels=options.capture_dispatches,
            confined=options.confined,
            clock_percent=options.clock_percent,
            timed=options.timed,
            poison=options.poison,
            order=options.order,
            waves=options.waves,
            run=run,
        )
        capture_dir = profiler.record(job)
        run.check()
        run.say("reading the profile")
        recorded = read_capture(directory, run.texts).model_copy(update={"source_note": choice.note})
        profile = placed(recorded, built.narrowed(project), run.texts)
    seconds = time.monotonic() - begun
    return ProfileSession(profile, built, toolchain, directory, capture_dir, seconds=seconds)


def program_of(session: ProfileSession, project: Project, run: Run) -> tuple[Project, Run]:
    """The project and the run with the files of the program that was built, and no others that lie around it."""
    narrowed = session.built.narrowed(project)
    return narrowed, run.of(lambda: narrowed.sources)


def placed(profile: Profile, project: Project, texts: SourceTexts) -> Profile:
    """The profile, with kernels that the capture gives no place for at their definition in the project."""
    kernels = []
    for kernel in profile.kernels:
        place = None if kernel.file else definition_in(texts, project.sources, kernel.name)
        if place is not None:
            kernel = kernel.model_copy(update={"file": place[0], "line": place[1]})
        kernels.append(kernel)
    return profile.model_copy(update={"kernels": tuple(kernels)})


@contextlib.contextmanager
def _new_capture(project: Project) -> Iterator[Path]:
    """A fresh directory for one capture; removed again when the capture fails. Older ones are pruned."""
    subject = project.main_source or project.directory
    key = hashlib.sha256(os.fsencode(subject)).hexdigest()[:16]
    parent = cache_directory() / "captures" / f"{subject.stem}-{key}"
    parent.mkdir(parents=True, exist_ok=True)
    _prune(parent)
    directory = parent / f"{time.time_ns():020d}-{os.getpid()}"  # sorts by age
    directory.mkdir()
    try:
        yield directory
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _prune(parent: Path) -> None:
    """Keep the newest captures of a project."""
    captures = sorted((d for d in parent.iterdir() if d.is_dir()), key=lambda d: d.name, reverse=True)
    for old in captures[_KEPT_CAPTURES - 1 :]:
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > _IN_USE_SECONDS:
                shutil.rmtree(old)
