"""What the README of a directory and the scripts beside it say in commands: compiler calls, options, a program's start.

Takes a directory, gives the calls of hipcc that link a program, options for make and CMake, and arguments.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.build_files.alone import filled_in
from hipscope.analysis.build_files.commands import Command, commands_of
from hipscope.analysis.build_files.outside import top_of
from hipscope.analysis.build_files.source_files import PROGRAM_SUFFIXES

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")
_INDENTED = re.compile(r"^(?: {4}|\t)[ \t]*(\S.*)$")
_INLINE = re.compile(r"`([^`\n]+)`")
_PROMPT = re.compile(r"^(?:\$|>|%|[\w@.~-]+[$#])[ \t]+")
_REMARK = re.compile(
    r"\s+(?:\(\s.*|\([A-Za-z][^()]*\)?\s*)$"
)  # behind a command in a plain text: `./app in.txt ( on node 1 )`
_PLACEHOLDER = re.compile(r"[<>\[\]{}$]|\.\.\.|^[A-Z_]{3,}$")
_FOR_AMD = re.compile(r"hip|amd|rocm", re.IGNORECASE)
_PLACES = re.compile(r"COMPILER|PREFIX|PATH|DIR|ROOT|GENERATOR|BUILD_TYPE|ARCH|TARGETS|EXPORT", re.IGNORECASE)
_LONGEST = 200_000  # characters of a README that are read


@dataclass(frozen=True)
class SaidBuild:
    """A program that the commands of one block of a README link; `folder` is where they are meant to be started."""

    readme: str
    folder: str
    commands: tuple[Command, ...]
    program: str

    def build(self) -> str:
        """The shell command."""
        enter = [] if self.folder == "." else [f"cd {shlex.quote(self.folder)}"]
        return " && ".join([*enter, *(one.spelled() for one in self.commands)])


def said_builds(directory: Path) -> list[SaidBuild]:
    """The programs that calls of hipcc in the README link, from sources that are there: here or one folder below."""
    found: list[SaidBuild] = []
    folders = [
        directory,
        *sorted(p for p in directory.iterdir() if p.is_dir() and not p.name.startswith(".")),
    ]
    for readme in _readmes(directory):
        for block in _blocks(_text(readme)):
            for folder in folders:
                calls = [
                    c for line in block for c in commands_of(line, folder) if c.compiler and _is_whole(c)
                ]
                one = _linked(readme.name, os.path.relpath(folder, directory), calls, folder)
                if one is not None and all(one.program != known.program for known in found):
                    found.append(one)
                if one is not None:
                    break
    return found


def said_arguments(directory: Path, program: str, printed: str = "") -> list[tuple[str, ...]]:
    """Arguments that examples start a program with: in what it printed, then in READMEs and scripts here and above.

    A script may start it by a launcher and its name alone: `srun -n 1 main 64`.
    """
    lines = [line.partition("xample")[2].lstrip("s: ") or line for line in printed.splitlines()]
    top = top_of(directory)
    for place in (p for p in (directory, *directory.parents) if p.is_relative_to(top)):
        for readme in _readmes(place):
            lines += [line for block in _blocks(_text(readme)) for line in block]
            # A plain text may mark its commands by nothing.
            lines += _joined(_text(readme)) if readme.suffix in ("", ".txt") else []
        lines += [line for script in _scripts(place) for line in filled_in(_text(script)).splitlines()]
    found: dict[tuple[str, ...], None] = {}
    for line in lines:
        for command in commands_of(_PROMPT.sub("", _REMARK.sub("", line.strip())), directory):
            started = command.launched(lambda word: _plain(word) == _plain(program))
            if started is not None and _is_whole(started) and _plain(started.words[0]) == _plain(program):
                found.setdefault(started.words[1:])
    return [arguments for arguments in found if arguments]


def _plain(program: str) -> str:
    """The name of a program without its folder and what stands for a GPU, a variant or a system."""
    return re.sub(r"[-_.](?:gfx\w+|e\d+|exe|x|out)\b", "", program.rpartition("/")[2])


def said_definitions(directory: Path) -> list[dict[str, str]]:
    """Options that READMEs and scripts give CMake, a set for each call that speaks of AMD's GPUs."""
    return _unique(
        {
            m[1]: m[2]
            for word in words
            if (m := re.fullmatch(r"-D(\w+)(?::\w+)?=([\w.;+-]+)", word)) is not None
        }
        for words in _calls(directory, "cmake")
    )


def said_variables(directory: Path) -> list[dict[str, str]]:
    """Variables that READMEs and scripts give make, a set for each call that speaks of AMD's GPUs."""
    return _unique(
        {m[1]: m[2] for word in words if (m := re.fullmatch(r"(\w+)=([\w.+-]+)", word)) is not None}
        for words in _calls(directory, "make")
    )


def _unique(sets: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for one in sets:
        kept = {name: value for name, value in one.items() if not _PLACES.search(name)}
        if any(map(_FOR_AMD.search, (*kept, *kept.values()))) and kept not in found:
            found.append(kept)
    return found


def _calls(directory: Path, tool: str) -> Iterator[tuple[str, ...]]:
    blocks = [block for readme in _readmes(directory) for block in _blocks(_text(readme))]
    for block in [*blocks, *(_joined(_text(script)) for script in _scripts(directory))]:
        for command in (c for line in block for c in commands_of(line, directory)):
            if command.words[0].rpartition("/")[2] == tool:
                yield command.words


def _linked(readme: str, folder: str, calls: list[Command], at: Path) -> SaidBuild | None:
    """The first program that a block links, when what it is made of is there or made by the block."""
    made: set[Path] = set()
    for count, call in enumerate(calls, 1):
        sources = [p for p in call.inputs if p.suffix in (*PROGRAM_SUFFIXES, ".c", ".o", ".a")]
        if not sources or any(not p.exists() and p not in made for p in sources):
            return None
        made |= {call.output} if call.output is not None else set()
        if call.product is not None and any(c.for_gpus for c in calls[:count]):
            return SaidBuild(readme, folder, tuple(calls[:count]), os.path.relpath(call.product, at))
    return None


def _is_whole(command: Command) -> bool:
    """Whether a command stands for itself: nothing in it is to be filled in."""
    return not any(_PLACEHOLDER.search(word) for word in command.words[1:])


def _readmes(directory: Path) -> list[Path]:
    named = (
        p
        for p in sorted(directory.iterdir())
        if re.match(r"(?:readme|usage|install|build)\b", p.name, re.IGNORECASE)
    )
    return [p for p in named if p.suffix.lower() in ("", ".md", ".txt", ".rst") and p.is_file()]


def _scripts(directory: Path) -> list[Path]:
    return [p for p in sorted(directory.iterdir()) if p.suffix in (".sh", ".bash") and p.is_file()]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:_LONGEST]
    except OSError:
        return ""


def _blocks(text: str) -> Iterator[list[str]]:
    """The lines of each block of commands: fenced, indented, or a piece of code within a line."""
    block: list[str] = []
    fenced = False
    for line in [*_joined(text), ""]:
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or _INDENTED.match(line) or line.lstrip().startswith(("hipcc ", "$ ")):
            block.append(_PROMPT.sub("", line.strip()))
            continue
        else:
            yield from ([_PROMPT.sub("", code.strip())] for code in _INLINE.findall(line))
        if block:
            yield [one.partition(" #")[0] for one in block]
        block = []


def _joined(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()
