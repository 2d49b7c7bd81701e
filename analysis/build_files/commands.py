"""Commands of a shell as make prints them or a script has them: what is compiled, linked and started, and where.

Takes text, gives `Command`s. Executes nothing.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.analysis.build_files.source_files import PROGRAM_SUFFIXES

OURS = ("hipcc", "amdclang++", "clang++", "amdclang", "clang")
"""The compilers that hipscope stands in for."""

COMPILERS = re.compile(
    r"^(?:.*/)?(?:hipcc|nvcc|(?:amd)?clang(?:\+\+)?|[gc]\+\+|gcc|cc|mpi(?:cxx|cc|c\+\+))(?:-\d+)?$"
)
FOR_MPI = re.compile(r"^(?:.*/)?mpi(?:cxx|cc|c\+\+)$")
NO_PROGRAM = (".o", ".so", ".a", ".obj", ".d", ".i", ".s", ".co", ".hsaco", ".bc")
"""Endings of what a compiler makes that is no program."""

_LAUNCHERS = re.compile(
    r"^(?:.*/)?(?:mpirun|mpiexec|srun|jsrun|lrun|aprun|time|timeout|nohup|env|nice|taskset|numactl)$"
)
_ASSIGNED = re.compile(r"^\w+=")
# Where what it prints goes: `2>&1`, `> log.txt`, `&>> log.txt`; not in quotes, and no `->` or `<size>`.
_OUTPUT = re.compile(r"""(?<=\s)(?:\d|&)?>>?[ \t]*(?:&\d|[^\s"'<>|&;()]+)(?=\s|$)""")
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;]*?)\s*;\s*do\b(.*?)(?:;\s*)?\bdone\b")
_KEYWORDS = ("do", "then", "else", "!", "{")


@dataclass(frozen=True)
class Command:
    """A command that make would start: its words, and the directory that it is started in.

    `variables` are those that are set for it alone, as `NAME=value`.
    """

    words: tuple[str, ...]
    directory: Path
    variables: tuple[str, ...] = ()

    @property
    def compiler(self) -> bool:
        """Whether it compiles or links."""
        return COMPILERS.match(self.words[0]) is not None

    @property
    def for_gpus(self) -> bool:
        """Whether it is a compiler that makes code for AMD's GPUs."""
        name = self.words[0].rpartition("/")[2]
        return name == "hipcc" or (name.startswith((*OURS, "mpi")) and self._names_gpus)

    @property
    def needs_another(self) -> bool:
        """Whether it is a compiler that does not know the options for AMD's GPUs that it is given."""
        return self.compiler and self._names_gpus and not self.for_gpus

    @property
    def _names_gpus(self) -> bool:
        starts = ("--offload-arch", "--hip-link", "-xhip")
        return any(word.startswith(starts) or word == "hip" for word in self.words)

    @property
    def calls_another(self) -> bool:
        """Whether it is a wrapper for MPI, which calls another compiler."""
        return FOR_MPI.match(self.words[0]) is not None

    @property
    def makes(self) -> bool:
        """Whether it starts make."""
        return self.words[0].rpartition("/")[2] in ("make", "gmake")

    @property
    def started(self) -> Command | None:
        """The program that this starts, without what launches it, such as `mpirun -np 2`."""
        return self.launched(_is_local_path)

    def launched(self, is_program: Callable[[str], bool]) -> Command | None:
        """The program that this starts, without what launches it: behind a launcher, what `is_program` says of."""
        if self.compiler:
            return None
        words = self.words
        behind = _LAUNCHERS.match(words[0]) is not None
        if behind:
            start = next((n for n, word in enumerate(words) if n and is_program(word)), len(words))
            words = words[start:]
        return replace(self, words=words) if words and (behind or "/" in words[0]) else None

    @property
    def program(self) -> Path | None:
        """The file of the program that this starts."""
        started = self.started
        return None if started is None else started._path(started.words[0])

    @functools.cached_property
    def output(self) -> Path | None:
        """The file that `-o` names, or what a compiler or `ar` makes without one."""
        for option, value in zip(self.words, (*self.words[1:], ""), strict=True):
            named = value if option == "-o" else option[2:] if option.startswith("-o") else ""
            if named:
                return self._path(named)
        if self.words[0].rpartition("/")[2] == "ar":
            return next((self._path(word) for word in self.words if word.endswith(".a")), None)
        if self.compiler and "-c" in self.words:
            source = next((word for word in self.words if word.endswith((*PROGRAM_SUFFIXES, ".c"))), None)
            return self._path(Path(source).with_suffix(".o").name) if source else None
        return None

    @property
    def product(self) -> Path | None:
        """The program that this links."""
        if not self.compiler or {"-c", "-E", "-S", "-M", "-MM", "-shared", "--genco"} & set(self.words):
            return None
        if self.output is not None:
            return None if self.output.name.endswith(NO_PROGRAM) else self.output
        return self._path("a.out") if any(self.inputs) else None

    @functools.cached_property
    def inputs(self) -> tuple[Path, ...]:
        """The sources, objects and archives that it reads."""
        endings = (*PROGRAM_SUFFIXES, ".c", ".o", ".obj", ".a", ".so")
        named = [self._path(w) for w in self.words[1:] if not w.startswith("-") and w.endswith(endings)]
        archives = [f"lib{word[2:]}.a" for word in self.words if word.startswith("-l")]
        folders = [self._path(word[2:]) for word in self.words if word.startswith("-L")]
        named += [folder / name for folder in folders for name in archives]
        return tuple(path for path in named if path != self.output)

    def spelled(self) -> str:
        """The command for a shell, its variables in front, with what it reads as input."""
        words = (word if word == "<" else shlex.quote(word) for word in self.words)
        return " ".join([*map(_assignment, self.variables), *words])

    def _path(self, name: str) -> Path:
        return Path(os.path.normpath(self.directory / name))


def _is_local_path(word: str) -> bool:
    return "/" in word and not word.startswith(("-", "/dev/"))


def _assignment(said: str) -> str:
    """`NAME=value` for a shell, which fills in the variables of the value."""
    name, _, value = said.partition("=")
    return f'{name}="{value}"' if "$" in value else f"{name}={shlex.quote(value)}"


def printed_commands(printed: str, directory: Path) -> Iterator[Command]:
    """The commands in what `make -n -w` printed.

    Of a make that is called as $(MAKE) the commands follow, and the call itself is left out.
    """
    here = [directory]
    calls: list[Command] = []
    for line in printed.replace("\\\n", " ").splitlines():
        if entering := re.match(r"g?make(?:\[\d+\])?: Entering directory '(.*)'", line):
            here.append(Path(entering[1]))
            calls = []
        elif re.match(r"g?make(?:\[\d+\])?: Leaving directory", line):
            here.pop()
        else:
            yield from calls
            found = list(commands_of(line, here[-1]))
            calls = found if any(c.makes for c in found) else []
            yield from () if calls else found
    yield from calls


def commands_of(line: str, at: Path) -> Iterator[Command]:
    """The commands of a line of the shell that is started in a directory."""
    above: list[Path] = []  # where the shells around a subshell are
    for part in re.split(r"&&|\|\||;|(?<!\|)\|(?!\|)", _LOOP.sub(_unrolled, line)):
        said = part.strip().lstrip("@-+")
        above += [at] * said[: len(said) - len(said.lstrip("( "))].count("(")
        try:
            words = shlex.split(_OUTPUT.sub(" ", said.strip("( ")))
        except ValueError:
            continue
        closed = bool(words) and words[-1].endswith(")") and "(" not in words[-1]
        if closed:
            words[-1] = words[-1].rstrip(")")
        variables = []
        while words and (_ASSIGNED.match(words[0]) or words[0] in _KEYWORDS):
            if words[0] not in _KEYWORDS:
                variables.append(words[0])
            words = words[1:]
        if len(words) == 2 and words[0] == "cd":
            at = Path(os.path.normpath(at / words[1]))
        elif words:
            yield Command(tuple(words), at, tuple(variables))
        if closed and above:
            at = above.pop()


def _unrolled(loop: re.Match[str]) -> str:
    """A loop of the shell over words that are written out, as one command after another, each from the same folder."""
    name, values, body = loop[1], loop[2].split(), loop[3].strip().rstrip(";")
    if any("$" in value or "*" in value for value in values):
        return body
    return " ; ".join(re.sub(rf"\$\{{{name}\}}|\${name}\b", value, body) for value in values)
