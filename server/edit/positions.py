"""All position arithmetic: byte columns and offsets to the client's units, and old lines to new ones.

The compiler counts bytes from 1, the profile counts lines from 1, the client counts lines from 0 and characters in
UTF-16 units (or UTF-8 or UTF-32, as negotiated). Text goes in, plain numbers and LSP ranges come out.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import re
from collections.abc import Sequence

from lsprotocol import types as lsp

from hipscope.analysis.source.texts import ByteColumn

Encoding = lsp.PositionEncodingKind | str
_MOST_PAIRS = 4_000_000  # beyond this a text counts as rewritten: comparing it would hold up the editor
_WORD = re.compile(r"\w+")
_LINE_END = re.compile(r"\r\n|\n|\r")


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends, as LSP counts them."""
    return _LINE_END.split(text)


def units(text: str, encoding: Encoding) -> int:
    """Length of a text in the client's units."""
    if encoding == lsp.PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    if encoding == lsp.PositionEncodingKind.Utf32:
        return len(text)
    return len(text) + sum(1 for c in text if ord(c) > 0xFFFF)


def column_units(line: str, byte_column: ByteColumn, encoding: Encoding) -> int:
    """A byte column that counts from 1 as a character offset in the client's units."""
    head = line.encode("utf-8", "surrogatepass")[: max(0, byte_column - 1)]
    return units(head.decode("utf-8", "ignore"), encoding)


def code_range(line: str, number: int, encoding: Encoding) -> lsp.Range:
    """The part of a line (index `number`) that is code: no indentation, no trailing comment."""
    code = re.sub(r"\s*//.*$", "", line).rstrip() or line.rstrip()
    start = len(code) - len(code.lstrip())
    return lsp.Range(
        start=lsp.Position(line=number, character=units(line[:start], encoding)),
        end=lsp.Position(line=number, character=units(code, encoding)),
    )


def word_range(line: str, number: int, column: ByteColumn, encoding: Encoding) -> lsp.Range:
    """The word or character at a byte column that counts from 1; past the end of the line its last character."""
    head = line.encode("utf-8", "surrogatepass")[: column - 1].decode("utf-8", "ignore")
    start = min(len(head), max(0, len(line.rstrip()) - 1))
    found = _WORD.match(line, start)
    end = found.end() if found else min(start + 1, len(line))
    return lsp.Range(
        start=lsp.Position(line=number, character=units(line[:start], encoding)),
        end=lsp.Position(line=number, character=units(line[:end], encoding)),
    )


def span_range(
    lines: Sequence[str],
    first: int,
    last: int,
    column: ByteColumn,
    end_column: ByteColumn,
    encoding: Encoding,
) -> lsp.Range:
    """The range from `column` of line index `first` to before `end_column` of line index `last`.

    Columns are byte columns that count from 1; where one is 0 the code of its line is taken to the edge.
    """
    start = code_range(lines[first], first, encoding).start
    end = code_range(lines[last], last, encoding).end
    if column and end_column:
        start = lsp.Position(line=first, character=column_units(lines[first], column, encoding))
        end = lsp.Position(line=last, character=column_units(lines[last], end_column, encoding))
    if (end.line, end.character) <= (start.line, start.character):
        return code_range(lines[first], first, encoding)
    return lsp.Range(start=start, end=end)


def byte_range(text: str, start: int, end: int, encoding: Encoding) -> lsp.Range:
    """The range of the bytes `start..end` of a text in UTF-8."""
    data = text.encode("utf-8")
    return lsp.Range(start=_at(data[:start], encoding), end=_at(data[:end], encoding))


def name_range(lines: Sequence[str], number: int, name: str, encoding: Encoding) -> lsp.Range | None:
    """Where an identifier stands on line index `number` or just around it (a definition may span lines)."""
    pattern = re.compile(rf"\b{re.escape(name)}\b")
    for candidate in (number, number + 1, number - 1, number + 2, number + 3):
        if 0 <= candidate < len(lines) and (found := pattern.search(lines[candidate])):
            line = lines[candidate]
            return lsp.Range(
                start=lsp.Position(line=candidate, character=units(line[: found.start()], encoding)),
                end=lsp.Position(line=candidate, character=units(line[: found.end()], encoding)),
            )
    return None


class LineMap:
    """Where the lines of an old text are in a new one. Lines count from 1.

    A line that only changed its white space keeps its place; a line that was changed otherwise or deleted has none.
    """

    def __init__(self, old: str, new: str) -> None:
        before, after = [_words(x) for x in split_lines(old)], [_words(x) for x in split_lines(new)]
        self._lines = len(before)
        self._forward = _match(before, after)

    def to_new(self, line: int) -> int | None:
        """The new number of an old line, or None when it is gone or changed."""
        return self._forward.get(line)

    def changed(self, first: int, last: int) -> bool:
        """Whether anything in the old lines `first..last` was changed, deleted or inserted."""
        new = [self._forward.get(n) for n in range(first, min(last, self._lines) + 1)]
        return None in new or any(b != a + 1 for a, b in itertools.pairwise(new) if a and b)


def _match(before: list[str], after: list[str]) -> dict[int, int]:
    """Line numbers (from 1) of equal lines. Common ends first, so that a local edit costs next to nothing."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    found = {n: n for n in range(1, head + 1)}
    found |= {len(before) - n: len(after) - n for n in range(tail)}
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(old) * len(new) > _MOST_PAIRS:
        return found
    for a, b, size in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        found |= {head + a + n + 1: head + b + n + 1 for n in range(size)}
    return found


def _words(line: str) -> str:
    return " ".join(line.lstrip("\ufeff").split())


def _at(head: bytes, encoding: Encoding) -> lsp.Position:
    lines = split_lines(head.decode("utf-8", "ignore"))
    return lsp.Position(line=len(lines) - 1, character=units(lines[-1], encoding))


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, as reports and edits name it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
