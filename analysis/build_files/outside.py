"""What a build reads outside of its own directory: it runs in a copy, so that has to be named.

Takes a directory and the commands of its build, gives folders, or single files of the folders above it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from hipscope.analysis.build_files.source_files import HEADER_SUFFIXES, PROGRAM_SUFFIXES
from hipscope.analysis.source.texts import SourceTexts

_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_OPENED = re.compile(rb'(?<!include )"(\.\./[\w./+-]+)"')
_MOST_FILES = 2000


class StartedCommand(Protocol):
    """The words of a command, and where it is started."""

    @property
    def words(self) -> tuple[str, ...]:
        """The command, and what it is given."""

    @property
    def directory(self) -> Path:
        """Where it is started."""


def read_outside(
    directory: Path, commands: Iterable[StartedCommand], files: Iterable[Path] = ()
) -> tuple[str, ...]:
    """What sources include from outside of this directory, or that commands name, relative to it.

    `files` are others that the build reads, or folders of headers. Of a directory above, which holds all of the
    neighbours, single files are named.
    """
    top = top_of(directory)
    named = {path for command in commands for path in _paths(command, top)}
    named |= {path for path in files if path.is_relative_to(top)}
    searched = [directory, *sorted(path for path in named if path.is_dir())]
    reached = {path for path in (*named, *_included_from(directory, named, searched)) if path.exists()}
    outside = set()
    for path in reached:
        place = path if path.is_dir() else path.parent
        if not place.is_relative_to(top) or place.is_relative_to(directory):
            continue
        if not directory.is_relative_to(place):
            outside.add(place)
        elif path.is_file():
            outside.add(path)
    outermost = [path for path in outside if not any(p != path and path.is_relative_to(p) for p in outside)]
    return tuple(sorted(os.path.relpath(path, directory) for path in outermost))


def top_of(directory: Path) -> Path:
    """How far up a program's files may lie: its repository, else two directories above, never all of the machine."""
    above = (directory, *directory.parents)
    repository = next((d for d in above if (d / ".git").exists()), None)
    if repository is not None:
        return repository
    return next((d for d in reversed(above[:3]) if len(d.parts) > 2), directory)


def _paths(command: StartedCommand, top: Path) -> Iterator[Path]:
    """What the words of a command name: with `..`, or from the root of the machine within the repository."""
    for word in command.words:
        path = re.sub(r"^-(?:I|isystem|iquote|L)", "", word)
        if path.startswith(("..", f"{top}/")) or "/../" in path:
            yield Path(os.path.normpath(command.directory / path))


def _included_from(directory: Path, named: Iterable[Path], searched: Iterable[Path]) -> Iterator[Path]:
    """What the sources here and the named ones include, beside themselves or from the searched folders, and open."""
    texts = SourceTexts()
    seen: set[Path] = set()
    endings = (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES)
    waiting = [path for path in (*directory.rglob("*"), *named) if path.suffix in endings and path.is_file()]
    places = tuple(searched)
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        text = texts.read(path) or b""
        # Data that the program opens, as seen from where it is started.
        data = (Path(os.path.normpath(directory / os.fsdecode(name))) for name in _OPENED.findall(text))
        yield from (file for file in data if file.is_file())
        for name in map(os.fsdecode, _INCLUDED.findall(text)):
            for place in (path.parent, *places):
                file = Path(os.path.normpath(place / name))
                if file.is_file():
                    waiting.append(file)
                    yield file
                    break
