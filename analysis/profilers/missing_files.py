"""Which files a program names that are not there: why many a program ends before it starts a kernel.

Takes its command line, the directory that it runs in and the texts of its sources; gives paths as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_MOST = 3
_LITERAL = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A path with a name that ends in an extension with a letter: `../data/matrix.txt`, not `1.5` and no sentence.
_PATH = re.compile(r"(?:[\w.~+-]*/)*[\w+-][\w.+-]*\.(?=\w*[A-Za-z])\w{1,6}")


def missing_files(argv: Sequence[str], directory: Path, sources: Iterable[bytes]) -> tuple[str, ...]:
    """At most three of them, those of the command line first. Files that the program would write may be among them."""
    found: dict[str, None] = {}
    for name in (*_in_words(argv[1:]), *(name for text in sources for name in _in_text(text))):
        if len(found) < _MOST and not (directory / Path(name).expanduser()).exists():
            found.setdefault(name)
    return tuple(found)


def _in_words(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        value = word.rpartition("=")[2] if word.startswith("-") else word
        if _PATH.fullmatch(value):
            yield value


def _in_text(text: bytes) -> Iterator[str]:
    for literal in _LITERAL.findall(_INCLUDE.sub(b"", _COMMENT.sub(b" ", text))):
        value = literal.decode("utf-8", "replace")
        if _PATH.fullmatch(value):
            yield value
