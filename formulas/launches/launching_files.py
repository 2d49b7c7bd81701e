"""The launches of a kernel in all files of a program, each with a multiple or a part of its workgroups.

A constant beside the kernel may say how many times; so each file that launches it must be compiled with the kernel's
own text. All launches are edited or none: also one in a file that this program's build leaves out refuses, as another
program may be made of it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.semantics.records import KernelLaunch
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.launches.more_workgroups import Scale, more_workgroups
from hipscope.formulas.propose.splice import Splice

_SOURCES = (
    ".hip",
    ".cu",
    ".cuh",
    ".cpp",
    ".cc",
    ".cxx",
    ".C",
    ".c++",
    ".c",
    ".h",
    ".hpp",
    ".hh",
    ".hxx",
    ".inl",
)
_UNREAD = re.compile(rb'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)  # comments and strings
_MOST_FILES = 4000  # of a project's directory, as for what is prepared


@dataclass(frozen=True)
class LaunchingProgram:
    """The program around a kernel in `file`: its sources and headers, and all that its directory `root` holds.

    `seeing` are the sources that are compiled with the kernel's own text.
    """

    kernel: str
    file: Path
    root: Path
    sources: frozenset[Path]
    headers: frozenset[Path]
    seeing: frozenset[Path]
    texts: SourceTexts


def program_around(bench: Bench, seeing: Iterable[Path]) -> LaunchingProgram:
    """That of a bench."""
    return LaunchingProgram(
        bench.kernel.name,
        bench.source.resolve(),
        bench.project.root.resolve(),
        frozenset(file.resolve() for file in bench.project.sources),
        frozenset(file.resolve() for file in bench.project.headers),
        frozenset(file.resolve() for file in seeing),
        bench.run.texts,
    )


def launches_of(
    program: LaunchingProgram, launches: Sequence[KernelLaunch], scale: Scale
) -> dict[Path, list[Splice]] | str:
    """The edits of each file that launches the kernel, the kernel's own file first; or why there are none."""
    own = program.file
    sites = {(site.place.file.resolve(), site.place.span) for site in launches}
    counts = Counter(file for file, _ in sites)
    files = sorted(counts, key=lambda file: (file != own, str(file)))
    if files != [own] and (why := _refusal(program, files)) is not None:
        return why
    found: dict[Path, list[Splice]] = {}
    for file in files:
        text = program.texts.needed(file)
        splices = more_workgroups(text, parse(text), program.kernel, counts[file], scale)
        if isinstance(splices, str):
            return splices
        found[file] = splices
    return found


def _refusal(program: LaunchingProgram, files: Sequence[Path]) -> str | None:
    """Why an edit cannot span the kernel's file and these, which launch it."""
    kernel, own, known = program.kernel, program.file, program.sources | program.headers
    for file in files:
        if file not in known | {own}:
            return f"`{kernel}` is launched in {file.name}, which is no file of the project"
    for file in sorted(known | {own}):
        launching = file in files or _launches(program, file)
        if launching and file in program.sources - program.seeing - {own}:
            return f"{file.name} launches `{kernel}`, but is not compiled with {own.name}, where the kernel stands"
        if launching and file not in files:
            return f"how {file.name} launches `{kernel}` is not known to the compiler"
    others = _below(program.root)
    if others is None:
        return f"the project has too many files to look for other launches of `{kernel}`"
    for file in others:
        if file not in known | {own} and _launches(program, file):
            return f"`{kernel}` is launched in {file.name}, too, which is not built with this program"
    return None


def _launches(program: LaunchingProgram, file: Path) -> bool:
    """Whether a file names the kernel as launches do, or to hand it on."""
    name = re.escape(program.kernel).encode()
    named = rb"\b%s\s*(<[^;{}()]*>\s*)?(<<<|[,)])" % name
    return re.search(named, _UNREAD.sub(b" ", program.texts.read(file) or b"")) is not None


def _below(root: Path) -> list[Path] | None:
    """The sources below the project's directory; None when it has too many files to look at."""
    found: list[Path] = []
    seen = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".")]
        seen += len(names)
        if seen > _MOST_FILES:
            return None
        found += [Path(folder, n).resolve() for n in names if n.endswith(_SOURCES)]
    return found
