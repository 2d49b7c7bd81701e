"""What make would do in a directory: `make -n` is asked for goals, and its commands are read.

Takes a directory with a Makefile, gives the programs that its goals link, with how each is built. Make runs confined,
where it can write nothing, because it may remake files that the Makefile includes.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipscope.analysis.build_files.commands import (
    COMPILERS,
    FOR_MPI,
    NO_PROGRAM,
    OURS,
    Command,
    printed_commands,
)
from hipscope.analysis.build_files.outside import top_of
from hipscope.analysis.build_files.readme import said_variables
from hipscope.analysis.build_files.rocm_folder import absent_roots, write_queries
from hipscope.analysis.build_files.source_files import HEADER_SUFFIXES, PROGRAM_SUFFIXES, uses_hip
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.sandbox import Box, plain_environment, run_confined

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")

_SECONDS = 30.0
_MOST_GOALS = 16  # that are asked one by one
_MOST_ALIKE = 3  # goals called like a program that they build
_DEEPEST = 4  # of makes that call make
# What the wrappers of Open MPI and MPICH call: make hands its variables on in the environment.
_CALLED_FOR_MPI = {"OMPI_CXX": "hipcc", "MPICH_CXX": "hipcc"}
_FOR_AMD = re.compile(r"hip|amd|rocm", re.IGNORECASE)
_CALLED_HIP = re.compile(r"[._-](?:hip|rocm)(?:cc)?$|^(?:hip|rocm)\.", re.IGNORECASE)
_FOR_SEVERAL = re.compile(
    r"mpi|multi|dist|test", re.IGNORECASE
)  # processes or GPUs: its plain form comes first
_RUNNING_GOALS = ("run", "test", "check")
_NO_BUILD = re.compile(
    r"^(?:\.|.*(?:clean|install|dist|doc|help|format|tidy|lint|tar|zip|print|%))|^(?:run|test|check|profile|plot)"
)
_ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*(?:[:?+]{0,2})=[ \t]*(.*?)[ \t]*(?:#.*)?$", re.MULTILINE
)
_COMPILER_BY_PATH = re.compile(r"^\S*/(?:hipcc|amdclang\+\+|clang\+\+)$")
_FOR_COMPILERS = re.compile(r"(?:\w*_)?(?:CXX|CC|HIPCC|HIPCXX|HCC|NVCC|CPP|LD|LINK|LINKER|CXXLD|COMPILER)$")
_CHOICE = re.compile(
    r"^[ \t]*(?:else[ \t]+)?ifeq[ \t]*\(?[ \t]*['\"]?\$[({](\w+)[)}]['\"]?[ \t]*,?[ \t]*['\"]?([\w-]+)",
    re.MULTILINE,
)
_SWITCH = re.compile(r"^[ \t]*(?:else[ \t]+)?ifdef[ \t]+(\w+)", re.MULTILINE)
_NEEDED = re.compile(
    r"^[ \t]*(?:ifndef[ \t]+(\w+)|ifeq[ \t]*\([ \t]*(?:\$[({](\w+)[)}][ \t]*,[ \t]*|,[ \t]*\$[({](\w+)[)}][ \t]*)\))"
    r"[^\n]*\n\s*\$\(error",
    re.MULTILINE,
)
_OF_GPU = re.compile(r"ARCH|GFX|GPU_?TARGET|OFFLOAD", re.IGNORECASE)
_INCLUDES = re.compile(r"^[ \t]*[-s]?include[ \t]+([^#$\n]+)", re.MULTILINE)
_ENTERS = re.compile(r"(?:-C|\bcd)[ \t]+([\w./-]*\w)(?=[ \t;&)]|$)", re.MULTILINE)
_ROCM = "/opt/rocm"


@dataclass(frozen=True)
class MadeProgram:
    """A program that a Makefile builds: the goal and variables to ask make for, and the command that starts it.

    `for_gpus`: what compiles it makes code for AMD's GPUs. `sources`: what it is compiled from, as far as the commands
    say. `commands`: all that make would start. `lacks`: the compilers among them that are not installed. `guessed`: the
    Makefile by itself makes another one. `folders`: those that it writes into and that neither exist nor are made.
    `own`: the compiler calls that make it alone, in order; empty where its goal makes no other program, or where they
    read what something else makes.
    """

    makefile: str
    path: Path
    variables: Mapping[str, str]
    goal: str | None
    started: Command | None
    for_gpus: bool
    sources: frozenset[Path]
    commands: tuple[Command, ...]
    lacks: frozenset[str] = frozenset()
    guessed: bool = False
    folders: tuple[str, ...] = ()
    own: tuple[Command, ...] = ()

    @property
    def blocked(self) -> bool:
        """Whether its goal writes a program to where a folder lies, and thus fails."""
        return any(c.product is not None and c.product.is_dir() for c in self.commands)

    def build_alone(self, directory: Path) -> str:
        """The shell command that makes it without make, and without what else its goal makes."""
        made = [f"mkdir -p {shlex.join(self.folders)}"] if self.folders else []
        return " && ".join([*made, *(_from(directory, call) for call in self.own)])

    def build(self) -> str:
        """The shell command."""
        made = f"mkdir -p {shlex.join(self.folders)} && " if self.folders else ""
        chosen = [] if self.makefile in MAKEFILES else ["-f", shlex.quote(self.makefile)]
        goal = [] if self.goal is None else [shlex.quote(self.goal)]
        return made + " ".join(
            ["make", *chosen, *(f"{name}={value}" for name, value in self.variables.items()), *goal]
        )

    def run(self, directory: Path) -> str:
        """The shell command that starts it from the directory."""
        if self.started is None:
            return _named_from(directory, self.path)
        said = self.started.spelled()
        below = os.path.relpath(self.started.directory, directory)
        return said if below == "." else f"cd {shlex.quote(below)} && {said}"


@dataclass(frozen=True)
class Made:
    """The programs of a directory's Makefiles, best first, and why make refuses one of them."""

    programs: tuple[MadeProgram, ...] = ()
    refused: str | None = None
    included: frozenset[Path] = field(default_factory=frozenset)
    flags: tuple[str, ...] = ()


def makefiles(directory: Path) -> list[str]:
    """The Makefile that make takes, then those called after AMD's GPUs: `Makefile.hip` before `Makefile.hip.isa`."""
    default = [next((name for name in MAKEFILES if (directory / name).is_file()), "")]
    others = [
        path.name
        for path in sorted(directory.iterdir())
        if re.match(r"(?:GNU)?makefile[._-]", path.name, re.IGNORECASE) or path.suffix in (".mk", ".make")
        if path.is_file() and _FOR_AMD.search(path.name)
    ]
    others.sort(key=lambda name: (_CALLED_HIP.search(name) is None, len(name)))
    return [*filter(None, default), *others]


def made_programs(directory: Path, arch: str = "gfx942") -> Made:
    """What the Makefiles of a directory build: programs for AMD's GPUs first, then those that a Makefile starts.

    `arch` is the GPU that they find where they ask. What a Makefile lets one choose is tried where none of them makes
    such a program by default.
    """
    found: list[MadeProgram] = []
    refused: list[str] = []
    asked = [_Makefile(directory, name, arch) for name in makefiles(directory)]
    for ask in (_Makefile.by_default, _Makefile.by_choice):
        for makefile in asked:
            if not any(one.for_gpus and not one.lacks for one in found):
                programs, reason = ask(makefile)
                found += programs
                refused += [reason] if reason is not None else []
    best = sorted(found, key=lambda one: (not one.for_gpus, bool(one.lacks)))
    return Made(
        tuple(best),
        None if best else refused[0] if refused else _no_program(asked),
        frozenset(path for makefile in asked for path in _makefile_list(makefile.database, directory)),
        tuple(dict.fromkeys(flag for makefile in asked for flag in _compile_flags(makefile.database))),
    )


def _no_program(asked: Sequence[_Makefile]) -> str:
    names = " or ".join(makefile.name for makefile in asked)
    module = any(re.search(r"\bpip3? install\b|\bsetup\w*\.py\b", makefile.text) for makefile in asked)
    return f"no command of {names} links a program{'; it installs a module of Python' if module else ''}"


class _Makefile:
    """One Makefile, and what make has been asked about it."""

    def __init__(self, directory: Path, name: str, arch: str) -> None:
        self._directory, self.name, self._arch = directory, name, arch
        self._absent = absent_roots([directory])
        self.text = "\n".join(_texts(directory / name))
        needed = ("".join(names) for names in _NEEDED.findall(self.text))
        self._variables = _by_name(self.text) | {name: arch for name in needed if _OF_GPU.search(name)}
        self._until = time.monotonic() + _SECONDS

    @functools.cached_property
    def database(self) -> str:
        """What make knows: its variables, targets and files."""
        return self._ask(self._variables, ["-p", "-q"], ".DEFAULT").printed

    def by_default(self) -> tuple[list[MadeProgram], str | None]:
        """The programs of its goals, and why make refuses it."""
        return self._programs(self._variables)

    def by_choice(self) -> tuple[list[MadeProgram], str | None]:
        """The same with what it lets one choose set for AMD's GPUs."""
        found: list[MadeProgram] = []
        for more in self._choices():
            found += [replace(one, guessed=True) for one in self._programs({**self._variables, **more})[0]]
            if any(one.for_gpus and not one.lacks for one in found):
                break
        return found, None

    def _choices(self) -> Iterator[dict[str, str]]:
        """What to set for AMD's GPUs: what is said or left open, then compilers that lack or take no such flags."""
        for said in said_variables(self._directory):
            if all(re.search(rf"\b{name}\b", self.text) for name in said):
                yield said
        yield from _choices(self.text, self.database, _uses_mpi(self._directory))
        commands = self._dry_run(self._variables, None).commands
        goals = [goal for goal in _goals(self.database) if not _NO_BUILD.match(goal)][:_MOST_GOALS]
        if not any(c.product for c in commands):
            commands = tuple(c for goal in goals for c in self._dry_run(self._variables, goal).commands)
        wrong = {c.words[0] for c in commands if c.needs_another}
        named = {
            name: "hipcc"
            for name, value in _ASSIGNED.findall(self.database)
            if value in wrong and re.search(rf"\$[({{]{name}[)}}]", self.text)
        }
        if named:
            yield named

    def _programs(self, variables: Mapping[str, str]) -> tuple[list[MadeProgram], str | None]:
        """The programs of the first goal, then those that only other goals make."""
        first = self._dry_run(variables, None)
        goals = _goals(self.database)
        running = [goal for goal in goals if goal in _RUNNING_GOALS]
        others = [goal for goal in goals if goal not in running and not _NO_BUILD.match(goal)]
        others.sort(key=lambda goal: _FOR_AMD.search(goal) is None)
        started = [*first.commands, *(c for goal in running for c in self._dry_run(variables, goal).commands)]
        found = self._linked(variables, None, first.commands, started)
        for goal in (*running, *others[:_MOST_GOALS]):
            if time.monotonic() > self._until:
                break
            more = self._linked(variables, goal, self._dry_run(variables, goal).commands, started)
            found += [one for one in more if all(one.path != known.path for known in found)]
        return found, first.refused

    def _linked(
        self,
        variables: Mapping[str, str],
        goal: str | None,
        commands: Sequence[Command],
        started: Sequence[Command],
    ) -> list[MadeProgram]:
        """The programs that these commands link: those that are started first, then the last one that is linked."""
        links = {product: c for c in commands if (product := c.product) is not None and not product.is_dir()}
        found = []
        for path, link in links.items():
            start = next((c.started for c in started if c.program == path), None)
            own = _what_goes_into(link, commands)
            asked = self._goal(variables, goal, link, commands)
            with_others = any(c.product not in (None, path) for c in self._dry_run(variables, asked).commands)
            for_mpi = any(c.calls_another and c.for_gpus for c in (link, *own))
            found.append(
                MadeProgram(
                    self.name,
                    path,
                    {**variables, **_CALLED_FOR_MPI} if for_mpi else variables,
                    asked,
                    start,
                    any(c.for_gpus for c in (link, *own)),
                    frozenset(
                        p for c in (link, *own) for p in c.inputs if p.suffix in (*PROGRAM_SUFFIXES, ".c")
                    ),
                    tuple(commands),
                    frozenset(c.words[0] for c in (link, *own) if c.compiler and _is_absent(c.words[0])),
                    folders=self._not_made((link, *own), commands),
                    own=_in_order(link, own) if with_others else (),
                )
            )
        first = [one for one in found if one.started is not None]
        others = [one for one in reversed(found) if one.started is None]
        return [*first, *sorted(others, key=_is_secondary)]

    def _goal(
        self, variables: Mapping[str, str], goal: str | None, link: Command, commands: Sequence[Command]
    ) -> str | None:
        """What to ask make for: the program, where it is a goal of its own and the goal does more than to build it.

        That is, where the goal starts the program as well, or builds others.
        """
        needed = (link, *_what_goes_into(link, commands))
        others = time.monotonic() < self._until and any(
            c.output is not None and not c.output.name.endswith(NO_PROGRAM) and c not in needed
            for c in commands
        )
        if not (others or any(c.program == link.product for c in commands)):
            return goal
        path = link.product or self._directory
        name = os.path.relpath(path, self._directory)
        alike = [one for one in _goals(self.database) if len(one) > 1 and one in name and one != name]
        for called in (name, f"./{name}", *alike[:_MOST_ALIKE]):
            answer = self._dry_run(variables, called).commands
            products = {c.product for c in answer} - {None}
            by = {
                c.words[0] for c in answer if c.product == path
            }  # make's own rules may take another compiler
            if link.words[0] in by and (called in (name, f"./{name}") or len(products) == 1):
                return called
        return goal

    def _not_made(self, needed: Iterable[Command], commands: Iterable[Command]) -> tuple[str, ...]:
        """The folders that compilers write into and that are not there, as a repository keeps no empty ones."""
        made = {
            Path(os.path.normpath(c.directory / w))
            for c in commands
            if c.words[0] == "mkdir"
            for w in c.words
        }
        found = set()
        for place in {c.output.parent for c in needed if c.output is not None}:
            named = re.search(rf"\bmkdir\b[^\n]*\b{re.escape(place.name)}\b", self.text) is not None
            inside = place.is_relative_to(self._directory)
            if inside and not (named or place.exists() or any(one.is_relative_to(place) for one in made)):
                found.add(os.path.relpath(place, self._directory))
        return tuple(sorted(found))

    @functools.lru_cache(maxsize=64)  # noqa: B019  # of one Makefile, which lives as long as this does
    def _cached(self, variables: tuple[tuple[str, str], ...], goal: str | None) -> _Answer:
        answer = self._ask(dict(variables), ["-B", "-w"], goal)
        commands = printed_commands(answer.printed, self._directory)
        return replace(answer, commands=tuple(self._followed(commands, variables)))

    def _followed(
        self, commands: Iterable[Command], variables: tuple[tuple[str, str], ...], depth: int = 0
    ) -> Iterator[Command]:
        """The commands, and in place of a make that is called by its name those that it would start."""
        for command in commands:
            if not command.makes:
                yield command
            elif depth < _DEEPEST and time.monotonic() < self._until:
                printed, at = self._called(command, variables)
                yield from self._followed(printed_commands(printed, at), variables, depth + 1)

    def _called(self, command: Command, variables: tuple[tuple[str, str], ...]) -> tuple[str, Path]:
        """What a make prints that a command calls, and where it runs."""
        words, at, given = list(command.words[1:]), command.directory, []
        while words:
            word = words.pop(0)
            if word in ("-C", "--directory") and words:
                at = Path(os.path.normpath(at / words.pop(0)))
            elif word.startswith("--directory="):
                at = Path(os.path.normpath(at / word.partition("=")[2]))
            elif word.startswith("-C"):
                at = Path(os.path.normpath(at / word[2:]))
            elif not word.startswith("-j"):
                given.append(word)
        inside = at.is_dir() and at.is_relative_to(top_of(self._directory))
        argv = ["make", "-n", "-B", "-w", *_assigned(dict(variables)), *given]
        return (self._start(argv, at).printed if inside else ""), at

    def _dry_run(self, variables: Mapping[str, str], goal: str | None) -> _Answer:
        """What make would start for a goal."""
        return self._cached(tuple(variables.items()), goal)

    def _ask(self, variables: Mapping[str, str], options: Sequence[str], goal: str | None) -> _Answer:
        argv = ["make", "-n", "-f", self.name, *options, *_assigned(variables), *([goal] if goal else [])]
        return self._start(argv, self._directory)

    def _start(self, argv: Sequence[str], directory: Path) -> _Answer:
        with work_directory("init") as work:
            rocm = work / "rocm"
            stubs = rocm / "bin"
            stubs.mkdir(parents=True)
            for name in OURS:  # a Makefile may look for its compiler, and the build will find one
                (stubs / name).write_text("#!/bin/sh\n")
                (stubs / name).chmod(0o755)
            write_queries(stubs, Path(_ROCM), self._arch)
            path = f"{stubs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
            env = plain_environment({"HIPCC": "hipcc", "HIPCXX": "hipcc", "PATH": path, "ROCM_PATH": _ROCM})
            env |= {"HIP_PATH": _ROCM, "HIP_PLATFORM": "amd"}
            named = dict.fromkeys(self._absent, rocm)
            box = Box(read=(top_of(self._directory), work), shown=named)
            try:
                done = run_confined(argv, box, timeout=_SECONDS, cwd=directory, env=env)
            except HipscopeError as error:
                return _Answer(refused=str(error))
            printed = done.stdout.decode("utf-8", "replace").replace(f"{stubs}/", "")
            if done.ok:
                return _Answer(printed)
            said = [line for line in done.text.splitlines() if "***" in line]
            reason = said[0].partition("*** ")[2] if said else f"it left with {done.returncode}"
            return _Answer(printed if "-p" in argv else "", refused=reason)


@dataclass(frozen=True)
class _Answer:
    """What make printed, and its reason when it starts nothing."""

    printed: str = ""
    refused: str | None = None
    commands: tuple[Command, ...] = ()


_FILLED_IN = "${ROCM_PATH:-/opt/rocm}"  # by the shell that the build runs in


def _assigned(variables: Mapping[str, str]) -> list[str]:
    return [f"{name}={value.replace(_FILLED_IN, _ROCM)}" for name, value in variables.items()]


def _texts(makefile: Path, depth: int = 0) -> Iterator[str]:
    """The texts of a Makefile, of those that it includes, and of those of the folders that it has make enter."""
    try:
        text = makefile.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield text
    if depth < _DEEPEST:
        included = [makefile.parent / name for line in _INCLUDES.findall(text) for name in line.split()]
        entered = [makefile.parent / name for name in dict.fromkeys(_ENTERS.findall(text))][:_MOST_GOALS]
        below = [folder / name for folder in entered for name in MAKEFILES if (folder / name).is_file()]
        for path in (*included, *below):
            yield from _texts(path, depth + 1)


def _by_name(text: str) -> dict[str, str]:
    """The variables that hold a compiler by its path, and a folder of ROCm that is not there: what to set instead."""
    assigned = _ASSIGNED.findall(text)
    found = {name: "hipcc" for name, value in assigned if _COMPILER_BY_PATH.match(value)}
    others = "\n".join(line for line in text.splitlines() if not _sets(line, found))
    for name, value in assigned:
        absent = re.match(rf"{_ROCM}(?:/|$)", value) is not None and not Path(value).exists()
        if absent and name not in found and re.search(rf"\$[({{]{name}[)}}][\w/]*/bin/", others):
            found[name] = value.replace(_ROCM, _FILLED_IN, 1)
    return found


def _sets(line: str, names: Iterable[str]) -> bool:
    match = _ASSIGNED.match(line)
    return match is not None and match[1] in names


def _choices(text: str, database: str, mpi: bool) -> Iterator[dict[str, str]]:
    """What to set so that a Makefile takes its way for AMD's GPUs, where it asks for a variable's value."""
    for name, value in _CHOICE.findall(text):
        if _FOR_AMD.search(value) or (
            _FOR_AMD.search(name) and value.lower() in ("1", "yes", "true", "on", "y")
        ):
            yield {name: value}
    for name in _SWITCH.findall(text):
        if _FOR_AMD.search(name) and "PATH" not in name:
            yield {name: "1"}
    # A compiler that is not there: hipcc may take its place, below the wrapper for MPI where that is used.
    values = dict(_ASSIGNED.findall(database))  # a Makefile may name several, and take one
    named = {name: values.get(name, value) for name, value in _ASSIGNED.findall(text)}
    named = {name: value for name, value in named.items() if _is_compiler(name, value)}
    absent = {name: value for name, value in named.items() if _is_absent(value)}
    wrapped = {
        name: "mpicxx"
        for name, value in absent.items()
        if mpi and ("/" in value or value == "CC" or FOR_MPI.match(value))
    }
    if wrapped and shutil.which("mpicxx") is not None:
        yield {**dict.fromkeys(absent, "hipcc"), **wrapped, **_CALLED_FOR_MPI}
    if absent:
        yield dict.fromkeys(absent, "hipcc")


def _is_compiler(variable: str, value: str) -> bool:
    """Whether a variable of a Makefile holds the name of a compiler, or its path: `CXX = /opt/cray/bin/crayCC`."""
    path = re.fullmatch(r"/[\w./+-]+", value) is not None
    return (
        COMPILERS.match(value) is not None or value == "CC" or (path and bool(_FOR_COMPILERS.match(variable)))
    )


def _uses_mpi(directory: Path) -> bool:
    """Whether a source or header of the directory includes MPI's header."""
    texts = SourceTexts()
    files = (p for p in directory.iterdir() if p.suffix in (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES, ".c"))
    return any("mpi.h" in (texts.text(path) or "") for path in files)


def _is_secondary(program: MadeProgram) -> tuple[bool, bool]:
    """Sorts what has no GPU code in its own sources last, such as a generator of data, and what is for several GPUs."""
    texts = SourceTexts()
    for_hosts = not any(uses_hip(texts.text(path) or "") for path in program.sources)
    return for_hosts, _FOR_SEVERAL.search(program.path.name) is not None


def _is_absent(compiler: str) -> bool:
    return not compiler.rpartition("/")[2].startswith(OURS) and shutil.which(compiler) is None


def _goals(database: str) -> list[str]:
    """The targets that a Makefile names, in make's own list of them."""
    rules = database.partition("\n# Files\n")[2] or database
    found = []
    skip = False
    for line in rules.splitlines():
        if line.startswith("# Not a target"):
            skip = True
        elif match := re.match(r"^([\w./+-]+):(?!=)", line):
            if not skip and not match[1].endswith((*NO_PROGRAM, *PROGRAM_SUFFIXES, ".h", ".c", ".mk")):
                found.append(match[1])
            skip = False
    return [goal for goal in dict.fromkeys(found) if not Path(goal).name.lower().startswith("makefile")]


def _makefile_list(database: str, directory: Path) -> Iterator[Path]:
    """The Makefiles that make has read."""
    for line in re.findall(r"^MAKEFILE_LIST :?= *(.*)$", database, re.MULTILINE):
        for name in line.split():
            yield Path(os.path.normpath(directory / name))


def _compile_flags(database: str) -> Iterator[str]:
    """The definitions, folders and language of a Makefile's variables, as far as they name no other variable."""
    seen = set()
    for name, value in _ASSIGNED.findall(database):
        if not re.search(r"FLAGS|DEF|INC|OPT", name):
            continue
        for word in value.split():
            if re.match(r"-(?:D\w|I[\w./]|std=|fopenmp$)", word) and "$" not in word and word not in seen:
                seen.add(word)
                yield word


def _what_goes_into(link: Command, commands: Iterable[Command]) -> list[Command]:
    """The commands that make what a link reads, and what these read."""
    making = {c.output: c for c in commands if c.output is not None}
    found: list[Command] = []
    waiting = list(link.inputs)
    while waiting:
        made = making.get(waiting.pop())
        if made is not None and made is not link and made not in found:
            found.append(made)
            waiting += made.inputs
    return found


def _in_order(link: Command, own: Sequence[Command]) -> tuple[Command, ...]:
    """The calls of compilers that make a program, each behind those that make what it reads, if that can be."""
    calls = (*reversed(own), link)
    made: set[Path] = set()
    for call in calls:
        named = [path for path in call.inputs if path.suffix in (*PROGRAM_SUFFIXES, ".c", ".o", ".obj")]
        if not call.compiler or any(path not in made and not path.is_file() for path in named):
            return ()
        made |= {call.output} if call.output is not None else set()
    return calls


def _from(directory: Path, call: Command) -> str:
    """A call for the shell of another directory."""
    at = os.path.relpath(call.directory, directory)
    return call.spelled() if at == "." else f"(cd {shlex.quote(at)} && {call.spelled()})"


def _named_from(directory: Path, program: Path) -> str:
    name = os.path.relpath(program, directory)
    return shlex.quote(name if "/" in name else f"./{name}")
