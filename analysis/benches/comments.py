"""Bench lines in sources: `// hipscope: bench ...`, or a block comment of that beginning.

Takes a text, gives the texts of its benches with their places. Parses none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipscope.analysis.benches.grammar import BenchPiece, BenchText
from hipscope.analysis.build_files.spoken import WORDS, spoken_in

_BENCH = re.compile(r"[ \t]*bench(?=\s|$)")
_OTHER = re.compile(rf"[ \t]*(?:{'|'.join(WORDS)})(?=\s|$)")


def benches_in(text: str, file: str) -> tuple[BenchText, ...]:
    """The benches of a source, in their order.

    A `// hipscope:` line right below one goes on with it, unless it begins with a word of its own such as `bench`.
    """
    found: list[BenchText] = []
    open_at = 0  # the line on which the last bench may go on
    for said in spoken_in(text):
        line, column, rest, block = said.line, said.column, said.text, said.block
        match = _BENCH.match(rest)
        if match is not None:
            behind = rest[match.end() :]
            pieces = _pieces(behind, line, column + match.end())
            found.append(BenchText(file, tuple(pieces)))
            open_at = 0 if block else line + 1
        elif not block and found and line == open_at and "=" in rest and not _OTHER.match(rest):
            last = found[-1]
            found[-1] = BenchText(file, (*last.pieces, BenchPiece(rest, line, column)))
            open_at = line + 1
    return tuple(found)


def has_benches(text: str) -> bool:
    """Whether a source has a bench."""
    return "hipscope:" in text and bool(benches_in(text, ""))


def _pieces(text: str, line: int, column: int) -> Iterator[BenchPiece]:
    """The lines of a block comment, without the stars that they begin with."""
    for number, part in enumerate(text.split("\n")):
        decoration = re.match(r"[ \t]*\*(?!\*)[ \t]?", part) if number else None
        skipped = decoration.end() if decoration is not None else 0
        yield BenchPiece(part[skipped:].rstrip("\r"), line + number, (column if number == 0 else 1) + skipped)
