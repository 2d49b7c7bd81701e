"""Which file or folder a path of the user names, and which folder above it holds a file such as `hipscope.toml`.

Takes paths as they were typed, gives absolute ones without `..`. A path may lead through links: the file lies where the
kernel finds it, not where its words seem to point.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SourcePlace:
    """A file or folder, and the nearest folder that holds the wanted file and that it really lies in (`holder`).

    `path` is absolute, has no `..`, and lies below `holder` by its words as well.
    """

    path: Path
    holder: Path | None


def named(path: Path) -> Path:
    """The absolute path without `..` of what a path names. Links keep their names, unless a `..` follows them.

    `..` behind a link is the folder above the link's target, as the kernel has it. Behind what is no folder it stays:
    such a path names nothing.
    """
    whole = path.absolute()
    found = Path(whole.anchor)
    for part in whole.parts[1:]:
        if part != "..":
            found /= part
        elif not found.is_dir():
            return whole
        else:
            found = Path(os.path.realpath(found)).parent if found.is_symlink() else found.parent
    return found


def place_of(path: Path, wanted: str) -> SourcePlace:
    """Where a file or folder lies, and the nearest folder above it with a file `wanted`, up to its repository.

    A folder counts where the file really lies in it: a link does not make the folder it stands in the file's own. The
    folder is named as in the path where that leads through it; else both are named without links.
    """
    path = named(path)
    real = Path(os.path.realpath(path))
    spelled = {os.path.realpath(folder): folder for folder in reversed((path, *path.parents))}
    for folder in (real, *real.parents) if real.is_dir() else real.parents:
        if (folder / wanted).is_file():
            holder = spelled.get(str(folder))
            return SourcePlace(path, holder) if holder is not None else SourcePlace(real, folder)
        if (folder / ".git").exists():
            break
    return SourcePlace(path, None)
