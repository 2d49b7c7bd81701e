"""All position arithmetic: byte columns and offsets to the client's units, and old lines to new ones.

The compiler counts bytes from 1, the profile counts lines from 1, the client counts lines from 0 and characters in
UTF-16 units (or UTF-8 or UTF-32, as negotiated). Text goes in, plain numbers and LSP ranges come out.
"""

from __future__ import annotations

import bisect
import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from lsprotocol import types as lsp

from hipscope.analysis.source.texts import ByteColumn

Encoding = lsp.PositionEncodingKind | str
_MOST_PAIRS = 100_000  # of lines that are compared each with each; more would hold up the editor
_WORD = re.compile(r"\w+")


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends, as LSP counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def units(text: str, encoding: Encoding) -> int:
    """Length of a text in the client's units."""
    if text.isascii():
        return len(text)
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


def change_between(old: str, new: str, encoding: Encoding) -> lsp.TextEdit:
    """The smallest change of whole lines that turns one text into another."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = _equal(before, after)
    tail = _equal(before[head:][::-1], after[head:][::-1])
    start = len("".join(before[:head]).encode("utf-8", "surrogatepass"))
    end = len(old.encode("utf-8", "surrogatepass")) - len("".join(before[len(before) - tail :]).encode())
    return lsp.TextEdit(
        range=byte_range(old, start, end, encoding), new_text="".join(after[head : len(after) - tail])
    )


def name_range(lines: Sequence[str], number: int, name: str, encoding: Encoding) -> lsp.Range | None:
    """Where an identifier stands on line index `number` or just around it (a definition may span lines)."""
    for candidate in (number, number + 1, number - 1, number + 2, number + 3):
        if not 0 <= candidate < len(lines) or name not in lines[candidate]:
            continue
        line = lines[candidate]
        if (start := _word_at(line, name)) is not None:
            end = start + len(name)
            return lsp.Range(
                start=lsp.Position(line=candidate, character=units(line[:start], encoding)),
                end=lsp.Position(line=candidate, character=units(line[:end], encoding)),
            )
    return None


def _word_at(line: str, name: str) -> int | None:
    """Where an identifier begins that is no part of a longer one."""
    start = line.find(name)
    while start >= 0:
        around = line[max(0, start - 1) : start], line[start + len(name) : start + len(name) + 1]
        if not any(map(_WORD.match, around)):
            return start
        start = line.find(name, start + 1)
    return None


class LineMap:
    """Where the lines of an old text are in a new one. Lines count from 1.

    A line that only changed its white space keeps its place; a line that was changed otherwise or deleted has none.
    """

    def __init__(self, old: str, new: str) -> None:
        self._before, self._after = split_lines(old), split_lines(new)
        self._forward = _match(self._before, self._after)

    def to_new(self, line: int) -> int | None:
        """The new number of an old line, or None when it is gone or changed."""
        return self._forward.get(line)

    def changes(self) -> Iterator[tuple[int, Sequence[str], Sequence[str]]]:
        """Each run of lines that was replaced: where it begins in the old text, its old lines and its new ones."""
        old = new = 1
        ends = (len(self._before) + 1, len(self._after) + 1)
        for a, b in [*self._forward.items(), ends]:
            if (a, b) != (old, new):
                yield old, self._before[old - 1 : a - 1], self._after[new - 1 : b - 1]
            old, new = a + 1, b + 1

    def line_before(self, line: int) -> str:
        """The old line above that one; "" above the first."""
        return self._before[line - 2] if line > 1 else ""


def _match(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Line numbers (from 1) of equal lines, in order. Common ends first, so that a local edit costs next to nothing."""
    head = _equal(before, after)
    tail = _equal(before[head:][::-1], after[head:][::-1])
    found = {n: n for n in range(1, head + 1)}
    old = [_words(line) for line in before[head : len(before) - tail]]
    new = [_words(line) for line in after[head : len(after) - tail]]
    found |= {head + a + 1: head + b + 1 for a, b in _pairs(old, new)}
    rest, there = len(before) - tail, len(after) - tail
    return found | {rest + n: there + n for n in range(1, tail + 1)}


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of equal lines, in order."""
    if len(old) * len(new) <= _MOST_PAIRS:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        blocks = matcher.get_matching_blocks()
        return [(a + n, b + n) for a, b, size in blocks for n in range(size)]
    found: list[tuple[int, int]] = []
    a = b = 0
    for x, y in [*_anchors(old, new), (len(old), len(new))]:
        ahead = _equal(old[a:x], new[b:y])
        back = _equal(old[a + ahead : x][::-1], new[b + ahead : y][::-1])
        found += [(a + n, b + n) for n in range(ahead)]
        inside, there = old[a + ahead : x - back], new[b + ahead : y - back]
        if 0 < len(inside) * len(there) <= _MOST_PAIRS:
            found += [(a + ahead + i, b + ahead + j) for i, j in _pairs(inside, there)]
        found += [(x - n, y - n) for n in range(back, 0, -1)]
        if x < len(old):
            found.append((x, y))
        a, b = x + 1, y + 1
    return found


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest run, in order, of lines that stand once in either text (a patience diff)."""
    times, there = Counter(old), Counter(new)
    place = {line: n for n, line in enumerate(new) if there[line] == 1}
    lines = [(n, place[line]) for n, line in enumerate(old) if times[line] == 1 and line in place]
    ends: list[int] = []
    heads: list[int] = []
    before: list[int] = []
    for index, (_, at) in enumerate(lines):
        length = bisect.bisect_left(ends, at)
        before.append(heads[length - 1] if length else -1)
        if length == len(ends):
            ends.append(at)
            heads.append(index)
        else:
            ends[length], heads[length] = at, index
    chain = []
    index = heads[-1] if heads else -1
    while index >= 0:
        chain.append(lines[index])
        index = before[index]
    return chain[::-1]


@lru_cache(maxsize=1 << 16)  # while somebody types, nearly all lines are those of the text before
def _words(line: str) -> str:
    return " ".join(line.lstrip("\ufeff").split())


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    return next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


def _at(head: bytes, encoding: Encoding) -> lsp.Position:
    lines = split_lines(head.decode("utf-8", "ignore"))
    return lsp.Position(line=len(lines) - 1, character=units(lines[-1], encoding))


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, as reports and edits name it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
