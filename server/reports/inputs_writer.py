"""What build and run of a profiled program read, with digests: the files in the `inputs` of its report.

Takes the project as it was built (`BuiltProgram.narrowed`) and the texts that it was built from.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from hipscope.analysis.config import CONFIG_FILE
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.file_digests import file_digest
from hipscope.analysis.system.places import place_of
from hipscope.analysis.toolchain.compile_commands import DATABASE, cmake_reply
from hipscope.analysis.toolchain.project import Project

_BUILD_FILES = ("Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "CMakePresets.json")


def source_files(project: Project, texts: SourceTexts) -> dict[str, str]:
    """SHA-256 of each source by its real path, as the compiler had it."""
    return {os.path.realpath(path): texts.digest(path) or "" for path in project.sources}


def other_files(project: Project, texts: SourceTexts) -> dict[str, str]:
    """The same of settings, build files and data; "" for settings that would be read if they were there.

    To be asked before the build, so that what is saved meanwhile differs. Data are the files that a word of the
    commands or of the program's arguments names.
    """
    unsaved = {os.path.realpath(path) for path in texts.unsaved}
    found = {}
    for path in _beside(project):
        name = os.path.realpath(path)
        found[name] = (texts.digest(name) if name in unsaved else None) or file_digest(name)
    for path in _settings(project):
        found[os.path.realpath(path)] = file_digest(
            path
        )  # the editor's text of these counts when it is saved
    return found


def _settings(project: Project) -> Iterator[Path]:
    yield _nearest(project.directory, CONFIG_FILE)
    if project.build_kind == "single":
        yield _nearest(project.root, DATABASE)
        yield project.root / "build" / DATABASE
        if (reply := cmake_reply(project.root)) is not None:
            yield reply


def _nearest(start: Path, name: str) -> Path:
    """The file of that name in a directory or above it, as far up as the repository; else where it would be."""
    return (place_of(start, name).holder or start) / name


def _beside(project: Project) -> Iterator[Path]:
    """Build files and data."""
    config, start = project.config, project.directory
    words = [*project.program_args]
    if project.build_kind == "command":
        folders = {start, *(path.parent for path in project.sources)}
        yield from (d / name for d in sorted(folders) for name in _BUILD_FILES if (d / name).is_file())
        for command in (config.build, config.run):
            words += _words(command or "")
    for word in words:
        value = word.rpartition("=")[2] if word.startswith("-") else word
        path = start / value
        if value and path.is_file() and not _is_program(path):
            yield path


def _is_program(path: Path) -> bool:
    """Whether it is what a build made: that changes with its sources, and every build makes it anew."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return True


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
