"""Comments that speak to hipscope: `// hipscope: bench ...`, `// hipscope: run --size 64`, block comments like them.

Takes a text, gives what they say with its place. Only the arguments of a `run` line are read here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

WORDS = ("bench", "run")
"""The words that a comment may begin with."""

_COMMENT_OR_STRING = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"([^()\\ ]{0,16})\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_LINE = re.compile(r"//[/!]?[ \t]*hipscope:(?P<rest>[^\r\n]*)")
_BLOCK = re.compile(r"/\*+!?\s*hipscope:(?P<rest>.*?)\**\*/", re.DOTALL)
_RUN = re.compile(r"[ \t]*run(?=\s|$)")


@dataclass(frozen=True)
class Spoken:
    """What one comment says behind `hipscope:`, with the line and column of its first character, from 1.

    The comment itself is the text from `start` up to `end`.
    """

    line: int
    column: int
    text: str
    block: bool
    start: int
    end: int


def spoken_in(text: str) -> Iterator[Spoken]:
    """Each comment that speaks to hipscope, in the order of the text."""
    if "hipscope:" not in text:
        return
    for comment in _COMMENT_OR_STRING.finditer(text):
        match, block = _LINE.match(comment[0]), False
        if match is None:
            match, block = _BLOCK.match(comment[0]), True
        if match is not None:
            at = comment.start() + match.start("rest")
            line = text.count("\n", 0, at) + 1
            yield Spoken(
                line, at - text.rfind("\n", 0, at), match["rest"], block, comment.start(), comment.end()
            )


@dataclass(frozen=True)
class RunLine:
    """The comment that names a program's arguments. `arguments` None: a quote in it has no end."""

    said: Spoken
    arguments: tuple[str, ...] | None


def run_line(text: str) -> RunLine | None:
    """The first `// hipscope: run ...` of a source; None where there is none."""
    for said in spoken_in(text):
        if (match := _RUN.match(said.text)) is not None:
            try:
                words = tuple(shlex.split(said.text[match.end() :]))
            except ValueError:
                return RunLine(said, None)
            return RunLine(said, words)
    return None
