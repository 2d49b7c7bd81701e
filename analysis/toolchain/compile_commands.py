"""How a project's own build compiles one file: from `compile_commands.json`, from CMake's file API, or from what our
compiler wrappers saw.

Takes a source file, gives the flags that decide what the compiler makes of it. What only says where input and output
go is left out, because hipscope chooses that itself.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.build_files.cmake_replies import REPLY, models, targets
from hipscope.analysis.errors import UsageError

DATABASE = "compile_commands.json"
_BUILD_FOLDERS = ("build", "build/*", "build-*", "cmake-build-*", "out/build/*", "_build")
INCLUDED = ".included"  # beside a recorded call: the files that its source included, one a line
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_SOURCE_SUFFIXES = (".hip", ".cu", ".cpp", ".cc", ".cxx", ".C", ".c++", ".c", ".o", ".a", ".so", ".obj")
_OBJECTS = (".o", ".a", ".so", ".obj")
_DROPPED = {
    "-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "--hip-link", "-shared", "-save-temps", "-fgpu-rdc",
    "-fPIE", "-pie", "-v", "-###", "--genco", "--cuda-device-only", "--offload-device-only", "-Werror",
}  # fmt: skip
_DROPPED_WITH_VALUE = {
    "-o",
    "-MF",
    "-MT",
    "-MQ",
    "-x",
    "-L",
    "-l",
    "-Xlinker",
    "-z",
    "-T",
    "-u",
    "--serialize-diagnostics",
}
_DROPPED_PREFIXES = (
    "-o", "-MF", "-MT", "-MQ", "-L", "-l", "-Wl,", "--offload-arch", "--amdgpu-target", "--cuda-gpu-arch",
    "--rocm-path", "--rocm-device-lib-path", "-save-temps", "-Werror=", "-g", "-fdiagnostics", "-fcolor-diagnostics",
    "-ivfsoverlay", "-fdebug-prefix-map", "-ffile-prefix-map", "-fuse-ld", "-x",
)  # fmt: skip

# clang's user manual, "Controlling Floating Point Behavior"
_FINITE = {"-ffast-math", "-ffinite-math-only", "-Ofast"}
_NOT_FINITE = {
    "-fno-fast-math",
    "-fno-finite-math-only",
    "-fhonor-nans",
    "-fhonor-infinities",
    "-ffp-model=precise",
    "-ffp-model=strict",
}


@dataclass(frozen=True)
class CompileCommand:
    """The flags for one file and the directory in which they hold.

    `relocatable`: its GPU code may call that of other files, and code objects are made when the program is linked.
    """

    directory: Path
    flags: tuple[str, ...]
    relocatable: bool = False


def assumes_finite(flags: Sequence[str]) -> bool:
    """Whether clang may assume with these flags that no float is NaN or infinite: what the last of them says."""
    said = [flag for flag in flags if flag in _FINITE or flag in _NOT_FINITE]
    return bool(said) and said[-1] in _FINITE


def from_database(source: Path, root: Path) -> CompileCommand | None:
    """The entry for `source` in the nearest compile_commands.json: `root`, its `build`, or a directory above."""
    for directory in (root, root / "build", *root.parents):
        database = directory / DATABASE
        if database.is_file():
            return _entry(database, source)
        if (directory / ".git").exists():
            return None
    return None


def from_cmake(source: Path, root: Path) -> CompileCommand | None:
    """What CMake's file API says of `source` in a build folder of a project above it; of the target that comes first.

    CMake writes it when something has asked, as editors do: `cmake-file-api(7)`, codemodel 2.
    """
    reply = cmake_reply(root)
    if reply is None:
        return None
    try:
        return _of_targets(json.loads(reply.read_text(encoding="utf-8")), reply.parent, source)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise UsageError(f"{reply}: not a reply of CMake's file API: {error}") from error


def cmake_reply(root: Path) -> Path | None:
    """The newest index that CMake wrote for an editor in a build folder of `root` or of a directory above it."""
    for directory in (root, *root.parents):
        if (directory / "CMakeLists.txt").is_file():
            found = [p for where in _BUILD_FOLDERS for p in directory.glob(f"{where}/{REPLY}")]
            if found:
                return max(found, key=lambda path: path.name)  # "the index file with the largest name"
        if (directory / ".git").exists():
            break
    return None


def _of_targets(index: Any, replies: Path, source: Path) -> CompileCommand | None:
    builds = [Path(model["paths"]["build"]) for model in models(index, replies)]
    for top, said in targets(index, replies):
        for item in said.get("sources", ()):
            if "compileGroupIndex" in item and _normal(top / item["path"]) == source:
                group = said["compileGroups"][item["compileGroupIndex"]]
                return CompileCommand(builds[0], relevant_flags(list(_group_flags(group))))
    return None


def _group_flags(group: Any) -> Iterator[str]:
    yield from (f"-D{one['define']}" for one in group.get("defines", ()))
    for one in group.get("includes", ()):
        yield from ("-isystem" if one.get("isSystem") else "-I", one["path"])
    for one in group.get("compileCommandFragments", ()):
        yield from shlex.split(one["fragment"])


def from_record(source: Path, record: Path) -> CompileCommand | None:
    """The newest of the compiler calls in the directory `record` that compiled `source`."""
    for path in _newest_first(record):
        directory, arguments = _call(path)
        if source in _inputs(arguments, directory):
            flags = relevant_flags(arguments)
            # As hipcc does, and the wrapper that recorded the call: GPU code is optimized unless the call says how far.
            told = any(flag.startswith("-O") for flag in flags)
            return CompileCommand(directory, flags if told else ("-O3", *flags), _relocatable(arguments))
    return None


def _relocatable(arguments: Sequence[str]) -> bool:
    """Whether a call compiles GPU code that is linked later; of several options the last one counts."""
    told = [argument for argument in arguments if argument in ("-fgpu-rdc", "-fno-gpu-rdc")]
    return told[-1:] == ["-fgpu-rdc"]


def recorded_units(record: Path) -> dict[Path, frozenset[Path]]:
    """Each file that a call in `record` compiled and that is still there, with what the newest such call included.

    Headers that the compiler takes for the system's are not among these.
    """
    units: dict[Path, frozenset[Path]] = {}
    for path in _newest_first(record):
        directory, arguments = _call(path)
        sources = [source for source in _inputs(arguments, directory) if source.suffix not in _OBJECTS]
        for source, included in _of_each(sources, _included(path, directory)).items():
            if source not in units and source.is_file():
                units[source] = included
    return units


def _of_each(sources: Sequence[Path], included: frozenset[Path]) -> dict[Path, frozenset[Path]]:
    """What each source of one call included, of which the compiler lists the files of all of them together.

    A file that the text of none of them names, as behind a macro, may be any source's.
    """
    if len(sources) < 2:
        return dict.fromkeys(sources, included)
    reached = {source: _reached(source, included) for source in sources}
    others = included.difference(*reached.values())
    return {source: files | others for source, files in reached.items()}


def _reached(source: Path, included: frozenset[Path]) -> frozenset[Path]:
    """Those of the `included` files that the directives in the source lead to."""
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        try:
            text = waiting.pop().read_bytes()
        except OSError:
            continue
        for name in map(os.fsdecode, _INCLUDE.findall(text)):
            parts = tuple(part for part in Path(name).parts if part not in (".", ".."))
            named = {path for path in included - found if path.parts[-len(parts) :] == parts}
            found |= named
            waiting += named
    return frozenset(found)


def relevant_flags(arguments: Sequence[str]) -> tuple[str, ...]:
    """The arguments that change the code: no inputs, outputs, architecture, debug or linker options."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in _DROPPED_WITH_VALUE:
            next(rest, None)
        elif argument in _DROPPED or (
            argument.startswith(_DROPPED_PREFIXES) and not argument.startswith("-gpu")
        ):
            continue
        elif argument.startswith("-") or not argument.endswith(_SOURCE_SUFFIXES):
            kept.append(argument)
            if argument in (
                "-I",
                "-isystem",
                "-D",
                "-U",
                "-include",
                "-Xclang",
                "-mllvm",
                "-iquote",
                "-idirafter",
            ):
                kept += [value for value in [next(rest, None)] if value is not None]
    return tuple(kept)


def _entry(database: Path, source: Path) -> CompileCommand | None:
    try:
        entries = json.loads(database.read_text(encoding="utf-8"))
        for entry in entries:
            directory = database.parent / entry.get("directory", ".")
            if _normal(directory / entry["file"]) == source:
                arguments = entry.get("arguments") or shlex.split(entry["command"])
                return CompileCommand(_normal(directory), relevant_flags(arguments[1:]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{database}: not a compilation database: {error}") from error
    return None


def _newest_first(record: Path) -> list[Path]:
    if not record.is_dir():
        return []
    calls = [path for path in record.iterdir() if path.suffix != INCLUDED]
    return sorted(calls, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _call(path: Path) -> tuple[Path, list[str]]:
    """The directory and the arguments of a recorded call."""
    directory, *arguments = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")
    return Path(directory), arguments


def _included(call: Path, directory: Path) -> frozenset[Path]:
    """What the compiler said it included in a recorded call: nothing when it did not get that far."""
    try:
        text = call.with_name(call.name + INCLUDED).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return frozenset()
    return frozenset(_normal(directory / line.strip()) for line in text.splitlines() if line.strip())


def _inputs(arguments: Sequence[str], directory: Path) -> Iterator[Path]:
    for argument in arguments:
        if not argument.startswith("-") and argument.endswith(_SOURCE_SUFFIXES):
            yield _normal(directory / argument)


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))
