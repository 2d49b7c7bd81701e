"""How a directory says that its programs are built and run: its Makefile, its CMakeLists.txt, or its sources.

Takes a directory, gives `ProposedBuilds`: what `hipscope init` tries and writes, and what a source is built with that
does not build alone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.build_files.alone import scripts, sources_alone
from hipscope.analysis.build_files.cmake import CMAKE_FILE, configured_programs
from hipscope.analysis.build_files.makefiles import Command, MadeProgram, made_programs, makefiles
from hipscope.analysis.build_files.outside import read_outside
from hipscope.analysis.build_files.rocm_folder import CompilerCalls
from hipscope.analysis.build_files.source_files import (
    HEADER_SUFFIXES,
    PROGRAM_SUFFIXES,
    uses_cuda,
    uses_hip,
)
from hipscope.analysis.source.texts import SourceTexts

_ROCM = "/opt/rocm"


@dataclass(frozen=True)
class BuildProposal:
    """What to put into `hipscope.toml`. `origin` names what says so; `build` None: one source that needs no command.

    `program` is what it builds. `source_dirs` are what the build reads outside of the directory, relative to it.
    `notes` are sentences about what could not be told.
    """

    origin: str
    build: str | None
    run: str | None
    program: str = ""
    source_dirs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the file."""
        found = []
        if self.build is not None and self.run is not None:
            found += [f"build = {json.dumps(self.build)}", f"run = {json.dumps(self.run)}"]
        if self.source_dirs:
            found.append(f"source_dirs = {json.dumps(['.', *self.source_dirs])}")
        return tuple(found)


@dataclass(frozen=True)
class ProposedBuilds:
    """The programs of a directory, the likeliest first, and why tools refuse its build files."""

    found: tuple[BuildProposal, ...] = ()
    refused: tuple[str, ...] = ()


def propose_builds(
    directory: Path, calls: CompilerCalls | None, source: Path | None = None
) -> ProposedBuilds:
    """What the build files of a directory say, and its sources where these say nothing.

    `calls` is the compiler that CMake is to find. With `source`, only of programs that are compiled from it.
    """
    directory = directory.absolute()
    found: list[BuildProposal] = []
    refused: list[str] = []
    flags: tuple[str, ...] = ()
    names = makefiles(directory)
    if names and shutil.which("make") is None:
        refused.append(f"{names[0]} needs make, which is not installed")
    elif names:
        made = made_programs(directory)
        flags = made.flags
        of_source = [one for one in made.programs if source is None or source in one.sources]
        found += _of_make(directory, of_source, made.included)
        if made.refused is not None:
            refused.append(f"make refuses the {names[0]}: {made.refused}")
    if not found and (directory / CMAKE_FILE).is_file():
        programs, reason = configured_programs(directory, calls)
        wanted = [one for one in programs if source is None or source in one.sources]
        read = {path for one in programs for path in (*one.sources, *one.searched)}
        outside = read_outside(directory, [], read)
        for one in wanted:
            build, run = one.build(), one.run(directory)
            found.append(BuildProposal(CMAKE_FILE, build, run, one.target, outside))
        if reason is not None:
            refused.append(f"cmake refuses the {CMAKE_FILE}: {reason}")
    for script in [] if found else scripts(directory):
        outside = read_outside(directory, script.commands)
        run = _started(directory, script.program)
        found.append(BuildProposal(script.name, f"sh ./{script.name}", run, script.program.name, outside))
    if not found or all(one.origin.endswith(".sh") for one in found):
        found += _of_sources(directory, flags, source)
    return ProposedBuilds(tuple(found), tuple(refused))


def no_hip(directory: Path) -> str | None:
    """Why there is nothing to profile in a directory: none of its files uses HIP. None where one does."""
    texts = SourceTexts()
    cuda = False
    for path in _files(directory):
        text = texts.text(path) or ""
        if uses_hip(text):
            return None
        cuda = cuda or path.suffix == ".cu" or uses_cuda(text)
    if cuda:
        return "its sources are CUDA's: hipify-perl or hipify-clang makes HIP of them"
    return "no file here has a HIP kernel or a call of HIP"


def build_files(directory: Path) -> list[Path]:
    """What tells how the programs of a directory are built, as far as it lies in there or in the folder above."""
    names = [*makefiles(directory), CMAKE_FILE]
    beside = [path for place in (directory, directory.parent) for path in _included(place)]
    return [*(directory / name for name in names if (directory / name).is_file()), *beside]


def left_outside(directory: Path, calls: CompilerCalls) -> str | None:
    """What to say about a build that failed in a copy of this directory, where its files name others outside of it."""
    best = next((one for one in propose_builds(directory, calls).found if one.source_dirs), None)
    if best is None:
        return None
    *others, last = best.source_dirs
    named = f"{', '.join(others)} and {last}" if others else last
    line = f"source_dirs = {json.dumps(['.', *best.source_dirs])}"
    return f"the build runs in a copy of this directory, and it reads {named}; put this into hipscope.toml:\n    {line}"


def _included(directory: Path) -> Iterable[Path]:
    return sorted(
        p for p in directory.iterdir() if p.suffix in (".mk", ".inc", ".cmake", ".defs") and p.is_file()
    )


def _files(directory: Path) -> Iterable[Path]:
    """The sources below a directory, and those that they include from elsewhere are not among them."""
    endings = (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES, ".c")
    return (p for p in directory.rglob("*") if p.suffix in endings and p.is_file())


def _of_make(
    directory: Path, programs: Sequence[MadeProgram], included: Iterable[Path]
) -> list[BuildProposal]:
    read = [path for path in included if path.parent != directory]
    found = []
    for one in programs:
        commands = (*one.commands, *filter(None, [one.started]))
        outside = read_outside(directory, commands, read)
        name = os.path.relpath(one.path, directory)
        found.append(
            BuildProposal(one.makefile, one.build(), one.run(directory), name, outside, _notes(commands))
        )
    return found


def _notes(commands: Sequence[Command]) -> tuple[str, ...]:
    notes = []
    calls = [c for c in commands if c.compiler]
    foreign = sorted(
        {
            c.words[0]
            for c in calls
            if not c.words[0].rpartition("/")[2].startswith(("hipcc", "clang", "amdclang"))
        }
    )
    if foreign:
        notes.append(
            f"it calls {', '.join(foreign)}; only GPU code that hipcc or clang++ compiles is profiled"
        )
    by_path = [c for c in calls if "/" in c.words[0] and c.words[0].endswith(("hipcc", "clang++", "clang"))]
    if any(Path(_ROCM).exists() or not c.words[0].startswith(_ROCM) for c in by_path):
        notes.append(
            "it calls a compiler by its path; hipscope sees only those that are called by their name"
        )
    return tuple(notes)


def _of_sources(directory: Path, flags: tuple[str, ...], source: Path | None) -> list[BuildProposal]:
    """One program of all sources, compiled with the definitions that a refused Makefile has."""
    alone = sources_alone(directory, source)
    if alone is None:
        return []
    outside = read_outside(directory, [Command(("hipcc", *flags), directory)])
    if len(alone.sources) == 1 and not outside and not flags and "/" not in alone.sources[0]:
        return [BuildProposal(alone.sources[0], None, None, alone.sources[0])]
    program = Path(alone.sources[0]).stem
    origin = ", ".join(alone.sources[:4])
    return [BuildProposal(origin, alone.build(flags), f"./{program}", program, outside)]


def _started(directory: Path, program: Path) -> str:
    name = os.path.relpath(program, directory)
    return name if "/" in name else f"./{name}"
