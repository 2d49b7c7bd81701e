"""What other build systems than make and CMake would build: meson, `configure`, ninja, and a compilation database.

Takes a directory and the compiler's calls, gives programs with the commands for them, or why there are none. What is
asked runs confined, in a copy.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.build_files.commands import Command, commands_of
from hipscope.analysis.build_files.makefiles import made_programs, makefiles
from hipscope.analysis.build_files.outside import top_of
from hipscope.analysis.build_files.rocm_folder import CompilerCalls, absent_roots, stand_ins
from hipscope.analysis.build_files.source_files import PROGRAM_SUFFIXES, has_main, uses_hip
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed
from hipscope.analysis.system.sandbox import (
    Box,
    paths_in,
    plain_environment,
    private_copy,
    run_confined,
    tool_directories,
)

MESON, DATABASE, NINJA = "meson.build", "compile_commands.json", "build.ninja"
_SECONDS = 120.0
_SOURCES = (*PROGRAM_SUFFIXES, ".c")
_KEPT = re.compile(
    r"^-(?:D|I|isystem|std=|f(?!diagnostics|color|file-prefix|debug-prefix|PI)|m(?!arch)|O|x|include|nogpu)"
)
_WITH_VALUE = ("-I", "-D", "-isystem", "-include", "-x")
_OPTIONS = re.compile(r"--(?:enable|with)-(?:hip|rocm|amd)\b(?!-)(\[?=\w*)?", re.IGNORECASE)


@dataclass(frozen=True)
class OtherProgram:
    """A program: what names it, how it is built and started, what it is compiled from as far as that is known."""

    origin: str
    build: str
    run: str
    program: str
    sources: frozenset[Path]
    commands: tuple[Command, ...] = ()
    objects: int = 0


def other_programs(
    directory: Path, calls: CompilerCalls | None, cancel: threading.Event | None = None
) -> tuple[list[OtherProgram], list[str]]:
    """The programs of a directory's other build files, those with GPU code first, and why tools refuse them."""
    found: list[OtherProgram] = []
    refused: list[str] = []
    for name, ask in _SYSTEMS.items():
        if (directory / name).is_file() and not found:
            try:
                programs, reason = ask(directory, calls, cancel)
            except HipscopeError as error:
                programs, reason = [], error.message
            found += programs
            refused += [] if reason is None else [f"{name}: {reason}"]
    generated = (directory / "configure").is_file() or makefiles(directory)
    if (
        not found
        and not generated
        and any((directory / f"configure.{end}").is_file() for end in ("ac", "in"))
    ):
        refused.append("configure.ac has no `configure` beside it: `autoreconf -i` makes one")
    texts = SourceTexts()
    found.sort(key=lambda one: not any(uses_hip(texts.text(path) or "") for path in one.sources))
    return found, refused


def other_files(directory: Path) -> list[Path]:
    """The build files of a directory that are read here."""
    return [directory / name for name in _SYSTEMS if (directory / name).is_file()]


def _of_meson(
    directory: Path, calls: CompilerCalls | None, cancel: threading.Event | None
) -> tuple[list[OtherProgram], str | None]:
    """What meson says of its targets without a configuration."""
    if shutil.which("meson") is None:
        return [], "meson is not installed: `pip install meson ninja`"
    done = _confined(["meson", "introspect", "--targets", MESON], directory, calls, cancel)
    try:
        targets = json.loads(done.stdout)
        programs = [one for one in targets if one["type"] == "executable"]
        return [_of_target(one, directory) for one in programs], None if programs else "it makes no program"
    except (ValueError, KeyError, TypeError, IndexError):
        lines = [line for line in done.text.splitlines() if "ERROR" in line] or done.text.splitlines()[-1:]
        return [], f"meson refuses it: {' '.join(lines)[:300]}"


def _of_target(said: Any, directory: Path) -> OtherProgram:
    named = [name for group in said["target_sources"] for name in group.get("sources", ())]
    sources = frozenset(Path(os.path.normpath(directory / name)) for name in named)
    names = said["filename"]
    file_name = names if isinstance(names, str) else names[0]
    program = os.path.normpath(Path("build") / file_name)
    build = f"CXX=hipcc meson setup build && meson compile -C build {shlex.quote(said['name'])}"
    return OtherProgram(MESON, build, program, said["name"], sources)


def _of_configure(
    directory: Path, calls: CompilerCalls | None, cancel: threading.Event | None
) -> tuple[list[OtherProgram], str | None]:
    """What make would do in a copy in which `configure` has run."""
    text = SourceTexts().text(directory / "configure") or ""
    if calls is None or ("GNU Autoconf" not in text and "Makefile" not in text):
        return [], None
    options = list(dict.fromkeys(m[0].partition("[")[0].partition("=")[0] for m in _OPTIONS.finditer(text)))
    words = ["./configure", *options, *([] if re.search(r"\bHIPCC\b", text) else ["CXX=hipcc"])]
    with private_copy(directory) as shown:
        if not shown:
            return [], "the folder is too large to be configured on trial"
        done = _confined(words, directory, calls, cancel, shown=shown)
        if not done.ok:
            lines = [line for line in done.text.splitlines() if "error" in line] or done.text.splitlines()[
                -1:
            ]
            return [], f"it stops: {' '.join(lines[:1])[:300]}"
        copy = shown[directory]
        made = made_programs(copy, calls.arch) if makefiles(copy) else None
        if made is None or not made.programs:
            return [], None if made is None else made.refused
        before = f"{{ [ -f config.status ] || {shlex.join(words)}; }} && "
        return [
            OtherProgram(
                "configure",
                before + one.build(),
                one.run(copy),
                os.path.relpath(one.path, copy),
                frozenset(directory / p.relative_to(copy) for p in one.sources if p.is_relative_to(copy)),
                objects=sum(c.compiler and "-c" in c.words for c in one.commands),
            )
            for one in made.programs
        ], None


def _of_ninja(
    directory: Path, calls: CompilerCalls | None, cancel: threading.Event | None
) -> tuple[list[OtherProgram], str | None]:
    """The programs that ninja's commands link."""
    if shutil.which("ninja") is None:
        return [], "ninja is not installed"
    with private_copy(directory) as shown:
        done = _confined(["ninja", "-n", "-v"], directory, calls, cancel, shown=shown)
    if not done.ok:
        return [], f"ninja refuses it: {' '.join(done.text.splitlines()[-1:])[:300]}"
    lines = (re.sub(r"^\[\d+/\d+\] ", "", line) for line in done.text.splitlines())
    commands = [c for line in lines for c in commands_of(line, directory) if c.compiler]
    sources = frozenset(p for c in commands for p in c.inputs if p.suffix in _SOURCES)
    programs = [c.product for c in commands if c.product is not None]
    return [
        OtherProgram(NINJA, f"ninja {name}", _started(name), name, sources, tuple(commands))
        for name in (os.path.relpath(path, directory) for path in programs)
    ], None


def _of_database(
    directory: Path, _calls: CompilerCalls | None, _cancel: threading.Event | None
) -> tuple[list[OtherProgram], str | None]:
    """The sources and flags of a database, which has no link: one program for each source with `main`.

    The database may have been written on another machine: of a file counts the longest end of its path that is here.
    """
    try:
        entries = json.loads((directory / DATABASE).read_text(encoding="utf-8", errors="replace"))
        flags: dict[Path, tuple[str, ...]] = {}
        for entry in entries:
            at = Path(entry.get("directory", "."))
            words = entry.get("arguments") or shlex.split(entry["command"])
            file = _here(Path(os.path.normpath(at / entry["file"])), directory)
            if file is not None and file.suffix in _SOURCES:
                flags.setdefault(file, tuple(_kept(words[1:], at, directory)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [], "it is no compilation database"
    texts = SourceTexts()
    mains = [file for file in flags if has_main(texts.text(file) or "")]
    parts = [file for file in flags if file not in mains]
    found = []
    for main in mains:
        files = [main, *parts]
        program = main.stem
        found.append(
            OtherProgram(
                DATABASE,
                _call(files, flags, program, directory),
                _started(program),
                program,
                frozenset(files),
            )
        )
    return found, None if found else "none of its sources here has `main`"


def _call(files: Sequence[Path], flags: dict[Path, tuple[str, ...]], program: str, directory: Path) -> str:
    """One call of hipcc where all sources have the same flags, else one for each and one that links."""
    names = {file: os.path.relpath(file, directory) for file in files}
    if len({flags[file] for file in files}) == 1:
        return shlex.join(["hipcc", *flags[files[0]], *names.values(), "-o", program])
    compiled = [shlex.join(["hipcc", *flags[f], "-c", name, "-o", f"{name}.o"]) for f, name in names.items()]
    linked = [word for word in dict.fromkeys(w for f in files for w in flags[f]) if word == "-fopenmp"]
    return " && ".join(
        [*compiled, shlex.join(["hipcc", *linked, *(f"{n}.o" for n in names.values()), "-o", program])]
    )


def _kept(words: Sequence[str], at: Path, directory: Path) -> Iterable[str]:
    """Those of a call's words that decide what is compiled, folders as they are called from here."""
    rest = iter(words)
    for word in rest:
        if not _KEPT.match(word):
            continue
        option = next((o for o in ("-isystem", "-include", "-I") if word.startswith(o)), "")
        value = next(rest, "") if word in _WITH_VALUE else word[len(option) :] if option else None
        if value is None:
            yield word
        elif word in ("-D", "-x"):
            yield from (word, value)
        else:
            place = _here(Path(os.path.normpath(at / value)), directory)
            if place is not None:
                yield from (option, os.path.relpath(place, directory))


def _here(path: Path, directory: Path) -> Path | None:
    """What a path is here: itself below the repository, else its longest end that exists, as of another machine's."""
    if path.is_relative_to(top_of(directory)) and path.exists():
        return path
    ends = (directory.joinpath(*path.parts[count:]) for count in range(1, len(path.parts)))
    return next((end for end in ends if end.exists()), directory if path.name == directory.name else None)


def _confined(
    argv: Sequence[str],
    directory: Path,
    calls: CompilerCalls | None,
    cancel: threading.Event | None,
    shown: Any = None,
) -> Completed:
    """Run a tool with our compilers and without the network."""
    with work_directory("init") as work:
        env = plain_environment({})
        seen: tuple[Path, ...] = tool_directories(env["PATH"])
        named: dict[Path, Path] = {}
        if calls is not None:
            (work / "record").mkdir()
            env |= stand_ins(work, calls, env, record=work / "record", names=(work, directory))
            seen = (
                *paths_in([*calls.hip_flags, str(calls.clang)]),
                *calls.libraries,
                *tool_directories(env["PATH"]),
            )
            if calls.rocm is None:
                named = dict.fromkeys(absent_roots([directory]), work / "rocm")
        box = Box(read=(top_of(directory), *seen), write=(work,), shown={**(shown or {}), **named})
        return run_confined(argv, box, timeout=_SECONDS, cwd=directory, env=env, cancel=cancel)


def _started(program: str) -> str:
    return shlex.quote(program if "/" in program else f"./{program}")


_SYSTEMS = {MESON: _of_meson, "configure": _of_configure, NINJA: _of_ninja, DATABASE: _of_database}
