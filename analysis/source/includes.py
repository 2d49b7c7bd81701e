"""What a source includes, directly and through its headers, and the texts of all of that.

Takes the texts of a run and a source, gives files and their contents. Headers in angle brackets are looked for only
among those that are known: where others are, only the compiler knows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from hipscope.analysis.source.texts import SourceTexts

_INCLUDED_ANYHOW = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def included_files(
    texts: SourceTexts, sources: Iterable[Path], within: Path | None = None
) -> tuple[Path, ...]:
    """The sources and what they include from beside them, each once and without links, in the order of the reading.

    Files that cannot be read are left out, and those that do not lie below `within`.
    """
    root = within.resolve() if within is not None else None
    found: list[Path] = []
    waiting = list(sources)
    while waiting:
        path = waiting.pop(0).resolve()
        if path in found or (root is not None and not path.is_relative_to(root)):
            continue
        text = texts.read(path)
        if text is not None:
            found.append(path)
            waiting += [path.parent / os.fsdecode(name) for name in _INCLUDED.findall(text)]
    return tuple(found)


def read_before(
    texts: SourceTexts, units: Iterable[Path], file: Path, headers: Iterable[Path]
) -> tuple[Path, ...]:
    """What a compiler has read of the `headers` when it comes to the text of `file`, in that order.

    So as the first of the `units` that includes it brings it there, whatever its name ends with; what `file` itself
    includes is among it. A header that does not lie beside its includer is the one whose path ends as it is named, if
    there is one such.
    """
    wanted = file.resolve()
    known = dict.fromkeys([*(path.resolve() for path in headers), wanted])
    order: list[Path] = []

    def found(name: str, beside: Path) -> Path | None:
        if (path := (beside / name).resolve()) in known:
            return path
        ending = [path for path in known if f"{path}".endswith(f"/{name}")]
        return ending[0] if len(ending) == 1 else None

    def read(path: Path, around: tuple[Path, ...]) -> bool:
        """Whether the wanted file is in it."""
        text = texts.read(path)
        if text is None or path in order or path in around:
            return False
        for name in _INCLUDED_ANYHOW.findall(text):
            included = found(os.fsdecode(name), path.parent)
            if included is not None and read(included, (*around, path)):
                return True
        if path == wanted:
            return True
        order.append(path)
        return False

    for unit in (*(unit for unit in units if unit.resolve() != wanted), file):
        order.clear()
        if read(unit.resolve(), ()):
            break
    return tuple(order)


def texts_with_types(
    texts: SourceTexts, source: Path, headers: Iterable[Path], root: Path
) -> tuple[bytes, ...]:
    """The texts in which the types may be defined that a kernel of `source` uses: its own first, then the headers'.

    Those outside of the project's `root` are left out.
    """
    return tuple(texts.read(path) or b"" for path in included_files(texts, (source, *headers), root))
