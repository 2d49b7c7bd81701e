"""How a directory says that its programs are built and run: its Makefile, its CMakeLists.txt, or its sources.

Takes a directory, gives `ProposedBuilds`: what `hipscope init` tries and writes, and what a source is built with that
does not build alone.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from hipscope.analysis.build_files.alone import is_near, reaches_hip, scripts, sources_alone
from hipscope.analysis.build_files.cmake import CMAKE_FILE, begins_project, configured_programs
from hipscope.analysis.build_files.commands import Command
from hipscope.analysis.build_files.makefiles import MadeProgram, made_programs, makefiles
from hipscope.analysis.build_files.other_systems import OtherProgram, other_files, other_programs
from hipscope.analysis.build_files.outside import read_outside, top_of
from hipscope.analysis.build_files.readme import said_builds
from hipscope.analysis.build_files.rocm_folder import CompilerCalls
from hipscope.analysis.build_files.source_files import (
    HEADER_SUFFIXES,
    PROGRAM_SUFFIXES,
    has_main,
    uses_cuda,
    uses_hip,
)
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import SourceTexts

_ROCM = "/opt/rocm"
_DEEPEST = 3  # of the folders below a directory that says nothing itself
_MOST_FOLDERS = 4
_MOST_PROGRAMS = 16
_COUNTS = re.compile(r"-(?:D|I|L|l|std=|include|isystem)")  # options without which a source may not build


@dataclass(frozen=True)
class BuildProposal:
    """What to put into `hipscope.toml`. `origin` names what says so; `build` None: one source that needs no command.

    `program` is what it builds. `source_dirs` are what the build reads outside of the directory, relative to it.
    `notes` are sentences about what could not be told. `objects`: how many object files make compiles for it.
    `for_hosts`: none of its sources has GPU code or calls HIP.
    """

    origin: str
    build: str | None
    run: str | None
    program: str = ""
    source_dirs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    objects: int = 0
    for_hosts: bool = False

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
    directory: Path,
    calls: CompilerCalls | None,
    source: Path | None = None,
    *,
    below: bool = True,
    by_make: bool = True,
    cancel: threading.Event | None = None,
) -> ProposedBuilds:
    """What the build files of a directory say, and its sources where these say nothing.

    `calls` is the compiler that CMake is to find. With `source`, only of programs that are compiled from it.
    `below`: where a directory says nothing, its folders are asked. Without `by_make` its Makefiles are not: a project
    that CMake builds may keep an old one. Raises `Cancelled` once `cancel` is set.
    """
    directory = directory.absolute()
    found: list[BuildProposal] = []
    refused: list[str] = []
    flags: tuple[str, ...] = ()
    names = makefiles(directory) if by_make else []
    ready = sure = False
    if names and shutil.which("make") is None:
        refused.append(f"{names[0]} needs make, which is not installed")
    elif names:
        made = made_programs(directory) if calls is None else made_programs(directory, calls.arch)
        flags = made.flags
        of_source = _callers_first(
            [one for one in made.programs if source is None or source in one.sources], source
        )
        found += _of_make(directory, of_source, made.included)
        ready = any(one.for_gpus and not one.lacks for one in of_source)
        sure = any(one.for_gpus and not one.lacks and not one.guessed for one in of_source)
        if made.refused is not None:
            refused.append(
                f"make refuses the {names[0]}: {made.refused}{_of_generator(directory, made.refused)}"
            )
    if not ready and (directory / CMAKE_FILE).is_file():
        configured, reason = _of_cmake(directory, calls, source, cancel)
        ready = sure = any(for_gpus for _, for_gpus in configured)
        found = (
            [*(one for one, _ in configured), *found] if ready else [*found, *(one for one, _ in configured)]
        )
        if reason is not None:
            refused.append(f"cmake refuses the {CMAKE_FILE}: {reason}")
    hosts = [one for one in found if one.for_hosts]
    found = [one for one in found if not one.for_hosts]
    for script in [] if found else scripts(directory):
        outside = read_outside(directory, script.commands)
        run = _started(directory, script.program) if script.started is None else script.started.spelled()
        found.append(BuildProposal(script.name, script.build(), run, script.program.name, outside))
    if not ready:
        others, reasons = other_programs(directory, calls, cancel)
        found += _of_others(directory, [one for one in others if source is None or source in one.sources])
        refused += reasons
    if not sure:
        found += _of_readme(directory, source)
    alone = [] if sure else _of_sources(directory, flags, source)
    if not found and source is None and below and not any(is_near(one.origin) for one in alone):
        found += _of_folders(directory, calls, refused, cancel)
        alone = [] if found else alone
    found += [*alone, *hosts]
    if below and (absent := _absent_submodules(directory)):
        refused.append(
            f"{', '.join(absent)}: not checked out; `git submodule update --init --recursive` does that"
        )
    return ProposedBuilds(tuple(found), tuple(refused))


def builds_of_sources(directory: Path) -> list[BuildProposal]:
    """The programs of a directory's sources by calls of hipcc, whatever its build files say."""
    return _of_sources(directory.absolute(), (), None)


def _of_others(directory: Path, programs: Sequence[OtherProgram]) -> list[BuildProposal]:
    """The programs of meson, `configure`, ninja or a compilation database."""
    return [
        BuildProposal(
            one.origin,
            one.build,
            one.run,
            one.program,
            read_outside(directory, one.commands, one.sources),
            objects=one.objects,
        )
        for one in programs
    ]


def _of_readme(directory: Path, source: Path | None) -> list[BuildProposal]:
    """The programs that commands of the README link."""
    found = []
    for one in said_builds(directory):
        if source is None or any(source in command.inputs for command in one.commands):
            enter = "" if one.folder == "." else f"cd {shlex.quote(one.folder)} && "
            run = enter + (one.program if "/" in one.program else f"./{one.program}")
            outside = read_outside(directory, one.commands)
            found.append(BuildProposal(one.readme, one.build(), run, one.program, outside))
    return found


def _of_generator(directory: Path, refused: str) -> str:
    """The scripts beside the Makefile that speak of the file that make cannot remake."""
    absent = re.search(r"No rule to make target '([^']+)'", refused)
    if absent is None:
        return ""
    stem, texts = Path(absent[1]).stem, SourceTexts()
    scripts_of = [p for p in sorted(directory.iterdir()) if p.suffix in (".sh", ".py", ".pl") and p.is_file()]
    named = [p.name for p in scripts_of if re.search(rf"\b{re.escape(stem)}\b", texts.text(p) or "")]
    return f" ({', '.join(named[:3])} may write it: run that first)" if named else ""


def _absent_submodules(directory: Path) -> list[str]:
    """The git submodules below a directory whose folder is empty or not there, relative to it."""
    top = top_of(directory)
    text = SourceTexts().text(top / ".gitmodules") or ""
    folders = [top / name for name in re.findall(r"^\s*path\s*=\s*(\S+)", text, re.MULTILINE)]
    empty = [path for path in folders if not path.is_dir() or not any(path.iterdir())]
    return [os.path.relpath(path, directory) for path in empty if path.is_relative_to(directory)]


def _of_cmake(
    directory: Path, calls: CompilerCalls | None, source: Path | None, cancel: threading.Event | None
) -> tuple[list[tuple[BuildProposal, bool]], str | None]:
    """The programs of CMake, each with whether it has GPU code, and why CMake stops."""
    programs, reason = configured_programs(directory, calls, cancel)
    read = {path for one in programs for path in (*one.sources, *one.searched)}
    above = {one.top for one in programs} - {"."}
    outside = tuple(above) or read_outside(directory, [], read)
    wanted = _callers_first([one for one in programs if source is None or source in one.sources], source)
    found = [
        (
            BuildProposal(
                CMAKE_FILE,
                one.build(),
                one.run(directory),
                one.target,
                outside,
                for_hosts=not one.for_gpus and _for_hosts(directory, one.sources),
            ),
            one.for_gpus,
        )
        for one in wanted
    ]
    return found, reason


class _Compiled(Protocol):
    @property
    def sources(self) -> Collection[Path]: ...


_Program = TypeVar("_Program", bound=_Compiled)


def _callers_first(programs: Sequence[_Program], source: Path | None) -> list[_Program]:
    """Those whose own sources name the most functions and kernels of the source: tests of a library share all of it."""
    if source is None or len(programs) < 2:
        return [*programs]
    texts = SourceTexts()
    text = texts.read(source) or b""
    defined = {*callables_in([text]).functions, *(kernel.name for kernel in parse(text).kernels)} - {"main"}
    shared = frozenset[Path].intersection(*(frozenset(one.sources) for one in programs))

    def called(program: _Program) -> int:
        own = " ".join(texts.text(path) or "" for path in program.sources if path not in shared)
        return len(defined & set(re.findall(r"\w+", own)))

    return sorted(programs, key=called, reverse=True)


def _for_hosts(directory: Path, sources: Iterable[Path]) -> bool:
    """Whether a program is known to have no GPU code, while another one here has some."""
    known = frozenset(sources)
    if not known or any(reaches_hip(directory, path) for path in known):
        return False
    texts = SourceTexts()
    others = (texts.text(path) or "" for path in _files(directory) if path not in known)
    return any(uses_hip(text) and has_main(text) for text in others)


def _of_folders(
    directory: Path, calls: CompilerCalls | None, refused: list[str], cancel: threading.Event | None
) -> list[BuildProposal]:
    """The programs of the folders below that have a build file and use HIP, built and started in their folder."""
    found: list[BuildProposal] = []
    for folder in _folders_with_programs(directory):
        said = propose_builds(folder, calls, below=False, cancel=cancel)
        name = os.path.relpath(folder, directory)
        enter = f"cd {shlex.quote(name)} && "
        for one in said.found:
            if one.build is None or one.run is None:
                continue
            outside = {os.path.relpath(folder / path, directory) for path in one.source_dirs}
            found.append(
                BuildProposal(
                    f"{name}/{one.origin}",
                    enter + one.build,
                    enter + one.run,
                    f"{name}/{one.program}",
                    tuple(sorted(path for path in outside if path.startswith(".."))),
                    one.notes,
                    one.objects,
                )
            )
        refused += [f"{name}: {reason}" for reason in said.refused]
    return found


def _folders_with_programs(directory: Path) -> list[Path]:
    """At most a few folders, those that are called after AMD's GPUs first, none of them within another."""
    found: list[Path] = []
    whole = (directory / CMAKE_FILE).is_file()  # its folders are parts of it
    for place, below, _ in os.walk(directory):
        path = Path(place)
        if any(path.is_relative_to(one) for one in found):
            continue
        below[:] = sorted(name for name in below if not name.startswith("."))
        if len(path.relative_to(directory).parts) >= _DEEPEST:
            below.clear()
        if (
            path != directory
            and (makefiles(path) or ((path / CMAKE_FILE).is_file() and (not whole or begins_project(path))))
            and no_hip(path) is None
        ):
            found.append(path)
    found.sort(key=lambda path: re.search("hip|rocm|amd", path.name, re.IGNORECASE) is None)
    return found[:_MOST_FOLDERS]


def no_hip(directory: Path) -> str | None:
    """Why there is nothing to profile in a directory: none of its files uses HIP. None where one does."""
    texts = SourceTexts()
    cuda = False
    for path in _files(directory):
        text = texts.text(path) or ""
        if uses_hip(text):
            return None
        cuda = cuda or path.suffix == ".cu" or uses_cuda(text)
    if cuda and any(re.search("hipify|hipcc", texts.text(file) or "") for file in build_files(directory)):
        return None
    if cuda:
        return "its sources are CUDA's: hipify-perl or hipify-clang makes HIP of them"
    return "no file here has a HIP kernel or a call of HIP"


def build_files(directory: Path) -> list[Path]:
    """What tells how the programs of a directory are built, as far as it lies in there or in the folder above."""
    names = [*makefiles(directory), CMAKE_FILE]
    beside = [path for place in (directory, directory.parent) for path in _included(place)]
    own = [directory / name for name in names if (directory / name).is_file()]
    return [*own, *other_files(directory), *beside] or _scripts_and_readmes(directory)


def _scripts_and_readmes(directory: Path) -> list[Path]:
    """The scripts and READMEs whose calls of hipcc make more than a source alone would give."""
    named = {directory / one.name: one.commands for one in scripts(directory)}
    named |= {directory / one.readme: one.commands for one in said_builds(directory)}
    return [path for path, commands in named.items() if _say_more(commands)]


def _say_more(commands: Sequence[Command]) -> bool:
    """Whether these compile several files, or one with options that count for its code."""
    read = {path for command in commands for path in command.inputs}
    return len(read) > 1 or any(_COUNTS.match(word) for command in commands for word in command.words)


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
    found: list[BuildProposal] = []
    alone: list[BuildProposal] = []  # for where the goal fails at another program
    for one in programs:
        commands = (*one.commands, *filter(None, [one.started]))
        outside = read_outside(directory, commands, read)
        name = os.path.relpath(one.path, directory)
        found.append(
            BuildProposal(
                one.makefile,
                one.build(),
                one.run(directory),
                name,
                outside,
                _notes(commands, one.variables),
                sum(c.compiler and "-c" in c.words for c in one.commands),
                _for_hosts(directory, one.sources),
            )
        )
        if one.own:
            by_itself = replace(found[-1], build=one.build_alone(directory), objects=0)
            (found if one.blocked else alone).append(by_itself)
            found = [known for known in found if known.build != one.build()] if one.blocked else found
    return [*found, *alone]


def _notes(commands: Sequence[Command], variables: Mapping[str, str]) -> tuple[str, ...]:
    notes = []
    calls = [c for c in commands if c.compiler and not (c.calls_another and "OMPI_CXX" in variables)]
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
    """The programs of sources alone, compiled with the definitions that a Makefile has."""
    programs = sources_alone(directory, source)
    outside = read_outside(directory, [Command(("hipcc", *flags), directory)]) if programs else ()
    found = []
    for one in programs[:_MOST_PROGRAMS]:
        simple = len(one.sources) == 1 and not (outside or flags or one.searched or "/" in one.sources[0])
        if simple and len(programs) == 1:
            return [BuildProposal(one.sources[0], None, None, one.sources[0])]
        program = Path(one.sources[0]).stem
        origin = ", ".join(one.sources[:4])
        found.append(BuildProposal(origin, one.build(flags), f"./{program}", program, outside))
    return found


def _started(directory: Path, program: Path) -> str:
    name = os.path.relpath(program, directory)
    return name if "/" in name else f"./{name}"
