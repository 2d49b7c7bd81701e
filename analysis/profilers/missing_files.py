"""Which files a program names that are not there: why many a program ends before it starts a kernel.

Takes its command line, the directory that it runs in, the texts of its sources and what it printed; gives paths, and
commands of a shell, as they are written.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_MOST = 3
_LITERAL = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A path with a name that ends in an extension with a letter: `../data/matrix.txt`, not `1.5` and no sentence.
_PATH = re.compile(r"(?:[\w.~+-]*/)*[\w+-][\w.+-]*\.(?=\w*[A-Za-z])\w{1,6}")


_WORD = re.compile(r"[^\s'\"`<>()\[\],;:=]+(?<![.!?])")
_NO_COMMAND = re.compile(
    r"^(?:/bin/)?(?:ba)?sh: (?:line )?(?:\d+: )?([\w.+/-]+): (?:command )?not found", re.MULTILINE
)
_HEADERS = (".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc")


def missing_files(
    argv: Sequence[str], directory: Path, sources: Iterable[bytes], output: str = ""
) -> tuple[str, ...]:
    """At most three of them: of the command line, else of the output, else of the sources.

    Files that the program would write may be among those of sources.
    """
    said = _WORD.findall(output)
    for names in (_in_words(argv[1:]), _in_words(said), (n for text in sources for n in _in_text(text))):
        absent = (
            n for n in names if not n.endswith(_HEADERS) and not (directory / Path(n).expanduser()).exists()
        )
        if found := tuple(itertools.islice(dict.fromkeys(absent), _MOST)):
            return found
    return ()


def missing_commands(output: str) -> tuple[str, ...]:
    """The programs that a shell which the program started did not find."""
    return tuple(dict.fromkeys(_NO_COMMAND.findall(output)))


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
