"""What a source includes in quotation marks, directly and through its headers, and the texts of all of that.

Takes the texts of a run and a source, gives files and their contents. Headers in angle brackets are not looked for:
where these are, only the compiler knows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from hipscope.analysis.source.texts import SourceTexts

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


def texts_with_types(
    texts: SourceTexts, source: Path, headers: Iterable[Path], root: Path
) -> tuple[bytes, ...]:
    """The texts in which the types may be defined that a kernel of `source` uses: its own first, then the headers'.

    Those outside of the project's `root` are left out.
    """
    return tuple(texts.read(path) or b"" for path in included_files(texts, (source, *headers), root))
