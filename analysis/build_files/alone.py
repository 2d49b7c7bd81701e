"""What sources say that have no build file, or one that its tool refuses: a call of the compiler for all of them.

Takes a directory, gives the sources of its one program, or the call of the compiler in a script beside them.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.build_files.makefiles import Command, commands_of
from hipscope.analysis.build_files.source_files import PROGRAM_SUFFIXES, has_main
from hipscope.analysis.source.texts import SourceTexts

_FOLDERS = ("", "src", "source")


@dataclass(frozen=True)
class SourcesAlone:
    """The sources of one program, `main` first; relative to the directory."""

    sources: tuple[str, ...]

    def build(self, flags: tuple[str, ...]) -> str:
        """The shell command."""
        words = ["hipcc", "-O3", *flags, *sorted(self.sources), "-o", Path(self.sources[0]).stem]
        return shlex.join(words)


@dataclass(frozen=True)
class Script:
    """A script that calls a compiler: its name, the program that it links, and its calls."""

    name: str
    program: Path
    commands: tuple[Command, ...]


def sources_alone(directory: Path, source: Path | None = None) -> SourcesAlone | None:
    """All sources of a directory, or of its folder of sources, when exactly one of them has `main`.

    With `source`, that one is the program's, and others with a `main` are left out.
    """
    texts = SourceTexts()
    for folder in _FOLDERS:
        place = directory / folder
        if not place.is_dir():
            continue
        sources = [p for p in sorted(place.iterdir()) if p.suffix in PROGRAM_SUFFIXES and p.is_file()]
        programs = [p for p in sources if has_main(texts.text(p) or "")]
        wanted = [p for p in programs if p == source] if source is not None else programs
        if len(wanted) == 1:
            others = [p for p in sources if p not in programs]
            return SourcesAlone(tuple(str(p.relative_to(directory)) for p in (*wanted, *others)))
        if sources:
            return None
    return None


def scripts(directory: Path) -> list[Script]:
    """The scripts of a directory in which hipcc links a program."""
    found = []
    for path in sorted(directory.glob("*.sh")):
        text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
        lines = [line for line in text.splitlines() if re.search(r"\b(?:hipcc|clang\+\+)\b", line)]
        commands = [c for line in lines for c in commands_of(line, directory) if c.compiler]
        programs = [c.product for c in commands if c.for_gpus and c.product is not None]
        if programs and "$" not in str(programs[-1]):
            found.append(Script(path.name, programs[-1], tuple(commands)))
    return found
