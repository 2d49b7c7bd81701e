"""What can be said of a program as soon as its device code compiles: nothing runs, no GPU is asked for.

Takes a target or a `Project`, gives what each kernel needs and notes at their places. The compile is that of a profile:
whichever asks first, the other finds it in the cache.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.build_files.source_files import has_main
from hipscope.analysis.config import Config
from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import Cancelled, HipscopeError, MissingTool, UsageError
from hipscope.analysis.inspection.kernel_resources import KernelNeeds, cu_limits, kernel_needs
from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.inspection.resource_notes import resource_notes
from hipscope.analysis.inspection.wave_size import MAY_MATTER, WAVE, wave_size_notes
from hipscope.analysis.run import Run
from hipscope.analysis.semantics.units import NotReadable
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.build import build_program, compile_device, source_command
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.libclang import units_for
from hipscope.analysis.toolchain.project import Project, file_settings, read_source

_READING_S = 20.0  # of one source: what takes longer is left out, and said so
_KERNEL = re.compile(rb"\b__global__\b")


@dataclass(frozen=True)
class Inspection:
    """The kernels and notes of a program in the order of its source; `left_out` is what could not be asked, and why."""

    device: str
    arch: str
    kernels: tuple[KernelNeeds, ...]
    notes: tuple[SourceNote, ...]
    left_out: str | None = None


def lone_source(target: Path, config: Config, texts: SourceTexts) -> Project | None:
    """A file of kernels as it is, compiled without a program around it; None for what has a `main` or a build command.

    Raises UsageError for a file that is no text.
    """
    if config.build is not None or not target.is_file() or has_main(read_source(target.absolute(), texts)):
        return None
    file = target.absolute()
    return Project(file.parent, file, (file,), file_settings(file, config), (), "single")


def inspect_project(project: Project, run: Run) -> Inspection:
    """Compile the device code of a project and look at it.

    Raises `MissingTool`, `BuildFailed`, `Cancelled`, or `UsageError` for a program without a kernel.
    """
    config = project.config
    run.say("finding the compiler")
    toolchain, device = find_toolchain(config), find_device(config.device)
    run.say("compiling")
    kernels: dict[str, KernelNeeds] = {}
    notes: list[SourceNote] = []
    left_out = None
    for source in _sources(project, toolchain, run):
        run.check()
        rows = kernel_needs(compile_device(project, toolchain, source, run), device, run.texts)
        kernels.update({row.mangled: row for row in rows})
        if any(row.wave_size == WAVE for row in rows):
            try:
                notes += _of_wave_size(project, toolchain, source, run)
            except Cancelled:
                raise
            except HipscopeError as error:
                left_out = f"notes about the size of a wave: {error.message}"
    if not kernels:
        raise UsageError(f"{project.own_source or project.directory}: there is no kernel in it")
    ordered = sorted(kernels.values(), key=lambda row: (row.file or "", row.line or 0, row.name))
    every = dict.fromkeys([*resource_notes(ordered, cu_limits(device)), *notes])
    ours = sorted(every, key=lambda note: (note.file, note.line, note.column, note.code))
    return Inspection(device.name, toolchain.arch, tuple(ordered), tuple(ours), left_out)


def wave_notes(project: Project, run: Run) -> list[SourceNote]:
    """The notes about the size of a wave alone, also of text that does not compile: masks of 32 bits do not.

    None where libclang is missing or cannot read the text. Raises Cancelled, MissingTool.
    """
    toolchain = find_toolchain(project.config)
    if project.build_kind == "single" and project.main_source is not None:
        sources = [project.main_source]
    else:
        sources = list(_sources(project, toolchain, run))
    notes: dict[SourceNote, None] = {}
    for source in sources:
        with contextlib.suppress(NotReadable, MissingTool):
            notes |= dict.fromkeys(_of_wave_size(project, toolchain, source, run))
    return list(notes)


def _sources(project: Project, toolchain: Toolchain, run: Run) -> Iterator[Path]:
    """The files that are compiled and have, or include, a kernel of the program."""
    if project.build_kind == "single":
        assert project.main_source is not None
        yield project.main_source
        return
    units = build_program(project, toolchain, run).units
    for unit, included in sorted(units.items()):
        if any(_KERNEL.search(run.texts.read(file) or b"") for file in (unit, *included)):
            yield unit


def _of_wave_size(project: Project, toolchain: Toolchain, source: Path, run: Run) -> list[SourceNote]:
    """The notes of one file that is compiled and what it includes; none without a word that matters in any of it."""
    texts = [run.texts.read(path) or b"" for path in {source, *project.sources}]
    if not any(map(MAY_MATTER.search, texts)):
        return []
    command = source_command(project, toolchain, source, run)
    meaning = units_for(toolchain.clang).outline(run.texts, command, _READING_S)
    return wave_size_notes(meaning, run.texts)
