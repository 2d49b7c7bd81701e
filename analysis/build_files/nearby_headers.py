"""Headers of a program that lie in a folder nearby: `timer.h` one folder up, `../common`, `../include`.

Takes a header's name as the source includes it, gives the folders that a compiler would have to search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_LEVELS = 3  # folders that are walked up
_CHILDREN = 200  # folders looked into at a level: more is no program's tree
_REPOSITORY = (".git", ".hg", ".svn")


def elsewhere(text: str, folder: Path) -> bool:
    """Whether a source of that text, in that folder, includes in quotes what does not lie beside it."""
    return any(not (folder / name).is_file() for name in _QUOTED.findall(text))


def folders_with(header: str, folder: Path) -> tuple[Path, ...]:
    """The folders nearest to a source's in which the header lies; several where they are equally near.

    At each level the folder itself comes first, then its folders and their `include` and `src`. A repository's root is
    the last level.
    """
    for level in [folder, *folder.parents][: _LEVELS + 1]:
        if (level / header).is_file():
            return (level,)
        found = tuple(sorted(place for place in _below(level) if (place / header).is_file()))
        if found:
            return found
        if any((level / name).exists() for name in _REPOSITORY) or level == Path.home():
            return ()
    return ()


def _below(level: Path) -> Iterator[Path]:
    try:
        children = [one for one in level.iterdir() if not one.name.startswith(".") and one.is_dir()]
    except OSError:
        return
    if len(children) > _CHILDREN:
        return
    for child in children:
        yield child
        yield child / "include"
        yield child / "src"
