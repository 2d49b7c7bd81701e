"""All position arithmetic: byte columns and offsets to the client's units.

The compiler counts bytes from 1, the profile counts lines from 1, the client counts lines from 0 and characters in
UTF-16 units (or UTF-8 or UTF-32, as negotiated). Text goes in, plain numbers and LSP ranges come out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lsprotocol import types as lsp

from hipscope.analysis.source.texts import ByteColumn
from hipscope.server.edit.line_map import common_head, split_lines

Encoding = lsp.PositionEncodingKind | str
_WORD = re.compile(r"\w+")


def units(text: str, encoding: Encoding) -> int:
    """Length of a text in the client's units."""
    if text.isascii():
        return len(text)
    if encoding == lsp.PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    if encoding == lsp.PositionEncodingKind.Utf32:
        return len(text)
    return len(text) + sum(1 for c in text if ord(c) > 0xFFFF)


def column_units(line: str, byte_column: int, encoding: Encoding) -> int:
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
    head = common_head(before, after)
    tail = common_head(before[head:][::-1], after[head:][::-1])
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


def _at(head: bytes, encoding: Encoding) -> lsp.Position:
    lines = split_lines(head.decode("utf-8", "ignore"))
    return lsp.Position(line=len(lines) - 1, character=units(lines[-1], encoding))
