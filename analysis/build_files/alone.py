"""What sources say that have no build file, or one that its tool refuses: a call of the compiler for all of them.

Takes a directory, gives the sources of its one program, or the call of the compiler in a script beside them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from hipscope.analysis.build_files.commands import Command, commands_of
from hipscope.analysis.build_files.source_files import (
    HEADER_SUFFIXES,
    PROGRAM_SUFFIXES,
    for_cuda,
    has_main,
    uses_hip,
)
from hipscope.analysis.source.texts import SourceTexts

_FOLDERS = ("", "src", "source")
_NOT_THE_PROGRAMS = re.compile(
    r"^(?:\..*|build.*|docs?|tests?|unit.*|third.?party|extern(?:al)?s?|vendor|cuda|CMakeFiles)$",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"\.(?:ba)?sh$|^(?:build|compile|make|run)[\w-]*$", re.IGNORECASE)
_DEEPEST = 4
_MOST_FILES = 2000
_VARIABLE = re.compile(r"\$(?:\{(?P<name>\w+)(?:\[[@*]\])?(?::?-(?P<default>[^{}]*))?\}|(?P<plain>\w+))")
_ASSIGNED = re.compile(r"^\s*(?:export\s+)?(\w+)=(.*)$")
_EXTERN = re.compile(r'\bextern\b\s*(?:"C"\s*)?[\w:*&<>,\s]*?\b(\w+)\s*\([^;{}]*\)\s*;')
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class SourcesAlone:
    """The sources of one program, `main` first, and the folders of its headers; relative to the directory."""

    sources: tuple[str, ...]
    searched: tuple[str, ...] = ()

    def build(self, flags: tuple[str, ...]) -> str:
        """The shell command."""
        folders = [f"-I{folder}" for folder in self.searched if f"-I{folder}" not in flags]
        words = ["hipcc", "-O3", *flags, *folders, *sorted(self.sources), "-o", Path(self.sources[0]).stem]
        return shlex.join(words)


@dataclass(frozen=True)
class Script:
    """A script that calls a compiler: its name, the program that it links, its calls, and the shell that it is for.

    `started`: how it starts the program, None where it only builds.
    """

    name: str
    program: Path
    commands: tuple[Command, ...]
    shell: str
    started: Command | None = None

    def build(self) -> str:
        """The shell command: the script itself, or its calls of compilers alone where it starts the program too."""
        if self.started is None:
            return f"{self.shell} ./{self.name}"
        return " && ".join(call.spelled() for call in self.commands)


def sources_alone(directory: Path, source: Path | None = None) -> list[SourcesAlone]:
    """The programs with GPU code of a directory without a build file: each source with `main` is one.

    To a program belong the sources without `main` beside it, and those called after a header that it includes. With
    `source`, only that program.
    """
    texts = SourceTexts()
    files = list(_below(directory, _DEEPEST))
    programs = [p for p in files if p.suffix in PROGRAM_SUFFIXES and has_main(texts.text(p) or "")]
    known = _Files(directory, files, frozenset(programs), texts)
    if source is not None:
        return [one for one, hip in map(known.of, [p for p in programs if p == source]) if hip]
    for folder in _FOLDERS:
        near = [p for p in programs if p.parent == directory / folder]
        if found := [one for one, hip in map(known.of, near) if hip]:
            return found
    return [one for one, hip in map(known.of, programs) if hip]


def reaches_hip(directory: Path, source: Path) -> bool:
    """Whether a source, a header that it includes, or a source beside it without `main` has GPU code or calls HIP."""
    texts = SourceTexts()
    files = list(_below(directory, _DEEPEST))
    programs = frozenset(p for p in files if p.suffix in PROGRAM_SUFFIXES and has_main(texts.text(p) or ""))
    return _Files(directory, files, programs, texts).of(source)[1]


def is_near(source: str) -> bool:
    """Whether a source lies in the directory itself or in its folder of sources."""
    return str(PurePath(source).parent) in (".", *_FOLDERS)


def _below(directory: Path, depth: int) -> Iterator[Path]:
    """The sources and headers below a directory, without those of tests, of other libraries and of builds."""
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if depth and not _NOT_THE_PROGRAMS.match(path.name):
                yield from _below(path, depth - 1)
        elif path.suffix in (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES) and path.is_file():
            yield path


@dataclass(frozen=True)
class _Files:
    """The sources and headers of a directory, and which of them have `main`."""

    directory: Path
    files: Sequence[Path]
    programs: frozenset[Path]
    texts: SourceTexts

    def of(self, program: Path) -> tuple[SourcesAlone, bool]:
        """What belongs to a program, and whether GPU code or calls of HIP are in there."""
        beside = [p for p in self.files if p.parent == program.parent and self._may_be_linked(p)]
        sources = [program, *beside]
        searched: list[Path] = []
        seen: set[Path] = set()
        hip = cuda = False
        waiting = list(sources)
        while waiting and len(seen) < _MOST_FILES:
            path = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            text = self.texts.text(path) or ""
            hip, cuda = hip or uses_hip(text), cuda or for_cuda(text)
            for name in _INCLUDED.findall(text):
                header = self._header(path, name)
                if header is None:
                    continue
                waiting.append(header)
                place = Path(os.path.normpath(header)).parents[len(Path(name).parts) - 1]
                if place != path.parent and place not in searched:
                    searched.append(place)
                named = [p for p in self.files if p.stem == header.stem and self._may_be_linked(p)]
                sources += [p for p in named if p not in sources]
                waiting += named
            if not waiting and not hip:
                waiting = [p for p in self._defining(seen) if p not in sources]
                sources += waiting
        sources = [p for p in sources if not self._is_included(p, seen)]
        relative = tuple(os.path.relpath(p, self.directory) for p in sources)
        searched_from = tuple(os.path.relpath(p, self.directory) for p in searched)
        return SourcesAlone(relative, searched_from), hip and not cuda

    def _defining(self, seen: Iterable[Path]) -> list[Path]:
        """The sources that define a function which one of these files declares `extern`."""
        names = {name for path in seen for name in _EXTERN.findall(self.texts.text(path) or "")}
        if not names:
            return []
        defined = re.compile(rf"\b(?:{'|'.join(sorted(names))})\s*\([^;{{}}]*\)\s*\{{")
        return [p for p in self.files if self._may_be_linked(p) and defined.search(self.texts.text(p) or "")]

    def _may_be_linked(self, path: Path) -> bool:
        return path.suffix in PROGRAM_SUFFIXES and path not in self.programs

    def _header(self, path: Path, name: str) -> Path | None:
        """The file below the directory that an include names: beside the source, else where its name ends so."""
        beside = Path(os.path.normpath(path.parent / name))
        if beside in self.files:
            return beside
        if ".." in Path(name).parts:
            return None
        return next((p for p in self.files if p.parts[-len(Path(name).parts) :] == Path(name).parts), None)

    def _is_included(self, source: Path, seen: Iterable[Path]) -> bool:
        """Whether another file includes the source: compiled by itself, it would be there twice."""
        name = source.name
        return any(
            name in (self.texts.text(path) or "")
            and any(Path(one).name == name for one in _INCLUDED.findall(self.texts.text(path) or ""))
            for path in seen
            if path != source
        )


def scripts(directory: Path) -> list[Script]:
    """The scripts of a directory in which hipcc links a program."""
    found = []
    for path in sorted(p for p in directory.iterdir() if _SCRIPT.search(p.name) and p.is_file()):
        text = path.read_text(encoding="utf-8", errors="replace")
        shell = "bash" if re.match(r"#!.*\bbash\b", text) or path.suffix == ".bash" else "sh"
        if path.suffix == "" and not text.startswith("#!"):
            continue
        lines = filled_in(text).splitlines()
        commands = [c for line in lines for c in commands_of(line, directory)]
        calls = [c for c in commands if c.compiler]
        programs = [c.product for c in calls if c.for_gpus and c.product is not None]
        if programs and "$" not in str(programs[-1]):
            started = next((c.started for c in commands if c.program == programs[-1]), None)
            found.append(Script(path.name, programs[-1], tuple(calls), shell, started))
    return found


def filled_in(text: str) -> str:
    """The text of a script, its lines joined, and in place of variables what it sets them to."""
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    text = re.sub(r"=\(([^()]*)\)", lambda m: f'="{" ".join(shlex.split(m[1]))}"', text)
    values: dict[str, str] = {}
    lines = []
    for line in text.splitlines():
        said = _VARIABLE.sub(lambda m: values.get(m["name"] or m["plain"], m["default"] or m[0]), line)
        if (assigned := _ASSIGNED.match(said)) is not None and (words := _words(assigned[2])) is not None:
            values[assigned[1]] = words
        lines.append(said)
    return "\n".join(lines)


def _words(value: str) -> str | None:
    """What a shell makes of an assigned value; None where that is more than one word, thus a command."""
    try:
        words = shlex.split(value)
    except ValueError:
        return None
    return "".join(words) if len(words) <= 1 else None
