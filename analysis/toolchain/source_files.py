"""Which files may be a program's, by their names and their texts. Takes texts, gives answers; reads nothing."""

from __future__ import annotations

import re
from pathlib import PurePath

PROGRAM_SUFFIXES = (".hip", ".cu", ".cpp", ".cc", ".cxx")
HEADER_SUFFIXES = (".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc")

_COMMENTS_AND_STRINGS = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"([^()\\ ]{0,16})\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_MAIN = re.compile(r"\bmain\s*\(")


def has_main(text: str) -> bool:
    """Whether the text defines `main`, comments and strings aside."""
    return _MAIN.search(_COMMENTS_AND_STRINGS.sub(" ", text)) is not None


def is_source(path: PurePath) -> bool:
    """Whether a file is compiled, by its name."""
    return path.suffix in PROGRAM_SUFFIXES + HEADER_SUFFIXES
