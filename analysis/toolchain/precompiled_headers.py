"""The system headers that a source begins with, precompiled once for all sources that begin with the same ones.

The compiler itself puts headers before each HIP source; a source that begins with none has these alone precompiled.

Takes the text of a source and how it is compiled, gives a precompiled header and the number of bytes of the source that
it stands for: for single compiles one that many programs share, ahead of many compiles one of all its headers. Most of
the time of a compile goes into these headers; what the compiler makes of the whole source is the same, byte for byte.
Where a precompiled header cannot be had, there is none, and the caller compiles without.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hipscope.analysis.system.directories import write_atomically
from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain.cache import BuildCache, Entry
from hipscope.analysis.toolchain.compile_commands import CompileCommand
from hipscope.analysis.toolchain.compiler_files import (
    compiler_variables,
    dependency_flags,
    private,
    read_dependencies,
)

Make = Literal["never", "again", "now"]
"""Whether to make what is not there; "again": when it is asked for a second time, because it takes as long as a plain
compile.
"""

_KEPT = 16  # 11 MB each with the HIP headers
_SKIPPED = re.compile(rb"\s+|//[^\n\\]*(?=\n)|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(rb"#[ \t]*include[ \t]*(<[^<>\n]+>)[ \t]*(?://[^\n\\]*)?\r?\n")
_LIBRARY = re.compile(rb"#include <[a-z_]+>\n")
_TEXT, _HEADER = "preamble.hip", "preamble.pch"
_PLACELESS = (
    "-O",
    "-std=",
    "-W",
    "-D",
    "-U",
    "-f",
    "-m",
    "-g",
    "-l",
    "-L",
    "-pthread",
    "--gpu-max-threads-per-block=",
)
_SEARCHED = ("-isystem", "-I")


@dataclass(frozen=True)
class Preamble:
    """The `#include <...>` lines at the start of a source: they alone, and where each ends in it, in bytes.

    Where there are none, what the compiler includes by itself is left.
    """

    text: bytes
    ends: tuple[int, ...]

    @property
    def size(self) -> int:
        """How far they reach."""
        return self.ends[-1] if self.ends else 0

    @property
    def shared(self) -> Preamble:
        """Without the C++ library's headers behind the last other one: in these programs differ, and they are short."""
        lines = self.text.splitlines(keepends=True)
        others = [number for number, line in enumerate(lines, 1) if not _LIBRARY.fullmatch(line)]
        last = others[-1] if others else len(lines)
        return Preamble(b"".join(lines[:last]), self.ends[:last])


@dataclass(frozen=True)
class Precompiled:
    """A precompiled header for the first `size` bytes of a source; `text` is the file that it was made of.

    `files` are the headers that the compiler read for it.
    """

    header: Path
    text: Path
    size: int
    files: frozenset[Path]

    @property
    def flags(self) -> tuple[str, ...]:
        """The compiler's options that use it."""
        given = ("-include-pch", str(self.header), f"-preamble-bytes={self.size},1")
        return tuple(word for flag in given for word in ("-Xclang", flag))


def preamble_of(text: bytes) -> Preamble:
    """The preamble of a source; empty when it begins with something else."""
    at = 0
    ends: list[int] = []
    lines: list[bytes] = []
    while True:
        if (skipped := _SKIPPED.match(text, at)) is not None:
            at = skipped.end()
        elif (include := _INCLUDE.match(text, at)) is not None:
            at = include.end()
            ends.append(at)
            lines.append(b"#include " + include[1] + b"\n")
        else:
            return Preamble(b"".join(lines), tuple(ends))


def precompiled(
    compiler: Sequence[str],
    identity: Sequence[str],
    command: CompileCommand,
    preamble: Preamble,
    *,
    env: Mapping[str, str],
    make: Make,
    timeout: float,
    cancel: threading.Event | None = None,
) -> Precompiled | None:
    """The precompiled preamble, or None when it cannot be had. `make` says whether to make one that is not there.

    `compiler` is the compiler with all flags of the later compile, `identity` what else decides what it makes, `env`
    the project's variables. Headers that print a warning are not precompiled, so that it is always seen.
    Raises Cancelled, MissingTool.
    """
    place = () if _placeless(command.flags) and not compiler_variables(env) else (str(command.directory),)
    cache = BuildCache(
        "preamble",
        [*identity, *place, *compiler],
        {Path(_TEXT): preamble.text},
        home="preambles",
        kept=_KEPT,
    )
    entry = cache.find()
    text = cache.directory / _TEXT
    if entry is None and make == "again" and not text.exists():
        write_atomically(text, preamble.text)  # that it was asked for
    elif entry is None and make != "never":
        entry = _make(cache, compiler, command, preamble, env, timeout, cancel)
    if entry is None or not (entry.directory / _HEADER).is_file():
        return None
    return Precompiled(entry.directory / _HEADER, text, preamble.size, entry.files)


def _make(
    cache: BuildCache,
    compiler: Sequence[str],
    command: CompileCommand,
    preamble: Preamble,
    env: Mapping[str, str],
    timeout: float,
    cancel: threading.Event | None,
) -> Entry | None:
    text = cache.directory / _TEXT
    write_atomically(text, preamble.text)
    with cache.draft() as draft:
        header, dependencies = draft / _HEADER, draft / "dependencies.d"
        argv = [*compiler, "-S", "-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp", str(text)]
        argv += [*dependency_flags(dependencies), "-o", str(header)]
        done = run_process(
            argv, timeout=timeout, cwd=command.directory, env=private(draft, env), cancel=cancel
        )
        if not done.ok or not header.is_file():
            return None  # the source will fail in the same way, and say why
        if done.text:
            header.unlink()
        files = read_dependencies(dependencies, command.directory)
        return cache.store(
            draft, [f for f in files if f != text], seconds=done.seconds, output="", alone=True
        )


def _placeless(flags: Sequence[str]) -> bool:
    """Whether these flags mean the same in every directory."""
    for flag in flags:
        searched = next((flag.removeprefix(p) for p in _SEARCHED if flag.startswith(p)), None)
        if searched is not None:
            if not searched.startswith("/"):
                return False
        elif not flag.startswith(_PLACELESS) or "/" in flag:
            return False
    return True
