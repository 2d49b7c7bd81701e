"""The texts of a program in which the types may be defined that a kernel uses.

Takes a source and its project, gives the contents of it, of the project's headers and of what it includes by quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from hipscope.analysis.toolchain.project import HEADER_SUFFIXES, Project

_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def texts_with_types(project: Project, source: Path, overlay: Mapping[Path, bytes]) -> tuple[bytes, ...]:
    """The source first. Headers outside of the project are left out, as are files that cannot be read."""
    root = project.root.resolve()
    texts: dict[Path, bytes] = {}
    left = [source, *(p for p in project.sources if p.suffix in HEADER_SUFFIXES)]
    while left:
        path = left.pop(0).resolve()
        if path in texts or not path.is_relative_to(root):
            continue
        try:
            texts[path] = overlay[path] if path in overlay else path.read_bytes()
        except OSError:
            continue
        left += [path.parent / name.decode("utf-8", "replace") for name in _INCLUDED.findall(texts[path])]
    return tuple(texts.values())
