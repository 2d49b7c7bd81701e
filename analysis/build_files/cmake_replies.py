"""What CMake says of the targets of a build folder: its file API, `cmake-file-api(7)`, codemodel 2.

Takes a build folder, or the index of its reply, gives targets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import UsageError

REPLY = ".cmake/api/v1/reply/index-*.json"


@dataclass(frozen=True)
class CmakeProgram:
    """An executable target: where its file will be in the build folder, and its sources with those of its libraries.

    `hip`: some of them are compiled as CMake's language HIP, or with `-x hip`. `searched`: its folders of headers.
    """

    target: str
    path: str
    sources: tuple[Path, ...]
    hip: bool = False
    searched: tuple[Path, ...] = ()


def ask_cmake(build: Path) -> None:
    """Have the next configuration of a build folder write a reply."""
    query = build / ".cmake/api/v1/query"
    query.mkdir(parents=True)
    (query / "codemodel-v2").touch()


def cmake_programs(build: Path) -> list[CmakeProgram]:
    """The executables of a build folder that was asked and configured, in CMake's order. Raises UsageError."""
    found = []
    for reply in build.glob(REPLY):
        try:
            known = {
                said["id"]: (top, said)
                for top, said in targets(json.loads(reply.read_text(encoding="utf-8")), reply.parent)
            }
            for _, said in known.values():
                if said["type"] == "EXECUTABLE":
                    parts = _with_libraries(said["id"], known)
                    found.append(
                        CmakeProgram(
                            said["name"],
                            said["artifacts"][0]["path"],
                            tuple(
                                Path(os.path.normpath(top / item["path"]))
                                for top, part in parts
                                for item in part.get("sources", ())
                            ),
                            any(_is_hip(part) for _, part in parts),
                            tuple(Path(path) for _, part in parts for path in _searched(part)),
                        )
                    )
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise UsageError(f"{reply}: not a reply of CMake's file API: {error}") from error
    return found


def _with_libraries(target: str, known: Mapping[str, tuple[Path, Any]]) -> list[tuple[Path, Any]]:
    """A target and those that it depends on."""
    found: dict[str, tuple[Path, Any]] = {}
    waiting = [target]
    while waiting:
        name = waiting.pop(0)
        if name not in found and name in known:
            found[name] = known[name]
            waiting += [one["id"] for one in known[name][1].get("dependencies", ())]
    return list(found.values())


def _searched(target: Any) -> Iterator[str]:
    for group in target.get("compileGroups", ()):
        yield from (one["path"] for one in group.get("includes", ()))


def _is_hip(target: Any) -> bool:
    for group in target.get("compileGroups", ()):
        flags = " ".join(one["fragment"] for one in group.get("compileCommandFragments", ()))
        if group.get("language") == "HIP" or "-x hip" in flags:
            return True
    return False


def targets(index: Any, replies: Path) -> Iterator[tuple[Path, Any]]:
    """The folder of the sources, and what a target is."""
    for model in models(index, replies):
        for target in (t for c in model["configurations"] for t in c["targets"]):
            said = json.loads((replies / target["jsonFile"]).read_text(encoding="utf-8"))
            yield Path(model["paths"]["source"]), said


def models(index: Any, replies: Path) -> Iterator[Any]:
    """The code models that an index lists."""
    for listed in index["objects"]:
        if listed["kind"] == "codemodel" and listed["version"]["major"] == 2:
            yield json.loads((replies / listed["jsonFile"]).read_text(encoding="utf-8"))
