"""How a directory says that its program is built and run: its Makefile, its CMakeLists.txt, or its sources.

Takes a directory, gives a `BuildProposal`: what `hipscope init` writes and what a failed build proposes. A Makefile is
asked, not read: `make -n` prints the commands with their variables filled in. It runs confined, where it can write
nothing, because it may remake files that the Makefile includes. CMake is asked in the same way, by its file API.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.sandbox import Box, plain_environment, run_confined
from hipscope.analysis.toolchain.compile_commands import ask_cmake, cmake_programs
from hipscope.analysis.toolchain.source_files import HEADER_SUFFIXES, PROGRAM_SUFFIXES, has_main

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
CMAKE_FILE = "CMakeLists.txt"

_SECONDS = 30.0
_COMPILERS = re.compile(r"^(?:.*/)?(?:hipcc|nvcc|(?:amd)?clang(?:\+\+)?|[gc]\+\+|gcc|cc|mpicxx)(?:-\d+)?$")
_OURS = ("hipcc", "amdclang++", "clang++", "amdclang", "clang")
_GPU_CODE = re.compile(r"__global__|\bhip_runtime\b|<<<")
_ABOVE = re.compile(r'(?<!include )"(\.\./[\w./+-]+)"')
_NO_PROGRAM = (".o", ".so", ".a", ".obj", ".d", ".i", ".s")
_RUNNING_GOALS = ("run", "test", "check")
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class BuildProposal:
    """What to put into `hipscope.toml`. `origin` names what says so; `build` None: one source that needs no command.

    `source_dirs` are directories outside of the proposed file's own that the build reads, relative to it. `notes` are
    sentences about what could not be told.
    """

    origin: str
    build: str | None
    run: str | None
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


def propose_build(directory: Path) -> BuildProposal | None:
    """What the build files of a directory say, its sources where there is no build file; None when nothing does."""
    directory = directory.absolute()
    makefile = next((name for name in MAKEFILES if (directory / name).is_file()), None)
    made = _from_make(directory, makefile) if makefile and shutil.which("make") else None
    if isinstance(made, BuildProposal):
        return made
    found = _from_cmake(directory) if (directory / CMAKE_FILE).is_file() else None
    found = found or _from_sources(directory)
    if found is None or made is None:
        return found
    return replace(found, notes=(f"make refuses the {makefile}: {made}", *found.notes))


def advice(directory: Path) -> str | None:
    """What to say to somebody whose build lacks something: the lines that the build files beside it ask for."""
    if not any((directory / name).is_file() for name in (*MAKEFILES, CMAKE_FILE)):
        return None
    found = propose_build(directory)
    if found is None or found.build is None:
        return None
    lines = "".join(f"\n    {line}" for line in found.lines)
    return (
        f"{found.origin} says how it is built; put this into hipscope.toml, as `hipscope init` does:{lines}"
    )


def left_outside(directory: Path) -> str | None:
    """What to say about a build that failed in a copy of this directory, where its files name others outside of it."""
    found = propose_build(directory)
    if found is None or not found.source_dirs:
        return None
    *others, last = found.source_dirs
    named = f"{', '.join(others)} and {last}" if others else last
    line = f"source_dirs = {json.dumps(['.', *found.source_dirs])}"
    return f"the build runs in a copy of this directory, and it reads {named}; put this into hipscope.toml:\n    {line}"


# ---- make ----


@dataclass(frozen=True)
class _Command:
    """A command that make would start: its words, and the directory that it is started in."""

    words: tuple[str, ...]
    directory: Path

    @property
    def compiler(self) -> bool:
        return _COMPILERS.match(self.words[0]) is not None

    @property
    def product(self) -> str | None:
        """The program that this links."""
        if not self.compiler or {"-c", "-E", "-S", "-M", "-MM", "-shared", "--genco"} & set(self.words):
            return None
        for option, value in zip(self.words, (*self.words[1:], ""), strict=True):
            named = value if option == "-o" else option[2:] if option.startswith("-o") else ""
            if named:
                return None if named.endswith(_NO_PROGRAM) else named
        return "a.out"


def _from_make(directory: Path, makefile: str) -> BuildProposal | str | None:
    """What the Makefile builds; a sentence when make refuses it, None when it links no program."""
    text = (directory / makefile).read_text(encoding="utf-8", errors="replace")
    variables = _compiler_variables(text)
    goals = [goal for goal in _RUNNING_GOALS if re.search(rf"^{goal}\s*:", text, re.MULTILINE)]
    first = _dry_run(directory, variables, [])
    built = first.commands
    everything = [*built, *(c for goal in goals for c in _dry_run(directory, variables, [goal]).commands)]
    programs = {
        os.path.relpath(command.directory / product, directory): command
        for command in everything
        if (product := command.product) is not None
    }
    if not programs:
        return first.refused
    started = next((c for c in everything if _program_of(c, directory) in programs), None)
    chosen = _program_of(started, directory) if started is not None else list(programs)[-1]
    assert chosen is not None
    goal = _goal(directory, variables, chosen, built, programs[chosen])
    build = " ".join(["make", *(f"{name}={value}" for name, value in variables.items()), *goal])
    run = f"./{chosen}" if started is None else _in_directory(started, directory)
    notes = []
    if len(programs) > 1:
        names = ", ".join(sorted(programs))
        notes.append(f"it builds {len(programs)} programs ({names}); the one that is run here is {chosen}")
    if any(c.compiler and not c.words[0].rpartition("/")[2].startswith(_OURS) for c in everything):
        others = sorted({c.words[0] for c in everything if c.compiler and not c.words[0].endswith(_OURS)})
        notes.append(
            f"it calls {', '.join(others)}; only GPU code that hipcc or clang++ compiles is profiled"
        )
    if any(c.compiler and "/" in c.words[0] and c.words[0].endswith(_OURS) for c in everything):
        notes.append(
            "it calls a compiler by its path; hipscope sees only those that are called by their name"
        )
    outside = _outside(directory, everything)
    return BuildProposal(makefile, build, run, outside, tuple(notes))


def _compiler_variables(text: str) -> dict[str, str]:
    """The variables of a Makefile that hold a compiler with a path, with its name instead."""
    found: dict[str, str] = {}
    assigned = re.compile(
        r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?]{0,2}=[ \t]*(\S*/)(hipcc|amdclang\+\+|clang\+\+)[ \t]*(?:#.*)?$"
    )
    for line in text.splitlines():
        match = assigned.match(line)
        if match is not None:
            found.setdefault(match[1], "hipcc")
    return found


@dataclass(frozen=True)
class _DryRun:
    """What make would start; `refused` is its reason when it starts nothing."""

    commands: tuple[_Command, ...] = ()
    refused: str | None = None


def _dry_run(directory: Path, variables: dict[str, str], goals: Sequence[str]) -> _DryRun:
    """Ask make what it would start for these goals."""
    argv = ["make", "-n", "-B", "-w", *(f"{name}={value}" for name, value in variables.items()), *goals]
    with work_directory("init") as stubs:
        for name in _OURS:  # a Makefile may look for its compiler, and the build will find one
            (stubs / name).write_text("#!/bin/sh\n")
            (stubs / name).chmod(0o755)
        path = f"{stubs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        env = plain_environment({"HIPCC": "hipcc", "HIPCXX": "hipcc", "PATH": path})
        box = Box(read=(_top(directory), stubs))
        try:
            done = run_confined(argv, box, timeout=_SECONDS, cwd=directory, env=env)
        except HipscopeError as error:
            return _DryRun(refused=str(error))
        if not done.ok:
            said = [line for line in done.text.splitlines() if "***" in line]
            return _DryRun(
                refused=said[0].partition("*** ")[2] if said else f"it left with {done.returncode}"
            )
        printed = done.stdout.decode("utf-8", "replace").replace(f"{stubs}/", "")
        return _DryRun(tuple(_commands(printed, directory)))


def _commands(printed: str, directory: Path) -> Iterator[_Command]:
    """The commands in what `make -n -w` printed."""
    here = [directory]
    for line in printed.replace("\\\n", " ").splitlines():
        if entering := re.match(r"make(?:\[\d+\])?: Entering directory '(.*)'", line):
            here.append(Path(entering[1]))
        elif re.match(r"make(?:\[\d+\])?: Leaving directory", line):
            here.pop()
        else:
            at = here[-1]
            for part in re.split(r"&&|\|\||;|(?<!\|)\|(?!\|)", line):
                try:
                    words = shlex.split(part.strip().lstrip("@-+"))
                except ValueError:
                    continue
                while words and re.match(r"^\w+=", words[0]):
                    words = words[1:]
                if len(words) == 2 and words[0] == "cd":
                    at = Path(os.path.normpath(at / words[1]))
                elif words:
                    yield _Command(tuple(words), at)


def _program_of(command: _Command | None, directory: Path) -> str | None:
    """The program that a command starts, as seen from the directory."""
    if command is None or command.compiler or "/" not in command.words[0]:
        return None
    return os.path.relpath(command.directory / command.words[0], directory)


def _in_directory(command: _Command, directory: Path) -> str:
    """The words that start the command from the directory."""
    said = shlex.join(command.words)
    below = os.path.relpath(command.directory, directory)
    return said if below == "." else f"cd {shlex.quote(below)} && {said}"


def _goal(
    directory: Path, variables: dict[str, str], program: str, built: Sequence[_Command], link: _Command
) -> list[str]:
    """What to ask make for: nothing where the first goal links the program and starts nothing, else the program."""
    if link in built and not any(_program_of(c, directory) == program for c in built):
        return []
    for name in (program, f"./{program}"):
        if any(c.product is not None for c in _dry_run(directory, variables, [name]).commands):
            return [name]
    return []


# ---- CMake ----


def _from_cmake(directory: Path) -> BuildProposal | None:
    text = re.sub(r"#[^\n]*", "", (directory / CMAKE_FILE).read_text(encoding="utf-8", errors="replace"))
    known = {"CMAKE_PROJECT_NAME": directory.name}
    for name, value in re.findall(r"\b(?:set|project)\s*\(\s*(\w+)\s*\"?([^\s\")]*)", text, re.IGNORECASE):
        known.setdefault(name, value)
    if project := re.search(r"\bproject\s*\(\s*\"?([\w.+-]+)", text, re.IGNORECASE):
        known["PROJECT_NAME"] = known["CMAKE_PROJECT_NAME"] = project[1]
    # CMake's own HIP language looks for ROCm's layout; hipcc as the C++ compiler works without.
    options = ["-DCMAKE_BUILD_TYPE=Release"]
    if "GPU_RUNTIME" in text:
        options.append("-DGPU_RUNTIME=HIP")
    options += [f"-D{name}=hip" for name in _choices(text)]
    notes = []
    if re.search(r"\bLANGUAGES\b[^)]*\bHIP\b|enable_language\s*\(\s*HIP", text, re.IGNORECASE):
        notes.append("it uses CMake's HIP language, which needs the layout of ROCm's own packages")
    programs = _executables(directory, options) or _named_executables(text, known)
    if not programs:
        return None
    (target, program), *more = programs.items()
    if more:
        notes.insert(0, f"it builds {len(programs)} programs ({', '.join(programs)}); the first is run here")
    configure = " ".join(["cmake -S . -B build", options[0], "-DCMAKE_CXX_COMPILER=hipcc", *options[1:]])
    build = f"{configure} && cmake --build build --target {target} -j"
    run = f"cd build && ./{program}" if _runs_in_build_folder(directory) else f"build/{program}"
    return BuildProposal(CMAKE_FILE, build, run, _outside(directory, []), tuple(notes))


def _runs_in_build_folder(directory: Path) -> bool:
    """Whether sources name data by a path that leads to it from a build folder, and not from the project's."""
    texts = SourceTexts()
    for path in directory.rglob("*"):
        if path.suffix in (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES) and path.is_file():
            for name in _ABOVE.findall(texts.text(path) or ""):
                there, here = (Path(os.path.normpath(at / name)) for at in (directory / "build", directory))
                if there.exists() and there != directory and not here.exists():
                    return True
    return False


def _choices(text: str) -> list[str]:
    """The variables without which CMake stops, where `hip` is among what the text registers for them."""
    needed = re.findall(
        r"\bif\s*\(\s*NOT\s+(?:DEFINED\s+)?(\w+)\s*\)\s*message\s*\(\s*(?:FATAL|SEND)_ERROR", text
    )
    return list(dict.fromkeys(needed)) if re.search(r"\(\s*hip\b|\bhip\s*\)", text) else []


def _executables(directory: Path, options: Sequence[str]) -> dict[str, str]:
    """The programs that CMake would build, by target: where they lie in its build folder, GPU programs first.

    CMake configures into a folder of its own, confined, with a compiler that stands for hipcc. Nothing where it stops.
    """
    cmake, compiler = shutil.which("cmake"), shutil.which("clang++") or shutil.which("c++")
    if cmake is None or compiler is None:
        return {}
    with work_directory("init") as work:
        stub, build = work / "hipcc", work / "build"
        stub.write_text(f'#!/bin/sh\nexec {shlex.quote(compiler)} "$@"\n')
        stub.chmod(0o755)
        ask_cmake(build)
        argv = [cmake, "-S", str(directory), "-B", str(build), f"-DCMAKE_CXX_COMPILER={stub}", *options]
        box = Box(read=(_top(directory),), write=(work,))
        try:
            done = run_confined(argv, box, timeout=_SECONDS, cwd=directory, env=plain_environment({}))
            found = cmake_programs(build) if done.ok else []
        except HipscopeError:
            return {}
    texts = SourceTexts()
    first = sorted(
        found, key=lambda one: not any(_GPU_CODE.search(texts.text(file) or "") for file in one.sources)
    )
    return {one.target: one.path for one in first}


def _named_executables(text: str, known: dict[str, str]) -> dict[str, str]:
    """The same by what the text calls them, in the folder of the build itself."""
    names = [
        _filled_in(name, known)
        for name in re.findall(r"\badd_executable\s*\(\s*([^\s)]+)", text, re.IGNORECASE)
    ]
    return {name: name for name in names if name and "$" not in name}


def _filled_in(name: str, known: dict[str, str]) -> str:
    for _ in range(5):
        name = re.sub(r"\$\{(\w+)\}", lambda match: known.get(match[1], match[0]), name.strip('"'))
    return name


# ---- sources alone ----


def _from_sources(directory: Path) -> BuildProposal | None:
    """One program of all sources of the directory, when exactly one of them has `main`."""
    texts = SourceTexts()
    sources = [p for p in sorted(directory.iterdir()) if p.suffix in PROGRAM_SUFFIXES and p.is_file()]
    programs = [p for p in sources if has_main(texts.text(p) or "")]
    if len(programs) != 1:
        return None
    outside = _outside(directory, [])
    if len(sources) == 1 and not outside:
        return BuildProposal(sources[0].name, None, None)
    names = " ".join(shlex.quote(path.name) for path in sources)
    program = programs[0].stem
    return BuildProposal(
        ", ".join(p.name for p in sources[:4]), f"hipcc -O3 {names} -o {program}", f"./{program}", outside
    )


# ---- what lies outside ----


def _outside(directory: Path, commands: Sequence[_Command]) -> tuple[str, ...]:
    """The directories outside of this one that sources include from, or that commands name by a relative path."""
    named = [
        Path(os.path.normpath(command.directory / path)) for command in commands for path in _paths(command)
    ]
    searched = [path for path in named if path.is_dir()]
    found = {path if path.is_dir() else path.parent for path in named if path.exists()}
    found |= set(_included_from(directory, searched))
    top = _top(directory)
    outside = {
        path
        for path in found
        # A directory above is taken only for what is included from it: it holds all of the neighbours.
        if path.is_relative_to(top)
        and not path.is_relative_to(directory)
        and not directory.is_relative_to(path)
    }
    outermost = [path for path in outside if not any(p != path and path.is_relative_to(p) for p in outside)]
    return tuple(sorted(os.path.relpath(path, directory) for path in outermost))


def _paths(command: _Command) -> Iterator[str]:
    for word in command.words:
        path = re.sub(r"^-(?:I|isystem|iquote|L)", "", word)
        if path.startswith("..") or "/../" in path:
            yield path


def _included_from(directory: Path, searched: Iterable[Path]) -> Iterator[Path]:
    """The directories of the files that the sources here include, beside themselves or from the searched ones."""
    texts = SourceTexts()
    seen: set[Path] = set()
    waiting = [
        p for p in directory.rglob("*") if p.is_file() and p.suffix in (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES)
    ]
    places = tuple(searched)
    while waiting and len(seen) < 2000:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in map(os.fsdecode, _INCLUDED.findall(texts.read(path) or b"")):
            for place in (path.parent, *places):
                file = Path(os.path.normpath(place / name))
                if file.is_file():
                    waiting.append(file)
                    yield file.parent
                    break


def _top(directory: Path) -> Path:
    """How far up a program's files may lie: its repository, else two directories above, never all of the machine."""
    above = (directory, *directory.parents)
    repository = next((d for d in above if (d / ".git").exists()), None)
    if repository is not None:
        return repository
    return next((d for d in reversed(above[:3]) if len(d.parts) > 2), directory)
