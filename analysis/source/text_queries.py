"""Questions about one line of a source: the expression at a column, the shared array it uses, the branch around it.

Takes the texts of a run, a file and a line, gives columns, declarations, numbers; nothing where there is no text.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, names_in, operator_of, text_of, walk
from hipscope.analysis.source.parse import parse, parse_expression, shared_arrays
from hipscope.analysis.source.syntax import FileSyntax, SharedArray
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, ByteColumn, SourceTexts

_OPENING = {b"(": b")", b"[": b"]"}
_CLOSING = frozenset(_OPENING.values())
_NAME = re.compile(rb"[A-Za-z0-9_$\x80-\xff]+")
_CONSTANT = re.compile(
    rb"^\s*#\s*define\s+(?P<defined>\w+)[ \t]+(?P<text>.+)"
    rb"|\bconst(?:expr)?\b[^=;()]*?\b(?P<declared>\w+)\s*=\s*(?P<value>[^;,]+)"
)
_COMMENT_OR_STRING = re.compile(
    rb"//(?:[^\\\r\n]|\\(?:\r\n|.|\n))*|/\*.*?(?:\*/|\Z)"
    rb"|R\"([^()\\\s]{0,16})\(.*?\)\1\"|\"(?:\\.|[^\"\\\r\n])*\"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\r\n])*'",
    re.DOTALL,
)


def column_range(
    texts: SourceTexts, file: str, line: int, column: ByteColumn
) -> tuple[ByteColumn, ByteColumn]:
    """The expression that starts at `column`, or the statement around an assignment; (0, 0) without the text.

    The second column is behind the end. Expressions that go on over the end of the line are cut there.
    """
    text = code_line(texts, file, line)
    if not text.strip():
        return UNKNOWN_COLUMN, UNKNOWN_COLUMN
    if not 0 < column <= len(text):
        return ByteColumn(len(text) - len(text.lstrip()) + 1), ByteColumn(len(text) + 1)
    start = column - 1
    if text[start : start + 1] in b"=+-*/%&|^<>":
        first, end = _statement(text, start)
    else:
        first, end = start, _expression_end(text, start)
    return ByteColumn(first + 1), ByteColumn(end + 1)


def shared_array_at(texts: SourceTexts, file: str, line: int) -> SharedArray | None:
    """The `__shared__` array that the line subscripts: of several with one name, the last one declared before it."""
    text, data = code_line(texts, file, line).decode("utf-8", "replace"), texts.read(file)
    arrays = shared_arrays(_syntax(data).root) if text and data is not None else ()
    used = [a for a in arrays if a.dimensions and re.search(rf"\b{re.escape(a.name)}\s*\[", text)]
    return max(used, key=lambda array: (array.span.line <= line, array.span.line), default=None)


def subscripts_at(texts: SourceTexts, file: str, line: int, name: str) -> tuple[str, ...]:
    """The subscripts of the first use of `name[...][...]` on a line, as written."""
    text = code_line(texts, file, line)
    match = re.search(rb"\b" + re.escape(name.encode()) + rb"\s*(?=\[)", text)
    if match is None:
        return ()
    found = []
    position = match.end()
    while text[position : position + 1] == b"[":
        end = _closing(text, position)
        found.append(text[position + 1 : end - 1].strip().decode("utf-8", "replace"))
        position = end
    return tuple(found)


def branch_around(texts: SourceTexts, file: str, line: int) -> tuple[int, ByteColumn] | None:
    """Line and column of the innermost condition that decides how often a line runs, within its function.

    A loop that makes the same steps for every lane decides nothing; it counts only where no other condition is.
    """
    text, data = texts.line(file, line), texts.read(file)
    if text is None or data is None:
        return None
    row, indent = line - 1, len(text) - len(text.lstrip())
    syntax = _syntax(data)
    node = syntax.root.descendant_for_point_range((row, indent), (row, len(text.rstrip())))
    found: list[Node] = []
    while node is not None and node.type != "function_definition":
        if node.child_by_field_name("condition") is not None and node.start_point.row <= row:
            found.append(node)
        node = node.parent
    if not found:
        return None
    deciding = next((n for n in found if not _same_for_all(n, frozenset(syntax.constants))), found[0])
    condition = child_of(deciding, "condition")
    start = (condition.named_children[0] if condition.named_children else condition).start_point
    if condition.type != "condition_clause":
        start = condition.start_point
    return start.row + 1, ByteColumn(start.column + 1)


def _same_for_all(loop: Node, constants: frozenset[str]) -> bool:
    """A `for` that counts a variable of its own between constants, and that nothing leaves early."""
    if loop.type != "for_statement":
        return False
    start, body = child_of(loop, "initializer"), child_of(loop, "body")
    counters = {text_of(child_of(n, "declarator")) for n in walk(start) if n.type == "init_declarator"}
    names = names_in(start) | names_in(child_of(loop, "condition")) | names_in(child_of(loop, "update"))
    if not counters or not names <= counters | constants:
        return False
    return not any(
        n.type in ("break_statement", "continue_statement", "return_statement", "goto_statement")
        or (
            n.type in ("assignment_expression", "update_expression")
            and names_in(n.named_children[0]) & counters
        )
        for n in walk(body)
    )


def function_text(texts: SourceTexts, file: str, line: int) -> str:
    """The function around a line, without comments; empty when it cannot be read."""
    data = texts.read(file)
    if data is None or texts.line(file, line) is None:
        return ""
    node: Node | None = _syntax(data).root.descendant_for_point_range((line - 1, 0), (line - 1, 0))
    while node is not None and node.type != "function_definition":
        node = node.parent
    if node is None:
        return ""
    code = _without_comments(data)
    end = code.find(b"\n", node.end_byte)
    first, last = code.rfind(b"\n", 0, node.start_byte) + 1, len(code) if end < 0 else end
    return code[first:last].decode("utf-8", "replace")


@functools.lru_cache(maxsize=8)
def _syntax(text: bytes) -> FileSyntax:
    return parse(text)


def code_line(texts: SourceTexts, file: str, line: int) -> bytes:
    """A line with blanks for its comments and nothing behind its last word, every byte in its column; b"" for none."""
    lines = code_lines(texts, file)
    return lines[line - 1] if 0 < line <= len(lines) else b""


def code_lines(texts: SourceTexts, file: str) -> tuple[bytes, ...]:
    """All lines of a file as `code_line` gives them."""
    data = texts.read(file)
    return () if data is None else _code_lines(data)


@functools.lru_cache(maxsize=32)
def lines_with_word(lines: tuple[bytes, ...]) -> Mapping[bytes, Sequence[int]]:
    """The numbers of the lines that hold each word, from 1: for who looks for many words in one file."""
    found: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines, start=1):
        for word in dict.fromkeys(_NAME.findall(line)):
            found.setdefault(word, []).append(number)
    return found


@functools.lru_cache(maxsize=32)
def _code_lines(data: bytes) -> tuple[bytes, ...]:
    return tuple(line.rstrip() for line in re.split(rb"\r\n|\n|\r", _without_comments(data)))


@functools.lru_cache(maxsize=8)
def _without_comments(data: bytes) -> bytes:
    """The text with a blank for each byte of a comment; its line ends stay."""

    def blank(match: re.Match[bytes]) -> bytes:
        text = match[0]
        return re.sub(rb"[^\r\n]", b" ", text) if text.startswith(b"/") else text

    return _COMMENT_OR_STRING.sub(blank, data)


def constant_value(texts: SourceTexts, file: str, text: str) -> int | None:
    """A dimension as a number: what integers and constants of the file come to; None where one has several values."""
    constants = _constants(texts, file)

    def value(node: Node | None, seen: frozenset[str]) -> int | None:
        if node is None:
            return None
        if node.type == "parenthesized_expression":
            return value(node.named_child(0), seen)
        if node.type == "number_literal":
            return _integer(text_of(node))
        if node.type == "identifier":
            name = text_of(node)
            known = constants.get(name, ())
            return (
                value(parse_expression(known[0]), seen | {name})
                if len(known) == 1 and name not in seen
                else None
            )
        if node.type != "binary_expression":
            return None
        left, right = (value(node.child_by_field_name(side), seen) for side in ("left", "right"))
        operation = _OPERATIONS.get(operator_of(node))
        return operation(left, right) if operation and left is not None and right is not None else None

    return value(parse_expression(text), frozenset())


def _divided(left: int, right: int) -> int | None:
    return left // right if left >= 0 and right > 0 else None


def _shifted(left: int, right: int) -> int | None:
    return left << right if 0 <= right < 31 else None


_OPERATIONS: Mapping[str, Callable[[int, int], int | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "<<": _shifted,
}


def _integer(text: str) -> int | None:
    try:
        return int(text.rstrip("uUlL"), 0)
    except ValueError:
        return None


def _constants(texts: SourceTexts, file: str) -> Mapping[str, tuple[str, ...]]:
    """What constants are set to, as written: once each, or every value where a name has several."""
    found: dict[str, tuple[str, ...]] = {}
    for text in code_lines(texts, file):
        for match in _CONSTANT.finditer(text):
            name = (match["defined"] or match["declared"]).decode()
            value = (match["text"] or match["value"]).decode("utf-8", "replace").strip()
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), value)))
    return found


def _statement(text: bytes, position: int) -> tuple[int, int]:
    """From the start of the statement around `position` to its semicolon."""
    start = max(text.rfind(mark, 0, position) for mark in (b";", b"{", b"}")) + 1
    guard = re.match(rb"\s*(?:if|for|while)\s*\(", text[start:])
    if guard is not None:
        start = _closing(text, start + guard.end() - 1)
    start += len(text[start:]) - len(text[start:].lstrip())
    end = text.find(b";", position)
    return start, len(text) if end < 0 else end


def _expression_end(text: bytes, start: int) -> int:
    """Behind an identifier with everything that is called on it, indexed or selected from it."""
    position = start
    if text[position : position + 1] in b"*&!~-(":
        position = _closing(text, position) if text[position : position + 1] == b"(" else position + 1
    while position < len(text):
        name = _NAME.match(text, position)
        if name is not None:
            position = name.end()
        elif text[position : position + 1] in _OPENING:
            position = _closing(text, position)
        elif text.startswith((b"::", b"->"), position):
            position += 2
        elif text.startswith(b".", position) and position + 1 < len(text):
            position += 1
        else:
            break
    return max(position, start + 1)


def _closing(text: bytes, position: int) -> int:
    """Behind the bracket that closes the one at `position`, or the end of the line."""
    depth = 0
    for index in range(position, len(text)):
        mark = text[index : index + 1]
        if mark in _OPENING:
            depth += 1
        elif mark in _CLOSING:
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)
