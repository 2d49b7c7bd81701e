"""What a compiler is handed beside its flags, and what it says about the files that it read.

`overlay_flags` shows it other contents under the names of real files, `private` gives it a temporary directory of its
own, `read_dependencies` reads its list of files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

_COMPILER_VARIABLES = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "SOURCE_DATE_EPOCH")


def written(texts: Mapping[Path, bytes], draft: Path) -> dict[Path, Path]:
    """Write texts into a draft; where each of them lies."""
    files = {}
    for number, (path, data) in enumerate(texts.items()):
        files[path] = draft / f"overlay-{number}{path.suffix}"
        files[path].write_bytes(data)
    return files


def overlay_flags(files: Mapping[Path, Path], draft: Path) -> list[str]:
    """Clang's virtual file system: under each name the compiler sees the contents of the other file."""
    roots = [
        {"type": "file", "name": str(name), "external-contents": str(file)} for name, file in files.items()
    ]
    table = draft / "overlay.json"
    table.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}))
    return ["-ivfsoverlay", str(table)]


def compiler_variables(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that decide what the compiler finds, as the project sets them, else as our own environment does.

    On clusters `module load` puts the folders of libraries there. Its own libraries and tools are never others.
    """
    given = {**os.environ, **env}
    return {name: given[name] for name in _COMPILER_VARIABLES if name in given}


def include_flags(env: Mapping[str, str]) -> tuple[str, ...]:
    """Where a project's variables have C++ headers searched, as flags that come behind those of its build.

    A library of the compiler's in our own process does not have these variables.
    """
    flags = [word for place in _places(env, "CPATH") for word in ("-I", place)]
    for place in _places(env, "CPLUS_INCLUDE_PATH"):
        flags += ["-Xclang", "-cxx-isystem", "-Xclang", place]
    return tuple(flags)


def _places(env: Mapping[str, str], name: str) -> list[str]:
    return [place or "." for place in env[name].split(os.pathsep)] if env.get(name) else []


def private(draft: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a compiler whose temporary files lie in the draft, so that they go even if it is killed.

    `env` are the project's variables: those of them that the compiler reads are in it.
    """
    return {**os.environ, **compiler_variables(env), "TMPDIR": str(draft)}


def dependency_flags(output: Path) -> list[str]:
    """Have all headers that are read written to a make rule; given past the driver, since clang 22's drops -MF here."""
    options = ("-dependency-file", str(output), "-MT", "object", "-sys-header-deps")
    return [word for option in options for word in ("-Xclang", option)]


def read_dependencies(path: Path, directory: Path) -> list[Path]:
    """The files in a depfile (Make syntax as clang writes it), system headers included."""
    text = path.read_bytes().decode("utf-8", "surrogateescape").replace(" \\\n  ", " ")
    # The rule's target ends at the first ": ". A space in a name has a backslash, and twice those before it; a hash has
    # one too. Tabs, line ends and other backslashes stand as they are: only a space ends a name.
    words = re.findall(r"(?:\\[ #]|[^ ])+", text.partition(": ")[2].removesuffix("\n"))
    names = [re.sub(r"(\\*)\\([ #])", _unescaped, word).replace("$$", "$") for word in words]
    return [Path(os.path.normpath(directory / name)) for name in names]


def _unescaped(match: re.Match[str]) -> str:
    before, character = match.groups()
    return (before[: len(before) // 2] if character == " " else before) + character
